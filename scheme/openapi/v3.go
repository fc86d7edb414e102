package openapi

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Writing version 3, and what versions 2 and 3 have in common. AppendV3JSON calls writeV3.

// Prefixes of references in both versions.
const (
	v3Models, v3Parameters, v3Responses = "#/components/schemas/", "#/components/parameters/", "#/components/responses/"
	v2Models, v2Parameters, v2Responses = "#/definitions/", "#/parameters/", "#/responses/"
)

// kindsKey is the extension in which models name their kinds, and operations the kind that they act
// on.
const kindsKey = "x-kubernetes-group-version-kind"

// writeV3 appends everything that was collected as OpenAPI 3.0 to dst. Members are in the order of
// their names: components (schemas, securitySchemes), info, openapi, paths.
func (b *builder) writeV3(dst []byte, info Info) []byte {
	w := writer{dst, true}
	w.open("", '{')
	w.open("components", '{')
	if len(b.models) > 0 {
		w.open("schemas", '{')
		b.writeModels(&w, info)
		w.close('}')
	}
	if !b.alone {
		w.open("securitySchemes", '{')
		w.security()
		w.close('}')
	}
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

// info writes the description of the server.
func (w *writer) info(info Info) {
	w.open("info", '{')
	w.str("title", info.title())
	w.str("version", info.version())
	w.close('}')
}

// title returns the title, or its default.
func (i Info) title() string {
	if i.Title == "" {
		return "Kubernetes"
	}
	return i.Title
}

// version returns the version, or its default.
func (i Info) version() string {
	if i.Version == "" {
		return "unversioned"
	}
	return i.Version
}

// tokenDescription is the description of the security scheme in kube-apiserver.
const tokenDescription = "Bearer Token authentication"

// security writes the only security scheme.
func (w *writer) security() {
	w.open("BearerToken", '{')
	w.str("description", tokenDescription)
	w.str("in", "header")
	w.str("name", "authorization")
	w.str("type", "apiKey")
	w.close('}')
}

// kind writes a kind as an object.
func (w *writer) kind(key string, kind meta.GroupVersionKind) {
	w.open(key, '{')
	w.str("group", kind.Group)
	w.str("kind", kind.Kind)
	w.str("version", kind.Version)
	w.close('}')
}

// parametersV3 writes a list of parameters unless it is empty.
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

// operationV3 writes one operation.
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
	for _, a := range op.responses {
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

// operationEnd writes the members that end an operation in both versions.
func (w *writer) operationEnd(op *operation) {
	w.strs("tags", []string{op.tag})
	if op.action != "" {
		w.str("x-kubernetes-action", op.action)
		w.kind(kindsKey, op.kind)
	}
}

// contentV3 writes the content of a body for each media type. No model means text.
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
