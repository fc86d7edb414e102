package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
)

// nullable is a version of a definition whose objects have fields of all sorts, nullable and not.
const nullable = `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
	"text":{"type":"string"},"filled":{"type":"string","default":"f"},"nullable":{"type":"string","nullable":true},
	"map":{"type":"object","additionalProperties":{"type":"string"}},"list":{"type":"array","items":{"type":"string"}},
	"object":{"type":"object","properties":{"a":{"type":"string"}}},
	"any":{"x-kubernetes-preserve-unknown-fields":true},
	"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"string"}}}}}}}}}`

// TestNulls sends null for fields that are not nullable. A create drops them, an apply is refused.
func TestNulls(t *testing.T) {
	q := newQuay(t)
	q.define("bollards", "Bollard", nullable)
	at := q.path("bollards", "v1")
	object := func(name, spec string) string {
		return `{"apiVersion":"quay.example.com/v1","kind":"Bollard","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
	}
	apply := func(code int, name, spec string, want map[string]any) {
		t.Helper()
		q.want(code, "PATCH", at+"/"+name+"?fieldManager=m", object(name, spec), want, "Content-Type", "application/apply-patch+yaml")
	}
	const kept = `"filled":null,"nullable":null,"any":null,"open":{"u":null,"v":{"w":[null]}}`
	left := map[string]any{"spec": "map[filled:f nullable:<nil> open:map[u:<nil> v:map[w:[<nil>]]]]"}
	q.want(201, "POST", at, object("a", `{"text":null,"list":null,"object":null,"map":null,`+kept+`}`), left)
	apply(201, "b", `{`+kept+`}`, left)
	q.want(200, "GET", at+"/b", "", left)
	apply(200, "b", `{`+kept+`}`, map[string]any{"metadata.generation": 2}) // the apply adds any, which the object lacks
	for field, spec := range map[string]string{
		"spec.text": `{"text":null}`, "spec.list": `{"list":null}`, "spec.object": `{"object":null}`, "spec.object.a": `{"object":{"a":null}}`,
		"spec.map": `{"map":null}`, "spec.map.k": `{"map":{"k":null}}`, "spec.list[0]": `{"list":[null]}`, "spec.open.known": `{"open":{"known":null}}`,
	} {
		wrong := map[string]any{"reason": "Invalid", "details.causes.0.field": field, "details.causes.0.reason": "FieldValueTypeInvalid"}
		apply(422, "c", spec, wrong)
		apply(422, "b", spec, wrong)
	}
	apply(400, "b", `{"unknown":null}`, map[string]any{
		"message": "failed to create typed patch object (/b; quay.example.com/v1, Kind=Bollard): .spec.unknown: field not declared in schema"})
}

// TestNullBytes sends null in place of bytes with each kind of write, to servers that store JSON
// and protobuf. The stored object has empty bytes.
func TestNullBytes(t *testing.T) {
	const path, body = "/api/v1/namespaces/ns/", `{"apiVersion":"v1","kind":"%s","metadata":{"name":"a"},"%s":{"k":null,"other":"aGk="}}`
	for _, protobuf := range []bool{false, true} {
		p := newInProcess(t, func(c *server.Config) { c.Storage.Protobuf = protobuf })
		for _, kind := range []struct{ kind, plural, field string }{{"Secret", "secrets", "data"}, {"ConfigMap", "configmaps", "binaryData"}} {
			whole := fmt.Sprintf(body, kind.kind, kind.field)
			for _, write := range []struct{ method, body, contentType string }{
				{"POST", whole, "application/json"},
				{"PUT", whole, "application/json"},
				{"PATCH", whole, "application/apply-patch+yaml"},
				{"PATCH", `[{"op":"add","path":"/` + kind.field + `/k","value":null}]`, "application/json-patch+json"},
				{"PATCH", `[{"op":"replace","path":"/` + kind.field + `","value":{"k":null,"other":"aGk="}}]`, "application/json-patch+json"},
			} {
				at := path + kind.plural
				if write.method != "POST" {
					p.do("DELETE", at+"/a", "")
					p.do("POST", at, `{"metadata":{"name":"a"},"`+kind.field+`":{"other":"aGk="}}`)
					at += "/a"
				}
				query := "?fieldManager=m&force=true"
				if write.contentType != "application/apply-patch+yaml" {
					query = ""
				}
				code, answer := p.do(write.method, at+query, write.body, "Content-Type", write.contentType)
				_, stored := p.do("GET", path+kind.plural+"/a", "")
				want := `"` + kind.field + `":{"k":"","other":"aGk="}`
				if code/100 != 2 || !strings.Contains(answer, want) || !strings.Contains(stored, want) {
					t.Errorf("%s %s (protobuf: %t): %d %s\nstored %s\nwant %s", write.method, write.body, protobuf, code, answer, stored, want)
				}
			}
		}
	}
}

// TestPatchedVersion removes the apiVersion of a custom resource by a patch. A JSON patch can set
// null, which gets another error than a missing value.
func TestPatchedVersion(t *testing.T) {
	q := newQuay(t)
	q.define("bollards", "Bollard", nullable)
	at := q.path("bollards", "v1")
	q.want(201, "POST", at, `{"apiVersion":"quay.example.com/v1","kind":"Bollard","metadata":{"name":"a"}}`, nil)
	const missing = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
	for _, tt := range []struct{ form, patch, says string }{
		{"json", `[{"op":"replace","path":"/apiVersion","value":null}]`, ".apiVersion accessor error: <nil> is of the type <nil>, expected string"},
		{"json", `[{"op":"replace","path":"/apiVersion","value":""}]`, missing},
		{"json", `[{"op":"remove","path":"/apiVersion"}]`, missing},
		{"merge", `{"apiVersion":null}`, missing},
		{"merge", `{"apiVersion":""}`, missing},
	} {
		code, answer := q.raw("PATCH", at+"/a", tt.patch, "Content-Type", "application/"+tt.form+"-patch+json")
		if got := status(string(answer)); code != 422 || !strings.HasSuffix(got.Message, ": "+tt.says) {
			t.Errorf("%s: got %d %s, want 422 and %s", tt.patch, code, got.Message, tt.says)
		}
	}
}

// TestNullList creates an object by PUT and by apply, with null in place of a list that is always
// shown. The list stays null.
func TestNullList(t *testing.T) {
	const at = "/api/v1/namespaces/ns/limitranges/a"
	const body = `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"a"},"spec":{"limits":null}}`
	for _, protobuf := range []bool{false, true} {
		p := newInProcess(t, func(c *server.Config) { c.Storage.Protobuf = protobuf })
		for _, write := range []struct{ method, query, contentType string }{
			{"PUT", "", "application/json"}, {"PATCH", "?fieldManager=m", "application/apply-patch+yaml"},
		} {
			code, answer := p.do(write.method, at+write.query, body, "Content-Type", write.contentType)
			_, stored := p.do("GET", at, "")
			if want := `"spec":{"limits":null}`; code != 201 || !strings.Contains(answer, want) || !strings.Contains(stored, want) {
				t.Errorf("%s (protobuf: %t): %d %s\nstored %s", write.method, protobuf, code, answer, stored)
			}
			p.do("DELETE", at, "")
		}
	}
}
