package v1beta1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "wardle.example.com", Version: "v1beta1"}

// Scheme registers the version.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &Flunder{}, &FlunderList{})
	scheme.AddDefaulting(s, setDefaults)
})

// Descriptions in OpenAPI are the comments of this source.
//
//go:embed types.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/cmd/wardle/v1beta1", "com.example.wardle.v1beta1", source)
}

// setDefaults sets the type that follows from the reference that is set.
func setDefaults(spec *FlunderSpec) {
	switch {
	case spec.ReferenceType != "":
	case spec.FlunderReference != "":
		spec.ReferenceType = FlunderReference
	case spec.FischerReference != "":
		spec.ReferenceType = FischerReference
	}
}
