// Package admissionregistrationv1 declares the kinds of admissionregistration.k8s.io/v1, which add
// checks and changes to the admission of requests. A webhook is a server that the API server asks
// before it admits a request. A policy is a set of CEL expressions that the API server evaluates
// itself; a binding puts the policy into effect. Mutating webhooks and policies run first and may
// change the object. Validating ones run afterwards and can only refuse the request.
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
