// Package follow tells what becomes of the objects of a resource, for as long as somebody wants to
// know.
//
// Words. A Source is where the objects are: the caches of this process (registry.Store.Source), or
// a server at the other end of a client (client.Resource.Source). A Stream of a Source tells what
// has happened, until it breaks. Changes follows a Source through all its streams. It tells of
// changes in batches; a batch that is InStep says up to which revision everything has been told.
//
// Laws, each a subtest of followtest.Run:
//   - Order: the states of an object are told in the order in which it had them.
//   - No gap: between two batches that are in step each change is told, and the objects that have
//     been told of and have not gone are those that the resource had at the revision of the batch.
//   - Resumption: after a break the next stream goes on from the revision that was told last.
//   - Whole: if the Source has forgotten what happened since, it tells of all objects that there
//     are. Those that have gone in between are told of as gone, each once, and no other.
//   - Bound: a batch has at most MaxChanges. What waits for a slow reader is a place in the history
//     of the Source, or one answer of its server, and nothing here.
//   - Old: with Options.Old each change comes with what was told of the object before.
//   - End: it ends with its context, or when the loop over it is left, and nothing stays behind.
//
// Everything runs in the goroutine that ranges over Changes; no other is started here. What is kept
// of an object is its name. Who wants more says so with Options.Old; Map makes of each object what
// is wanted of it, before it is kept or told.
//
// The pull form of the same, for who looks only when it is asked something, is Since of a
// registry.Store. It keeps a place in the history and no name.
//
// Not here: what is kept and indexed of many objects (controller.Informer), reads of one object
// (registry/read.go), changes of all resources at once (backing.Taps), logs.
// Read: follow.go, source.go; then followtest.
package follow
