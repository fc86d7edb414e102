package server

import (
	"net/http"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// installOpenAPI serves the schemas of all that the servers of the chain serve.
func (s *Server) installOpenAPI() error {
	version := openapi.Document{Path: "version", Endpoints: []openapi.Endpoint{{
		Path: "/version/", Description: "get the version of the server", OperationID: "getCodeVersion", Tag: "version", JSONOnly: true,
	}}}
	docs := router.NewOpenAPI(openapi.Info{Version: KubernetesVersion}, s.Codecs, s.Core.Discovery, version)
	if err := s.Core.Paths.Handle("/openapi/v2", readOnly(http.HandlerFunc(docs.ServeV2))); err != nil {
		return err
	}
	v3 := readOnly(http.HandlerFunc(docs.ServeV3))
	if err := s.Core.Paths.Handle("/openapi/v3", v3); err != nil {
		return err
	}
	return s.Core.Paths.HandleHidden("/openapi/v3/", v3)
}
