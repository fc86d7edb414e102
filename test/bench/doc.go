// Package bench compares the chain of filters with the one of k8s.io/apiserver: the same GETs, the same tokens,
// everything allowed, limits on concurrent requests, in one run of one binary.
//
//	cd test/bench && go test -bench Chain -count 5
//
// It is a module of its own, so that k8s.io/apiserver never becomes a dependency of the server.
package bench
