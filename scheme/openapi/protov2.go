package openapi

import (
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// V2Proto returns a document of version 2, made by V2JSON, as the protobuf message openapi.v2.Document.
func V2Proto(document []byte) []byte { return toProto(messagesV2(), document) }

// messagesV2 are the messages of openapi.v2, as far as documents use them: an openapi.v2.Document.
var messagesV2 = sync.OnceValue(func() *message {
	schema := &message{extension: 31}
	named := func(number protowire.Number, value way) *message { return &message{entry: field{number, value}} }
	schema.fields = map[string]field{
		"$ref": {1, text}, "format": {2, text}, "title": {3, text}, "description": {4, text},
		"multipleOf": {6, double}, "maximum": {7, double}, "exclusiveMaximum": {8, boolean}, "minimum": {9, double}, "exclusiveMinimum": {10, boolean},
		"maxLength": {11, integer}, "minLength": {12, integer}, "pattern": {13, text},
		"maxItems": {14, integer}, "minItems": {15, integer}, "uniqueItems": {16, boolean},
		"maxProperties": {17, integer}, "minProperties": {18, integer},
		"required": {19, list(text)}, "enum": {20, list(anyValue)},
		"additionalProperties": {21, either(in(2, boolean), in(1, of(schema)))},
		"type":                 {22, in(1, text)},
		"items":                {23, in(1, of(schema))},
		"properties":           {25, of(named(1, of(schema)))},
		"externalDocs":         {29, of(&message{fields: map[string]field{"description": {1, text}, "url": {2, text}}})},
		"example":              {30, anyValue},
	}
	parameter := parameterV2(of(schema))
	response := in(1, of(&message{fields: map[string]field{"description": {1, text}, "schema": {2, in(1, of(schema))}}}))
	operation := of(&message{extension: 13, fields: map[string]field{
		"tags": {1, list(text)}, "description": {3, text}, "operationId": {5, text}, "produces": {6, list(text)}, "consumes": {7, list(text)},
		"parameters": {8, list(orReference(parameter))}, "responses": {9, of(named(1, response))}, "schemes": {10, list(text)},
	}})
	path := of(&message{fields: map[string]field{
		"get": {2, operation}, "put": {3, operation}, "post": {4, operation}, "delete": {5, operation}, "options": {6, operation},
		"head": {7, operation}, "patch": {8, operation}, "parameters": {9, list(orReference(parameter))},
	}})
	// The one scheme that documents have is a key in a header.
	security := in(2, of(&message{fields: map[string]field{"type": {1, text}, "name": {2, text}, "in": {3, text}, "description": {4, text}}}))
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

// parameterV2 writes a parameter: a body (1), or something else (2), of which the messages of a query (3) and of a path (4)
// have different numbers, because a query's may be empty.
func parameterV2(schema way) way {
	body := of(&message{fields: map[string]field{
		"description": {1, text}, "name": {2, text}, "in": {3, text}, "required": {4, boolean}, "schema": {5, schema},
	}})
	query := in(3, of(&message{fields: map[string]field{
		"required": {1, boolean}, "in": {2, text}, "description": {3, text}, "name": {4, text}, "type": {6, text}, "uniqueItems": {20, boolean},
	}}))
	path := in(4, of(&message{fields: map[string]field{
		"required": {1, boolean}, "in": {2, text}, "description": {3, text}, "name": {4, text}, "type": {5, text}, "uniqueItems": {19, boolean},
	}}))
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		w.sub(number, func() {
			members, _ := value.Members(0, nil)
			at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == "in" })
			switch members[at].Value {
			case `"body"`:
				body(w, 1, value)
			case `"query"`:
				query(w, 2, value)
			default:
				path(w, 2, value)
			}
		})
	}
}
