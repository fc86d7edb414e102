package server

import (
	"net/http"
	"sync"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/inspect"
)

// makeOpenAPI serves the OpenAPI documents (v2 and v3) of all resources of the delegation chain,
// merged with the documents of the servers behind this one. The list of model kinds is made at
// first use.
func (a *assembly) makeOpenAPI() error {
	kinds := sync.OnceValue(a.scheme.ModelKinds)
	info := openapi.Info{
		Version: KubernetesVersion,
		Kinds:   func(model string) []meta.GroupVersionKind { return kinds()[model] },
	}
	schemas := router.NewOpenAPI(info, a.codecs, a.discovery, describedPaths(&a.completed)...)
	schemas.AskRemote, schemas.Made = a.behind.AskV2, a.life.bursts.Burst
	return installOpenAPI(a.on.Core, schemas)
}

// describedPaths returns the OpenAPI documents of paths that belong to no group, such as /version
// and /openid/v1/jwks.
func describedPaths(c *completed) []openapi.Document {
	return append(inspect.Documents(&c.Serving.Debug), c.Authentication.ServiceAccounts.Documents()...)
}

// installOpenAPI serves schemas at the paths of Kubernetes.
func installOpenAPI(core *generic.Server, schemas *router.OpenAPI) error {
	if err := core.Paths.Handle("/openapi/v2", http.HandlerFunc(schemas.ServeV2)); err != nil {
		return err
	}
	v3 := http.HandlerFunc(schemas.ServeV3)
	if err := core.Paths.Handle("/openapi/v3", v3); err != nil {
		return err
	}
	return core.Paths.Handle("/openapi/v3/", v3)
}
