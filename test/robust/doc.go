// Package robust kills servers under load and checks what everybody saw in the meantime. README.md says what is done
// and what is checked.
//
// A run (Run) leaves a Record, and all checks (Check) are functions of that.
//
// Read: record.go, run.go, client.go, watcher.go, cluster.go; then check.go, history.go, linear.go.
package robust
