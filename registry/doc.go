// Package registry is the generic store of API objects: what every resource has in common.
//
// A Resource declares a resource of a kind: names, strategy, selectable fields, columns,
// subresources. A Store made from it serves the verbs (get, list, watch, create, update, delete,
// deletecollection) over a cache.Resource. It has the methods of package router's verb interfaces,
// without importing that package. An Actor serves creates of objects that are not stored (reviews,
// bindings, evictions); a ComputedReader serves objects that are computed when a client reads them
// (componentstatuses); a Connecter serves exec, log and proxy. They have the methods of router's
// interfaces, too.
//
// Words. A declaration (a Resource, Actions or ComputedResource) says how a resource is served. A
// strategy is the part of it with the rules for the kind's objects. The hub is the version of a
// kind that strategies see. A door is a Store through which a part of the object can be changed, or
// the object is shown as another kind; each field belongs to one door. A projection shows the
// object as another kind, such as Scale. A form is an encoding of an object in a version. A try is
// one run of a write over one state of its object; a write has several tries if other writers are
// faster, or if its fence changes: another key of the store, for which a reserver has asked. A
// reservation is something outside the object, such as an address or a port, that a write takes,
// and gives back if the write is not stored. The fate of a try is what became of it: Stored,
// NotStored or InDoubt.
//
// Guarantees:
//   - Every write takes the same steps, in the order that write.go lists and create.go follows.
//     Strategy and admission see the old object that the write replaces, never an older one: if
//     another write was faster, the write begins again.
//   - Strategies are pure functions of (request, new object, old object). The Store does the I/O
//     around them. Only Reserve and Guard do I/O of their own.
//   - What a Reserve, an admission plugin or an action takes for a try is settled exactly once,
//     with the fate of that try.
//   - A read in the stored version copies encoded bytes and decodes nothing. Objects are kept as
//     they were written, unless they lack something that today's declaration demands (reader.go).
//     Another form is made for the first client that asks for it; if that fails, only the clients
//     that ask for the form see the error. A write encodes its object once.
//   - A resource can be declared anew while it is in use. A client of one declaration is never
//     shown a form that another declaration made.
//   - Every error of a request is a *meta.StatusError in the words of kube-apiserver, or the error
//     of the context. Records return the errors of the store.
//
// Callers. server/generic makes the Stores, Actors and ComputedReaders of a server from
// declarations, and the router calls their verbs. Code in the server reads and writes through a
// View, Memo or ListMemo, and finds Stores through the interface Stores. All methods of Store may
// be called concurrently. No goroutine outlives a call.
//
// Not here: media types and HTTP (router), authorization (filters), the rules of single kinds
// (core/, apps/, batch/ and the other groups) and what those share (check/, podspec/, scale/,
// govalue/).
//
// Read: strategy.go, typed.go, store.go, keys.go; reader.go and forms.go; write.go, create.go,
// identity.go, own.go, versions.go, update.go, delete.go, deletecollection.go, door.go; list.go,
// selector.go and conversions.go; table.go; action.go, observed.go, errors.go; read.go, view.go,
// memo.go and listmemo.go, for reads in process; follow.go and position.go, for callers that want
// every change; unread.go and discard.go, for objects that cannot be read; acceptvalue.go, for
// objects that were stored past the API; records.go, for state that the servers of a store share;
// then admission/ and core/.
package registry
