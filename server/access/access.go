// Package access decides who may do what.
//
// Words: a mode is a way to decide, such as RBAC. An authorizer is a mode with its settings. A
// review is a request that asks who somebody is or what they may do.
//
// Laws:
//   - Members of system:masters may do everything. Then Config.Authorizer is asked, then the modes
//     in their order, until one allows or denies.
//   - A configuration replaces the one before as a whole. One that cannot be used changes nothing.
//     Only webhooks come and go with it: the other modes last as long as the server.
//   - RBAC reads its four resources as of one revision, and as of the last write through this
//     server: a right that was taken away is gone for the next request.
//   - Reviews ask exactly the authorizers that requests pass. A Promise gives them to the resources
//     that answer reviews, which are declared before there is an authorizer.
//
// Config.Complete checks a configuration. New makes the Authorizers. They are safe for concurrent
// use. What they run in the background ends with the server.
//
// Not here: the modes themselves (filters/authz), who sends a request (identity), what is refused
// because of the object that is written (plugins).
//
// Read: config.go, authorizers.go, webhook.go, metrics.go, roles.go, nodegraph.go, promise.go.
package access
