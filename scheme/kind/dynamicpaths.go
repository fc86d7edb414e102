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

// Keeper implements Kind.Keeper. A schema may not name all fields that objects have, so Keeper
// refuses only paths on which no field can lie.
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
		// The paths name what the client may set; everything else stays as it was.
		client := &scheme.Unstructured{Content: u.Content}
		u.Content, _ = typeinfo.CopyJSON(before.Content).(map[string]any)
		for _, path := range paths {
			keep(u, client, strings.Split(path, "."))
		}
	}, nil
}

// Differ implements Kind. It refuses the same paths as Keeper.
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

// checkPaths returns an error that names the kind if checkPath refuses one of paths.
func (k *dynamic) checkPaths(paths []string) error {
	for _, path := range paths {
		if err := k.checkPath(path); err != nil {
			return fmt.Errorf("%s: %w", k.gk, err)
		}
	}
	return nil
}

// checkPath refuses a path that does not lead into the content, or that leads through a value which
// is not an object.
func (k *dynamic) checkPath(path string) error {
	names := strings.Split(path, ".")
	switch names[0] {
	case "", "apiVersion", "kind", "metadata":
		return fmt.Errorf("the path %q does not lead into the content", path)
	}
	s := In(k, k.hub).Schema().Target()
	for i, name := range names {
		if s.Type != "" && s.Type != schema.Object {
			return fmt.Errorf("on the path %q, %s is not an object but of type %s", path, strings.Join(names[:i], "."),
				s.Type)
		}
		if s = s.Child(name); s == nil {
			return nil
		}
		s = s.Target()
	}
	return nil
}

// keep sets the field of u at a path to its value in from, or removes it if from lacks it.
func keep(u, from *scheme.Unstructured, path []string) {
	value, ok := scheme.At[any](from, path...)
	if !ok {
		u.Remove(path...)
		return
	}
	// Set fails if a value on the path is not an object. Such an object is invalid, and validation
	// says so.
	_ = u.Set(typeinfo.CopyJSON(value), path...)
}
