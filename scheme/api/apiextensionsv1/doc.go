// Package apiextensionsv1 declares the kinds of apiextensions.k8s.io/v1: definitions of custom
// resources, with the schemas of their objects, and the reviews by which webhooks convert these
// between versions.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI. Some parts of a schema are written in one of several forms (see
// choice.go).
//
// kube-apiserver stores definitions in v1beta1, which nobody is served in: v1beta1.go reads them.
//
// Not here: validation, strategies and printing (registry/extensions); what a schema means for
// objects (scheme/schema).
package apiextensionsv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/apiextensionsv1",
		"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1", source)
}
