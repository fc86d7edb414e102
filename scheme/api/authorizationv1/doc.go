// Package authorizationv1 declares the kinds of authorization.k8s.io/v1: reviews, which ask what a
// user may do. The server answers them and stores none.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: what answers (registry/authorization).
package authorizationv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/authorizationv1", "io.k8s.api.authorization.v1", source)
}
