package differential

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type jsonObject = map[string]any

func oneOf[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

func chance(rnd *rand.Rand, one int) bool { return rnd.IntN(one) == 0 }

// propsOf reads a schema from its tree.
func propsOf(t *testing.T, tree jsonObject) *crdv1.JSONSchemaProps {
	t.Helper()
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var s crdv1.JSONSchemaProps
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return &s
}

// treeOfProps is the tree of a schema.
func treeOfProps(t *testing.T, s *crdv1.JSONSchemaProps) jsonObject {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var tree jsonObject
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

var fieldNames = []string{"a", "b", "name", "port", "metadata", "kind", "apiVersion", "spec", "a.b", "x-y"}

// randomSchema makes a structural schema, of an object at the top.
func randomSchema(rnd *rand.Rand, depth int) jsonObject {
	s := jsonObject{"type": oneOf(rnd, "object", "object", "object", "array", "array", "string", "integer", "number", "boolean")}
	if depth == 0 {
		s["type"] = "object"
	} else if depth > 3 {
		s["type"] = oneOf(rnd, "string", "integer")
	}
	switch s["type"] {
	case "object":
		randomObject(rnd, s, depth)
	case "array":
		randomList(rnd, s, depth)
	case "string":
		randomString(rnd, s)
	case "integer", "number":
		randomNumber(rnd, s)
	}
	if depth > 0 && chance(rnd, 12) {
		s["nullable"] = true
	}
	if depth > 0 && chance(rnd, 20) {
		delete(s, "type")
		s[oneOf(rnd, "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")] = true
	}
	if chance(rnd, 12) {
		s[oneOf(rnd, "allOf", "anyOf", "oneOf")] = []any{randomLimits(rnd, s), randomLimits(rnd, s)}
	}
	if chance(rnd, 30) {
		s["not"] = randomLimits(rnd, s)
	}
	return s
}

func randomObject(rnd *rand.Rand, s jsonObject, depth int) {
	if depth > 0 && chance(rnd, 4) {
		each := randomSchema(rnd, depth+1)
		if chance(rnd, 4) {
			each["default"] = randomValue(rnd, each) // a null becomes this
		}
		s["additionalProperties"] = each
		if chance(rnd, 6) {
			s["additionalProperties"] = chance(rnd, 2)
		}
	} else {
		fields := jsonObject{}
		for range 1 + rnd.IntN(4) {
			name := oneOf(rnd, fieldNames...)
			if depth == 0 && name == "metadata" {
				continue
			}
			f := randomSchema(rnd, depth+1)
			if name == "kind" || name == "apiVersion" {
				f = jsonObject{"type": "string"}
			}
			if chance(rnd, 4) {
				f["default"] = randomValue(rnd, f)
			}
			fields[name] = f
			if chance(rnd, 4) {
				required, _ := s["required"].([]any)
				s["required"] = append(required, name)
			}
		}
		s["properties"] = fields
	}
	if depth > 0 && chance(rnd, 10) && s["additionalProperties"] == nil {
		s["x-kubernetes-embedded-resource"] = true
		s["properties"].(jsonObject)["metadata"] = jsonObject{"type": "object"}
	}
	if chance(rnd, 10) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	if chance(rnd, 10) {
		s["x-kubernetes-map-type"] = oneOf(rnd, "atomic", "granular")
	}
	if depth > 0 && chance(rnd, 10) {
		s[oneOf(rnd, "minProperties", "maxProperties")] = 1 + rnd.IntN(2)
	}
}

func randomList(rnd *rand.Rand, s jsonObject, depth int) {
	items := randomSchema(rnd, depth+1)
	if chance(rnd, 6) {
		items["default"] = randomValue(rnd, items)
	}
	s["items"] = items
	if chance(rnd, 6) {
		s[oneOf(rnd, "minItems", "maxItems")] = rnd.IntN(3)
	}
	switch rnd.IntN(4) {
	case 0:
		s["x-kubernetes-list-type"] = oneOf(rnd, "atomic", "set")
		if items["type"] == "object" && !chance(rnd, 4) {
			items["x-kubernetes-map-type"] = "atomic"
		}
		delete(items, "nullable")
	case 1:
		key := oneOf(rnd, "string", "string", "string", "number", "integer", "boolean")
		fields := jsonObject{"name": jsonObject{"type": key}, "v": randomSchema(rnd, depth+2)}
		s["items"] = jsonObject{"type": "object", "properties": fields, "required": []any{"name"}}
		s["x-kubernetes-list-type"], s["x-kubernetes-list-map-keys"] = "map", []any{"name"}
		if chance(rnd, 2) {
			fields["port"] = jsonObject{"type": "integer", "default": 1}
			s["x-kubernetes-list-map-keys"] = []any{"name", "port"}
		}
	}
}

func randomString(rnd *rand.Rand, s jsonObject) {
	switch rnd.IntN(6) {
	case 0:
		s["enum"] = []any{"a", "b", "cc"}
	case 1:
		s["pattern"] = oneOf(rnd, "^[a-c]+$", "b", "^$")
	case 2:
		s[oneOf(rnd, "minLength", "maxLength")] = rnd.IntN(3)
	case 3:
		s["format"] = oneOf(rnd, formatNames...)
	}
}

func randomNumber(rnd *rand.Rand, s jsonObject) {
	switch rnd.IntN(5) {
	case 0:
		s["minimum"] = oneOf[any](rnd, 0, 1, -2.5, 3)
		s["exclusiveMinimum"] = chance(rnd, 2)
	case 1:
		s["maximum"] = oneOf[any](rnd, 0, 1, 2.5, 70000)
		s["exclusiveMaximum"] = chance(rnd, 2)
	case 2:
		s["multipleOf"] = oneOf[any](rnd, 1, 2, 0.5)
	case 3:
		s["format"] = oneOf(rnd, "int32", "int64")
		if s["type"] == "number" {
			s["format"] = oneOf(rnd, "float", "double")
		}
	case 4:
		s["enum"] = []any{1, 2, 3}
	}
}

// randomLimits makes a schema for a combination, which narrows the values of s.
func randomLimits(rnd *rand.Rand, s jsonObject) jsonObject {
	limits := jsonObject{}
	fields, _ := s["properties"].(jsonObject)
	if names := slices.Sorted(maps.Keys(fields)); len(names) > 0 && !slices.Contains(names, "metadata") {
		name := oneOf(rnd, names...)
		if chance(rnd, 2) {
			limits["required"] = []any{name}
		} else {
			limits["properties"] = jsonObject{name: randomLimits(rnd, fields[name].(jsonObject))}
		}
		return limits
	}
	switch s["type"] {
	case "string":
		randomString(rnd, limits)
	case "integer", "number":
		randomNumber(rnd, limits)
	case "array":
		limits[oneOf(rnd, "minItems", "maxItems")] = rnd.IntN(3)
	}
	return limits
}

// changeSchema returns a schema that differs in some places. Most changes break a rule of schemas.
func changeSchema(t *testing.T, rnd *rand.Rand, s *crdv1.JSONSchemaProps, changes int) *crdv1.JSONSchemaProps {
	t.Helper()
	tree := treeOfProps(t, s)
	for range changes {
		part := tree
		for range rnd.IntN(7) {
			part = oneOf(rnd, append(partsOf(part), part)...)
		}
		change := schemaChanges[rnd.IntN(len(schemaChanges))]
		part[change.field] = copied(oneOf(rnd, change.values...))
		if chance(rnd, 8) {
			delete(part, oneOf(rnd, slices.Sorted(maps.Keys(part))...))
		}
	}
	return propsOf(t, tree)
}

// copied returns a deep copy of a value, which the caller may change.
func copied(v any) any {
	switch v := v.(type) {
	case jsonObject:
		out := make(jsonObject, len(v))
		for name, held := range v {
			out[name] = copied(held)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copied(v[i])
		}
		return out
	}
	return v
}

// partsOf returns the schemas inside a schema.
func partsOf(s jsonObject) []jsonObject {
	var parts []jsonObject
	for _, name := range []string{"items", "additionalProperties", "not"} {
		if part, ok := s[name].(jsonObject); ok {
			parts = append(parts, part)
		}
	}
	fields, _ := s["properties"].(jsonObject)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fields[name].(jsonObject))
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[name].([]any)
		for _, part := range list {
			parts = append(parts, part.(jsonObject))
		}
	}
	return parts
}

