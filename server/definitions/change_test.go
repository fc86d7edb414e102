package definitions_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server/servertest/quaytest"
)

// unserved returns the text of a version that is not served.
func unserved(name string) string {
	return fmt.Sprintf(`{"name":%q,"served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`, name)
}

// TestDefinitionWatches keeps watches open while a definition changes. A watch ends when its
// version is no longer served, and all watches end when the definition is deleted.
func TestDefinitionWatches(t *testing.T) {
	q := quaytest.New(t)
	q.Define("ships", "Ship", quaytest.Version("v1", true), quaytest.Version("v2", false))
	q.Want(201, "POST", q.Path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"a"},"spec":{"sails":2,"keel":"x"}}`, nil)
	first, second := q.Watch(q.Path("ships", "v1")), q.Watch(q.Path("ships", "v2"))
	first()
	second()

	const schema = `"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"sails":{"type":"integer"},"flag":{"type":"string","default":"red"}}}}}}`
	q.Change(`{"spec":{"versions":[{"name":"v1","served":true,"storage":false,` + schema + `},{"name":"v2","served":true,"storage":true,` + schema +
		`,"additionalPrinterColumns":[{"name":"Flag","type":"string","jsonPath":".spec.flag"}]}]}}`)
	q.Eventually(q.Path("ships", "v1")+"/a", map[string]any{"spec.flag": "red", "spec.keel": nil})
	q.Want(200, "GET", q.Path("ships", "v2"), "", map[string]any{"rows.0.cells.1": "red"}, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	q.Want(200, "PATCH", q.Path("ships", "v1")+"/a", `{"spec":{"sails":3}}`, nil, "Content-Type", quaytest.MergePatch)
	for name, next := range map[string]func() map[string]any{"v1": first, "v2": second} {
		e := next()
		if e["type"] != "MODIFIED" || quaytest.Value(e, "object.spec.flag") != "red" || quaytest.Value(e, "object.spec.keel") != nil || quaytest.Value(e, "object.apiVersion") != q.Group+"/"+name {
			t.Errorf("the watch in %s: got %v, want the change, by the new schema", name, e)
		}
	}

	q.Change(`{"spec":{"versions":[` + unserved("v1") + `,{"name":"v2","served":true,"storage":true,` + schema + `}]}}`)
	if e := first(); e != nil {
		t.Errorf("the watch in a version that is served no more: got %v, want its end", e)
	}
	q.Gone(q.Path("ships", "v1") + "/a")
	q.Want(200, "PATCH", q.Path("ships", "v2")+"/a", `{"spec":{"sails":4}}`, nil, "Content-Type", quaytest.MergePatch)
	if e := second(); quaytest.Value(e, "object.spec.sails") != 4.0 {
		t.Errorf("the watch in the other version: got %v, want the change", e)
	}

	q.Want(200, "DELETE", quaytest.Definitions+"/ships."+q.Group, "", nil)
	if e := second(); e["type"] != "DELETED" {
		t.Errorf("the watch when the definition goes: got %v, want DELETED", e)
	}
	if e := second(); e != nil {
		t.Errorf("the watch when the definition is gone: got %v, want its end", e)
	}
}

// TestDefinitionUnderWay changes the schema of a definition while a create waits for the end of its
// body. The old schema validates that create, and the new schema validates the next create.
func TestDefinitionUnderWay(t *testing.T) {
	t.Parallel() // it waits
	q := quaytest.New(t)
	of := func(typ string) string {
		return fmt.Sprintf(`{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"sails":{"type":%q}}}}}`, typ)
	}
	ship := func(name, sails string) string {
		return fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":%q},"sails":%s}`, name, sails)
	}
	q.Define("ships", "Ship", of("integer"))

	body, rest := io.Pipe()
	inside := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(inside) }})
	r, err := http.NewRequestWithContext(ctx, "POST", q.URL+q.Path("ships", "v1"), body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue") // the server answers 100 when it reads the body
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
	q.Change(`{"spec":{"versions":[` + of("string") + `]}}`)
	code := 0
	for end := time.Now().Add(20 * time.Second); code != 201 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		code, _ = q.Raw("POST", q.Path("ships", "v1"), ship("new", `"two"`))
	}
	if code != 201 {
		t.Errorf("a create by the new schema: got %d, want 201", code)
	}
	_, _ = rest.Write([]byte(ship("old", "2")))
	rest.Close()
	running.Wait()
	q.Want(422, "POST", q.Path("ships", "v1"), ship("late", "2"), nil)
	q.Want(200, "GET", q.Path("ships", "v1")+"/old", "", map[string]any{"sails": 2})
}
