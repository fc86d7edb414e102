// Package router takes a request that the filters have let through to what answers it.
//
// The Director looks at the path: a resource that is installed goes to the REST router, anything else to the prefix mux,
// then to discovery, and what those do not know to the next server of the delegation chain. The REST router finds the
// resource by the request's Info, parsed once by a filter, and calls the handler of the verb.
//
// Resources may come and go while requests run: a request sees the state before a change or the one after it, and what
// has been taken out of service can be waited for (Retired).
//
// Guarantees: GET, LIST and WATCH of the storage version move encoded bytes; nothing there decodes. Bodies, patches
// and query options are checked as kube-apiserver checks them, with its words. Every error is answered by WriteError,
// in the media type that the client accepts.
//
// Bodies come in by one door and responses leave by one: received.go and answer.go. They fill the
// Record of a request, if somebody has put one into its Info, and compare with nil otherwise.
//
// The verbs come from small interfaces (rest.go) that package registry satisfies. All handlers may run at once.
// Not here: who may do it (filters), what a kind's rules are (registry).
//
// Read: rest.go, resource.go, director.go, restrouter.go, uses.go, endpoint.go, received.go,
// answer.go, then a file for each verb; discovery.go, picture.go, document.go, aggregated.go,
// openapi.go; remote.go for what other servers have.
package router
