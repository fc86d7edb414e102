// Package audit decides which requests are recorded, and describes what is recorded: the policy and
// the events of audit.k8s.io/v1.
//
// Words:
//   - An Event tells what happened to a request up to a Stage.
//   - A Level says how much the events of a request tell.
//   - A Policy has rules. The first rule that matches a request decides its level, the stages that
//     are omitted, and whether objects are recorded without metadata.managedFields: the Decision.
//   - A Sink takes events.
//
// Laws:
//   - A Decision about a request is that of kube-apiserver for the same policy, and so is each byte
//     of an encoded event, if the event is the same.
//   - An encoded event is one line of well-formed JSON, whatever clients sent. A patch that is not
//     JSON, such as one in YAML, becomes a string; kube-apiserver drops an event with such a patch.
//   - A policy that kube-apiserver refuses is refused. So is a policy with unknown or repeated
//     fields, which kube-apiserver accepts with a warning in its log: such a field is a typing
//     error in most cases, and a rule without it matches more than its author wants.
//   - The package reads no body and decodes no object. A Decision costs no allocation.
//   - An Event that was given to a Sink is never changed again, and neither is anything that it
//     refers to, so a Sink may keep it.
//
// The filter filters.Audit asks the Policy and makes the events. The goroutine that serves the
// request owns an Event until a Sink has it. Any goroutine may use a Policy, and may encode an
// Event that a Sink has.
//
// Not here: what belongs in the events of a request (package filters), and where events are stored
// (package backend).
//
// Read event.go, encode.go, policy.go, policyfile.go.
package audit
