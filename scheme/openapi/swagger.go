package openapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Documents of version 2 of other servers, parsed and checked. The server that publishes such a
// document is trusted with its own paths only, so every value that is used is checked to have the
// type that Swagger 2.0 gives it; MergeV2, appendConverted and the protobuf forms rely on that.
//
// The same shapes serve three purposes: they check a document (ReadSwagger), find the references in
// it (used) and change references (rename, schemaTree).

// Swagger holds the parts of a document of version 2 that are used, as trees: named objects by
// name, and the members of the document itself in whole. It takes about three times the memory of
// the text, and 24 times in the worst case, a document of empty objects.
type Swagger struct {
	definitions, parameters, responses, paths map[string]any

	whole map[string]any
}

// maxNesting is the largest depth of objects and arrays in a document of another server.
const maxNesting = 200

// ReadSwagger parses the document of another server. Every value in the result has the type that
// Swagger 2.0 gives it, so that clients can parse what is made of it. Unknown members are not
// checked.
func ReadSwagger(document []byte) (*Swagger, error) {
	s := jsontext.NewScanner(document, true, nil)
	s.Depth = jsontext.MaxDepth - maxNesting
	tree, err := s.Document()
	if err != nil {
		return nil, errors.New("the document is not JSON, or nested too deeply")
	}
	root, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("the document is not a JSON object")
	}
	d, shapes := &Swagger{whole: map[string]any{}}, swaggerShapes()
	for _, part := range []struct {
		name  string
		shape shape
		into  *map[string]any
	}{
		{"definitions", shapes.schema, &d.definitions},
		{"parameters", shapes.parameter, &d.parameters},
		{"responses", shapes.response, &d.responses},
		{"paths", shapes.path, &d.paths},
	} {
		*part.into, ok = root[part.name].(map[string]any)
		if !ok && root[part.name] != nil {
			return nil, fmt.Errorf("%s is not a JSON object", part.name)
		}
		for name, value := range *part.into {
			if part.name == "paths" && !strings.HasPrefix(name, "/") { // an extension, or malformed
				delete(*part.into, name)
			} else if !part.shape(nil, value) {
				return nil, fmt.Errorf("%s: %.200q does not have the form that Swagger 2.0 demands", part.name, name)
			}
		}
	}
	for name, isIt := range shapes.whole {
		switch value := root[name]; {
		case value == nil:
		case !isIt(nil, value):
			return nil, fmt.Errorf("%s does not have the form that Swagger 2.0 demands", name)
		default:
			d.whole[name] = value
		}
	}
	return d, nil
}

// append appends the document as JSON to dst.
func (d *Swagger) append(dst []byte) []byte {
	all := maps.Clone(d.whole)
	all["definitions"], all["parameters"], all["paths"] = d.definitions, d.parameters, d.paths
	if len(d.responses) > 0 {
		all["responses"] = d.responses
	}
	return appendTree(dst, all)
}

// used returns all references that the paths make, directly or through other objects.
func (d *Swagger) used() map[string]bool {
	used, shapes := map[string]bool{}, swaggerShapes()
	var next []string
	see := func(object map[string]any) {
		if ref, _ := object["$ref"].(string); ref != "" && !used[ref] {
			used[ref] = true
			next = append(next, ref)
		}
	}
	for _, path := range d.paths {
		shapes.path(see, path)
	}
	for len(next) > 0 {
		ref := next[len(next)-1]
		next = next[:len(next)-1]
		if name, ok := strings.CutPrefix(ref, v2Models); ok {
			shapes.schema(see, d.definitions[name])
		} else if name, ok := strings.CutPrefix(ref, v2Parameters); ok {
			shapes.parameter(see, d.parameters[name])
		} else if name, ok := strings.CutPrefix(ref, v2Responses); ok {
			shapes.response(see, d.responses[name])
		}
	}
	return used
}

// rename changes the targets of references: refs maps old to new ones.
func (d *Swagger) rename(refs map[string]string) {
	if len(refs) == 0 {
		return
	}
	see := func(object map[string]any) {
		if ref, _ := object["$ref"].(string); refs[ref] != "" {
			object["$ref"] = refs[ref]
		}
	}
	for _, value := range d.definitions {
		swaggerShapes().schema(see, value)
	}
	for _, value := range d.parameters {
		swaggerShapes().parameter(see, value)
	}
	for _, value := range d.paths {
		swaggerShapes().path(see, value)
	}
}

// methodNames are the methods that a path can have in version 2.
var methodNames = []string{"delete", "get", "head", "options", "patch", "post", "put"}

// A shape checks that a value has the form that Swagger 2.0 demands at its position in a document.
// It calls see, which may be nil, with each object in the value that may be a reference. It removes
// members that are null.
type shape func(see func(object map[string]any), value any) bool

// swaggerKinds holds the shapes of named objects and, in whole, those of members of the document by
// name.
type swaggerKinds struct {
	schema, parameter, response, path shape

	whole map[string]shape
}

