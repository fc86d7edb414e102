package meta

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The comments of these files become descriptions in OpenAPI. Only files that declare API types are
// embedded; tests stay out of the binary.
//
//go:embed discovery.go gvk.go intstr.go labelselector.go objectmeta.go options.go quantity.go
//go:embed raw.go status.go table.go time.go typemeta.go version.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/meta", "io.k8s.apimachinery.pkg.apis.meta.v1", source)
}

// Each OpenAPI method returns the name of the model (empty means the prefix of the package and the
// Go name), the type and the format of a type with its own JSON form; see typeinfo.OpenAPI.

// OpenAPI describes a Time as a date-time string.
func (Time) OpenAPI() (name, typ, format string) { return "", "string", "date-time" }

// OpenAPI describes a MicroTime as a date-time string.
func (MicroTime) OpenAPI() (name, typ, format string) { return "", "string", "date-time" }

// OpenAPI describes a Duration as a string.
func (Duration) OpenAPI() (name, typ, format string) { return "", "string", "" }

// OpenAPI describes FieldsV1 as any object.
func (FieldsV1) OpenAPI() (name, typ, format string) { return "", "object", "" }

// OpenAPI describes a Quantity as a string, although clients may send a number, too.
func (Quantity) OpenAPI() (name, typ, format string) {
	return "io.k8s.apimachinery.pkg.api.resource.Quantity", "string", ""
}

// OpenAPI describes an IntOrString as int-or-string, which is a string in OpenAPI v2.
func (IntOrString) OpenAPI() (name, typ, format string) {
	return "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "string", "int-or-string"
}

// OpenAPI describes a RawExtension as any object.
func (RawExtension) OpenAPI() (name, typ, format string) {
	return "io.k8s.apimachinery.pkg.runtime.RawExtension", "object", ""
}
