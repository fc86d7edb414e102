package typeinfo

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Keeper returns a function that sets the fields of one struct of type t, at some paths of JSON
// names such as "spec.finalizers", to copies of what another one has there. Both are given as
// pointers. All but the last field of a path must be structs, not pointers to them. The error names
// a path that is none.
func Keeper(t *Type, paths []string) (func(to, from any), error) {
	type place struct {
		offset uintptr
		keep   func(to, from Pointer)
	}
	places := make([]place, len(paths))
	for i, path := range paths {
		offset, f, err := locate(t, strings.Split(path, "."))
		if err != nil {
			return nil, err
		}
		places[i] = place{offset, copyField(f)}
	}
	return func(to, from any) {
		p, q := PointerIn(reflect.ValueOf(to)), PointerIn(reflect.ValueOf(from))
		for i := range places {
			at := &places[i]
			at.keep(p.Add(at.offset), q.Add(at.offset))
		}
	}, nil
}

// Others returns the paths of the fields of t that the given ones are not, nor hold, nor are part
// of.
func Others(t *Type, paths []string) []string { return othersIn(t, "", paths) }

func othersIn(t *Type, prefix string, paths []string) []string {
	var out []string
	for _, f := range t.Fields {
		path := prefix + f.Name
		switch {
		case slices.Contains(paths, path):
		case slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, path+".") }):
			out = append(out, othersIn(f.Type, path+".", paths)...)
		default:
			out = append(out, path)
		}
	}
	return out
}

// locate follows a path of names.
func locate(t *Type, path []string) (offset uintptr, f *Field, err error) {
	for i, name := range path {
		if t == nil || t.Kind != Struct || i > 0 && f.Pointer {
			return 0, nil, fmt.Errorf("%s is no struct", strings.Join(path[:i], "."))
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

// copyField returns what replaces the value of a field by a copy of another.
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
