package server_test

import "testing"

// nullable is a version whose objects have fields of all sorts that may be null, or not.
const nullable = `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
	"text":{"type":"string"},"filled":{"type":"string","default":"f"},"nullable":{"type":"string","nullable":true},
	"map":{"type":"object","additionalProperties":{"type":"string"}},"list":{"type":"array","items":{"type":"string"}},
	"object":{"type":"object","properties":{"a":{"type":"string"}}},
	"any":{"x-kubernetes-preserve-unknown-fields":true},
	"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"string"}}}}}}}}}`

// TestNulls sends nulls where a schema has none. What is created counts as not said; what is applied is wrong.
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
	apply(200, "b", `{`+kept+`}`, map[string]any{"metadata.generation": 2}) // any is null again, where there is nothing
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
