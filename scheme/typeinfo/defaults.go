package typeinfo

import "reflect"

var defaulter = NewVisitor(DefaultAction)

// Default sets the declared defaults in v, a pointer to a struct: in each empty field with a
// default tag, here and in all structs below that exist. Structs behind nil pointers are not made.
// A field is empty if it is zero or a nil pointer; of a pointer, a zero that it points to was said
// on purpose and stays. Types without defaults below them are not walked. Values of types that
// cannot be described are left alone.
func Default(v any) {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return
	}
	if t := Of(rv.Type()); t != nil {
		defaulter.Visit(t, PointerIn(rv))
	}
}

// DefaultAction returns what sets the declared defaults of the fields that t itself declares, nil
// if there are none. It is the action of a Visitor; package scheme joins it with registered
// functions.
func DefaultAction(t *Type) func(Pointer) {
	var set []part
	for _, f := range t.Members {
		if value, ok := ownDefault(f); ok {
			set = append(set, part{f.Offset, setDefault(f, value)})
		}
	}
	if set == nil {
		return nil
	}
	return func(p Pointer) {
		for i := range set {
			set[i].run(p.Add(set[i].offset))
		}
	}
}

// ownDefault returns the default that a field declares, false if it has none that would change it.
// One that is what an empty field holds anyway is said to readers of OpenAPI only. One that does
// not parse has been refused when the type was compiled.
func ownDefault(f *Field) (reflect.Value, bool) {
	if !f.HasDefault {
		return reflect.Value{}, false
	}
	value, err := parseDefault(f, f.Default)
	return value, err == nil && (f.Pointer || !value.IsZero())
}

// setDefault returns what sets one field, given its place, to value if it is empty.
func setDefault(f *Field, value reflect.Value) func(Pointer) {
	switch f.Type.Kind {
	case String:
		return setScalar(value.String(), f.Pointer)
	case Bool:
		return setScalar(value.Bool(), f.Pointer)
	case Int32:
		return setScalar(int32(value.Int()), f.Pointer)
	case Int64:
		return setScalar(value.Int(), f.Pointer)
	case Float64:
		return setScalar(value.Float(), f.Pointer)
	}
	goType := f.Type.Go
	if f.Pointer {
		goType = reflect.PointerTo(goType)
		pointer := reflect.New(f.Type.Go)
		pointer.Elem().Set(value)
		value = pointer
	}
	return func(p Pointer) {
		if at := p.Value(goType); at.IsZero() {
			at.Set(CopyValue(value))
		}
	}
}

//go:noinline
func setScalar[T comparable](value T, pointer bool) func(Pointer) {
	if pointer {
		return func(p Pointer) {
			if at := As[*T](p); *at == nil {
				v := value
				*at = &v
			}
		}
	}
	return func(p Pointer) {
		var zero T
		if at := As[T](p); *at == zero {
			*at = value
		}
	}
}
