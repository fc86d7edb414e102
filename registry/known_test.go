package registry_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
)

// stores has one Store, or none.
type stores struct{ store *registry.Store }

func (s stores) Store(meta.GroupResource) *registry.Store { return s.store }

func TestKnown(t *testing.T) {
	k := newKit(t, options{})
	k.fill(2, "ns", "other")
	known := registry.KnownOf[*widget](stores{k.Store}, widgets)
	for _, consistent := range []bool{true, false} {
		if list, err := known.List(k.ctx, consistent); err != nil || len(list) != 4 || list[0].Name != "w00" {
			t.Fatalf("got %d objects, %v", len(list), err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = known.List(k.ctx, false) }); n > 1 {
		t.Errorf("got %v allocations while nothing changes, want one at most", n)
	}
	if _, err := k.change("w01", colored("blue")); err != nil {
		t.Fatal(err)
	}
	if _, err := k.delete("w00", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err := known.List(k.ctx, true); err != nil || len(list) != 3 || list[0].Name != "w01" || list[0].Spec.Color != "blue" {
		t.Errorf("after changes: got %s, %v", text(list), err)
	}
	if list, err := registry.KnownOf[*widget](stores{}, widgets).List(k.ctx, true); err != nil || len(list) != 0 {
		t.Errorf("without a resource: got %d objects, %v", len(list), err)
	}
	if _, err := registry.KnownOf[*oldWidget](stores{k.Store}, widgets).List(k.ctx, true); err == nil {
		t.Error("of another type: got no error")
	}
}
