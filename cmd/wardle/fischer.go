package main

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
)

// fischers declares the resource fischers. It is cluster-scoped and has no strategy, because the
// tags of its type say everything.
func fischers() registry.Resource {
	return registry.Typed(registry.ResourceOf[*v1alpha1.Fischer]{
		GroupResource: fischerResource,
		Kind:          "Fischer",
		Table: &registry.TableOf[*v1alpha1.Fischer]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Disallows", "Names that no new Flunder may have.", 0),
				registry.AgeColumn,
			},
			Cells: func(f *v1alpha1.Fischer, now time.Time) []any {
				return []any{f.Name, strings.Join(f.DisallowedFlunders, ","), registry.Age(&f.ObjectMeta, now)}
			},
		},
	})
}
