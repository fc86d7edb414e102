// Package policyv1 declares the kinds of policy/v1. A PodDisruptionBudget limits how many pods may
// be evicted at a time. An Eviction asks the server to delete a pod if the budgets allow it.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/policy).
package policyv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/policyv1", "io.k8s.api.policy.v1", source)
}
