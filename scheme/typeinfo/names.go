package typeinfo

import (
	"io/fs"
	"reflect"
	"strings"
	"sync"
)

// declared is a package of API types that was declared by Package. prefix begins the OpenAPI model
// names of its types. source is read once, when the first description is needed, and gives docs.
type declared struct {
	prefix string
	source fs.FS

	read sync.Once
	docs docs
}

var packages sync.Map // Go import path to *declared

// Package declares a package of API types: the prefix of its OpenAPI model names, such as
// "io.k8s.api.core.v1", and its Go source as gofmt writes it, from which Doc takes descriptions
// (nil for none). importPath is the import path of the package. Call Package in an init function of
// the package itself:
//
//	//go:embed types.go
//	var source embed.FS
//
//	func init() { typeinfo.Package("example.com/api/v1", "com.example.api.v1", source) }
//
// The models of a package that is not declared are named after its import path with the host
// reversed: example.com/api/v1 gives com.example.api.v1. Declare a package before its types are
// compiled, because names are part of the descriptors.
func Package(importPath, modelPrefix string, source fs.FS) {
	packages.Store(importPath, &declared{prefix: modelPrefix, source: source})
}

// OpenAPI is implemented by Custom types to state their schema in OpenAPI: the full model name
// (empty for the package's prefix and the Go name), and the type and format of the schema, each
// empty if the schema has none.
type OpenAPI interface {
	OpenAPI() (name, typ, format string)
}

// Model returns the OpenAPI type and format of a Custom type that implements OpenAPI. ok is false
// for other types.
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

// ModelName returns the name of the OpenAPI model of a struct or custom type, such as
// "io.k8s.api.core.v1.Pod". It is empty for types without a Go name.
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
