package kind_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

func TestKeeper(t *testing.T) {
	const (
		old = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a"},` +
			`"spec":{"color":"old","size":1,"finalizers":["old"]},"status":{"phase":"Old"}}`
		bare = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a"}}`
		sent = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a","labels":{"new":"yes"}},` +
			`"spec":{"color":"new","size":2,"finalizers":["new"]},"status":{"phase":"New"}}`
	)
	result := func(color, size, finalizers, phase string) string {
		return `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a","labels":{"new":"yes"}},` +
			`"spec":{` + strings.Trim(color+size+finalizers, ",") + `},"status":{` + phase + `}}`
	}
	const (
		newColor, newSize, newFinalizers, newPhase = `"color":"new",`, `"size":2,`, `"finalizers":["new"],`, `"phase":"New"`
		oldColor, oldSize, oldFinalizers, oldPhase = `"color":"old",`, `"size":1,`, `"finalizers":["old"],`, `"phase":"Old"`
	)
	for _, tt := range []struct {
		name   string
		paths  []string
		others bool
		old    string
		want   string
	}{
		{"nothing", nil, false, old, result(newColor, newSize, newFinalizers, newPhase)},
		{"status", []string{"status"}, false, old, result(newColor, newSize, newFinalizers, oldPhase)},
		{"all but status", []string{"status"}, true, old, result(oldColor, oldSize, oldFinalizers, newPhase)},
		{"below spec", []string{"spec.finalizers"}, false, old, result(newColor, newSize, oldFinalizers, newPhase)},
		{"all but what is below spec", []string{"spec.finalizers"}, true, old, result(oldColor, oldSize, newFinalizers, oldPhase)},
		{"two", []string{"status", "spec.finalizers"}, false, old, result(newColor, newSize, oldFinalizers, oldPhase)},
		{"all but two", []string{"spec.finalizers", "status.phase"}, true, old, result(oldColor, oldSize, newFinalizers, newPhase)},
		{"everything", nil, true, old, result(oldColor, oldSize, oldFinalizers, oldPhase)},
		{"what was not there", []string{"status", "spec.finalizers"}, false, bare, result(newColor, newSize, "", "")},
		{"all but what was not there", []string{"spec.finalizers"}, true, bare, result("", "", newFinalizers, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, k kind.Kind) {
				paths := append([]string(nil), tt.paths...)
				keep, err := k.Keeper(paths, tt.others)
				if err != nil {
					t.Fatal(err)
				}
				obj, before := decode(t, k, sent).(meta.Object), decode(t, k, tt.old).(meta.Object)
				keep(obj, before)
				want, _, err := codec.DecodeTree([]byte(tt.want), false, nil)
				if err != nil {
					t.Fatal(err)
				}
				drop(want)
				if got := tree(t, k, obj); !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				wantTree(t, "the old object", k, before, tt.old)
				if !reflect.DeepEqual(paths, append([]string(nil), tt.paths...)) {
					t.Errorf("the paths are changed: %v", paths)
				}
				if u, ok := obj.(*scheme.Unstructured); ok && tt.others { // what was kept is a copy
					_ = u.Set("changed", "spec", "color")
				} else if g, ok := obj.(*gadget); ok && len(g.Spec.Finalizers) > 0 {
					g.Spec.Finalizers[0] = "changed"
				}
				wantTree(t, "the old object after a change of the new", k, before, tt.old)
			})
		})
	}
}

// TestKeeperRefuses: Keeper reports a misspelled path, so a server finds it at the start.
func TestKeeperRefuses(t *testing.T) {
	k := sorts(t)["typed"]
	for _, path := range []string{"statuses", "spec.nothing", "spec.color.shade", ""} {
		for _, others := range []bool{false, true} {
			if _, err := k.Keeper([]string{path}, others); err == nil || !strings.Contains(err.Error(), "Gadget") {
				t.Errorf("Keeper(%q, %v): got %v, want an error that names the kind", path, others, err)
			}
		}
	}
}

// TestDynamicKeeperRefuses refuses paths on which nothing would be kept.
func TestDynamicKeeperRefuses(t *testing.T) {
	s, errs := schema.Parse(nil, []byte(`{"type":"object","properties":{"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
		"spec":{"type":"object","properties":{"color":{"type":"string"},"list":{"type":"array","items":{"type":"object"}}}}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := kind.Dynamic{GroupKind: gadgets, Versions: []kind.DynamicVersion{{Name: "v1", Schema: s}}}.New()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "content", "metadata": "content", "metadata.finalizers": "content", "kind": "content",
		"spec.color.shade": "spec.color is not an object", "spec.list.name": "spec.list is not an object",
		"spec.color": "", "spec.list": "", "free.at.will": "", "status.unknown": "",
	} {
		for _, others := range []bool{false, true} {
			_, err := k.Keeper([]string{path}, others)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("Keeper(%q, %v): got %v, want %q", path, others, err, want)
			}
		}
	}
}
