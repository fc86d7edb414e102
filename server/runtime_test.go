package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
)

// boats is a resource without a Go type: in v1 a boat has spec.length in metres, in v1alpha1 it has
// spec.feet. Its schema uses everything that a schema can have, and its converter can be made to
// hang.
type boats struct {
	hang  atomic.Pointer[chan struct{}] // conversions of the boat "stuck" wait until it is closed
	limit int                           // the maximum of spec.length
}

const boatGroup = "boats.example.com"

var boatResource = meta.GroupResource{Group: boatGroup, Resource: "boats"}

func (b *boats) schema(t testing.TB, length string) *schema.Schema {
	t.Helper()
	s, errs := schema.Parse(nil, []byte(fmt.Sprintf(`{"type":"object","required":["spec"],"properties":{
		"spec":{"type":"object","required":["%[1]s"],"properties":{
			"%[1]s":{"type":"integer","minimum":1,"maximum":%[2]d},
			"material":{"type":"string","default":"willow","enum":["willow","ash"]},
			"crew":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}},
		"status":{"type":"object","properties":{"afloat":{"type":"boolean"}}}}}`, length, b.limit)))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return s
}

// convert converts metres to feet and back, as far as the tests need it.
func (b *boats) convert(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
	if wait := b.hang.Load(); wait != nil && u.Name == "stuck" {
		select {
		case <-*wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	from, to, factor := "length", "feet", func(n int64) int64 { return n * 3 }
	if version == "v1" {
		from, to, factor = "feet", "length", func(n int64) int64 { return n / 3 }
	}
	n, ok := scheme.At[int64](u, "spec", from)
	if !ok {
		return nil, errors.New("a boat without a length")
	}
	u.Remove("spec", from)
	if err := u.Set(factor(n), "spec", to); err != nil {
		return nil, err
	}
	u.APIVersion = boatGroup + "/" + version
	return u, nil
}

// declare returns the resource; stored is its storage version.
func (b *boats) declare(t testing.TB, stored string) registry.Resource {
	t.Helper()
	k, err := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: boatGroup, Kind: "Boat"}, Hub: "v1", Convert: kind.Each(b.convert),
		Versions: []kind.DynamicVersion{
			{Name: "v1", Schema: b.schema(t, "length"), Selectable: []string{"spec.length"}},
			{Name: "v1alpha1", Schema: b.schema(t, "feet"), Selectable: []string{"spec.feet"}},
		},
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	return registry.Typed(registry.ResourceOf[*scheme.Unstructured]{
		GroupResource: boatResource, Kind: "Boat", ShortNames: []string{"bt"}, Namespaced: true,
		Type: k, StorageVersion: stored, Custom: true, ReturnsDeleted: true,
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*scheme.Unstructured]{},
		Fields: []registry.FieldValue{
			{Label: "spec.length", Path: "spec.length", Version: "v1"}, {Label: "spec.feet", Path: "spec.feet", Version: "v1alpha1"},
		},
		Table: &registry.TableOf[*scheme.Unstructured]{
			Columns: []meta.TableColumnDefinition{registry.NameColumn, registry.Column("Material", "What it is made of.", 0)},
			Cells: func(u *scheme.Unstructured, _ time.Time) []any {
				material, _ := scheme.At[string](u, "spec", "material")
				return []any{u.Name, material}
			},
		},
	})
}

// harbor is a server with boats.
type harbor struct {
	*servertest.Server
	t testing.TB
}

const (
	boatsV1    = "/apis/" + boatGroup + "/v1/namespaces/default/boats"
	boatsAlpha = "/apis/" + boatGroup + "/v1alpha1/namespaces/default/boats"
)

func (h *harbor) caller() *quaytest.Caller { return &quaytest.Caller{Server: h.Server, T: h.t} }

func (h *harbor) do(method, path, body string, header ...string) (int, map[string]any) {
	h.t.Helper()
	return h.caller().Do(method, path, body, header...)
}

