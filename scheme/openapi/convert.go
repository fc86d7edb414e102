package openapi

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Conversion of documents of other servers from version 2 to version 3, as kube-aggregator does it
// for servers that publish only version 2. AppendV3JSON calls appendConverted.
//
// No reference in the result is broken by the conversion: references are converted wherever they
// stand, shared parameters move to the components, and shared bodies into the operations. Forms,
// headers and examples of responses, and security schemes other than API keys are not converted,
// because no API server of Kubernetes describes them: they stay as they are or are left out.
//
// What becomes of the parts of version 2:
//
//	definitions             components.schemas
//	parameters, no bodies   components.parameters
//	body parameters         requestBody of each operation that has or shares them
//	responses               components.responses
//	securityDefinitions     components.securitySchemes, API keys only
//	consumes, produces      the keys of content
//	info, externalDocs      the same

// converter writes a document of version 2 as version 3.
type converter struct {
	writer
	from *Swagger
	// consumes and produces are the media types of operations that do not name any.
	consumes, produces []string
	full               int // the length of b from which on contents are left out
}

// maxContents is the length in bytes from which on a converted document has no more contents. A
// content is repeated for each media type, and that of a shared body in each operation, so a small
// document could become a very large one.
const maxContents = 32 << 20

// appendConverted appends a document of version 2, which Swagger.Below made, to dst as one of
// version 3.
func appendConverted(dst []byte, info Info, document []byte) []byte {
	from, err := ReadSwagger(document)
	if err != nil { // Below did not make the document
		from = &Swagger{}
	}
	c := converter{
		writer: writer{dst, true}, from: from, full: len(dst) + maxContents,
		consumes: mediaTypes(from.whole["consumes"]), produces: mediaTypes(from.whole["produces"]),
	}
	for _, types := range []*[]string{&c.consumes, &c.produces} {
		if len(*types) == 0 {
			*types = anyType
		}
	}
	c.document(info)
	return c.b
}

// document writes the whole document.
func (c *converter) document(info Info) {
	c.open("", '{')
	c.open("components", '{')
	c.named("parameters", c.from.parameters, func(name string, value map[string]any) {
		if value["in"] != "body" {
			c.member(name)
			c.parameter(value)
		}
	})
	c.named("responses", c.from.responses, func(name string, value map[string]any) {
		c.member(name)
		c.response(value, nil)
	})
	c.named("schemas", c.from.definitions, func(name string, value map[string]any) {
		c.schemaTree(name, value)
	})
	schemes, _ := c.from.whole["securityDefinitions"].(map[string]any)
	c.named("securitySchemes", schemes, func(name string, value map[string]any) {
		if value["type"] == "apiKey" {
			c.member(name)
			c.fields(value, "description", "in", "name", "type")
			c.close('}')
		}
	})
	c.close('}')
	c.fields(c.from.whole, "externalDocs")
	if said := c.from.whole["info"]; said != nil {
		c.tree("info", said)
	} else {
		c.info(info)
	}
	c.str("openapi", "3.0.0")
	c.open("paths", '{')
	for _, name := range jsontext.Keys(c.from.paths) {
		c.member(name)
		c.path(c.from.paths[name].(map[string]any))
	}
	c.close('}')
	c.close('}')
}

// named writes the member key with one object for each name, or nothing if there are no objects.
func (c *converter) named(key string, objects map[string]any, write func(name string, value map[string]any)) {
	if len(objects) == 0 {
		return
	}
	c.open(key, '{')
	for _, name := range jsontext.Keys(objects) {
		write(name, objects[name].(map[string]any))
	}
	c.close('}')
}

// fields writes those of the named fields that the object has.
func (c *converter) fields(object map[string]any, names ...string) {
	for _, name := range names {
		if value, ok := object[name]; ok {
			c.tree(name, value)
		}
	}
}

// custom writes the extensions of an object: the fields that begin with x-.
func (c *converter) custom(object map[string]any) {
	for _, name := range jsontext.Keys(object) {
		if strings.HasPrefix(strings.ToLower(name), "x-") {
			c.tree(name, object[name])
		}
	}
}

// path writes the members of a path and closes it. Version 3 has no body that all methods of a path
// share, so the body moves into the operations.
func (c *converter) path(path map[string]any) {
	c.fields(path, "$ref")
	common, body := c.splitBody(path["parameters"])
	c.parameters(common)
	for _, method := range methodNames {
		if op, ok := path[method].(map[string]any); ok {
			c.open(method, '{')
			c.operation(op, body)
		}
	}
	c.custom(path)
	c.close('}')
}

