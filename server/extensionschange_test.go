package server_test

import (
	"fmt"
	"testing"
	"time"
)

// unserved is a version that is not served.
func unserved(name string) string {
	return fmt.Sprintf(`{"name":%q,"served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`, name)
}

// TestDefinitionWatches: watches go on while a definition changes, but those in versions that are not served any more, and all of them
// when it goes.
func TestDefinitionWatches(t *testing.T) {
	q := newQuay(t)
	q.define("ships", "Ship", version("v1", true), version("v2", false))
	q.want(201, "POST", q.path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"a"},"spec":{"sails":2,"keel":"x"}}`, nil)
	first, second := q.watch(q.path("ships", "v1")), q.watch(q.path("ships", "v2"))
	first()
	second()

	const schema = `"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"sails":{"type":"integer"},"flag":{"type":"string","default":"red"}}}}}}`
	q.change(`{"spec":{"versions":[{"name":"v1","served":true,"storage":false,` + schema + `},{"name":"v2","served":true,"storage":true,` + schema +
		`,"additionalPrinterColumns":[{"name":"Flag","type":"string","jsonPath":".spec.flag"}]}]}}`)
	q.eventually(q.path("ships", "v1")+"/a", map[string]any{"spec.flag": "red", "spec.keel": nil})
	q.want(200, "GET", q.path("ships", "v2"), "", map[string]any{"rows.0.cells.1": "red"}, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	q.want(200, "PATCH", q.path("ships", "v1")+"/a", `{"spec":{"sails":3}}`, nil, "Content-Type", merge)
	for name, next := range map[string]func() map[string]any{"v1": first, "v2": second} {
		e := next()
		if e["type"] != "MODIFIED" || value(e, "object.spec.flag") != "red" || value(e, "object.spec.keel") != nil || value(e, "object.apiVersion") != q.group+"/"+name {
			t.Errorf("the watch in %s: got %v, want the change, by the new schema", name, e)
		}
	}

	q.change(`{"spec":{"versions":[` + unserved("v1") + `,{"name":"v2","served":true,"storage":true,` + schema + `}]}}`)
	if e := first(); e != nil {
		t.Errorf("the watch in a version that is served no more: got %v, want its end", e)
	}
	q.gone(q.path("ships", "v1") + "/a")
	q.want(200, "PATCH", q.path("ships", "v2")+"/a", `{"spec":{"sails":4}}`, nil, "Content-Type", merge)
	if e := second(); value(e, "object.spec.sails") != 4.0 {
		t.Errorf("the watch in the other version: got %v, want the change", e)
	}

	q.want(200, "DELETE", definitions+"/ships."+q.group, "", nil)
	if e := second(); e["type"] != "DELETED" {
		t.Errorf("the watch when the definition goes: got %v, want DELETED", e)
	}
	if e := second(); e != nil {
		t.Errorf("the watch when the definition is gone: got %v, want its end", e)
	}
}

// change patches the definition of ships.
func (q *quay) change(patch string) {
	q.t.Helper()
	q.want(200, "PATCH", definitions+"/ships."+q.group, patch, nil, "Content-Type", merge)
}

// eventually asks for an object until it is as wanted: what changes about a definition counts a moment later.
func (q *quay) eventually(path string, want map[string]any) {
	q.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		_, tree := q.do("GET", path, "")
		missing := 0
		for at, v := range want {
			if fmt.Sprint(value(tree, at)) != fmt.Sprint(v) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
	q.want(200, "GET", path, "", want)
}
