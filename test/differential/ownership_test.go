package differential

import (
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TestResetFields compares, for every kind and each door to it, the fields that nobody can own.
func TestResetFields(t *testing.T) {
	o, objects := newOurs(t), newShelf()
	for _, row := range rows {
		doors, err := row.REST(objects)
		if err != nil {
			t.Fatal(err)
		}
		store := o.server.Store(meta.GroupResource{Group: row.Kind.Group, Resource: row.Resource})
		for door, theirs := range doors {
			if _, ok := theirs.(rest.ResetFieldsFilterStrategy); ok {
				t.Errorf("%s: Kubernetes' fields have a filter, which is not looked at here", row.path(door))
			}
			var want []string
			if s, ok := theirs.(rest.ResetFieldsStrategy); ok {
				if set := s.GetResetFields()[fieldpath.APIVersion(row.Kind.GroupVersion().String())]; set != nil {
					set.Iterate(func(p fieldpath.Path) { want = append(want, strings.TrimPrefix(p.String(), ".")) })
				}
			}
			got := slices.Sorted(slices.Values(resetFields(store.Resource(), door)))
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", row.path(door), got, want)
			}
		}
	}
}

func resetFields(res *registry.Resource, door string) []string {
	if door == "" {
		return res.ResetFields
	}
	for _, sub := range res.Subresources {
		if sub.Name == door {
			return sub.ResetFields
		}
	}
	return nil
}
