package extensions

import (
	"encoding/json"
	"fmt"
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

// SchemaTexts returns the schema of a version as JSON, nil if the version has none. A kind calls
// SchemaTexts when it needs the schema, and calls it again if it has dropped the compiled schema
// meanwhile. It must be safe for concurrent use.
type SchemaTexts func(version string) []byte

// kindOf makes the kind of the instances of def, with all its versions: an object may be stored in
// a version that is not served. The schema of a version is compiled at its first use. Versions are
// sorted as in discovery: stable before beta before alpha.
func kindOf(def *v1.CustomResourceDefinition, texts SchemaTexts, hook *Webhook) (kind.Kind, error) {
	d := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: def.Spec.Group, Kind: namesOf(def).Kind},
		Hubless:   true, ClusterScoped: def.Spec.Scope == v1.ClusterScoped,
	}
	if c := def.Spec.Conversion; c != nil && c.Strategy == v1.WebhookConverter {
		d.Convert = newConverter(def, hook).convert
	}
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		made := kind.DynamicVersion{Name: v.Name, Evolves: true}
		for _, f := range v.SelectableFields {
			made.Selectable = append(made.Selectable, strings.TrimPrefix(f.JSONPath, "."))
		}
		keepAll, name := def.Spec.PreserveUnknownFields, v.Name
		made.Load = func() *schema.Schema { return parse(texts(name), keepAll) }
		d.Versions = append(d.Versions, made)
		if v.Storage {
			d.Hub = v.Name
		}
	}
	slices.SortFunc(d.Versions, func(a, b kind.DynamicVersion) int { return scheme.CompareVersions(a.Name, b.Name) })
	return d.New()
}

// textsOf returns the SchemaTexts of a definition that has its schemas.
func textsOf(def *v1.CustomResourceDefinition) (SchemaTexts, error) {
	texts := map[string][]byte{}
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		text, err := codec.AppendJSON(nil, v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", v.Name, err)
		}
		texts[v.Name] = text
	}
	return func(version string) []byte { return texts[version] }, nil
}

// parse compiles a schema. A nil text is a version without a schema, which allows everything.
// Errors of the schema are ignored: they were allowed when the definition was written, as
// violations that it had before. keepAll says that the definition preserves unknown fields, which
// only a definition that is older than structural schemas does.
func parse(text []byte, keepAll bool) *schema.Schema {
	if text == nil {
		return &schema.Schema{Type: schema.Object, PreserveUnknown: true, Resource: true, Unpublished: true}
	}
	s, _ := schema.Parse(nil, text)
	if keepAll {
		s.PreserveAll()
		s.Unpublished = !isStructural(text)
	}
	return s
}

// isStructural reports whether a schema, as JSON, is structural. kube-apiserver publishes no other
// schemas in OpenAPI.
func isStructural(text []byte) bool {
	var s v1.JSONSchemaProps
	return json.Unmarshal(text, &s) == nil && foreignField(&s) == "" && !anyIn(&s, hasUnknownType) &&
		len(validateStructural(nil, &s)) == 0
}

// namesOf returns the accepted names of a definition, or the names that it wants if UpdateStatus
// has not decided yet.
func namesOf(def *v1.CustomResourceDefinition) *v1.CustomResourceDefinitionNames {
	if def.Status.AcceptedNames.Plural != "" {
		return &def.Status.AcceptedNames
	}
	return &def.Spec.Names
}

// fields returns the selectable fields of all versions. The label that clients use in a field
// selector is the path without its leading dot.
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

// deprecations returns the deprecated versions, each with the text that clients get in the header
// Warning.
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

// defaultWarning returns the warning for a deprecated version whose definition has none. It names
// the preferred version among those that are served and not deprecated, if it is preferred to
// version: "example.com/v1beta1 Ship is deprecated; use example.com/v1 Ship".
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
