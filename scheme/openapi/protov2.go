package openapi

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// V2Proto returns a document of version 2, which V2JSON made, as the protobuf message
// openapi.v2.Document.
func V2Proto(document []byte) []byte { return toProto(messagesV2(), document) }

// messagesV2 returns the message openapi.v2.Document with those parts that documents use.
var messagesV2 = sync.OnceValue(func() *message {
	schema := &message{extension: 31}
	docs := of(&message{fields: map[string]field{"description": {1, text}, "url": {2, text}}})
	named := func(number protowire.Number, value way) *message { return &message{entry: field{number, value}} }
	schema.fields = map[string]field{
		"$ref": {1, text}, "format": {2, text}, "title": {3, text}, "description": {4, text},
		"default":    {5, anyValue},
		"multipleOf": {6, double}, "maximum": {7, double}, "exclusiveMaximum": {8, boolean}, "minimum": {9, double},
		"exclusiveMinimum": {10, boolean},
		"maxLength":        {11, integer}, "minLength": {12, integer}, "pattern": {13, text},
		"maxItems": {14, integer}, "minItems": {15, integer}, "uniqueItems": {16, boolean},
		"maxProperties": {17, integer}, "minProperties": {18, integer},
		"required": {19, list(text)}, "enum": {20, list(anyValue)},
		"additionalProperties": {21, either(in(2, boolean), in(1, of(schema)))},
		"type":                 {22, in(1, oneOrMore(text))},
		"items":                {23, in(1, oneOrMore(of(schema)))},
		"allOf":                {24, list(of(schema))},
		"properties":           {25, of(named(1, of(schema)))},
		"discriminator":        {26, text},
		"readOnly":             {27, boolean},
		"externalDocs":         {29, docs},
		"example":              {30, anyValue},
	}
	parameter := parameterV2(of(schema))
	response := in(1, of(&message{fields: map[string]field{
		"description": {1, text}, "schema": {2, in(1, of(schema))},
	}}))
	operation := of(&message{extension: 13, fields: map[string]field{
		"tags": {1, list(text)}, "summary": {2, text}, "description": {3, text}, "externalDocs": {4, docs},
		"operationId": {5, text},
		"produces":    {6, list(text)}, "consumes": {7, list(text)}, "parameters": {8, list(orReference(parameter))},
		"responses": {9, of(named(1, response))}, "schemes": {10, list(text)}, "deprecated": {11, boolean},
	}})
	path := of(&message{fields: map[string]field{
		"get": {2, operation}, "put": {3, operation}, "post": {4, operation}, "delete": {5, operation},
		"options": {6, operation},
		"head":    {7, operation}, "patch": {8, operation}, "parameters": {9, list(orReference(parameter))},
	}})
	// The only security scheme of documents is a key in a header.
	security := in(2, of(&message{fields: map[string]field{
		"type": {1, text}, "name": {2, text}, "in": {3, text}, "description": {4, text},
	}}))
	return &message{fields: map[string]field{
		"swagger":             {1, text},
		"info":                {2, of(&message{fields: map[string]field{"title": {1, text}, "version": {2, text}}})},
		"paths":               {8, of(named(2, path))},
		"definitions":         {9, of(named(1, of(schema)))},
		"parameters":          {10, of(named(1, parameter))},
		"security":            {12, list(of(named(1, of(&message{}))))},
		"securityDefinitions": {13, of(named(1, security))},
	}}
})

// parameterV2 writes a parameter: a body (1), or else (2) one in a header (1), form (2), query (3)
// or path (4). The field numbers of these messages differ, because a form and a query have
// allowEmptyValue.
func parameterV2(schema way) way {
	body := of(&message{fields: map[string]field{
		"description": {1, text}, "name": {2, text}, "in": {3, text}, "required": {4, boolean}, "schema": {5, schema},
	}})
	simple := func(number protowire.Number, mayBeEmpty bool) way {
		fields := map[string]field{
			"required": {1, boolean}, "in": {2, text}, "description": {3, text}, "name": {4, text},
		}
		next := protowire.Number(5)
		if mayBeEmpty {
			fields["allowEmptyValue"] = field{next, boolean}
			next++
		}
		items := &message{}
		items.fields = primitiveV2(1, items)
		maps.Copy(fields, primitiveV2(next, items))
		return in(number, of(&message{fields: fields}))
	}
	locations := map[jsontext.Raw]way{
		`"header"`: simple(1, false), `"formData"`: simple(2, true),
		`"query"`: simple(3, true), `"path"`: simple(4, false),
	}
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		w.sub(number, func() {
			members, _ := value.Members(0, nil)
			at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == "in" })
			if at < 0 {
				return // the parameter of another server, with nothing but a reference
			}
			if write := locations[members[at].Value]; write != nil {
				write(w, 2, value)
				return
			}
			body(w, 1, value)
		})
	}
}

// primitiveV2 returns the fields of a simple value, numbered from next.
func primitiveV2(next protowire.Number, items *message) map[string]field {
	fields := map[string]field{}
	for _, f := range []struct {
		name  string
		write way
	}{
		{"type", text}, {"format", text}, {"items", of(items)}, {"collectionFormat", text}, {"default", anyValue},
		{"maximum", double}, {"exclusiveMaximum", boolean}, {"minimum", double}, {"exclusiveMinimum", boolean},
		{"maxLength", integer}, {"minLength", integer}, {"pattern", text}, {"maxItems", integer}, {"minItems", integer},
		{"uniqueItems", boolean}, {"enum", list(anyValue)}, {"multipleOf", double},
	} {
		fields[f.name] = field{next, f.write}
		next++
	}
	return fields
}
