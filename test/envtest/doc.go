// Package envtest runs the test suites of controller-runtime that start a server, unchanged, with
// Coracle in the place of kube-apiserver: TestSuites (`make envtest-suites`).
//
// The source of the suites is a Go module. TestSuites copies it to a temporary folder, and a Go
// workspace gives it the dependencies of test/interop. The suites find the programs by
// KUBEBUILDER_ASSETS, as they find those of Kubernetes.
//
// Law: a test that fails is listed in waiting_test.go with a reason, and a test that passes is not.
// So the list can only shrink.
//
// Environment: ASSETS is a folder with programs to use instead of Coracle's: kube-apiserver, etcd
// and kubectl. SUITES are the packages to run instead of all, separated by spaces, such as
// "./pkg/client ./pkg/cache".
//
// Read: suites_test.go, results_test.go, waiting_test.go.
package envtest
