package registry_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// stores finds one Store, or none.
type stores struct{ store *registry.Store }

func (s stores) Store(meta.GroupResource) *registry.Store { return s.store }

func TestListMemo(t *testing.T) {
	k := newKit(t, options{})
	k.fill(2, "ns", "other")
	memo := registry.NewListMemo[*widget](stores{k.Store}, widgets)
	for _, fresh := range []request.Freshness{request.Consistent, request.Cached} {
		if list, err := memo.List(k.ctx, fresh); err != nil || len(list) != 4 || list[0].Name != "w00" {
			t.Fatalf("got %d objects, %v", len(list), err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = memo.List(k.ctx, request.Cached) }); n > 1 {
		t.Errorf("got %v allocations while nothing changes, want one at most", n)
	}
	if _, err := k.change("w01", colored("blue")); err != nil {
		t.Fatal(err)
	}
	if _, err := k.delete("w00", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err := memo.List(k.ctx, request.Consistent); err != nil || len(list) != 3 || list[0].Name != "w01" || list[0].Spec.Color != "blue" {
		t.Errorf("after changes: got %s, %v", text(list), err)
	}
	if list, err := registry.NewListMemo[*widget](stores{}, widgets).List(k.ctx, request.Consistent); err != nil || len(list) != 0 {
		t.Errorf("without a resource: got %d objects, %v", len(list), err)
	}
	if _, err := registry.NewListMemo[*oldWidget](stores{k.Store}, widgets).List(k.ctx, request.Consistent); err == nil {
		t.Error("of another type: got no error")
	}
}

// TestNamespaceMemo: the list of a namespace is kept until one of its objects changes.
func TestNamespaceMemo(t *testing.T) {
	k := newKit(t, options{})
	k.fill(2, "ns", "other")
	memo := registry.NewNamespaceMemo[*widget](stores{k.Store}, widgets)
	for _, fresh := range []request.Freshness{request.Consistent, request.Cached} {
		if list, err := memo.List(k.ctx, "ns", fresh); err != nil || len(list) != 2 || list[0].Namespace != "ns" {
			t.Fatalf("got %d objects, %v", len(list), err)
		}
	}
	for namespace, most := range map[string]float64{"ns": 3, "empty": 3} {
		if n := testing.AllocsPerRun(100, func() { _, _ = memo.List(k.ctx, namespace, request.Cached) }); n > most {
			t.Errorf("%s: got %v allocations while nothing changes, want %v at most", namespace, n, most)
		}
	}
	if _, err := k.change("w01", colored("blue")); err != nil {
		t.Fatal(err)
	}
	if list, err := memo.List(k.ctx, "ns", request.Consistent); err != nil || len(list) != 2 || list[1].Spec.Color != "blue" {
		t.Errorf("after a change: got %s, %v", text(list), err)
	}
	for _, name := range []string{"w00", "w01"} {
		if _, err := k.delete(name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := memo.List(k.ctx, "ns", request.Consistent); err != nil || len(list) != 0 {
		t.Errorf("after all were deleted: got %s, %v", text(list), err)
	}
	if list, err := registry.NewNamespaceMemo[*widget](stores{}, widgets).List(k.ctx, "ns", request.Consistent); err != nil || len(list) != 0 {
		t.Errorf("without a resource: got %d objects, %v", len(list), err)
	}
}
