package server

import (
	"net/http"
	"sync"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/inspect"
)

// newOpenAPI describes all that the servers of the chain serve, and what behind says of the servers
// behind this one. It calls made after each document that it has made.
func newOpenAPI(c *completed, d *declaration, behind *aggregator.Aggregator, made func()) *router.OpenAPI {
	kinds := sync.OnceValue(d.scheme.ModelKinds)
	info := openapi.Info{Version: KubernetesVersion, Kinds: func(model string) []meta.GroupVersionKind { return kinds()[model] }}
	schemas := router.NewOpenAPI(info, d.codecs, d.core.Discovery, describedPaths(c)...)
	schemas.AskRemote, schemas.Made = behind.AskV2, made
	return schemas
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
