// Package robust kills servers under load and checks what everybody saw in the meantime. README.md
// says what is done and what is checked.
//
// A run (Run) leaves a Record, and all checks (Check) are functions of that.
//
// RunServices and RunEvictions do the same about what counts outside of the object that is written,
// RunDefinitions about definitions of custom resources, and TestGarbage about what owners leave
// behind.
//
// Read: record.go, run.go, client.go, watcher.go, cluster.go; then check.go, history.go, linear.go.
// Beside that: call.go, then service*.go, eviction*.go and definition*.go.
package robust
