// Package access is authorization: it makes the chain of authorizers that a configuration names,
// follows the configuration's file, and feeds the authorizers with roles and nodes.
//
// Words: a mode is a kind of authorizer, such as RBAC. An authorizer is a mode with its settings. A
// review is a request that asks who a token belongs to or what a user may do (TokenReview,
// SubjectAccessReview).
//
// Laws:
//   - Members of system:masters may do everything. For all others Config.Authorizer is asked, then
//     the modes in their order, until one allows or denies. A request that none allows is denied.
//   - A new configuration replaces the old one as a whole. An invalid configuration changes
//     nothing. A new content of the file can add, change and remove webhooks. The set of all other
//     modes stays as it was when the server started.
//   - RBAC reads its four resources at one revision, which includes the last write through this
//     server. So a right that a client takes away is gone for the next request.
//   - Reviews ask the same authorizers as requests. A Promise connects them with the resources that
//     answer reviews, which are declared before the authorizers are made.
//
// Config.Complete validates a configuration. New makes the Authorizers, which any goroutine may
// call. Their goroutines end with the server.
//
// Not here: how a mode decides (filters/authz), authentication (server/identity), refusals because
// of the written object (server/plugins).
//
// Read: config.go, authorizers.go, webhook.go, metrics.go, roles.go, nodegraph.go, promise.go.
package access
