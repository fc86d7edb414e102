package typeinfo

import (
	"reflect"
	"sync"
	"time"
)

// copy.go makes deep copies, in place of Kubernetes' generated DeepCopy methods; the storage cache,
// the registry and the codec call it.
//
// A deep copy has two steps. First the runtime copies the memory of the value as it is. Then the
// program of the type visits each reference in the copy (pointer, slice, map, interface), which
// still points at memory of the original, and replaces it by a reference to a copy. The references
// of a nested struct are part of its parent's program, at a greater offset. So a type without
// references has an empty program, and no scalar is visited by itself.
//
// Strings are shared (they are immutable), and so are time zones, functions and channels.
// Unexported fields are copied like others. Two pointers to one value become pointers to two
// copies.

// program turns a plain copy of a value of one Go type into a deep copy. references is filled at
// first use and not when the program is made, because the program of a recursive type refers to
// itself.
type program struct {
	goType     reflect.Type
	fill       sync.Once
	references []reference
}

// reference is one reference within a value. deepen replaces the reference at its argument by one
// to a copy. It is not called for a reference whose first word is zero, which is nil.
type reference struct {
	offset uintptr
	deepen func(Pointer)
}

var copiers sync.Map // reflect.Type to *program

// copierOf returns the program of t. There is one for each type.
func copierOf(t reflect.Type) *program {
	if found, ok := copiers.Load(t); ok {
		return found.(*program)
	}
	found, _ := copiers.LoadOrStore(t, &program{goType: t})
	return found.(*program)
}

// Copy returns a deep copy of v, which is usually a pointer to a struct. If v is a pointer, or an
// interface that holds one, Copy allocates only the memory of the copy.
func Copy[T any](v T) T {
	t := reflect.TypeFor[T]()
	switch t.Kind() {
	case reflect.Pointer:
		if at := PointerTo(&v).Slot(); !at.IsNil() {
			*at = copierOf(t.Elem()).clone(*at)
		}
		return v
	case reflect.Interface:
		if held := reflect.ValueOf(any(v)); held.IsValid() {
			return CopyValue(held).Interface().(T)
		}
		return v
	}
	c := v // so that v itself stays on the stack
	copierOf(t).run(PointerTo(&c))
	return c
}

// CopyValue returns a deep copy of v. A nil interface comes back as it is.
func CopyValue(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return v
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v
		}
		t := v.Type().Elem()
		return copierOf(t).clone(AddressOf(v.Elem())).Value(t).Addr()
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	copierOf(v.Type()).run(AddressOf(c))
	return c
}

// clone returns the address of a new deep copy of the value at from.
func (p *program) clone(from Pointer) Pointer {
	c := reflect.New(p.goType).Elem()
	c.Set(from.Value(p.goType))
	to := AddressOf(c)
	p.run(to)
	return to
}

// run turns the plain copy at to into a deep copy.
func (p *program) run(to Pointer) {
	p.fill.Do(func() { p.references = references(nil, p.goType, 0) })
	for i := range p.references {
		at := to.Add(p.references[i].offset)
		if !at.Slot().IsNil() {
			p.references[i].deepen(at)
		}
	}
}

var timeType = reflect.TypeFor[time.Time]()

// flat reports whether values of type t have no references, so that a plain copy is a deep one. It
// looks at the Go type and not at the program of t, because the program of a recursive type is
// still empty when sliceCopier asks.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if t != timeType && !flat(t.Field(i).Type) {
				return false
			}
		}
	case reflect.Array:
		return t.Len() == 0 || flat(t.Elem())
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return false
	}
	return true
}

// references appends the references within a value of type t that begins at offset. A time.Time has
// none: its only pointer, to a time zone, is shared.
func references(list []reference, t reflect.Type, offset uintptr) []reference {
	switch t.Kind() {
	case reflect.Struct:
		if t == timeType {
			return list
		}
		for i := range t.NumField() {
			f := t.Field(i)
			list = references(list, f.Type, offset+f.Offset)
		}
	case reflect.Array:
		for i := range t.Len() {
			list = references(list, t.Elem(), offset+uintptr(i)*t.Elem().Size())
		}
	case reflect.Pointer:
		list = append(list, reference{offset, pointerCopier(t)})
	case reflect.Slice:
		list = append(list, reference{offset, sliceCopier(t)})
	case reflect.Map:
		list = append(list, reference{offset, mapCopier(t)})
	case reflect.Interface:
		list = append(list, reference{offset, interfaceCopier(t)})
	}
	return list
}

// copyPointer replaces the pointer at p, to a scalar, by one to a copy.
func copyPointer[T any](p Pointer) {
	at := As[*T](p)
	v := **at
	*at = &v
}

// pointerCopier returns the deepen of pointers. Pointers to scalars, which are common in the API,
// are copied without reflection.
func pointerCopier(t reflect.Type) func(Pointer) {
	switch t.Elem().Kind() {
	case reflect.Bool:
		return copyPointer[bool]
	case reflect.Int32:
		return copyPointer[int32]
	case reflect.Int64:
		return copyPointer[int64]
	case reflect.Float64:
		return copyPointer[float64]
	case reflect.String:
		return copyPointer[string]
	}
	elem := copierOf(t.Elem())
	return func(p Pointer) {
		at := p.Slot()
		*at = elem.clone(*at)
	}
}

