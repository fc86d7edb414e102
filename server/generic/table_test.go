package generic

import (
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
)

func TestVersionPriority(t *testing.T) {
	for _, tt := range []struct {
		versions []string
		custom   bool
		want     string
	}{
		{[]string{"v2", "v1", "v1beta1"}, false, "[15 15 15]"}, // the order of discovery is the same
		{[]string{"v2", "v1", "v1beta1"}, true, "[100 100 100]"},
		{[]string{"v1", "v2"}, false, "[17 16]"},
		{[]string{"v1beta1", "v1", "v1alpha1"}, false, "[18 17 16]"},
	} {
		var versions []*kind.Version
		for _, v := range tt.versions {
			versions = append(versions, &kind.Version{
				GVK: meta.GroupVersionKind{Group: "g", Version: v, Kind: "Thing"},
			})
		}
		got := make([]int, len(versions))
		for i := range versions {
			got[i] = versionPriority(versions, i, tt.custom)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%v: got %v, want %s", tt.versions, got, tt.want)
		}
	}
}

// BenchmarkOfKey measures the look-up by key that every operation on the store makes.
func BenchmarkOfKey(b *testing.B) {
	for _, n := range []int{10, 600} {
		t := NewTable("/registry/")
		state := t.now.Load().clone()
		for i := range n {
			prefix := fmt.Sprintf("/registry/group%d.io/things/", i)
			state.entries[prefix] = &Entry{Record: backing.Record{Prefix: prefix}}
		}
		t.now.Store(state)
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if t.OfKey("/registry/group7.io/things/namespace/name") == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}
