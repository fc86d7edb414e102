package apply

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/scheme/meter"
)

// prune returns merged without the fields that self listed in its last application and no longer
// lists, unless another owner has them.
//
// The steps are those of structured-merge-diff: all fields that last lists are removed; fields that
// somebody owns are put back, version by version, beginning with the version of last, because
// conversions may need them; then fields that last did not list are put back.
func (w *write) prune(merged any, owners []owner, self, last owner) (any, error) {
	if last.fields.Empty() || w.listsAll(merged, owners, self, last) {
		return merged, nil
	}
	whole, err := w.convert(typed{merged, w.before.version, w.before.schema}, last.version)
	if err != nil {
		return nil, fmt.Errorf("failed to convert merged object to last applied version: %w", err)
	}
	listed := last.fields.withNamed(&w.meter, whole.schema)
	pruned := whole
	pruned.tree = Remove(&w.meter, whole.tree, listed, whole.schema)
	if pruned, err = w.putBack(whole, pruned, owners); err != nil {
		return nil, fmt.Errorf("failed add back owned items: %w", err)
	}

	if pruned, err = w.convert(pruned, last.version); err != nil {
		return nil,
			fmt.Errorf("failed add back dangling items: failed to convert pruned object to last applied version: %w", err)
	}
	gone, err := w.missing(whole, pruned, nil)
	if err != nil {
		return nil, fmt.Errorf("failed add back dangling items: %w", err)
	}
	whole.tree = Remove(&w.meter, whole.tree, gone.Intersect(&w.meter, listed), whole.schema)
	whole, err = w.convert(whole, w.before.version)
	return whole.tree, err
}

// listsAll reports whether self still lists all fields of last, so that nothing has to be pruned.
// It is a fast path and reports true only if no conversion is involved, and no object that self
// lists as empty has fields in merged.
func (w *write) listsAll(merged any, owners []owner, self, last owner) bool {
	if !last.fields.Subtract(&w.meter, self.fields).Empty() ||
		slices.ContainsFunc(owners, func(o owner) bool { return o.version != last.version }) {
		return false
	}
	all, err := FieldsOf(&w.meter, merged, w.before.schema)
	return err == nil && last.fields.Subtract(&w.meter, all).Empty()
}

// putBack returns pruned, which was made of whole, with the fields that somebody owns put back. The
// result is in the version of the last owner that was looked at.
func (w *write) putBack(whole, pruned typed, owners []owner) (typed, error) {
	owned := map[string][]*Set{} // by version
	for _, o := range owners {
		owned[o.version] = append(owned[o.version], o.fields)
	}
	versions := slices.Sorted(maps.Keys(owned))
	if i := slices.Index(versions, whole.version); i > 0 {
		versions = slices.Insert(slices.Delete(versions, i, i+1), 0, whole.version)
	}
	for _, version := range versions {
		var err error
		if whole, err = w.convert(whole, version); err != nil {
			return typed{}, fmt.Errorf("failed to convert merged object at version %v: %w", version, err)
		}
		if pruned, err = w.convert(pruned, version); err != nil {
			return typed{}, fmt.Errorf("failed to convert pruned object at version %v: %w", version, err)
		}
		gone, err := w.missing(whole, pruned, unite(&w.meter, owned[version]).withNamed(&w.meter, whole.schema))
		if err != nil {
			return typed{}, err
		}
		pruned.tree = Remove(&w.meter, whole.tree, gone, whole.schema)
	}
	return pruned, nil
}

// missing returns the fields of whole, with the objects around them, that are neither in pruned nor
// in kept.
func (w *write) missing(whole, pruned typed, kept *Set) (*Set, error) {
	all, err := FieldsOf(&w.meter, whole.tree, whole.schema)
	if err != nil {
		return nil, fmt.Errorf("failed to create field set from merged object at version %v: %w", whole.version, err)
	}
	left, err := FieldsOf(&w.meter, pruned.tree, pruned.schema)
	if err != nil {
		return nil, fmt.Errorf("failed to create field set from pruned object at version %v: %w", pruned.version, err)
	}
	return all.withNamed(&w.meter, whole.schema).Subtract(&w.meter,
		left.withNamed(&w.meter, pruned.schema).Union(&w.meter, kept)), nil
}

// unite returns the union of at least one set. It unites them pairwise, as a balanced tree, so that
// many small sets cost no more than a few large ones of the same total size.
func unite(m *meter.Meter, sets []*Set) *Set {
	if len(sets) == 1 {
		return sets[0]
	}
	half := len(sets) / 2
	return unite(m, sets[:half]).Union(m, unite(m, sets[half:]))
}