func (h *harbor) raw(method, path, body string, header ...string) (int, []byte) {
	h.t.Helper()
	return h.caller().Raw(method, path, body, header...)
}

func (h *harbor) want(code int, method, path, body string, at map[string]any, header ...string) {
	h.t.Helper()
	h.caller().Want(code, method, path, body, at, header...)
}

func (h *harbor) watch(path string, query ...string) func() map[string]any {
	h.t.Helper()
	return h.caller().Watch(path, query...)
}

func value(v any, path string) any { return quaytest.Value(v, path) }

// load sends requests for other resources until stop is called, which returns the number of
// requests.
func (h *harbor) load() (stop func() int64) {
	ctx, cancel := context.WithCancel(h.t.Context())
	var wg sync.WaitGroup
	var done atomic.Int64
	for w := range 4 {
		wg.Go(func() {
			path := fmt.Sprintf("/api/v1/namespaces/default/configmaps/load%d", w)
			for i := 0; ctx.Err() == nil; i++ {
				body := fmt.Sprintf(`{"metadata":{"name":"load%d"},"data":{"i":"%d"}}`, w, i)
				if i == 0 {
					h.want(201, "POST", "/api/v1/namespaces/default/configmaps", body, nil)
				} else {
					h.want(200, "PUT", path, body, nil)
				}
				h.want(200, "GET", path, "", map[string]any{"data.i": i})
				h.want(200, "GET", "/api/v1/configmaps?limit=2", "", nil)
				done.Add(3)
			}
		})
	}
	return func() int64 { cancel(); wg.Wait(); return done.Load() }
}

// TestRuntimeResource installs a resource without a Go type in a server under load, uses each verb,
// replaces the resource and removes it.
func TestRuntimeResource(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	stop := h.load()
	b := &boats{limit: 100}
	if code, _ := h.raw("GET", boatsV1, ""); code != 404 {
		t.Fatalf("before: got %d, want 404", code)
	}
	install(t, h.Server.Server, b.declare(t, "v1"))
	t.Run("discovery", func(t *testing.T) { (&harbor{h.Server, t}).discovery() })
	t.Run("objects", func(t *testing.T) { (&harbor{h.Server, t}).objects() })
	t.Run("conversion", func(t *testing.T) { (&harbor{h.Server, t}).conversion(b) })
	t.Run("change", func(t *testing.T) { (&harbor{h.Server, t}).change(b) })
	t.Run("removal", func(t *testing.T) { (&harbor{h.Server, t}).removal() })
	if n := stop(); n < 10 {
		t.Errorf("the load did %d requests only", n)
	}
}

// install installs a resource in a running server.
func install(t testing.TB, s *server.Server, res registry.Resource) {
	t.Helper()
	if err := s.Install(s.Core, server.Group{Name: res.GroupResource.Group, Priority: 1000, Resources: []registry.Resource{res}}); err != nil {
		t.Fatal(err)
	}
}

func (h *harbor) discovery() {
	h.want(200, "GET", "/apis/"+boatGroup, "", map[string]any{"preferredVersion.version": "v1", "versions.1.version": "v1alpha1"})
	h.want(200, "GET", "/apis/"+boatGroup+"/v1alpha1", "", map[string]any{
		"resources.0.name": "boats", "resources.0.kind": "Boat", "resources.0.shortNames.0": "bt", "resources.1.name": "boats/status",
	})
	for _, path := range []string{"/apis", "/openapi/v3"} {
		if code, data := h.raw("GET", path, ""); code != 200 || !bytes.Contains(data, []byte(boatGroup)) {
			h.t.Errorf("GET %s: got %d, want the group in it", path, code)
		}
	}
	h.want(200, "GET", "/openapi/v3/apis/"+boatGroup+"/v1", "", map[string]any{"openapi": "3.0.0"})
	if _, data := h.raw("GET", "/openapi/v3/apis/"+boatGroup+"/v1", ""); !bytes.Contains(data, []byte(`"com.example.boats.v1.Boat"`)) || !bytes.Contains(data, []byte(`"willow"`)) {
		h.t.Errorf("the OpenAPI document lacks the schema")
	}
	if _, data := h.raw("GET", "/openapi/v2", ""); !bytes.Contains(data, []byte(`"com.example.boats.v1.Boat"`)) {
		h.t.Errorf("OpenAPI v2 lacks the schema")
	}
}

