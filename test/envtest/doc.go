// Package envtest runs the test suites of controller-runtime that start a server, unchanged, with
// ours in kube-apiserver's place: TestSuites (`make envtest-suites`). Their source comes as a Go
// module, is copied to a temporary folder, where a workspace gives it the dependencies of
// test/interop, and finds the programs by KUBEBUILDER_ASSETS, as it does with those of Kubernetes.
//
// What cannot pass yet is listed in waiting_test.go, and the list can only shrink.
//
// Environment: ASSETS is a folder of programs to use in place of ours: kube-apiserver, etcd and
// kubectl. SUITES are packages, separated by spaces, in place of all: ./pkg/client ./pkg/cache.
//
// Read: suites_test.go, results_test.go, waiting_test.go.
package envtest
