// Package conformance holds a test: it replays what a real kube-apiserver was asked, and answered,
// against a server of ours, and names every difference.
//
// testdata/scenarios has sequences of requests, grouped by topic, each step with the recorded
// answer; testdata/errors.json single requests with the answers that surprise;
// testdata/resources.json discovery, columns and selectable fields of every resource, of which
// those that are served are compared. A body, a status and the headers that matter must agree to
// the letter, managedFields too, once what differs between any two runs (uids, revisions, times,
// made-up names) is levelled out. Scenarios are independent of each other and of what else is on
// the server, and run in parallel, against each storage engine; with the race detector against the
// first alone (engines_test.go).
//
// Two tables say where we are not, or not yet, like Kubernetes. Both can only shrink: an entry that
// is not needed fails the test. differences names the steps that Coracle answers differently on
// purpose, by status code and reason alone; waiting names the scenarios that need something not
// served yet.
//
// Read: conformance_test.go, scenario_test.go, player_test.go, stream_test.go, level_test.go,
// compare_test.go, then the tables in differences_test.go and waiting_test.go, then errors_test.go
// and resources_test.go. replay_test.go tests the replayer itself.
package conformance