// swaggerShapes returns the shapes of Swagger 2.0.
var swaggerShapes = sync.OnceValue(func() (shapes swaggerKinds) {
	schema := map[string]shape{}
	shapes.schema = objectOf(schema)
	docs := objectOf(map[string]shape{"description": isText, "url": isText})
	common := func(fields map[string]shape) map[string]shape {
		for _, name := range []string{"$ref", "description", "format", "pattern"} {
			fields[name] = isText
		}
		for _, name := range []string{"multipleOf", "maximum", "minimum"} {
			fields[name] = isNumber
		}
		for _, name := range []string{
			"maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties",
		} {
			fields[name] = isInteger
		}
		for _, name := range []string{"exclusiveMaximum", "exclusiveMinimum", "uniqueItems"} {
			fields[name] = isBool
		}
		fields["enum"] = listOf(isAny)
		return fields
	}
	common(schema)
	for _, name := range []string{"id", "$schema", "title", "discriminator"} {
		schema[name] = isText
	}
	for _, name := range []string{"properties", "patternProperties", "definitions"} {
		schema[name] = mapOf(shapes.schema)
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		schema[name] = listOf(shapes.schema)
	}
	schema["additionalProperties"], schema["additionalItems"] =
		anyOf(isBool, shapes.schema), anyOf(isBool, shapes.schema)
	schema["not"], schema["items"] = shapes.schema, anyOf(shapes.schema, listOf(shapes.schema))
	schema["dependencies"] = mapOf(anyOf(shapes.schema, listOf(isText)))
	schema["type"], schema["required"] = anyOf(isText, listOf(isText)), listOf(isText)
	schema["nullable"], schema["readOnly"], schema["externalDocs"] = isBool, isBool, docs
	schema[kindsKey] = listOf(objectOf(map[string]shape{"group": isText, "kind": isText, "version": isText}))

	items := common(map[string]shape{"type": isText, "collectionFormat": isText})
	items["items"] = objectOf(items)
	simple := objectOf(items)
	parameter := common(map[string]shape{
		"name": isText, "in": isText, "type": isText, "collectionFormat": isText, "items": simple,
		"required": isBool, "allowEmptyValue": isBool, "schema": shapes.schema,
	})
	shapes.parameter = func(see func(map[string]any), value any) bool {
		if !objectOf(parameter)(see, value) {
			return false
		}
		object := value.(map[string]any)
		return object["$ref"] != nil ||
			slices.Contains([]any{"body", "query", "path", "header", "formData"}, object["in"])
	}
	shapes.response = objectOf(map[string]shape{
		"$ref": isText, "description": isText, "schema": shapes.schema,
		"headers": mapOf(simple), "examples": mapOf(isAny),
	})
	operation := objectOf(map[string]shape{
		"tags": listOf(isText), "summary": isText, "description": isText, "externalDocs": docs, "operationId": isText,
		"consumes": listOf(isText), "produces": listOf(isText), "schemes": listOf(isText), "deprecated": isBool,
		"security": listOf(mapOf(listOf(isText))), "parameters": listOf(shapes.parameter),
		"responses": responsesOf(shapes.response),
	})
	path := map[string]shape{"$ref": isText, "parameters": listOf(shapes.parameter)}
	for _, method := range methodNames {
		path[method] = operation
	}
	shapes.path = objectOf(path)

	contact := objectOf(map[string]shape{"name": isText, "url": isText, "email": isText})
	shapes.whole = map[string]shape{
		"consumes": listOf(isText), "produces": listOf(isText), "externalDocs": docs,
		"info": objectOf(map[string]shape{
			"title": isText, "version": isText, "description": isText, "termsOfService": isText,
			"contact": contact, "license": contact,
		}),
		"securityDefinitions": mapOf(objectOf(map[string]shape{
			"type": isText, "name": isText, "in": isText, "description": isText,
		})),
	}
	return shapes
})

// isAny accepts every value.
func isAny(_ func(map[string]any), _ any) bool { return true }

// isText accepts strings.
func isText(_ func(map[string]any), value any) bool {
	_, ok := value.(string)
	return ok
}

// isBool accepts booleans.
func isBool(_ func(map[string]any), value any) bool {
	_, ok := value.(bool)
	return ok
}

// isInteger accepts integers of 64 bits.
func isInteger(_ func(map[string]any), value any) bool {
	_, ok := value.(int64)
	return ok
}

// isNumber accepts numbers.
func isNumber(_ func(map[string]any), value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	}
	return false
}

// anyOf accepts values of one shape or another.
func anyOf(one, other shape) shape {
	return func(see func(map[string]any), value any) bool { return one(see, value) || other(see, value) }
}

// listOf accepts arrays whose elements have a shape.
func listOf(element shape) shape {
	return func(see func(map[string]any), value any) bool {
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(e any) bool { return !element(see, e) })
	}
}

// mapOf accepts objects whose members all have one shape, whatever their names are.
func mapOf(element shape) shape {
	return func(see func(map[string]any), value any) bool {
		object, ok := value.(map[string]any)
		for _, member := range object {
			ok = ok && element(see, member)
		}
		return ok
	}
}

// objectOf accepts objects whose known members have the given shapes. Other members are not
// checked.
func objectOf(fields map[string]shape) shape {
	return func(see func(map[string]any), value any) bool {
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for key, member := range object {
			f := fields[key]
			if f != nil && member == nil {
				delete(object, key)
			} else if f != nil && !f(see, member) {
				return false
			}
		}
		if see != nil {
			see(object)
		}
		return true
	}
}

// responsesOf accepts objects of responses by status code or "default", and removes all other
// members.
func responsesOf(response shape) shape {
	return func(see func(map[string]any), value any) bool {
		object, ok := value.(map[string]any)
		for code, member := range object {
			if code != "default" && strings.Trim(code, "0123456789") != "" {
				delete(object, code)
			} else {
				ok = ok && response(see, member)
			}
		}
		return ok
	}
}
