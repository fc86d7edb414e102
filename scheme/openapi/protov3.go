package openapi

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// V3Proto returns a document of version 3, which AppendV3JSON made, as the protobuf message
// openapi.v3.Document.
func V3Proto(document []byte) []byte { return toProto(messagesV3(), document) }

// messagesV3 returns the message openapi.v3.Document with those parts that documents use.
var messagesV3 = sync.OnceValue(func() *message {
	schema := &message{extension: 36}
	docs := of(&message{fields: map[string]field{"description": {1, text}, "url": {2, text}}})
	schemaOrReference := orReference(of(schema))
	named := func(number protowire.Number, value way) *message { return &message{entry: field{number, value}} }
	schema.fields = map[string]field{
		"nullable":     {1, boolean},
		"readOnly":     {3, boolean},
		"externalDocs": {6, docs},
		"example":      {7, anyValue},
		"title":        {9, text},
		"multipleOf":   {10, double}, "maximum": {11, double}, "exclusiveMaximum": {12, boolean},
		"minimum": {13, double}, "exclusiveMinimum": {14, boolean},
		"maxLength": {15, integer}, "minLength": {16, integer}, "pattern": {17, text},
		"maxItems": {18, integer}, "minItems": {19, integer}, "uniqueItems": {20, boolean},
		"maxProperties": {21, integer}, "minProperties": {22, integer},
		"required": {23, list(text)}, "enum": {24, list(anyValue)}, "type": {25, text},
		"allOf": {26, list(schemaOrReference)}, "oneOf": {27, list(schemaOrReference)},
		"anyOf": {28, list(schemaOrReference)}, "not": {29, of(schema)},
		"items":                {30, in(1, schemaOrReference)},
		"properties":           {31, of(named(1, schemaOrReference))},
		"additionalProperties": {32, either(in(2, boolean), in(1, schemaOrReference))},
		"default":              {33, defaultV3},
		"description":          {34, text}, "format": {35, text},
	}
	content := of(named(1, of(&message{fields: map[string]field{"schema": {1, schemaOrReference}}})))
	parameter := orReference(of(&message{extension: 14, fields: map[string]field{
		"name": {1, text}, "in": {2, text}, "description": {3, text}, "required": {4, boolean},
		"allowEmptyValue": {6, boolean},
		"schema":          {10, schemaOrReference},
	}}))
	parameters := list(parameter)
	response := orReference(of(&message{extension: 5, fields: map[string]field{
		"description": {1, text}, "content": {3, content},
	}}))
	operation := of(&message{extension: 13, fields: map[string]field{
		"tags": {1, list(text)}, "summary": {2, text}, "description": {3, text}, "externalDocs": {4, docs},
		"operationId": {5, text},
		"parameters":  {6, parameters},
		"requestBody": {7, orReference(of(&message{fields: map[string]field{
			"description": {1, text}, "content": {2, content}, "required": {3, boolean},
		}}))},
		"responses":  {8, of(&message{fields: map[string]field{"default": {1, response}}, entry: field{2, response}})},
		"deprecated": {10, boolean},
	}})
	path := of(&message{extension: 14, fields: map[string]field{
		"$ref": {1, text}, "get": {4, operation}, "put": {5, operation}, "post": {6, operation},
		"delete": {7, operation}, "options": {8, operation},
		"head": {9, operation}, "patch": {10, operation}, "parameters": {13, parameters},
	}})
	contact := of(&message{fields: map[string]field{"name": {1, text}, "url": {2, text}, "email": {3, text}}})
	license := of(&message{fields: map[string]field{"name": {1, text}, "url": {2, text}}})
	security := orReference(of(&message{fields: map[string]field{
		"type": {1, text}, "description": {2, text}, "name": {3, text}, "in": {4, text},
	}}))
	return &message{fields: map[string]field{
		"openapi": {1, text},
		"info": {2, of(&message{fields: map[string]field{
			"title": {1, text}, "description": {2, text}, "termsOfService": {3, text}, "contact": {4, contact},
			"license": {5, license}, "version": {6, text},
		}})},
		"paths": {4, of(named(1, path))},
		"components": {5, of(&message{fields: map[string]field{
			"schemas": {1, of(named(1, schemaOrReference))}, "responses": {2, of(named(1, response))},
			"parameters":      {3, of(named(1, parameter))},
			"securitySchemes": {7, of(named(1, security))},
		}})},
		"externalDocs": {8, docs},
	}}
})

// defaultV3 writes a default that is a number, boolean or string. For any other default the message
// is empty, which says only that there is one.
func defaultV3(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	w.sub(number, func() {
		switch {
		case value.IsNumber():
			double(w, 1, value)
		case value == "true" || value == "false":
			boolean(w, 2, value)
		case value[0] == '"':
			text(w, 3, value)
		}
	})
}
