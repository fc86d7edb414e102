package extensions

import (
	"encoding/json"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Outline is a CustomResourceDefinition whose schemas are left undecoded. Schemas are nearly all of
// a definition, so reading an Outline takes a small part of the time and memory. server/definitions
// reads definitions as Outlines, and writes their statuses as Outlines.
type Outline struct {
	meta.TypeMeta `json:",inline"`
	// ObjectMeta is the metadata that all objects have.
	meta.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the resource that the definition asks for.
	Spec OutlineSpec `json:"spec"`
	// Status is the state of the resource that is served.
	Status v1.CustomResourceDefinitionStatus `json:"status,omitempty"`
}

// OutlineSpec is a CustomResourceDefinitionSpec, field by field. A field that is missing here would
// be lost when the server writes a status.
type OutlineSpec struct {
	Group                 string                           `json:"group"`
	Names                 v1.CustomResourceDefinitionNames `json:"names"`
	Scope                 v1.ResourceScope                 `json:"scope"`
	Versions              []OutlineVersion                 `json:"versions" list:"atomic"`
	Conversion            *v1.CustomResourceConversion     `json:"conversion,omitempty"`
	PreserveUnknownFields bool                             `json:"preserveUnknownFields,omitempty"`
}

// OutlineVersion is a CustomResourceDefinitionVersion, field by field, whose schema is undecoded.
type OutlineVersion struct {
	Name                     string                              `json:"name"`
	Served                   bool                                `json:"served"`
	Storage                  bool                                `json:"storage"`
	Deprecated               bool                                `json:"deprecated,omitempty"`
	DeprecationWarning       *string                             `json:"deprecationWarning,omitempty"`
	Schema                   *OutlineSchema                      `json:"schema,omitempty"`
	Subresources             *v1.CustomResourceSubresources      `json:"subresources,omitempty"`
	AdditionalPrinterColumns []v1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty" list:"atomic"`
	SelectableFields         []v1.SelectableField                `json:"selectableFields,omitempty" list:"atomic"`
}

// OutlineSchema is a CustomResourceValidation whose schema is JSON.
type OutlineSchema struct {
	OpenAPIV3Schema *meta.RawExtension `json:"openAPIV3Schema,omitempty"`
}

// Outlines declares the resource customresourcedefinitions with Outline as its type, for the
// statuses that the server itself writes. The declaration has no validation, and no client gets to
// it: use it with registry.Store.Through.
func Outlines() (registry.Resource, error) {
	s := scheme.New()
	s.AddLazy(func(s *scheme.Scheme) { s.AddKnownType(v1.GroupVersion.WithKind(definitionKind), &Outline{}) })
	if err := s.Complete(); err != nil {
		return registry.Resource{}, err
	}
	return registry.Typed(registry.ResourceOf[*Outline]{
		GroupResource: meta.GroupResource{Group: v1.GroupVersion.Group, Resource: "customresourcedefinitions"},
		Kind:          definitionKind,
		Type: kind.NewTypes(s, codec.NewFactory(s)).
			Kind(meta.GroupKind{Group: v1.GroupVersion.Group, Kind: definitionKind}),
		Strategy:     registry.StrategyOf[*Outline]{Metadata: registry.MetaCompare},
		Status:       &registry.StatusOf[*Outline]{},
		StoredAsJSON: true,
	}), nil
}

// Schema returns the schema of a version as JSON, nil if the version has none. The bytes are shared
// with o.
func (o *Outline) Schema(version string) []byte {
	i := slices.IndexFunc(o.Spec.Versions, func(v OutlineVersion) bool { return v.Name == version })
	if i < 0 || o.Spec.Versions[i].Schema == nil || o.Spec.Versions[i].Schema.OpenAPIV3Schema == nil {
		return nil
	}
	return o.Spec.Versions[i].Schema.OpenAPIV3Schema.Raw
}

// Definition returns the definition without its schemas and without managedFields. It shares no
// memory with o or with the text that o was decoded from, so keeping the definition does not keep
// that text. If the definition preserves unknown fields, it has its schemas, because
// ValidateRequest reports what is wrong with them.
func (o *Outline) Definition() (*v1.CustomResourceDefinition, error) {
	bare := *o
	bare.ManagedFields = nil
	bare.Spec.Versions = slices.Clone(o.Spec.Versions)
	for i := range bare.Spec.Versions {
		if !o.Spec.PreserveUnknownFields {
			bare.Spec.Versions[i].Schema = nil
		}
	}
	text, err := codec.AppendJSON(nil, &bare)
	if err != nil {
		return nil, err
	}
	def := &v1.CustomResourceDefinition{}
	return def, json.Unmarshal(text, def)
}
