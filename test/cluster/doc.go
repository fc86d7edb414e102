// Package cluster takes an etcd that Kubernetes has filled over to Coracle and gives it back. `make
// cluster` runs it.
//
// The programs are real: kube-apiserver, kube-controller-manager and kube-scheduler of 1.36.3,
// kube-apiserver of 1.34.2 and kwok, whose nodes run pods that do nothing. Each release is a module
// of its own, which only says what is built: v134, kwok, and this one. KUBERNETES names a folder
// that already holds the programs (kube-apiserver, kube-controller-manager, kube-scheduler,
// kube-apiserver-1.34, kwok); CORACLE names the server. What is not named is built first.
//
//   - TestTakeover: a kube-apiserver fills an etcd while the controllers run. Coracle starts on
//     it with the same command line. Each object in each served version has to read as
//     kube-apiserver 1.36.3 reads it; watches and informers have to go on. Then Coracle is used
//     with the controllers running, and the kube-apiserver that filled the etcd reads and writes
//     every object that Coracle left.
//   - TestBoth: kube-apiserver and Coracle serve one etcd at once, under load for DURATION (60 s
//     by default).
//   - TestRecord: with RECORD=1, writes the contents of an etcd and kube-apiserver's answers to
//     server/testdata/etcd, where a test of package server reads them.
//
// Everything listens on loopback addresses and ends with the tests.
//
// Read: main_test.go (programs), control_test.go (a control plane), fill_test.go, state_test.go
// (what is compared), takeover_test.go, both_test.go, record_test.go.
package cluster
