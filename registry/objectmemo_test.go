package registry_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestObjectMemo reads objects by name. An object is decoded again only after it has changed.
func TestObjectMemo(t *testing.T) {
	k := newKit(t, options{})
	k.fill(2, "ns", "other")
	memo := registry.NewObjectMemo[*widget](stores{k.Store}, widgets)
	get := func(namespace, name string, fresh request.Freshness) (*widget, error) {
		return memo.Get(k.ctx, namespace, name, fresh)
	}
	first, err := get("ns", "w01", request.Consistent)
	if err != nil || first.Namespace != "ns" || first.Name != "w01" {
		t.Fatalf("got %+v, %v", first, err)
	}
	if again, err := get("ns", "w01", request.Cached); err != nil || again != first {
		t.Errorf("again: got %p, %v, want %p", again, err, first)
	}
	if other, err := get("other", "w01", request.Cached); err != nil || other.Namespace != "other" {
		t.Errorf("of another namespace: got %+v, %v", other, err)
	}
	if _, err := k.List(k.ctx, &request.ListRequest{}); err != nil { // the cache has been loaded and can answer
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = get("ns", "w01", request.Cached) }); n > 1 {
		t.Errorf("got %v allocations while nothing changes, want one at most", n)
	}
	if _, err := k.change("w01", colored("blue")); err != nil {
		t.Fatal(err)
	}
	if changed, err := get("ns", "w01", request.Consistent); err != nil || changed.Spec.Color != "blue" || first.Spec.Color == "blue" {
		t.Errorf("after a change: got %+v, %v; before: %+v", changed, err, first)
	}
	if _, err := k.delete("w01", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []request.Freshness{request.Consistent, request.Cached} {
		if _, err := get("ns", "w01", fresh); !meta.IsNotFound(err) {
			t.Errorf("after deletion: got %v", err)
		}
	}
	if _, err := registry.NewObjectMemo[*widget](stores{}, widgets).Get(k.ctx, "ns", "w01", request.Cached); !meta.IsNotFound(err) {
		t.Errorf("without a resource: got %v", err)
	}
	if _, err := registry.NewObjectMemo[*oldWidget](stores{k.Store}, widgets).Get(k.ctx, "ns", "w00", request.Cached); err == nil {
		t.Error("of another type: got no error")
	}
}
