// Package audit decides which requests are recorded, and describes what is recorded: the policy and
// the events of audit.k8s.io/v1.
//
// Words: an Event tells what happened to a request up to a Stage; a Level says how much the events of
// a request tell; a Policy decides both for each request, by its rules; a Sink takes events.
//
// Laws: the package reads no body and decodes no object. An Event that was given to a Sink is never
// changed again, and neither is anything that it refers to, so a Sink may keep it.
//
// The filter filters.Audit makes the events. Any goroutine may use a Policy. Package
// filters/audit/backend has the Sinks.
//
// Read event.go, then encode.go and policy.go.
package audit
