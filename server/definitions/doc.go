// Package definitions is the last link of the delegation chain: it serves
// CustomResourceDefinitions, and the custom resources that they define.
//
// Words: a definition is a CustomResourceDefinition; its instances are the objects of the resource
// that it defines. An outline is a definition whose schemas are not decoded (extensions.Outline).
// A definition that the server cannot read is unread. A definition is emptied when its instances
// are deleted because it is being deleted itself.
//
// Laws:
//   - One loop on every server follows the definitions in the order in which they change. Each
//     server decides by itself what it serves, and all servers decide the same. Each server tries
//     to write its decision into the status of the definition. The first write succeeds; the other
//     servers then find that the status is as it should be.
//   - A resource is served before its definition says so: a client that has seen the condition
//     Established finds the resource.
//   - Other servers may write to the store. A request for a resource that this server does not
//     serve then waits until the loop has followed the definitions up to the revision that the
//     store had when the request came.
//   - The server answers requests for the resource of an unread definition with an error that
//     names the definition. It treats the resource's instances as being there.
//   - When a definition is deleted, its instances are deleted first. Then it loses its finalizer.
//   - The connections to a conversion webhook close when no definition names the webhook.
//
// Definitions is safe for any number of callers. The loop alone owns its record of each definition
// (type definition). The loop and the goroutines that write statuses and delete instances run
// through generic.Host.Go, and end with the host.
//
// Not here: which definitions are valid, who gets a name, and what a definition declares
// (registry/extensions); how a resource comes and goes (server/generic); API services of the
// versions that are defined (server/loops/apiservices).
//
// Read: definitions.go, loop.go, serving.go, statuses.go, instancedeletion.go; then late.go,
// unread.go, converters.go, metrics.go, and package declared.
package definitions
