package typeinfo

import "reflect"

// emptied is the Visitor behind DropEmpty. Its action is for structs that have a list or map
// without omitempty, and sets such a list or map to nil if it is empty.
var emptied = NewVisitor(func(t *Type) func(Pointer) {
	var drop []part
	for _, f := range t.Members {
		if f.Inline || f.OmitEmpty || f.Pointer {
			continue
		}
		switch f.Type.Kind {
		case List:
			drop = append(drop, part{f.Offset, dropEmptyList})
		case Map:
			drop = append(drop, part{f.Offset, dropEmptyMap(f.Type.Go)})
		}
	}
	if drop == nil {
		return nil
	}
	return func(p Pointer) {
		for i := range drop {
			drop[i].run(p.Add(drop[i].offset))
		}
	}
})

// DropEmpty sets the empty lists and maps in v, a pointer to a struct, to nil, in v and in all
// structs below it that exist. Kubernetes stores objects as protobuf, which cannot tell an empty
// list from none; so an object that is shown before it was stored must not show the difference
// either. Fields with omitempty stay as they are, because JSON leaves them out in both cases. A
// type is not walked if all its lists and maps have omitempty.
func DropEmpty(v any) {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return
	}
	if t := Of(rv.Type()); t != nil {
		emptied.Visit(t, PointerIn(rv))
	}
}

func dropEmptyList(p Pointer) {
	if s := p.Slice(); s.Len == 0 {
		*s = Slice{}
	}
}

//go:noinline
func dropEmptyMap(t reflect.Type) func(Pointer) {
	return func(p Pointer) {
		if m := p.Value(t); m.Len() == 0 {
			m.SetZero()
		}
	}
}
