package typeinfo

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Keeper returns a function that sets the fields of to, at the paths, to deep copies of the same
// fields of from. Both are pointers to structs of type t. Strategies use it to undo changes that a
// request may not make, such as changes of status by an update of the object itself.
//
// A path is made of JSON names, such as "spec.finalizers"; all but its last field must be structs,
// not pointers to structs. The error names a path that does not exist.
func Keeper(t *Type, paths []string) (func(to, from any), error) {
	type keptField struct {
		offset uintptr
		keep   func(to, from Pointer)
	}
	kept := make([]keptField, len(paths))
	for i, path := range paths {
		offset, f, err := locate(t, strings.Split(path, "."))
		if err != nil {
			return nil, err
		}
		kept[i] = keptField{offset, copyField(f)}
	}
	return func(to, from any) {
		p, q := PointerIn(reflect.ValueOf(to)), PointerIn(reflect.ValueOf(from))
		for i := range kept {
			at := &kept[i]
			at.keep(p.Add(at.offset), q.Add(at.offset))
		}
	}, nil
}

// OtherPaths returns the paths of all fields of t outside the given paths: with paths "status" and
// "spec.a", these are "metadata", "spec.b" and so on. It descends only where a given path does.
func OtherPaths(t *Type, paths []string) []string { return otherPathsIn(t, "", paths) }

func otherPathsIn(t *Type, prefix string, paths []string) []string {
	var out []string
	for _, f := range t.Fields {
		path := prefix + f.Name
		switch {
		case slices.Contains(paths, path):
		case slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, path+".") }):
			out = append(out, otherPathsIn(f.Type, path+".", paths)...)
		default:
			out = append(out, path)
		}
	}
	return out
}

// locate returns the field at a path of JSON names and its offset in a struct of type t.
func locate(t *Type, path []string) (offset uintptr, f *Field, err error) {
	for i, name := range path {
		if t == nil || t.Kind != Struct || i > 0 && f.Pointer {
			return 0, nil, fmt.Errorf("%s is not a struct", strings.Join(path[:i], "."))
		}
		if f = t.Field(name); f == nil {
			return 0, nil, fmt.Errorf("there is no field %s", strings.Join(path[:i+1], "."))
		}
		offset += f.Offset
		t = f.Type
	}
	if f == nil {
		return 0, nil, fmt.Errorf("the path is empty")
	}
	return offset, f, nil
}

// copyField returns a function that sets the field f at to to a deep copy of the field at from.
func copyField(f *Field) func(to, from Pointer) {
	if !f.Pointer {
		return Copier(f.Type.Go)
	}
	clone := copierOf(f.Type.Go)
	return func(to, from Pointer) {
		p := *from.Slot()
		if !p.IsNil() {
			p = clone.clone(p)
		}
		*to.Slot() = p
	}
}
