// Package cluster runs programs of Kubernetes beside Coracle. Coracle takes over an etcd that
// Kubernetes has filled, and gives the etcd back; and a published controller runs on Coracle.
// `make cluster` runs the tests.
//
// The programs are real: kube-apiserver, kube-controller-manager and kube-scheduler of 1.36.3,
// kube-apiserver of 1.34.2, kwok, whose nodes run pods that do nothing, and kueue. Each release is
// a module of its own, which only names the programs to build: v134, kwok, kueue, and this one. The
// environment variable KUBERNETES names a directory that already has the programs (kube-apiserver,
// kube-controller-manager, kube-scheduler, kube-apiserver-1.34, kwok, kueue); CORACLE names the
// server. Every other program is built when a test first needs it.
//
//   - TestTakeover: a kube-apiserver fills an etcd while the controllers run. Coracle starts on it
//     with the same command line. Coracle must return each object in each served version as
//     kube-apiserver 1.36.3 does, and watches and informers must go on. Then the controllers and
//     clients use Coracle, and at the end the kube-apiserver that filled the etcd reads and writes
//     every object.
//   - TestBoth: kube-apiserver and Coracle serve one etcd at once, under load for DURATION (60 s
//     by default).
//   - TestKueue: kueue runs on Coracle with the rights of its own manifests. Its webhooks and
//     conversions stand in front of its custom resources and of Jobs, and it admits Jobs by quota.
//   - TestRecord: with RECORD=1, writes the contents of an etcd and kube-apiserver's answers to
//     server/testdata/etcd, where a test of package server reads them.
//   - TestAudit: plays a session of requests to a kube-apiserver. Its audit events are those in
//     server/testdata/audit, with which a test of package server compares Coracle's. With RECORD=1,
//     the test records the events anew.
//
// Everything listens on loopback addresses and ends with the tests.
//
// Read: main_test.go (programs), control_test.go (a control plane), fill_test.go, state_test.go
// (what is compared), takeover_test.go, both_test.go, kueue_test.go, record_test.go, audit_test.go.
package cluster
