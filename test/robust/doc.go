// Package robust kills servers under load, records all requests and answers, and checks the record
// against the promises of the API. README.md lists the faults and the checks.
//
// Run makes a Record; Check is a function of the Record alone, so a saved record can be checked
// again.
//
// RunServices, RunEvictions and RunQuotas do the same for writes that change something outside of
// the object: addresses and ports, disruption budgets, and the usage in quotas. RunDefinitions does
// it for custom resource definitions, RunHooks for webhooks and policies, which judge other writes,
// and TestGarbage for the dependents of deleted owners.
//
// Read: record.go, run.go, client.go, watcher.go, cluster.go; then check.go, history.go, linear.go.
// Beside that: call.go, then service*.go, eviction*.go, quota*.go with link.go, definition*.go, and
// hook*.go.
package robust
