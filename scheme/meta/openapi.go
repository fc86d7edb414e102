package meta

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Only files that declare API types are needed for their comments; tests stay out of the binary.
//
//go:embed discovery.go gvk.go intstr.go labelselector.go objectmeta.go options.go quantity.go raw.go status.go table.go
//go:embed time.go typemeta.go version.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/meta", "io.k8s.apimachinery.pkg.apis.meta.v1", source)
}

// The OpenAPI methods state the model name (empty for the package's prefix and the Go name), type and format of types
// with a JSON form of their own; see typeinfo.OpenAPI.

// OpenAPI says that a Time is a date-time string.
func (Time) OpenAPI() (name, typ, format string) { return "", "string", "date-time" }

// OpenAPI says that a MicroTime is a date-time string.
func (MicroTime) OpenAPI() (name, typ, format string) { return "", "string", "date-time" }

// OpenAPI says that a Duration is a string.
func (Duration) OpenAPI() (name, typ, format string) { return "", "string", "" }

// OpenAPI says that FieldsV1 is any object.
func (FieldsV1) OpenAPI() (name, typ, format string) { return "", "object", "" }

// OpenAPI says that a Quantity is a string. Clients may send a number, too.
func (Quantity) OpenAPI() (name, typ, format string) {
	return "io.k8s.apimachinery.pkg.api.resource.Quantity", "string", ""
}

// OpenAPI says that an IntOrString is an int-or-string, which is a string in OpenAPI v2.
func (IntOrString) OpenAPI() (name, typ, format string) {
	return "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "string", "int-or-string"
}

// OpenAPI says that a RawExtension is any object.
func (RawExtension) OpenAPI() (name, typ, format string) {
	return "io.k8s.apimachinery.pkg.runtime.RawExtension", "object", ""
}
