package openapi

import (
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// writeV2 returns everything that was collected as Swagger 2.0. Members are in the order of their
// names: definitions, info, parameters, paths, security, securityDefinitions, swagger.
func (b *builder) writeV2(info Info) []byte {
	var w writer
	w.open("", '{')
	w.open("definitions", '{')
	b.writeModels(&w, info)
	w.close('}')
	w.info(info)
	items := b.finish()
	shared := sharedParameters(items)
	w.open("parameters", '{')
	for _, key := range jsontext.Keys(shared) {
		w.parameterV2(key, shared[key])
	}
	w.close('}')
	w.open("paths", '{')
	for _, item := range items {
		w.open(item.path, '{')
		if len(item.parameters) > 0 {
			w.open("parameters", '[')
			w.parametersV2(item.parameters, shared)
			w.close(']')
		}
		for i := range item.operations {
			w.operationV2(&item.operations[i], shared)
		}
		w.close('}')
	}
	w.close('}')
	w.open("security", '[')
	w.open("", '{')
	w.open("BearerToken", '[')
	w.close(']')
	w.close('}')
	w.close(']')
	w.open("securityDefinitions", '{')
	w.security()
	w.close('}')
	w.str("swagger", "2.0")
	w.close('}')
	return w.b
}

// sharedParameters returns, by name, the parameters that operations refer to instead of repeating
// them. dryRun and fieldValidation are always repeated, because kubectl looks for them by name and
// follows no references. Of parameters with the same name but different descriptions, all but the
// first are repeated.
func sharedParameters(items []*pathItem) map[string]parameter {
	shared := map[string]parameter{}
	add := func(parameters []parameter) {
		for _, p := range parameters {
			if p.name == "dryRun" || p.name == "fieldValidation" {
				continue
			}
			if _, ok := shared[p.name]; !ok {
				shared[p.name] = p
			}
		}
	}
	for _, item := range items {
		add(item.parameters)
		for i := range item.operations {
			add(item.operations[i].parameters)
		}
	}
	return shared
}

// parametersV2 writes the elements of a list of parameters: a reference for each parameter in
// shared, and the parameter itself for all others.
func (w *writer) parametersV2(parameters []parameter, shared map[string]parameter) {
	for _, p := range parameters {
		if shared[p.name] == p {
			w.open("", '{')
			w.str("$ref", v2Parameters+p.name)
			w.close('}')
		} else {
			w.parameterV2("", p)
		}
	}
}

// parameterV2 writes one parameter.
func (w *writer) parameterV2(key string, p parameter) {
	w.open(key, '{')
	w.text("description", p.description)
	w.str("in", p.in)
	w.str("name", p.name)
	if p.required {
		w.boolean("required", true)
	}
	w.str("type", p.typ)
	w.boolean("uniqueItems", true)
	w.close('}')
}

// operationV2 writes one operation, with its members in the order of their names. It refers to the
// parameters in shared (see sharedParameters) and writes out all others. A response without a model
// is text; a response with the code 401 has no schema at all.
func (w *writer) operationV2(op *operation, shared map[string]parameter) {
	w.open(op.method, '{')
	w.strs("consumes", op.consumes)
	w.text("description", op.description)
	w.str("operationId", op.id)
	if op.body != nil || len(op.parameters) > 0 {
		w.open("parameters", '[')
		if op.body != nil {
			w.bodyV2(op.body, !op.optional)
		}
		w.parametersV2(op.parameters, shared)
		w.close(']')
	}
	w.strs("produces", op.produces)
	w.open("responses", '{')
	for _, a := range op.responses {
		w.open(a.code, '{')
		w.str("description", a.text)
		if a.code != "401" {
			w.open("schema", '{')
			if a.model != nil {
				w.str("$ref", v2Models+a.model.Name)
			} else {
				w.str("type", schema.String)
			}
			w.close('}')
		}
		w.close('}')
	}
	w.close('}')
	w.strs("schemes", []string{"https"})
	w.operationEnd(op)
	w.close('}')
}

// bodyV2 writes a body, which is a parameter in version 2.
func (w *writer) bodyV2(body *schema.Schema, required bool) {
	w.open("", '{')
	w.str("in", "body")
	w.str("name", "body")
	if required {
		w.boolean("required", true)
	}
	w.open("schema", '{')
	w.str("$ref", v2Models+body.Name)
	w.close('}')
	w.close('}')
}
