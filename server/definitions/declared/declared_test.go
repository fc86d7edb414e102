package declared

import (
	"testing"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestDeclared checks that the versions of a definition count until the definition is gone.
func TestDeclared(t *testing.T) {
	d := New()
	expect := func(when string, changed bool, then func(), versions ...string) {
		t.Helper()
		next := d.Next()
		then()
		select {
		case <-next:
			if !changed {
				t.Errorf("%s: a change is told that is none", when)
			}
		default:
			if changed {
				t.Errorf("%s: the change is not told", when)
			}
		}
		all := d.All()
		if len(all) != len(versions) {
			t.Errorf("%s: got %v, want %v", when, all, versions)
		}
		for _, v := range versions {
			if !all[meta.GroupVersion{Group: "example.com", Version: v}] {
				t.Errorf("%s: got %v, want %s among them", when, all, v)
			}
		}
	}
	def := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: meta.ObjectMeta{Name: "things.example.com"}}
	def.Spec.Group = "example.com"
	def.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}, {Name: "v2"}}
	expect("a definition", true, func() { d.Learn(def) }, "v1")
	expect("the same again", false, func() { d.Learn(def) }, "v1")
	def.Spec.Versions[1].Served = true
	expect("one version more", true, func() { d.Learn(def) }, "v1", "v2")
	expect("one that nobody knows is gone", false, func() { d.Forget("others.example.com") }, "v1", "v2")
	expect("it is gone", true, func() { d.Forget(def.Name) })
	expect("it is gone again", false, func() { d.Forget(def.Name) })
}