// operation writes the members of an operation and closes it. body is the body parameter of the
// path, nil if there is none.
func (c *converter) operation(op, body map[string]any) {
	c.fields(op, "deprecated", "description", "externalDocs", "operationId")
	parameters, own := c.splitBody(op["parameters"])
	if own != nil {
		body = own
	}
	c.parameters(parameters)
	if body != nil {
		c.open("requestBody", '{')
		c.content(body["schema"], op["consumes"], c.consumes)
		if !c.isFull() {
			c.fields(body, "description", "required")
		}
		c.close('}')
	}
	responses, _ := op["responses"].(map[string]any)
	c.open("responses", '{')
	for _, code := range jsontext.Keys(responses) {
		c.open(code, '{')
		c.response(responses[code].(map[string]any), op["produces"])
	}
	c.close('}')
	c.fields(op, "summary", "tags")
	c.custom(op)
	c.close('}')
}

// splitBody splits a list of parameters, which may be references: it returns those that are no
// bodies, and the first body, nil if there is none.
func (c *converter) splitBody(list any) (rest []map[string]any, body map[string]any) {
	parameters, _ := list.([]any)
	for _, value := range parameters {
		p := value.(map[string]any)
		to := p
		ref, _ := p["$ref"].(string)
		if name, ok := strings.CutPrefix(ref, v2Parameters); ok {
			to, _ = c.from.parameters[name].(map[string]any)
		}
		switch {
		case to["in"] != "body":
			rest = append(rest, p)
		case body == nil:
			body = to
		}
	}
	return rest, body
}

// parameters writes a list of parameters, or nothing if it is empty.
func (c *converter) parameters(list []map[string]any) {
	if len(list) == 0 {
		return
	}
	c.open("parameters", '[')
	for _, p := range list {
		c.open("", '{')
		c.parameter(p)
	}
	c.close(']')
}

// valueKeys are the members of a simple parameter that belong to its schema in version 3.
var valueKeys = []string{
	"default", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maxLength",
	"maximum", "minItems", "minLength", "minimum", "multipleOf", "pattern", "type", "uniqueItems",
}

// parameter writes the members of a parameter and closes it.
func (c *converter) parameter(p map[string]any) {
	if !c.reference(p, v2Parameters, v3Parameters) {
		c.fields(p, "allowEmptyValue", "description", "in", "name", "required")
		schema, ok := p["schema"]
		if !ok {
			simple := map[string]any{}
			for _, key := range valueKeys {
				if value, ok := p[key]; ok {
					simple[key] = value
				}
			}
			schema = simple
		}
		c.schemaTree("schema", schema)
		c.custom(p)
	}
	c.close('}')
}

// response writes the members of a response and closes it.
func (c *converter) response(r map[string]any, produces any) {
	if !c.reference(r, v2Responses, v3Responses) {
		if schema := r["schema"]; schema != nil {
			c.content(schema, produces, c.produces)
		}
		if r["description"] == nil { // version 3 requires it
			c.str("description", "")
		}
		c.fields(r, "description")
		c.custom(r)
	}
	c.close('}')
}

// reference writes the object if it is a reference, with its target converted, and reports whether
// it is one. All other members of a reference are ignored.
func (c *converter) reference(object map[string]any, from, to string) bool {
	ref, ok := object["$ref"].(string)
	if name, here := strings.CutPrefix(ref, from); here {
		ref = to + name
	}
	if ok {
		c.str("$ref", ref)
	}
	return ok
}

// content writes the schema of a body, which may be nil, for each media type in list or, if list is
// empty, in others.
func (c *converter) content(schema, list any, others []string) {
	types := mediaTypes(list)
	if len(types) == 0 {
		types = others
	}
	c.open("content", '{')
	for _, typ := range types {
		if c.isFull() {
			break
		}
		c.member(typ)
		if schema != nil {
			c.schemaTree("schema", schema)
		}
		c.close('}')
	}
	c.close('}')
}

// isFull reports whether contents are left out because the document has become too long.
func (c *converter) isFull() bool { return len(c.b) >= c.full }

// mediaTypes returns the strings in a list, sorted and each once.
func mediaTypes(list any) (types []string) {
	values, _ := list.([]any)
	for _, v := range values {
		types = append(types, v.(string))
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// schemaTree writes a schema and converts its references in place.
func (c *converter) schemaTree(key string, schema any) {
	swaggerShapes().schema(refer, schema)
	c.name(key)
	c.b = appendTree(c.b, schema)
}

// refer converts the reference of a schema. Version 3 allows no other member beside a reference, so
// it moves into allOf if there are others.
func refer(schema map[string]any) {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return
	}
	if name, here := strings.CutPrefix(ref, v2Models); here {
		ref = v3Models + name
	}
	if schema["$ref"] = ref; len(schema) > 1 {
		delete(schema, "$ref")
		all, _ := schema["allOf"].([]any)
		schema["allOf"] = append(slices.Clip(all), map[string]any{"$ref": ref})
	}
}
