// Package rbacv1 declares the kinds of rbac.authorization.k8s.io/v1: roles, which are lists of
// rights, and bindings, which give the rights of a role to users, groups and service accounts.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/rbac).
package rbacv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/rbacv1", "io.k8s.api.rbac.v1", source)
}
