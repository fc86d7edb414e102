package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
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

// TestDefinitionUnderWay changes the schema of a definition while a create waits for the end of its body: it is judged by the schema
// that it began with, and the next one by the new.
func TestDefinitionUnderWay(t *testing.T) {
	t.Parallel() // it waits
	q := newQuay(t)
	of := func(typ string) string {
		return fmt.Sprintf(`{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"sails":{"type":%q}}}}}`, typ)
	}
	ship := func(name, sails string) string {
		return fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":%q},"sails":%s}`, name, sails)
	}
	q.define("ships", "Ship", of("integer"))

	body, rest := io.Pipe()
	inside := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(inside) }})
	r, err := http.NewRequestWithContext(ctx, "POST", q.URL+q.path("ships", "v1"), body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue") // which the server says when it reads the body
	var running sync.WaitGroup
	running.Go(func() {
		resp, err := q.Client.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if data, _ := io.ReadAll(resp.Body); resp.StatusCode != 201 {
			t.Errorf("the create that was under way: got %d %s, want 201 by the schema that it began with", resp.StatusCode, data)
		}
	})
	<-inside
	q.change(`{"spec":{"versions":[` + of("string") + `]}}`)
	code := 0
	for end := time.Now().Add(20 * time.Second); code != 201 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		code, _ = q.raw("POST", q.path("ships", "v1"), ship("new", `"two"`))
	}
	if code != 201 {
		t.Errorf("a create by the new schema: got %d, want 201", code)
	}
	_, _ = rest.Write([]byte(ship("old", "2")))
	rest.Close()
	running.Wait()
	q.want(422, "POST", q.path("ships", "v1"), ship("late", "2"), nil)
	q.want(200, "GET", q.path("ships", "v1")+"/old", "", map[string]any{"sails": 2})
}
