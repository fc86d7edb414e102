package server

import (
	"net/http"
	"sync"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/inspect"
)

// newOpenAPI describes all that the servers of the chain serve.
func newOpenAPI(core *generic.Server, s *scheme.Scheme, codecs *codec.Factory, c *completed) *router.OpenAPI {
	kinds := sync.OnceValue(s.ModelKinds)
	info := openapi.Info{Version: KubernetesVersion, Kinds: func(model string) []meta.GroupVersionKind { return kinds()[model] }}
	return router.NewOpenAPI(info, codecs, core.Discovery, describedPaths(c)...)
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
