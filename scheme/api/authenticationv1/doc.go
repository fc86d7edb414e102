// Package authenticationv1 declares the kinds of authentication.k8s.io/v1. A TokenReview asks which
// user a token stands for, and a SelfSubjectReview which user the caller is. A TokenRequest asks
// for a token of a service account. The server answers such objects and stores none.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: how tokens are checked (filters/authn), and what answers (registry/authentication;
// registry/core for tokens of service accounts).
package authenticationv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/authenticationv1", "io.k8s.api.authentication.v1", source)
}
