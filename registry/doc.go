// Package registry is the generic store of API objects: what every resource has in common.
//
// A Resource declares a resource of a kind: names, strategy, selectable fields, columns,
// subresources. A Store made from it serves the verbs (get, list, watch, create, update, delete,
// deletecollection) over a cache.Resource. It satisfies the verb interfaces of package router
// without knowing them, as do an Actor, which serves creates of what is not stored, and a
// Connecter.
//
// Words. The hub is the version of a kind that strategies see. A door is a Store through which a
// part of the object can be changed, or the object is shown as another kind; each field belongs to
// one door. A form is an encoding of an object in a version. A reservation is what a write takes
// outside of its object, and gives back if the write is not stored.
//
// Guarantees:
//   - Every write takes the same steps, in the order that write.go lists and create.go follows,
//     with the true old object. A write whose old object was overtaken begins again.
//   - What strategies decide are pure functions of (request, new, old); the Store does the I/O
//     around them, and a Reserve its own.
//   - What a Reserve, an admission plugin or an action takes for a write is settled exactly once,
//     with the fate of the write.
//   - Reads of the version stored move encoded bytes. Objects are kept as they were written;
//     another form is made for who asks first, and its failure is theirs alone. A write encodes
//     once.
//   - A resource can be declared anew while it is used: nobody is shown what the other declaration
//     has made.
//   - Every error is a *meta.StatusError with the words of kube-apiserver, or that of the context.
//
// All methods of Store may be called at once. Not here: media types and HTTP (router), who may do
// it (filters), the rules of single kinds (core/, apps/, batch/ and the other groups) and what
// those share (check/, podspec/, scale/, govalue/).
//
// Read: strategy.go, typed.go, store.go, keys.go; reader.go and forms.go; write.go, create.go,
// identity.go, own.go, versions.go, update.go, delete.go, door.go; list.go and selector.go;
// action.go, errors.go; read.go, view.go, memo.go and listmemo.go, for reads in process; follow.go
// and place.go, for who wants every change; discard.go and handmade.go, for what was stored past
// the API; then admission/ and core/.
package registry
