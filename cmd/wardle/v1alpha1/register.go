package v1alpha1

import (
	"embed"

	"github.com/coracle-project/coracle/cmd/wardle/hub"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "wardle.example.com", Version: "v1alpha1"}

// Scheme registers the version.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &Flunder{}, &FlunderList{}, &Fischer{}, &FischerList{})
	scheme.AddDefaulting(s, setDefaults)
	scheme.AddConversion(s, toHub)
	scheme.AddConversion(s, fromHub)
})

// Descriptions in OpenAPI are the comments of this source.
//
//go:embed types.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/cmd/wardle/v1alpha1", "com.example.wardle.v1alpha1", source)
}

// setDefaults makes Flunder the type of a reference that has none.
func setDefaults(spec *FlunderSpec) {
	if spec.Reference != "" && (spec.ReferenceType == nil || *spec.ReferenceType == "") {
		t := ReferenceType(hub.FlunderReference)
		spec.ReferenceType = &t
	}
}

// toHub puts the reference into the hub's field for its type. It accepts an unknown type, which
// validation reports together with all other mistakes.
func toHub(in *FlunderSpec, out *hub.FlunderSpec) error {
	if in.ReferenceType != nil {
		out.ReferenceType = hub.ReferenceType(*in.ReferenceType)
	}
	if out.ReferenceType == hub.FischerReference {
		out.FischerReference = in.Reference
	} else {
		out.FlunderReference = in.Reference
	}
	out.Priority = in.Priority
	return nil
}

// fromHub is the reverse of toHub. The hub has at most one reference, so nothing is lost.
func fromHub(in *hub.FlunderSpec, out *FlunderSpec) error {
	out.Reference = in.FlunderReference
	if in.ReferenceType == hub.FischerReference {
		out.Reference = in.FischerReference
	}
	if in.ReferenceType != "" {
		t := ReferenceType(in.ReferenceType)
		out.ReferenceType = &t
	}
	out.Priority = in.Priority
	return nil
}
