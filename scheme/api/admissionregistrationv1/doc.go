// Package admissionregistrationv1 declares the kinds of admissionregistration.k8s.io/v1: whom to
// ask before a write is admitted. Webhooks are servers that are asked; policies are expressions
// that the API server evaluates itself, and take effect where a binding says so. Of both, the
// mutating ones may change the object, and come first; the validating ones only refuse.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI. defaults.go adds the defaults that a tag cannot express.
//
// Not here: validation, strategies and printing (registry/admissionregistration).
package admissionregistrationv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/admissionregistrationv1", "io.k8s.api.admissionregistration.v1", source)
}
