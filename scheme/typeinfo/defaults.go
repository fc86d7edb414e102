package typeinfo

import "reflect"

var defaulter = NewVisitor(DefaultAction)

// Default sets the declared defaults in v, a pointer to a struct: in each empty field with a
// default tag, of v and of all structs below it that exist. Structs behind nil pointers are not
// made. A field is empty if it is zero, or a nil pointer. A pointer to a zero is not empty: the
// client wrote the zero on purpose. Types without defaults below them are not walked. Values of
// types that cannot be described are left alone.
func Default(v any) {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return
	}
	if t := Of(rv.Type()); t != nil {
		defaulter.Visit(t, PointerIn(rv))
	}
}

// DefaultAction returns a function that sets the declared defaults of the fields that t itself
// declares, given the address of a value of type t. It returns nil if t declares no defaults. It is
// the action of a Visitor; package scheme joins it with the defaulting functions that are
// registered for t.
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

// ownDefault returns the default that a field declares, and false if there is none, or if it is
// the zero value of a field that is no pointer: such a default changes nothing, and only OpenAPI
// shows it. Defaults that do not parse were refused when the type was compiled.
func ownDefault(f *Field) (reflect.Value, bool) {
	if !f.HasDefault {
		return reflect.Value{}, false
	}
	value, err := parseDefault(f, f.Default)
	return value, err == nil && (f.Pointer || !value.IsZero())
}

// setDefault returns a function that sets a field to value if the field is empty, given the field's
// address.
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

// setScalar is setDefault for scalars, without reflection.
//
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
