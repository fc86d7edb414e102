package scheme

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Conversions that are derived from descriptors. Complete and the first use of a lazy kind call
// deriver.later for each pair of types. Two types convert if
//   - they are the same Go type: by a deep copy;
//   - a function is registered for the pair: the function does everything;
//   - both are kinds with the same hub, such as the elements of lists of two versions: by way
//     of the hub;
//   - both are structs, and each field of the source has a field of the same Go name in the
//     target, to which it converts (embedded structs are fields, too); fields that only the
//     target has stay empty;
//   - both are lists, or both maps, whose elements convert;
//   - both are strings, or booleans, or numbers of the same size, whatever the names of their
//     types.
//
// Pointers convert only to pointers. Everything else would lose something in one direction and is
// refused. Fields that are not part of the API (json:"-", unexported) are not converted.

// typePair is a pair of Go types to convert from and to. Neither is a pointer type.
type typePair struct{ in, out reflect.Type }

// convertFunc converts the value at from into the zero value at to. It neither changes the value at
// from nor shares memory with it.
type convertFunc func(to, from typeinfo.Pointer) error

// converter is a compiled conversion. run may still be nil while the parts of a recursive type are
// compiled. errs are the errors of its parts; if there are any, run must not be used.
type converter struct {
	run  convertFunc
	errs []error
}

// deriver compiles conversions and collects the errors of those that cannot be derived.
type deriver struct {
	registered map[typePair]convertFunc
	hubs       map[reflect.Type]reflect.Type // of each type of a kind

	mu         sync.Mutex // held while a conversion and those of its parts are compiled
	converters map[typePair]*converter
	errs       []error
}

// Modes of converting structs. A strict conversion fails if a field has no counterpart. A lenient
// one skips such fields, which the caller of ConvertFields converts.
const (
	strict  = false
	lenient = true
)

// later returns a function that returns the conversion from in to out, and compiles it on the first
// call. If the conversion cannot be derived, each use of it returns an error that says why.
func (d *deriver) later(in, out reflect.Type, lenient bool) func() convertFunc {
	return sync.OnceValue(func() convertFunc {
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := errors.Join(typeinfo.Register(in), typeinfo.Register(out)); err != nil {
			return failure(err)
		}
		from, to, before := typeinfo.Of(in), typeinfo.Of(out), len(d.errs)
		if lenient {
			return d.convertStruct(from, to, lenient)
		}
		c := d.convertPair(from, to)
		if c == nil {
			d.fail("conversion of %s to %s: they have nothing in common", in, out)
		}
		if err := errors.Join(d.errs[before:]...); err != nil {
			return failure(err)
		}
		return c.run
	})
}

// failure returns a conversion that only returns err.
func failure(err error) convertFunc {
	return func(typeinfo.Pointer, typeinfo.Pointer) error { return err }
}

// slot is a type as a field, list or map holds it: by value or by pointer.
type slot struct {
	typ     *typeinfo.Type
	pointer bool
}

// String returns the Go type, with a star for a pointer.
func (s slot) String() string {
	if s.pointer {
		return "*" + s.typ.Go.String()
	}
	return s.typ.Go.String()
}

// convertPair returns the conversion from in to out. It is nil if the two types cannot be matched
// at all. If only a field of a struct cannot be converted, convertPair adds an error to d.errs, and
// returns a conversion that must not be used.
func (d *deriver) convertPair(in, out *typeinfo.Type) *converter {
	key := typePair{in.Go, out.Go}
	if c, ok := d.converters[key]; ok {
		if c != nil {
			d.errs = append(d.errs, c.errs...)
		}
		return c
	}
	c, before := &converter{}, len(d.errs)
	d.converters[key] = c // before its parts, so that recursive types end
	switch fn, hub := d.registered[key], typeinfo.Of(d.hubs[in.Go]); {
	case fn != nil:
		c.run = fn
	case in == out:
		copyTo := typeinfo.Copier(in.Go)
		c.run = func(to, from typeinfo.Pointer) error { copyTo(to, from); return nil }
	case in.Kind != out.Kind:
	case hub != nil && hub.Go == d.hubs[out.Go] && in != hub && out != hub:
		c.run = viaHub(hub, d.convertPair(in, hub), d.convertPair(hub, out))
	case in.Kind == typeinfo.Struct:
		c.run = d.convertStruct(in, out, strict)
	case in.Kind == typeinfo.List:
		if elem := d.convertSlot(slot{in.Elem, in.ElemPointer}, slot{out.Elem, out.ElemPointer}); elem != nil {
			c.run = convertList(in, out, elem)
		}
	case in.Kind == typeinfo.Map:
		if elem := d.convertSlot(slot{in.Elem, in.ElemPointer}, slot{out.Elem, out.ElemPointer}); elem != nil {
			c.run = convertMap(in, out, elem)
		}
	case in.Kind != typeinfo.Custom && in.Kind != typeinfo.Any && in.Go.Kind() == out.Go.Kind():
		// The two types have the same memory layout. Bytes are copied, scalars assigned.
		copyTo := typeinfo.Copier(in.Go)
		c.run = func(to, from typeinfo.Pointer) error { copyTo(to, from); return nil }
	}
	if c.run == nil {
		d.converters[key] = nil
		return nil
	}
	c.errs = slices.Clone(d.errs[before:])
	return c
}

