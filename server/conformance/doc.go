// Package conformance holds tests that send recorded requests to a server, compare its responses
// with the recorded responses of a real kube-apiserver, and report every difference.
//
// The recordings are:
//   - testdata/scenarios: sequences of requests, grouped by topic, each step with its response.
//   - testdata/errors.json: single requests with surprising responses.
//   - testdata/resources.json: discovery, columns and selectable fields of every resource. Those of
//     the resources that Coracle serves are compared.
//
// To level out a response is to replace the parts that differ between any two runs (uids,
// revisions, times, generated names) by those of the recording. After that, the body including
// managedFields, the status code and the relevant headers must be equal. Scenarios do not depend on
// each other or on other objects of the server. They run in parallel, against each storage engine;
// with the race detector against the first engine alone (engines_test.go).
//
// Two tables list where Coracle differs from Kubernetes. An entry that is not needed fails the
// test. Table differences names the steps that Coracle answers differently on purpose, and has the
// status code and the reason of Coracle's response; all else must be equal. Table waiting names the
// scenarios that need something that is not served yet.
//
// Read: conformance_test.go, scenario_test.go, player_test.go, stream_test.go, level_test.go,
// compare_test.go, then the tables in differences_test.go and waiting_test.go, then errors_test.go
// and resources_test.go. replay_test.go tests the replayer itself.
package conformance
