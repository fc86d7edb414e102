// Package router finds the handler of a request and answers in the way that Kubernetes' API
// conventions define: resources with their verbs, discovery, OpenAPI, and paths outside of the API.
//
// Words: a Resource is a resource in one served version, with the verbs that it has. An endpoint is
// a Resource with its handlers. A picture is one immutable state of discovery. A form is an
// encoding of objects (version, media type, with or without managedFields). An answer is the way
// out of a request; received is the way in of its body. A Retired resource is one that was removed
// and may still have requests inside.
//
// A request takes this way. The Director looks at its Info and path: a resource that is served goes
// to the REST router, any other path to the prefix mux, then to discovery, and an unknown path to
// the next server of the delegation chain. The REST router finds the endpoint by the Info, which a
// filter has parsed, and calls the handler of the verb.
//
// Laws:
//
//   - GET, LIST and WATCH in the storage version copy encoded bytes and decode nothing.
//   - Bodies, patches and query options are checked as kube-apiserver checks them, in its words.
//   - Every error is answered by WriteError, in a media type that the client accepts.
//   - Only received.go reads a body and only answer.go writes a response. They fill the Record of
//     a request if its Info has one.
//   - Resources may come and go while requests run. A request sees the state before a change or the
//     one after it, and Retired waits for the requests that are still inside a removed resource.
//
// The verbs come from small interfaces (rest.go) that package registry implements. Package server
// installs resources; it is the only caller of Change. All handlers may run concurrently. Not here:
// authentication and authorization (filters), and the rules of kinds (registry).
//
// Read rest.go, resource.go, director.go, restrouter.go, uses.go, endpoint.go, received.go and
// answer.go, then a file for each verb; then discovery.go, picture.go, document.go, aggregated.go
// and openapi.go; remote.go for aggregated servers.
package router