// viaHub returns the conversion by way of a value of the hub type, nil if one of the two steps
// does not exist.
func viaHub(hub *typeinfo.Type, in, out *converter) convertFunc {
	if in == nil || out == nil {
		return nil
	}
	return func(to, from typeinfo.Pointer) error {
		made := hub.New()
		if err := in.run(made, from); err != nil {
			return err
		}
		return out.run(to, made)
	}
}

// convertSlot returns the conversion of a value in one slot to a value in another, nil if there is
// none.
func (d *deriver) convertSlot(in, out slot) convertFunc {
	if in.pointer != out.pointer {
		return nil
	}
	c := d.convertPair(in.typ, out.typ)
	switch {
	case c == nil:
		return nil
	case !in.pointer && c.run != nil:
		return c.run
	case !in.pointer:
		return func(to, from typeinfo.Pointer) error { return c.run(to, from) }
	}
	return func(to, from typeinfo.Pointer) error {
		held := *from.Slot()
		if held.IsNil() {
			return nil
		}
		made := out.typ.New()
		*to.Slot() = made
		return c.run(made, held)
	}
}

// fieldStep converts one field of a struct: from and to are its offsets.
type fieldStep struct {
	to, from uintptr
	run      convertFunc
}

// convertStruct returns the conversion of a struct, field by field. With lenient set, fields
// without a counterpart are skipped.
func (d *deriver) convertStruct(in, out *typeinfo.Type, lenient bool) convertFunc {
	targets := map[string]*typeinfo.Field{}
	for _, f := range out.Members {
		targets[f.GoName] = f
	}
	var steps []fieldStep
	for _, f := range in.Members {
		from := slot{f.Type, f.Pointer}
		target := targets[f.GoName]
		if target == nil {
			if !lenient {
				d.fail("conversion of %s to %s: field %s (%s) has no counterpart", in.Go, out.Go, f.GoName, from)
			}
			continue
		}
		to := slot{target.Type, target.Pointer}
		run := d.convertSlot(from, to)
		if run == nil {
			if !lenient {
				d.fail("conversion of %s to %s: field %s (%s) does not convert to field %s (%s)",
					in.Go, out.Go, f.GoName, from, target.GoName, to)
			}
			continue
		}
		steps = append(steps, fieldStep{target.Offset, f.Offset, run})
	}
	return func(to, from typeinfo.Pointer) error {
		for i := range steps {
			if err := steps[i].run(to.Add(steps[i].to), from.Add(steps[i].from)); err != nil {
				return err
			}
		}
		return nil
	}
}

// fail adds an error, with the advice to register a function.
func (d *deriver) fail(format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf(format+": register a conversion function", args...))
}

// convertList returns the conversion of a list, whose elements elem converts. nil stays nil and an
// empty list empty.
func convertList(in, out *typeinfo.Type, elem convertFunc) convertFunc {
	outGo, inSize, outSize := out.Go, in.Go.Elem().Size(), out.Go.Elem().Size()
	return func(to, from typeinfo.Pointer) error {
		source, target := from.Slice(), to.Value(outGo)
		switch {
		case source.Data.IsNil():
			return nil
		case source.Len == 0:
			target.Set(reflect.MakeSlice(outGo, 0, 0))
			return nil
		}
		target.Grow(source.Len)
		target.SetLen(source.Len)
		for i := range source.Len {
			if err := elem(to.Slice().Elem(i, outSize), source.Elem(i, inSize)); err != nil {
				return err
			}
		}
		return nil
	}
}

// convertMap returns the conversion of a map, whose values elem converts. nil stays nil.
func convertMap(in, out *typeinfo.Type, elem convertFunc) convertFunc {
	inGo, outGo := in.Go, out.Go
	return func(to, from typeinfo.Pointer) error {
		source := from.Value(inGo)
		if source.IsNil() {
			return nil
		}
		target := reflect.MakeMapWithSize(outGo, source.Len())
		held := reflect.New(inGo.Elem()).Elem()
		key, made := reflect.New(outGo.Key()).Elem(), reflect.New(outGo.Elem()).Elem()
		for iter := source.MapRange(); iter.Next(); {
			held.SetIterValue(iter)
			key.SetString(iter.Key().String())
			made.SetZero()
			if err := elem(typeinfo.AddressOf(made), typeinfo.AddressOf(held)); err != nil {
				return err
			}
			target.SetMapIndex(key, made)
		}
		to.Value(outGo).Set(target)
		return nil
	}
}
