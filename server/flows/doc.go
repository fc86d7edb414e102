// Package flows maintains the objects of API Priority and Fairness (KEP-1040): the FlowSchemas and
// PriorityLevelConfigurations that every cluster has, and the condition Dangling of each
// FlowSchema. Two loops of kube-apiserver do the same. This package writes with their field
// managers, so that both servers may work on one store.
//
// Words: mandatory and suggested objects are those that Kubernetes calls so
// (registry/flowcontrol). A schema is a FlowSchema, a level a PriorityLevelConfiguration.
//
// Laws:
//   - Nothing is written if all objects are as they should be, so any number of servers may run
//     both loops.
//   - The spec of an object that an administrator has taken over stays as it is (Keeper).
//   - The condition of a schema is written at most six times a minute, even if another client keeps
//     changing it.
//
// The server calls Keeper.Ensure when it starts, and then runs Keeper, which looks at the objects
// each minute, and Dangling, which sets the condition as soon as a level comes or goes. Both are
// clients of the server and end with their contexts.
//
// Not here: the contents of the objects (registry/flowcontrol). No package classifies or queues
// requests by these objects; filters bounds the number of running requests.
//
// Read: keeper.go, dangling.go.
package flows
