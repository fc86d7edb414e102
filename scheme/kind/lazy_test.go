package kind_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestLazyKind: the functions of a lazy kind resolve their paths at their first call. A path that
// does not exist is a panic then.
func TestLazyKind(t *testing.T) {
	s := scheme.New()
	s.AddLazy(func(s *scheme.Scheme) { s.AddKnownType(v1, &gadget{}) })
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	k := kind.NewTypes(s, codec.NewFactory(s)).Kind(gadgets)
	keep, err := k.Keeper([]string{"status"}, true)
	if err != nil {
		t.Fatal(err)
	}
	differ, err := k.Differ([]string{"spec"})
	if err != nil {
		t.Fatal(err)
	}
	obj, old := &gadget{}, &gadget{}
	obj.Spec.Color, old.Spec.Color = "new", "old"
	if !differ(obj, old) {
		t.Error("Differ: two colors are the same")
	}
	if keep(obj, old); obj.Spec.Color != "old" {
		t.Errorf("Keeper: got %q, want what was before", obj.Spec.Color)
	}

	keep, err = k.Keeper([]string{"nothing"}, false)
	if err != nil {
		t.Fatal(err)
	}
	differ, err = k.Differ([]string{"nothing"})
	if err != nil {
		t.Fatal(err)
	}
	for name, use := range map[string]func(a, b meta.Object){"Keeper": keep, "Differ": func(a, b meta.Object) { differ(a, b) }} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "there is no field nothing") {
					t.Errorf("%s: got the panic %v, want that there is no such field", name, err)
				}
			}()
			use(obj, old)
		}()
	}
}
