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

// makeOpenAPI serves the documents of OpenAPI: of all that the servers of the chain serve, and of
// what the servers behind this one say of themselves.
func (a *assembly) makeOpenAPI() error {
	kinds := sync.OnceValue(a.scheme.ModelKinds)
	info := openapi.Info{
		Version: KubernetesVersion,
		Kinds:   func(model string) []meta.GroupVersionKind { return kinds()[model] },
	}
	schemas := router.NewOpenAPI(info, a.codecs, a.discovery, describedPaths(&a.completed)...)
	schemas.AskRemote, schemas.Made = a.behind.AskV2, a.life.crowd.Burst
	return installOpenAPI(a.on.Core, schemas)
}

// describedPaths are the documents of the paths that are served besides groups and their resources,
// and that OpenAPI describes.
func describedPaths(c *completed) []openapi.Document {
	return append(inspect.Documents(&c.Serving.Debug), c.Authentication.ServiceAccounts.Documents()...)
}

// installOpenAPI serves the documents of OpenAPI.
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
