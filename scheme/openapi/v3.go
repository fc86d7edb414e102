package openapi

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

const (
	v3Models = "#/components/schemas/"
	v2Models = "#/definitions/"
)

// v3 writes what was collected as OpenAPI 3.0.
func (b *builder) v3(info Info) []byte {
	var w writer
	w.open("", '{')
	w.open("components", '{')
	w.open("schemas", '{')
	for _, m := range b.sortedModels() {
		w.open(m.Name, '{')
		w.schema(m, true)
		w.close('}')
	}
	w.close('}')
	w.open("securitySchemes", '{')
	w.security()
	w.close('}')
	w.close('}')
	w.info(info)
	w.str("openapi", "3.0.0")
	w.open("paths", '{')
	for _, item := range b.finish() {
		w.open(item.path, '{')
		w.parametersV3(item.parameters)
		for i := range item.operations {
			w.operationV3(&item.operations[i])
		}
		w.close('}')
	}
	w.close('}')
	w.close('}')
	return w.b
}

func (w *writer) info(info Info) {
	w.open("info", '{')
	w.str("title", info.title())
	w.str("version", info.version())
	w.close('}')
}

func (i Info) title() string {
	if i.Title == "" {
		return "Kubernetes"
	}
	return i.Title
}

func (i Info) version() string {
	if i.Version == "" {
		return "unversioned"
	}
	return i.Version
}

const tokenDescription = "Bearer Token authentication"

// security writes the one security scheme.
func (w *writer) security() {
	w.open("BearerToken", '{')
	w.str("description", tokenDescription)
	w.str("in", "header")
	w.str("name", "authorization")
	w.str("type", "apiKey")
	w.close('}')
}

// schema writes the members of a schema's object.
func (w *writer) schema(s *schema.Schema, v3 bool) {
	if s.Model != nil {
		w.reference(s, v3, false)
	}
	w.members(s, v3)
}

// property writes the members of the schema of a property.
func (w *writer) property(s *schema.Schema, v3 bool) {
	if s.Model != nil {
		w.reference(s, v3, true)
	}
	w.members(s, v3)
}

func (w *writer) members(s *schema.Schema, v3 bool) {
	if s.AdditionalProperties != nil {
		w.open("additionalProperties", '{')
		w.schema(s.AdditionalProperties, v3)
		w.close('}')
	}
	if v3 && s.Default != nil {
		w.tree("default", s.Default)
	}
	w.text("description", s.Description)
	w.trees("enum", s.Enum)
	w.text("format", s.Format)
	if s.Items != nil {
		w.open("items", '{')
		w.schema(s.Items, v3)
		w.close('}')
	}
	if v3 && s.Nullable && s.Go == nil {
		w.boolean("nullable", true)
	}
	if v3 && len(s.Types) > 0 {
		w.open("oneOf", '[')
		for _, typ := range s.Types {
			w.open("", '{')
			w.str("type", typ)
			w.close('}')
		}
		w.close(']')
	}
	if len(s.Properties) > 0 {
		w.open("properties", '{')
		for _, name := range sortedKeys(s.Properties) {
			w.open(name, '{')
			w.property(s.Properties[name], v3)
			w.close('}')
		}
		w.close('}')
	}
	w.strs("required", s.Required)
	if !v3 || len(s.Types) == 0 {
		w.text("type", s.Type)
	}
	w.extensions(s)
}

// reference writes the use of a model. Version 3 lets nothing stand beside a reference, so properties, and elements
// with a default, wrap it.
func (w *writer) reference(s *schema.Schema, v3, property bool) {
	switch {
	case !v3:
		w.str("$ref", v2Models+s.Model.Name)
	case !property && s.Default == nil:
		w.str("$ref", v3Models+s.Model.Name)
	default:
		w.open("allOf", '[')
		w.open("", '{')
		w.str("$ref", v3Models+s.Model.Name)
		w.close('}')
		w.close(']')
	}
}

func (w *writer) extensions(s *schema.Schema) {
	if len(s.Kinds) > 0 {
		w.open("x-kubernetes-group-version-kind", '[')
		for _, kind := range s.Kinds {
			w.kind("", kind)
		}
		w.close(']')
	}
	w.strs("x-kubernetes-list-map-keys", s.ListKeys)
	w.text("x-kubernetes-list-type", s.ListType)
	w.text("x-kubernetes-map-type", s.MapType)
	w.text("x-kubernetes-patch-merge-key", s.PatchMergeKey)
	w.text("x-kubernetes-patch-strategy", s.PatchStrategy)
}

func (w *writer) kind(key string, kind meta.GroupVersionKind) {
	w.open(key, '{')
	w.str("group", kind.Group)
	w.str("kind", kind.Kind)
	w.str("version", kind.Version)
	w.close('}')
}

func (w *writer) parametersV3(parameters []parameter) {
	if len(parameters) == 0 {
		return
	}
	w.open("parameters", '[')
	for _, p := range parameters {
		w.open("", '{')
		w.text("description", p.description)
		w.str("in", p.in)
		w.str("name", p.name)
		if p.required {
			w.boolean("required", true)
		}
		w.open("schema", '{')
		w.str("type", p.typ)
		w.boolean("uniqueItems", true)
		w.close('}')
		w.close('}')
	}
	w.close(']')
}

func (w *writer) operationV3(op *operation) {
	w.open(op.method, '{')
	w.text("description", op.description)
	w.str("operationId", op.id)
	w.parametersV3(op.parameters)
	if op.body != nil {
		w.open("requestBody", '{')
		w.contentV3(op.consumes, op.body)
		if !op.optional {
			w.boolean("required", true)
		}
		w.close('}')
	}
	w.open("responses", '{')
	for _, a := range op.answers {
		w.open(a.code, '{')
		if a.code != "401" {
			w.contentV3(op.produces, a.model)
		}
		w.str("description", a.text)
		w.close('}')
	}
	w.close('}')
	w.operationEnd(op)
	w.close('}')
}

// operationEnd writes what both versions have at the end of an operation.
func (w *writer) operationEnd(op *operation) {
	w.strs("tags", []string{op.tag})
	if op.action != "" {
		w.str("x-kubernetes-action", op.action)
		w.kind("x-kubernetes-group-version-kind", op.kind)
	}
}

// contentV3 writes the content of a body in each media type; no model stands for text.
func (w *writer) contentV3(types []string, model *schema.Schema) {
	w.open("content", '{')
	for _, typ := range slices.Sorted(slices.Values(types)) {
		w.open(typ, '{')
		w.open("schema", '{')
		if model != nil {
			w.str("$ref", v3Models+model.Name)
		} else {
			w.str("type", schema.String)
		}
		w.close('}')
		w.close('}')
	}
	w.close('}')
}
