// Package follow yields the objects of a resource and then each change of them, until the caller
// ends it: the work of a Reflector in client-go, without a store.
//
// Words:
//   - A Source is a resource whose objects can be followed: in the caches of this process
//     (registry.Store.Source), or on another server (client.Resource.Source).
//   - A Stream is one connection to a Source. It yields changes until it breaks. Changes follows
//     a Source through any number of streams.
//   - A batch is a list of changes. A batch is InStep if all changes up to its ResourceVersion
//     have been yielded.
//
// Laws, each a subtest of followtest.Run:
//   - Order: the states of an object are yielded in the order in which the object had them.
//   - No gap: between two batches that are in step, no change is missing. The objects that have
//     been yielded and are not Gone are those that the resource had at the revision of the batch.
//   - Resumption: after a break, the next stream begins at the revision of the last batch that
//     was in step.
//   - Whole: if the Source no longer has the changes since that revision, the next stream yields
//     all objects. Each object that was yielded before and no longer exists is yielded
//     once as Gone, and no other object is.
//   - Bound: a batch has at most MaxChanges. For a slow reader, this package holds no more than
//     one batch; all else waits as a position in the Source's history, or in its server.
//   - Old: with Options.Old, each change has the state of the object that was yielded before.
//   - End: Changes ends with its context, or when the loop over it is left. No goroutine and no
//     stream is left behind.
//
// Everything runs in the goroutine that ranges over Changes; this package starts no other. It keeps
// the name of each object, and with Options.Old also the last state. Map reduces each object to
// what the caller needs before it is kept or yielded.
//
// A caller that needs the changes only now and then can pull them with registry.Store.ChangesSince,
// which keeps a position in the history and no names.
//
// Not here: stores and indexes of objects (controller.Informer), reads of single objects
// (registry/read.go), changes of all resources at once (backing.Taps), logs.
//
// Read: follow.go, source.go; then followtest.
package follow
