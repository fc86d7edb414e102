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

// Outline is a CustomResourceDefinition whose schemas are left as text. Nearly all of a definition
// is schemas: whoever has to know the rest, or to write the status, reads it as an Outline, in a
// small part of the time and memory.
type Outline struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty"`
	// The resource as it is wanted.
	Spec OutlineSpec `json:"spec"`
	// The resource as it is served.
	Status v1.CustomResourceDefinitionStatus `json:"status,omitempty"`
}

// OutlineSpec is a CustomResourceDefinitionSpec, field by field.
type OutlineSpec struct {
	Group                 string                           `json:"group"`
	Names                 v1.CustomResourceDefinitionNames `json:"names"`
	Scope                 v1.ResourceScope                 `json:"scope"`
	Versions              []OutlineVersion                 `json:"versions" list:"atomic"`
	Conversion            *v1.CustomResourceConversion     `json:"conversion,omitempty"`
	PreserveUnknownFields bool                             `json:"preserveUnknownFields,omitempty"`
}

// OutlineVersion is a CustomResourceDefinitionVersion, field by field.
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

// OutlineSchema is a CustomResourceValidation whose schema nobody has looked into.
type OutlineSchema struct {
	OpenAPIV3Schema *meta.RawExtension `json:"openAPIV3Schema,omitempty"`
}

// Outlines declares the resource customresourcedefinitions for writes of statuses by the server
// itself. It is for registry.Store.Through.
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

// Schema returns the schema of a version as JSON, nil if there is none.
func (o *Outline) Schema(version string) []byte {
	i := slices.IndexFunc(o.Spec.Versions, func(v OutlineVersion) bool { return v.Name == version })
	if i < 0 || o.Spec.Versions[i].Schema == nil || o.Spec.Versions[i].Schema.OpenAPIV3Schema == nil {
		return nil
	}
	return o.Spec.Versions[i].Schema.OpenAPIV3Schema.Raw
}

// Definition returns the definition without its schemas, and without managedFields. It shares no
// memory with o, nor with the text that o was decoded from, which is long: whoever keeps it keeps
// nothing else. One that is older than structural schemas has them: its status says what is wrong
// with them.
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
