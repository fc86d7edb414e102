package extensions

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Convert returns an object in another version of its kind. It may change obj.
type Convert func(ctx context.Context, obj *scheme.Unstructured, version string) (*scheme.Unstructured, error)

// errNoConverter is the error of conversions by a webhook where there is nobody to call it.
var errNoConverter = errors.New("there is no converter")

// kindOf makes the kind of the objects of a definition: in all its versions, since objects may be stored in one that is not served.
func kindOf(def *v1.CustomResourceDefinition, webhook Convert) (kind.Kind, error) {
	d := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: def.Spec.Group, Kind: namesOf(def).Kind},
		Hubless:   true,
	}
	if c := def.Spec.Conversion; c != nil && c.Strategy == v1.WebhookConverter {
		if d.Convert = webhook; webhook == nil {
			d.Convert = func(context.Context, *scheme.Unstructured, string) (*scheme.Unstructured, error) {
				return nil, errNoConverter
			}
		}
	}
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		made := kind.DynamicVersion{Name: v.Name, Evolves: true}
		for _, f := range v.SelectableFields {
			made.Selectable = append(made.Selectable, strings.TrimPrefix(f.JSONPath, "."))
		}
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			packed, err := pack(v.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, fmt.Errorf("the schema of %s: %w", v.Name, err)
			}
			keepAll := def.Spec.PreserveUnknownFields
			made.Load = func() *schema.Schema { return packed.schema(keepAll) }
		}
		d.Versions = append(d.Versions, made)
		if v.Storage {
			d.Hub = v.Name
		}
	}
	slices.SortFunc(d.Versions, func(a, b kind.DynamicVersion) int { return scheme.CompareVersions(a.Name, b.Name) })
	return d.New()
}

// packed is the JSON of a schema, compressed: nobody may ever ask for it, and there may be hundreds.
type packed []byte

func pack(s *v1.JSONSchemaProps) (packed, error) {
	text, err := codec.AppendJSON(nil, s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil
}

// schema makes the schema. An update may leave one in place that has more than structural schemas have; that says nothing.
func (p packed) schema(keepAll bool) *schema.Schema {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(p)))
	if err != nil {
		return &schema.Schema{Type: schema.Object, PreserveUnknown: true, Resource: true}
	}
	s, _ := schema.Parse(nil, text)
	if keepAll {
		s.PreserveAll()
	}
	return s
}

// namesOf are those that the definition was granted, or wants, if nobody has looked into that yet.
func namesOf(def *v1.CustomResourceDefinition) *v1.CustomResourceDefinitionNames {
	if def.Status.AcceptedNames.Plural != "" {
		return &def.Status.AcceptedNames
	}
	return &def.Spec.Names
}

// fields are the selectable fields of all versions.
func fields(def *v1.CustomResourceDefinition) []registry.FieldValue {
	var out []registry.FieldValue
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		for _, f := range v.SelectableFields {
			path := strings.TrimPrefix(f.JSONPath, ".")
			out = append(out, registry.FieldValue{Label: path, Path: path, Version: v.Name})
		}
	}
	return out
}

// deprecations are what clients of deprecated versions are told.
func deprecations(def *v1.CustomResourceDefinition) []registry.Deprecation {
	var out []registry.Deprecation
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		if !v.Deprecated {
			continue
		}
		warning := defaultWarning(def, v.Name)
		if v.DeprecationWarning != nil {
			warning = *v.DeprecationWarning
		}
		out = append(out, registry.Deprecation{Version: v.Name, Warning: warning})
	}
	return out
}

// defaultWarning says that a version is deprecated, and which better one there is.
func defaultWarning(def *v1.CustomResourceDefinition, version string) string {
	text := fmt.Sprintf("%s/%s %s is deprecated", def.Spec.Group, version, def.Spec.Names.Kind)
	best := version
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		if v.Served && !v.Deprecated && scheme.CompareVersions(v.Name, best) < 0 {
			best = v.Name
		}
	}
	if best == version {
		return text
	}
	return fmt.Sprintf("%s; use %s/%s %s", text, def.Spec.Group, best, def.Spec.Names.Kind)
}