var intOrString = []any{jsonObject{"type": "integer"}, jsonObject{"type": "string"}}

// schemaChanges are fields of schemas, with values that changeSchema may set.
var schemaChanges = []struct {
	field  string
	values []any
}{
	{"type", []any{"", "object", "array", "string", "integer", "null", "odd"}},
	{"format", []any{"", "date-time"}},
	{"nullable", []any{true}},
	{"title", []any{"t"}},
	{"description", []any{"d", ""}},
	{"default", []any{"a", 1, 1.5, true, nil, jsonObject{}, jsonObject{"a": 1}, jsonObject{"zz": 1}, []any{}, []any{"a", "a"}, jsonObject{"name": "x"},
		jsonObject{"apiVersion": "v1", "kind": "K", "metadata": jsonObject{"name": "A_", "odd": 1, "labels": jsonObject{"a": "b"}}},
		jsonObject{"apiVersion": "a/b/c", "kind": "_", "metadata": jsonObject{"name": 1}}, jsonObject{"kind": 1}}},
	{"enum", []any{[]any{}, []any{"a"}, []any{1, "a", nil, jsonObject{}}}},
	{"required", []any{[]any{"a"}, []any{"name"}, []any{}}},
	{"pattern", []any{"(", "a+", ""}},
	{"minimum", []any{0, 1.5}},
	{"maximum", []any{0, 1.5}},
	{"exclusiveMinimum", []any{true}},
	{"maxLength", []any{0, 3}},
	{"minItems", []any{1}},
	{"maxProperties", []any{1}},
	{"multipleOf", []any{2}},
	{"uniqueItems", []any{true, false}},
	{"id", []any{"x"}},
	{"$schema", []any{"http://json-schema.org/schema#"}},
	{"$ref", []any{"", "#/definitions/a"}},
	{"additionalItems", []any{true, false, jsonObject{"type": "string"}}},
	{"patternProperties", []any{jsonObject{}, jsonObject{"a": jsonObject{"type": "odd"}}}},
	{"definitions", []any{jsonObject{}, jsonObject{"a": jsonObject{"type": "odd", "default": 1}}}},
	{"dependencies", []any{jsonObject{}, jsonObject{"a": []any{"b"}}, jsonObject{"a": jsonObject{"type": "odd"}}}},
	{"externalDocs", []any{jsonObject{"url": "x"}}},
	{"example", []any{1, nil}},
	{"items", []any{jsonObject{"type": "string"}, []any{jsonObject{"type": "string"}, jsonObject{}}, jsonObject{}, jsonObject{"type": "object", "nullable": true}}},
	{"properties", []any{jsonObject{}, jsonObject{"a": jsonObject{"type": "string"}}, jsonObject{"metadata": jsonObject{"type": "object", "properties": jsonObject{"name": jsonObject{"type": "string"}}}},
		jsonObject{"metadata": jsonObject{"type": "object", "description": "d"}}, jsonObject{"metadata": jsonObject{"properties": jsonObject{"name": jsonObject{"pattern": "("}, "generateName": jsonObject{}}}},
		jsonObject{"metadata": jsonObject{"type": "object", "default": jsonObject{"name": "A"}}, "kind": jsonObject{"type": "integer"}, "apiVersion": jsonObject{"type": "string", "default": "v1"}}}},
	{"additionalProperties", []any{true, false, jsonObject{"type": "string", "default": "a"}, jsonObject{}}},
	{"allOf", []any{[]any{jsonObject{"anyOf": intOrString}}, []any{jsonObject{"required": []any{"a"}}, jsonObject{"type": "string"}}, []any{}}},
	{"anyOf", []any{intOrString, []any{jsonObject{"properties": jsonObject{"zz": jsonObject{"minLength": 1}}}}, []any{jsonObject{"additionalProperties": false}, jsonObject{"items": jsonObject{"maximum": 1}}}}},
	{"oneOf", []any{[]any{jsonObject{"default": 1, "title": "t", "description": "d", "nullable": true, "x-kubernetes-list-type": "set",
		"x-kubernetes-map-type": "atomic", "x-kubernetes-list-map-keys": []any{"a"}, "x-kubernetes-embedded-resource": true,
		"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}}}},
	{"not", []any{jsonObject{"pattern": "["}, jsonObject{"properties": jsonObject{"metadata": jsonObject{}}}, jsonObject{"x-kubernetes-validations": []any{jsonObject{"rule": "true"}}}}},
	{"x-kubernetes-preserve-unknown-fields", []any{true, true, false}},
	{"x-kubernetes-embedded-resource", []any{true, true, false}},
	{"x-kubernetes-int-or-string", []any{true, true, false}},
	{"x-kubernetes-list-type", []any{"set", "map", "atomic", "odd"}},
	{"x-kubernetes-list-map-keys", []any{[]any{"name"}, []any{"a", "a"}, []any{}, []any{"name", "port"}}},
	{"x-kubernetes-map-type", []any{"atomic", "granular", "odd"}},
	{"x-kubernetes-validations", []any{
		[]any{jsonObject{"rule": ""}}, []any{jsonObject{"rule": " \n"}}, []any{jsonObject{"rule": "true\n", "message": " "}}, []any{jsonObject{"rule": "true\n&& true"}},
		[]any{jsonObject{"rule": "true", "message": "a\nb"}}, []any{jsonObject{"rule": "true", "messageExpression": "  "}},
		[]any{jsonObject{"rule": "true", "reason": "Odd"}, jsonObject{"rule": "true", "reason": "FieldValueForbidden"}},
		[]any{jsonObject{"rule": "true", "fieldPath": ".a"}, jsonObject{"rule": "true", "fieldPath": ".a['b']"}, jsonObject{"rule": "true", "fieldPath": " "}},
		[]any{jsonObject{"rule": "true", "fieldPath": "a"}, jsonObject{"rule": "true", "fieldPath": ".name"}, jsonObject{"rule": "true", "fieldPath": "['a.b']"}},
		[]any{jsonObject{"rule": "true", "fieldPath": ".spec['x-y'].a"}, jsonObject{"rule": "true", "fieldPath": ".['a']"}, jsonObject{"rule": "true", "fieldPath": ".a\n"}},
		[]any{jsonObject{"rule": "true", "fieldPath": "['a"}, jsonObject{"rule": "true", "fieldPath": "['a\\z']"}, jsonObject{"rule": "true", "fieldPath": ".a."}},
	}},
}

// formatNames are names of formats; for some there is no format.
var formatNames = []string{"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn",
	"isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime", "date-time",
	"k8s-short-name", "k8s-long-name", "odd", "int32", "date_time", "uu-id", "quantity"}
