package authz

import (
	"context"
	"strings"
)

// Discovery allows GET of what tells a client that a server is there and what it serves: health and version to
// everybody, the API's index, groups and schemas to whoever has authenticated. It is what Kubernetes grants by its
// bootstrap roles system:public-info-viewer and system:discovery.
func Discovery() Authorizer {
	return Func(func(_ context.Context, a *Attributes) (Decision, string, error) {
		if a.IsResource || a.Verb != "get" {
			return NoOpinion, "", nil
		}
		switch a.Path {
		case "/healthz", "/livez", "/readyz", "/version", "/version/":
			return Allow, "", nil
		}
		if a.User == nil || !a.User.InGroup(groupAuthenticated) {
			return NoOpinion, "", nil
		}
		for _, p := range [...]string{"/api", "/apis", "/openapi"} {
			if rest, ok := strings.CutPrefix(a.Path, p); ok && (rest == "" || rest[0] == '/') {
				return Allow, "", nil
			}
		}
		return NoOpinion, "", nil
	})
}

const groupAuthenticated = "system:authenticated"
