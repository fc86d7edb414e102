// Package policyv1 declares the kinds of policy/v1: how many pods a disruption may take.
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
