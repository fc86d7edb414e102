package inspect

import (
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Documents returns the OpenAPI documents of the paths of this package that kube-apiserver
// documents: /version/, and /logs if c.LogDir is set. Descriptions and operation IDs are
// kube-apiserver's.
func Documents(c *Config) []openapi.Document {
	docs := []openapi.Document{{Path: "version", Endpoints: []openapi.Endpoint{{
		Path:        versionPath + "/",
		Description: "get the version of the server",
		OperationID: "getCodeVersion",
		Tag:         "version",
		Types:       []string{codec.JSONType},
		Response:    openapi.Model{Type: typeinfo.For[meta.VersionInfo]()},
	}}}}
	if c.LogDir != "" {
		docs = append(docs, openapi.Document{Path: "logs", Endpoints: []openapi.Endpoint{
			{Path: "/logs/", OperationID: "logFileListHandler", Tag: "logs"},
			{
				Path: "/logs/{logpath}", OperationID: "logFileHandler", Tag: "logs",
				Parameter: "path of a file or folder",
			},
		}})
	}
	return docs
}
