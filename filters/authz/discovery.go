package authz

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Discovery lets everybody see health and version, and those who are authenticated find out which resources there are and
// what they may do themselves. That is what a cluster with role-based access control grants from the start. It passes on the rest.
func Discovery() request.Authorizer { return Func(discovery) }

func discovery(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	switch {
	case a.User == nil:
	case a.IsResource:
		if a.Verb == "create" && a.Subresource == "" && a.Namespace == "" && isSelfReview(a) && a.User.InGroup(request.GroupAuthenticated) {
			return request.Allow, "", nil
		}
	case a.Verb != "get":
	case slices.Contains(publicPaths, a.Path):
		return request.Allow, "", nil
	case isDiscovery(a.Path) && a.User.InGroup(request.GroupAuthenticated):
		return request.Allow, "", nil
	}
	return request.NoOpinion, "", nil
}

var (
	publicPaths    = []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}
	discoveryRoots = []string{"/api", "/apis", "/openapi"}
)

// isDiscovery reports whether path is one of the roots of discovery or below it.
func isDiscovery(path string) bool {
	return slices.ContainsFunc(discoveryRoots, func(root string) bool {
		below, ok := strings.CutPrefix(path, root)
		return ok && (below == "" || below[0] == '/')
	})
}

// isSelfReview reports whether the resource answers questions of users about themselves.
func isSelfReview(a *request.Attributes) bool {
	switch a.Group {
	case "authorization.k8s.io":
		return a.Resource == "selfsubjectaccessreviews" || a.Resource == "selfsubjectrulesreviews"
	case "authentication.k8s.io":
		return a.Resource == "selfsubjectreviews"
	}
	return false
}
