package objects

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// This file has the four sorts of values with keys that a mapping (mapping.go) shows: structs, Go
// maps, objects without a Go type, and fields that an expression has made.

// keyed is a value with keys.
type keyed interface {
	// find returns the value of a key, nil if there is none.
	find(key string) ref.Val
	// keys calls yield with each key until it returns false.
	keys(yield func(string) bool)
	// size returns the number of keys.
	size() int
}

// object shows a struct as a value whose keys are the JSON names of its fields.
type object struct {
	view *View
	t    *typeinfo.Type
	p    typeinfo.Pointer
}

func (o object) find(key string) ref.Val {
	f := o.t.Field(key)
	if f == nil || o.lacks(f) {
		return nil
	}
	return o.view.behind(f.Type, f.Pointer, o.p.Add(f.Offset))
}

// lacks reports whether omitempty leaves the field out.
func (o object) lacks(f *typeinfo.Field) bool {
	return f.OmitEmpty && isEmpty(f, o.p.Add(f.Offset))
}

// isEmpty reports whether the value of a field at p is empty, as omitempty means it: a struct never
// is.
func isEmpty(f *typeinfo.Field, p typeinfo.Pointer) bool {
	if f.Pointer {
		return p.Slot().IsNil()
	}
	switch f.Type.Kind {
	case typeinfo.Struct:
		return false
	case typeinfo.String:
		return *typeinfo.As[string](p) == ""
	case typeinfo.Bool:
		return !*typeinfo.As[bool](p)
	case typeinfo.List, typeinfo.Bytes:
		return p.Slice().Len == 0
	case typeinfo.Int32:
		return *typeinfo.As[int32](p) == 0
	case typeinfo.Int64:
		return *typeinfo.As[int64](p) == 0
	}
	v := p.Value(f.Type.Go)
	switch v.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func (o object) keys(yield func(string) bool) {
	for _, f := range o.t.Fields {
		if f.Name != "" && !o.lacks(f) && !yield(f.Name) {
			return
		}
	}
}

func (o object) size() (n int) {
	for range o.keys {
		n++
	}
	return n
}

// entries shows a Go map whose keys are strings.
type entries struct {
	view *View
	t    *typeinfo.Type
	p    typeinfo.Pointer
}

func (e entries) find(key string) ref.Val {
	if e.t.Elem.Kind == typeinfo.String && !e.t.ElemPointer && e.t.Key == stringType {
		if value, ok := (*typeinfo.As[map[string]string](e.p))[key]; ok {
			return types.String(value)
		}
		return nil
	}
	held := e.p.Value(e.t.Go).MapIndex(reflect.ValueOf(key).Convert(e.t.Key))
	if !held.IsValid() {
		return nil
	}
	copied := reflect.New(held.Type())
	copied.Elem().Set(held)
	return e.view.behind(e.t.Elem, e.t.ElemPointer, typeinfo.PointerIn(copied))
}

var stringType = reflect.TypeFor[string]()

func (e entries) keys(yield func(string) bool) {
	for it := e.p.Value(e.t.Go).MapRange(); it.Next(); {
		if !yield(it.Key().String()) {
			return
		}
	}
}

func (e entries) size() int { return e.p.Value(e.t.Go).Len() }

// unstructured shows an object without a Go type, which has a tree of JSON.
type unstructured struct {
	view *View
	of   *scheme.Unstructured
}

func (u unstructured) find(key string) ref.Val {
	switch key {
	case "apiVersion":
		return textOrNone(u.of.APIVersion)
	case "kind":
		return textOrNone(u.of.Kind)
	case "metadata":
		head := object{u.view, headType(), typeinfo.PointerTo(&u.of.ObjectMeta)}
		if head.size() == 0 {
			return nil
		}
		return &mapping[object]{head}
	}
	held, ok := u.of.Content[key]
	if !ok {
		return nil
	}
	return types.DefaultTypeAdapter.NativeToValue(held)
}

// headType returns the type of the metadata of objects.
func headType() *typeinfo.Type { return typeinfo.For[meta.ObjectMeta]() }

// textOrNone returns the value of s, or nil if s is empty: an empty apiVersion or kind does not
// exist.
func textOrNone(s string) ref.Val {
	if s == "" {
		return nil
	}
	return types.String(s)
}

func (u unstructured) keys(yield func(string) bool) {
	for _, key := range [...]string{"apiVersion", "kind", "metadata"} {
		if u.find(key) != nil && !yield(key) {
			return
		}
	}
	for key := range u.of.Content {
		if !yield(key) {
			return
		}
	}
}

func (u unstructured) size() (n int) {
	for _, key := range [...]string{"apiVersion", "kind", "metadata"} {
		if u.find(key) != nil {
			n++
		}
	}
	return n + len(u.of.Content)
}

// converted are fields that an expression has made. to converts each field when it is read.
type converted struct {
	fields map[string]ref.Val
	to     func(ref.Val) ref.Val
}

// Converted returns a CEL map of fields. It calls to each time that an expression reads a field,
// and gives the expression the result.
func Converted(fields map[string]ref.Val, to func(ref.Val) ref.Val) ref.Val {
	return &mapping[converted]{converted{fields, to}}
}

func (c converted) find(key string) ref.Val {
	if v, ok := c.fields[key]; ok {
		return c.to(v)
	}
	return nil
}

func (c converted) keys(yield func(string) bool) {
	for key := range c.fields {
		if !yield(key) {
			return
		}
	}
}

func (c converted) size() int { return len(c.fields) }
