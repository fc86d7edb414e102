package openapi

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// What a server behind this one says in version 2 only is converted to version 3, as kube-aggregator does. Here the result has no
// references that lead nowhere: all are converted, wherever they stand, and the parameters that operations share are there, their
// bodies in the operations. Forms, the headers and examples of answers, and what a server wants to know of its users, other than keys,
// are nothing that an API server of Kubernetes describes: these are as they were, or left out.

// converter writes a document of version 2 as version 3.
type converter struct {
	writer
	from *Swagger
	// consumes and produces are the media types of operations that name none.
	consumes, produces []string
	full               int // the length from which on no contents are written
}

// maxContents is how long a converted document gets before contents are left out, in bytes. Each is written for every media type, and
// those of a shared body in every operation, so that a small document could become a very large one.
const maxContents = 32 << 20

// appendConverted appends a document of version 2, made by Below, as one of version 3 to dst.
func appendConverted(dst []byte, info Info, document []byte) []byte {
	from, err := ReadSwagger(document)
	if err != nil { // it was made by somebody else
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

// named writes objects by name, unless there are none.
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

// fields writes those fields of an object that it has.
func (c *converter) fields(object map[string]any, names ...string) {
	for _, name := range names {
		if value, ok := object[name]; ok {
			c.tree(name, value)
		}
	}
}

// custom writes the fields of an object that the specification does not know.
func (c *converter) custom(object map[string]any) {
	for _, name := range jsontext.Keys(object) {
		if strings.HasPrefix(strings.ToLower(name), "x-") {
			c.tree(name, object[name])
		}
	}
}

// path writes what is inside of a path's object, and closes it. Version 3 knows no body of all methods.
func (c *converter) path(path map[string]any) {
	c.fields(path, "$ref")
	common, body := c.apart(path["parameters"])
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

// operation writes what is inside of an operation, and closes it. body is that of its path, nil if that has none.
func (c *converter) operation(op, body map[string]any) {
	c.fields(op, "deprecated", "description", "externalDocs", "operationId")
	parameters, own := c.apart(op["parameters"])
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

// apart returns a list of parameters, which may be references, without those that are bodies, and the first of these, nil if there is none.
func (c *converter) apart(list any) (rest []map[string]any, body map[string]any) {
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

// valueKeys are the members of a simple value that a schema has, too.
var valueKeys = []string{
	"default", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maxLength", "maximum", "minItems",
	"minLength", "minimum", "multipleOf", "pattern", "type", "uniqueItems",
}

// parameter writes what is inside of a parameter, and closes it.
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

// response writes what is inside of an answer, and closes it.
func (c *converter) response(r map[string]any, produces any) {
	if !c.reference(r, v2Responses, v3Responses) {
		if schema := r["schema"]; schema != nil {
			c.content(schema, produces, c.produces)
		}
		if r["description"] == nil { // which version 3 wants to be there
			c.str("description", "")
		}
		c.fields(r, "description")
		c.custom(r)
	}
	c.close('}')
}

// reference writes a reference to what has a name, and reports whether the object is one: then nothing else of it counts.
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

// content writes the schema of a body, which may be nil, for each media type of a list, or of others if there is none.
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

// isFull reports whether what may be written many times is not written any more.
func (c *converter) isFull() bool { return len(c.b) >= c.full }

// mediaTypes are those of a list, each once, in order.
func mediaTypes(list any) (types []string) {
	values, _ := list.([]any)
	for _, v := range values {
		types = append(types, v.(string))
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// schemaTree writes a schema, whose references are changed for that.
func (c *converter) schemaTree(key string, schema any) {
	swaggerShapes().schema(refer, schema)
	c.name(key)
	c.b = appendTree(c.b, schema)
}

// refer makes the reference of a schema one of version 3. Beside it nothing can stand there.
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