// copySlice replaces the slice at p, of strings or bytes, by a copy.
func copySlice[T any](p Pointer) {
	s := As[[]T](p)
	c := make([]T, len(*s))
	copy(c, *s)
	*s = c
}

// sliceCopier returns the deepen of slices: all elements are copied at once, then each is deepened
// if the element type has references.
func sliceCopier(t reflect.Type) func(Pointer) {
	switch t.Elem().Kind() {
	case reflect.Uint8:
		return copySlice[byte]
	case reflect.String:
		return copySlice[string]
	}
	elem, size, isFlat := copierOf(t.Elem()), t.Elem().Size(), flat(t.Elem())
	return func(p Pointer) {
		to := p.Value(t)
		n := to.Len()
		if n == 0 {
			to.SetCap(0) // an append to the copy must not write into the original's array
			return
		}
		// An empty slice is grown in place, because reflect.MakeSlice allocates a header as well.
		s := p.Slice()
		from := *s
		*s = Slice{}
		to.Grow(n)
		to.SetLen(n)
		reflect.Copy(to, PointerTo(&from).Value(t))
		if isFlat {
			return
		}
		for i := range n {
			elem.run(s.Elem(i, size))
		}
	}
}

// entry is room for one key and value of a map while it is copied.
type entry struct{ key, value reflect.Value }

// mapCopier returns the deepen of maps. The three most common types are copied without reflection.
func mapCopier(t reflect.Type) func(Pointer) {
	if t.Key() == reflect.TypeFor[string]() {
		switch t.Elem() {
		case reflect.TypeFor[string]():
			return copyStringMap
		case reflect.TypeFor[[]byte]():
			return copyBytesMap
		case reflect.TypeFor[any]():
			return func(p Pointer) {
				m := As[map[string]any](p)
				*m = copyJSONMap(*m)
			}
		}
	}
	elem := copierOf(t.Elem())
	room := sync.Pool{New: func() any {
		return &entry{reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()}
	}}
	return func(p Pointer) {
		at := p.Value(t)
		to := reflect.MakeMapWithSize(t, at.Len())
		e := room.Get().(*entry)
		for iter := at.MapRange(); iter.Next(); {
			e.key.SetIterKey(iter)
			e.value.SetIterValue(iter)
			elem.run(AddressOf(e.value))
			to.SetMapIndex(e.key, e.value)
		}
		e.key.SetZero()
		e.value.SetZero()
		room.Put(e)
		at.Set(to)
	}
}

func copyStringMap(p Pointer) {
	m := As[map[string]string](p)
	c := make(map[string]string, len(*m))
	for k, v := range *m {
		c[k] = v
	}
	*m = c
}

func copyBytesMap(p Pointer) {
	m := As[map[string][]byte](p)
	c := make(map[string][]byte, len(*m))
	for k, v := range *m {
		if v != nil {
			v = append(make([]byte, 0, len(v)), v...)
		}
		c[k] = v
	}
	*m = c
}

// interfaceCopier returns the deepen of interfaces. An any usually holds a tree of JSON.
func interfaceCopier(t reflect.Type) func(Pointer) {
	if t.NumMethod() == 0 {
		return func(p Pointer) {
			v := As[any](p)
			*v = CopyJSON(*v)
		}
	}
	return func(p Pointer) {
		at := p.Value(t)
		at.Set(CopyValue(at))
	}
}

// CopyJSON returns a deep copy of a tree of JSON values: map[string]any, []any and scalars. Values
// of other types are copied by CopyValue.
func CopyJSON(v any) any {
	switch v := v.(type) {
	case nil, string, bool, int64, float64:
		return v
	case map[string]any:
		return copyJSONMap(v)
	case []any:
		if v == nil {
			return v
		}
		c := make([]any, len(v))
		for i := range v {
			c[i] = CopyJSON(v[i])
		}
		return c
	}
	return CopyValue(reflect.ValueOf(v)).Interface()
}

func copyJSONMap(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	c := make(map[string]any, len(m))
	for k, v := range m {
		c[k] = CopyJSON(v)
	}
	return c
}

// Copier returns a function that sets the value of type t at to to a deep copy of the value at
// from. The old value at to is overwritten, and not reused.
func Copier(t reflect.Type) func(to, from Pointer) {
	switch t.Kind() {
	case reflect.String:
		return assign[string]
	case reflect.Bool:
		return assign[bool]
	case reflect.Int32:
		return assign[int32]
	case reflect.Int64:
		return assign[int64]
	}
	p := copierOf(t)
	return func(to, from Pointer) {
		to.Value(t).Set(from.Value(t))
		p.run(to)
	}
}

func assign[T any](to, from Pointer) { *As[T](to) = *As[T](from) }
