package server

import (
	"net/http"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/scheme/typeinfo"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/generic"
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
	docs := []openapi.Document{{Path: "version", Endpoints: []openapi.Endpoint{{
		Path: "/version/", Description: "get the version of the server", OperationID: "getCodeVersion", Tag: "version",
		Types: []string{codec.JSONType}, Answer: openapi.Model{Type: typeinfo.For[meta.VersionInfo]()},
	}}}}
	if authn.CheckIssuer(c.Authentication.ServiceAccounts.Issuers[0]) == nil { // else addIssuerPaths serves neither
		docs = append(docs, openapi.Document{Path: strings.TrimPrefix(authn.DiscoveryPath, "/"), Endpoints: []openapi.Endpoint{{
			Path: authn.DiscoveryPath + "/", Description: "get who issues the tokens of service accounts, and where the keys are that verify them",
			OperationID: "getServiceAccountIssuerOpenIDConfiguration", Tag: "WellKnown", Types: []string{codec.JSONType},
		}}}, openapi.Document{Path: strings.TrimPrefix(authn.KeysPath, "/"), Endpoints: []openapi.Endpoint{{
			Path: authn.KeysPath + "/", Description: "get the public keys that verify the tokens of service accounts",
			OperationID: "getServiceAccountIssuerOpenIDKeyset", Tag: "openid", Types: []string{keySetType},
		}}})
	}
	if c.Serving.Debug.LogDir != "" {
		docs = append(docs, openapi.Document{Path: "logs", Endpoints: []openapi.Endpoint{
			{Path: "/logs/", OperationID: "logFileListHandler", Tag: "logs"},
			{Path: "/logs/{logpath}", OperationID: "logFileHandler", Tag: "logs", Parameter: "path of a file or folder"},
		}})
	}
	return docs
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
