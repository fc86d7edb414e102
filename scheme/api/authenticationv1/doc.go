// Package authenticationv1 declares the kinds of authentication.k8s.io/v1: questions about who
// somebody is, and tokens that say so. They are sent and answered, and not stored.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: how tokens are judged (filters/authn), and who answers (registry/authentication;
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
