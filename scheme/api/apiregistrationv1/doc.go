// Package apiregistrationv1 declares the kinds of apiregistration.k8s.io/v1. An APIService names
// the server that serves one version of a group.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/aggregation).
package apiregistrationv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/apiregistrationv1",
		"io.k8s.kube-aggregator.pkg.apis.apiregistration.v1", source)
}
