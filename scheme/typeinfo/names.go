package typeinfo

import (
	"io/fs"
	"reflect"
	"strings"
	"sync"
)

// A declared package of API types: the prefix of its model names and its source.
type declared struct {
	prefix string
	source fs.FS

	read sync.Once
	docs docs
}

var packages sync.Map // Go import path to *declared

// Package declares a package of API types: the prefix of its OpenAPI model names, such as
// "io.k8s.api.core.v1", and its Go source as gofmt writes it, from which descriptions are taken
// (see Doc; nil for none). The import path is that of a type of the package, as Go spells it. Call
// it in an init function of the package itself:
//
//	//go:embed types.go
//	var source embed.FS
//
//	func init() { typeinfo.Package("example.com/api/v1", "com.example.api.v1", source) }
//
// A package that is not declared names its models after its import path, the host reversed. Declare
// before the package's types are first described: names are part of the compiled descriptors.
func Package(importPath, modelPrefix string, source fs.FS) {
	packages.Store(importPath, &declared{prefix: modelPrefix, source: source})
}

// OpenAPI is implemented by custom types that say how they look in OpenAPI: the full model name
// (empty for the package's prefix and the Go name) and the type and format of the schema, empty
// where there is none.
type OpenAPI interface {
	OpenAPI() (name, typ, format string)
}

// Model returns the OpenAPI type and format that a Custom type states, and whether it states any.
func (t *Type) Model() (typ, format string, ok bool) {
	if t.Kind != Custom {
		return "", "", false
	}
	shape, ok := reflect.New(t.Go).Interface().(OpenAPI)
	if !ok {
		return "", "", false
	}
	_, typ, format = shape.OpenAPI()
	return typ, format, true
}

// ModelName returns the OpenAPI name of a struct or custom type; types without a Go name have none.
func ModelName(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	if !embedsTagged(t) {
		if shape, ok := reflect.New(t).Interface().(OpenAPI); ok {
			if name, _, _ := shape.OpenAPI(); name != "" {
				return name
			}
		}
	}
	if pkg, ok := packages.Load(t.PkgPath()); ok {
		return pkg.(*declared).prefix + "." + t.Name()
	}
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(host, ".")
	var name strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		name.WriteString(parts[i] + ".")
	}
	if path != "" {
		name.WriteString(strings.ReplaceAll(path, "/", ".") + ".")
	}
	return name.String() + t.Name()
}