func (h *harbor) objects() {
	events, alpha := h.watch(boatsV1), h.watch(boatsAlpha)
	h.want(201, "POST", boatsAlpha, `{"metadata":{"name":"a"},"spec":{"feet":9,"sail":true},"status":{"afloat":true}}`,
		map[string]any{"apiVersion": boatGroup + "/v1alpha1", "spec.feet": 9, "spec.material": "willow", "spec.sail": nil, "status": nil, "metadata.generation": 1})
	h.want(200, "GET", boatsV1+"/a", "", map[string]any{"apiVersion": boatGroup + "/v1", "kind": "Boat", "spec.length": 3, "spec.feet": nil})
	h.want(422, "POST", boatsV1, `{"metadata":{"name":"b"},"spec":{"length":101,"material":"oak"}}`, map[string]any{
		"reason": "Invalid", "details.causes.0.field": "spec.length", "details.causes.1.field": "spec.material"})
	h.want(400, "POST", boatsV1+"?fieldValidation=Strict", `{"metadata":{"name":"b"},"spec":{"length":1,"sail":true}}`, map[string]any{"reason": "BadRequest"})
	h.want(200, "PATCH", boatsV1+"/a", `{"spec":{"crew":["x","y"]}}`, map[string]any{"spec.crew.1": "y", "spec.length": 3},
		"Content-Type", "application/merge-patch+json")
	h.want(422, "PATCH", boatsV1+"/a", `[{"op":"add","path":"/spec/crew/0","value":"y"}]`, map[string]any{"details.causes.0.reason": "FieldValueDuplicate"},
		"Content-Type", "application/json-patch+json")
	for _, form := range []string{"application/strategic-merge-patch+json", "text/plain"} {
		h.want(415, "PATCH", boatsV1+"/a", `{}`, map[string]any{"message": "the body of the request was in an unknown format - " +
			"accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"}, "Content-Type", form)
	}
	h.want(200, "PATCH", boatsAlpha+"/a/status", `{"status":{"afloat":true},"spec":{"feet":30}}`, map[string]any{"status.afloat": true, "spec.feet": 9},
		"Content-Type", "application/merge-patch+json")
	h.want(200, "PATCH", boatsV1+"/a", `{"status":{"afloat":false}}`, map[string]any{"status.afloat": true}, "Content-Type", "application/merge-patch+json")
	h.want(200, "GET", boatsV1, "", map[string]any{"kind": "BoatList", "items.0.kind": "Boat", "items.0.spec.length": 3},
		"Accept", "application/json")
	h.want(200, "GET", boatsAlpha, "", map[string]any{"rows.0.cells.0": "a", "rows.0.cells.1": "willow", "rows.0.object.metadata.name": "a"},
		"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	h.want(200, "GET", boatsV1+"?fieldSelector=spec.length%3D3", "", map[string]any{"items.0.metadata.name": "a"})
	h.want(200, "GET", boatsAlpha+"?fieldSelector=spec.feet%3D9", "", map[string]any{"items.0.metadata.name": "a"})
	h.want(200, "GET", boatsAlpha+"?fieldSelector=spec.feet%3D3", "", map[string]any{"items.0.metadata.name": nil})
	h.want(400, "GET", boatsAlpha+"?fieldSelector=spec.length%3D3", "", nil)
	h.want(200, "DELETE", boatsAlpha+"/a", "", map[string]any{"apiVersion": boatGroup + "/v1alpha1"})
	for _, want := range []string{"ADDED", "MODIFIED", "MODIFIED", "DELETED"} {
		one, two := events(), alpha()
		if one["type"] != want || value(one, "object.spec.length") != 3.0 || two["type"] != want || value(two, "object.spec.feet") != 9.0 {
			h.t.Errorf("events: got %v and %v, want %s in both versions", one, two, want)
		}
	}
}

// conversion makes the converter hang: only requests that need its result wait. If others waited,
// they would fail at the end of their time limit.
func (h *harbor) conversion(b *boats) {
	gate := make(chan struct{})
	b.hang.Store(&gate) // is set before the boat exists, because a watch that is about to end may still convert it
	for _, name := range []string{"fine", "stuck"} {
		h.want(201, "POST", boatsV1, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"length":3}}`, name), nil)
	}
	hanging := make(chan int, 1)
	go func() {
		code, _ := h.raw("GET", boatsAlpha+"/stuck", "")
		hanging <- code
	}()
	for range 20 {
		h.want(200, "GET", boatsV1+"/stuck", "", map[string]any{"spec.length": 3})
		h.want(200, "GET", boatsAlpha+"/fine", "", map[string]any{"spec.feet": 9})
		h.want(200, "GET", boatsV1, "", map[string]any{"items.1.metadata.name": "stuck"})
		h.want(200, "PATCH", boatsV1+"/stuck", `{"metadata":{"labels":{"at":"`+time.Now().Format("150405.000000000")+`"}}}`, nil, "Content-Type", "application/merge-patch+json")
		h.want(200, "GET", "/api/v1/namespaces/default", "", nil)
	}
	select {
	case code := <-hanging:
		h.t.Fatalf("the reader who needs the converter was answered %d", code)
	default:
	}
	close(gate)
	if code := <-hanging; code != 200 {
		h.t.Errorf("the reader who needs the converter: got %d, want 200 in the end", code)
	}
	b.hang.Store(nil)
}

// change replaces the declaration with another storage version and a tighter schema. Watches
// continue.
func (h *harbor) change(b *boats) {
	events := h.watch(boatsV1, "&fieldSelector=metadata.name%3Dfine")
	if e := events(); e["type"] != "ADDED" {
		h.t.Fatalf("got %v", e)
	}
	b.limit = 50
	if err := h.Server.Server.Replace(b.declare(h.t, "v1alpha1")); err != nil {
		h.t.Fatal(err)
	}
	h.want(422, "POST", boatsV1, `{"metadata":{"name":"long"},"spec":{"length":60}}`, nil)
	h.want(200, "GET", boatsV1+"/fine", "", map[string]any{"spec.length": 3})
	h.want(200, "PATCH", boatsV1+"/fine", `{"spec":{"length":4}}`, map[string]any{"spec.length": 4}, "Content-Type", "application/merge-patch+json")
	h.want(200, "GET", boatsAlpha+"/fine", "", map[string]any{"spec.feet": 12})
	if e := events(); e["type"] != "MODIFIED" || value(e, "object.spec.length") != 4.0 {
		h.t.Errorf("the watch of before: got %v, want the change", e)
	}
}

// removal removes the resource.
func (h *harbor) removal() {
	events := h.watch(boatsV1)
	for range 2 {
		events()
	}
	gone, err := h.Server.Server.Remove(boatResource)
	if err != nil {
		h.t.Fatal(err)
	}
	if code, _ := h.raw("GET", boatsV1+"/fine", ""); code != 404 {
		h.t.Errorf("GET after the removal: got %d, want 404", code)
	}
	if _, data := h.raw("GET", "/apis", ""); bytes.Contains(data, []byte(boatGroup)) {
		h.t.Error("/apis still has the group")
	}
	if _, data := h.raw("GET", "/openapi/v3", ""); bytes.Contains(data, []byte(boatGroup)) {
		h.t.Error("/openapi/v3 still has the group")
	}
	for e := events(); e != nil; e = events() {
		if e["type"] == "MODIFIED" {
			h.t.Errorf("the watch of before: got %v", e)
		}
	}
	<-gone
}
