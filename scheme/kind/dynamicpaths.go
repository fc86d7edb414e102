package kind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Keeper cannot know all fields that objects have. It refuses paths on which there can be none.
func (k *dynamic) Keeper(paths []string, others bool) (func(obj, old meta.Object), error) {
	if err := k.checkPaths(paths); err != nil {
		return nil, err
	}
	return func(obj, old meta.Object) {
		u, before := obj.(*scheme.Unstructured), old.(*scheme.Unstructured)
		if !others {
			for _, path := range paths {
				keep(u, before, strings.Split(path, "."))
			}
			return
		}
		// What the paths name is the client's, all else is as it was.
		client := &scheme.Unstructured{Content: u.Content}
		u.Content, _ = typeinfo.CopyJSON(before.Content).(map[string]any)
		for _, path := range paths {
			keep(u, client, strings.Split(path, "."))
		}
	}, nil
}

func (k *dynamic) Differ(paths []string) (func(a, b meta.Object) bool, error) {
	if err := k.checkPaths(paths); err != nil {
		return nil, err
	}
	split := make([][]string, len(paths))
	for i, path := range paths {
		split[i] = strings.Split(path, ".")
	}
	return func(a, b meta.Object) bool {
		return slices.ContainsFunc(split, func(path []string) bool {
			x, inA := scheme.At[any](a.(*scheme.Unstructured), path...)
			y, inB := scheme.At[any](b.(*scheme.Unstructured), path...)
			return inA != inB || !typeinfo.EqualJSON(x, y)
		})
	}, nil
}

func (k *dynamic) checkPaths(paths []string) error {
	for _, path := range paths {
		if err := k.checkPath(path); err != nil {
			return fmt.Errorf("%s: %w", k.gk, err)
		}
	}
	return nil
}

// checkPath refuses what is not content, and what leads through a value that is no object: there, nothing would be kept.
func (k *dynamic) checkPath(path string) error {
	names := strings.Split(path, ".")
	switch names[0] {
	case "", "apiVersion", "kind", "metadata":
		return fmt.Errorf("the path %q does not lead into the content", path)
	}
	s := In(k, k.hub).Schema().Target()
	for i, name := range names {
		if s.Type != "" && s.Type != schema.Object {
			return fmt.Errorf("on the path %q, %s is no object but of type %s", path, strings.Join(names[:i], "."), s.Type)
		}
		if s = s.Child(name); s == nil {
			return nil
		}
		s = s.Target()
	}
	return nil
}

// keep makes the field of u at a path what it is in from.
func keep(u, from *scheme.Unstructured, path []string) {
	value, ok := scheme.At[any](from, path...)
	if !ok {
		u.Remove(path...)
		return
	}
	// Where something else stands in the way of the path, the object is not valid, and is found so.
	_ = u.Set(typeinfo.CopyJSON(value), path...)
}
