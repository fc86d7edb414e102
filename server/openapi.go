package server

import (
	"net/http"
	"sync"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// newOpenAPI describes all that the servers of the chain serve.
func newOpenAPI(core *GenericServer, s *scheme.Scheme, codecs *codec.Factory) *router.OpenAPI {
	version := openapi.Document{Path: "version", Endpoints: []openapi.Endpoint{{
		Path: "/version/", Description: "get the version of the server", OperationID: "getCodeVersion", Tag: "version", JSONOnly: true,
		Answer: openapi.Model{Type: typeinfo.For[meta.VersionInfo]()},
	}}}
	kinds := sync.OnceValue(s.ModelKinds)
	info := openapi.Info{Version: KubernetesVersion, Kinds: func(model string) []meta.GroupVersionKind { return kinds()[model] }}
	return router.NewOpenAPI(info, codecs, core.Discovery, version)
}

// installOpenAPI serves the documents of OpenAPI.
func installOpenAPI(core *GenericServer, schemas *router.OpenAPI) error {
	if err := core.Paths.Handle("/openapi/v2", http.HandlerFunc(schemas.ServeV2)); err != nil {
		return err
	}
	v3 := http.HandlerFunc(schemas.ServeV3)
	if err := core.Paths.Handle("/openapi/v3", v3); err != nil {
		return err
	}
	return core.Paths.Handle("/openapi/v3/", v3)
}
