// Package apiextensionsv1 declares the kinds of apiextensions.k8s.io/v1. A CustomResourceDefinition
// defines a resource and the schemas of its objects. A ConversionReview asks a webhook to convert
// such objects between versions.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI. Some parts of a schema have one of several JSON forms (see choice.go).
//
// kube-apiserver stores definitions in v1beta1, a version that it does not serve. v1beta1.go reads
// definitions in that version.
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
