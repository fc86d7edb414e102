// Package router takes a request that the filters have let through to what answers it.
//
// The Director looks at the path: a registered group version goes to the REST router, anything else to the prefix mux,
// and what that does not know to the next server of the delegation chain. The REST router finds the resource by the
// request's Info, parsed once by a filter, and calls the handler of the verb.
//
// Guarantees: GET, LIST and WATCH of the storage version move encoded bytes; nothing there decodes. Bodies, patches
// and query options are checked as kube-apiserver checks them, with its words. Every error is answered by WriteError,
// in the media type that the client accepts.
//
// The verbs come from small interfaces (rest.go) that package registry satisfies. All handlers may run at once.
// Not here: who may do it (filters), what a kind's rules are (registry).
//
// Read: rest.go, resource.go, director.go, restrouter.go, endpoint.go, then a file for each verb; discovery.go.
package router
