package typeinfo

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Comparing by what values mean to the API: empty lists and maps are equal to none, times are equal by instant, and types
// that say themselves what equal means are asked (a Quantity by its amount, however it is written). Unexported fields count
// by what a type with a form of its own writes of them, elsewhere not at all. All else is equal if it is for
// reflect.DeepEqual. A program of the type, made once, goes through both values; it allocates nothing as long as they are
// equal, large maps of other types than strings and bytes and what has to be written apart.

// Equaler is a type whose fields do not say whether two values are equal.
type Equaler interface {
	// EqualTo compares the value with another, given as a pointer to the same type.
	EqualTo(other any) bool
}

// equality compares two values of one Go type. It is filled on first use, so that recursive types work.
type equality struct {
	goType reflect.Type
	fill   sync.Once
	equal  func(a, b reflect.Value) bool
}

var equalities sync.Map // reflect.Type to *equality

func equalityOf(t reflect.Type) *equality {
	if found, ok := equalities.Load(t); ok {
		return found.(*equality)
	}
	found, _ := equalities.LoadOrStore(t, &equality{goType: t})
	return found.(*equality)
}

func (e *equality) compare(a, b reflect.Value) bool {
	e.fill.Do(func() { e.equal = comparer(e.goType) })
	return e.equal(a, b)
}

// Equal reports whether two values mean the same. A nil pointer is equal to another only.
func Equal[T any](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equalityOf(reflect.TypeFor[T]()).compare(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

// Differ returns a function that reports whether two structs of type t, given as pointers, differ at one of some paths of
// JSON names, such as "spec". All but the last field of a path must be structs, not pointers to them. The error names a path
// that is none.
func Differ(t *Type, paths []string) (func(a, b any) bool, error) {
	type place struct {
		index []int
		*equality
	}
	places := make([]place, len(paths))
	for i, path := range paths {
		names := strings.Split(path, ".")
		if _, _, err := locate(t, names); err != nil {
			return nil, err
		}
		var index []int
		for at := t; len(names) > 0; names = names[1:] {
			f := at.Field(names[0])
			index, at = append(index, f.Index...), f.Type
		}
		places[i] = place{index, equalityOf(t.Go.FieldByIndex(index).Type)}
	}
	return func(a, b any) bool {
		x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
		for i := range places {
			at := &places[i]
			if !at.compare(x.FieldByIndex(at.index), y.FieldByIndex(at.index)) {
				return true
			}
		}
		return false
	}, nil
}

var (
	equalerType   = reflect.TypeFor[Equaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// comparer makes the program of a type.
func comparer(t reflect.Type) func(a, b reflect.Value) bool {
	switch {
	case t == timeType:
		return func(a, b reflect.Value) bool { return pointer(a).(*time.Time).Equal(*pointer(b).(*time.Time)) }
	case reflect.PointerTo(t).Implements(equalerType):
		return func(a, b reflect.Value) bool { return pointer(a).(Equaler).EqualTo(pointer(b)) }
	case hides(t) && (reflect.PointerTo(t).Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(textMarshaler)):
		return func(a, b reflect.Value) bool {
			x, errA := json.Marshal(pointer(a))
			y, errB := json.Marshal(pointer(b))
			return errA == nil && errB == nil && bytes.Equal(x, y)
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		return structComparer(t)
	case reflect.Slice, reflect.Array:
		return listComparer(t)
	case reflect.Map:
		return mapComparer(t)
	case reflect.Pointer:
		elem := equalityOf(t.Elem())
		return func(a, b reflect.Value) bool {
			if a.IsNil() || b.IsNil() || a.Pointer() == b.Pointer() {
				return a.Pointer() == b.Pointer()
			}
			return elem.compare(a.Elem(), b.Elem())
		}
	case reflect.Interface:
		return func(a, b reflect.Value) bool { return EqualJSON(a.Interface(), b.Interface()) }
	case reflect.Bool:
		return func(a, b reflect.Value) bool { return a.Bool() == b.Bool() }
	case reflect.String:
		return func(a, b reflect.Value) bool { return a.String() == b.String() }
	case reflect.Float32, reflect.Float64:
		return func(a, b reflect.Value) bool { return a.Float() == b.Float() }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(a, b reflect.Value) bool { return a.Int() == b.Int() }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(a, b reflect.Value) bool { return a.Uint() == b.Uint() }
	}
	panic(fmt.Sprintf("typeinfo: values of type %s cannot be compared", t))
}

// pointer returns a pointer to a value, or to a copy of one that was found in an interface.
func pointer(v reflect.Value) any {
	if v.CanAddr() {
		return v.Addr().Interface()
	}
	c := reflect.New(v.Type())
	c.Elem().Set(v)
	return c.Interface()
}

// hides reports whether t is a struct with unexported fields.
func hides(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); !f.IsExported() && f.Name != "_" { // which only carries tags
			return true
		}
	}
	return false
}

func structComparer(t reflect.Type) func(a, b reflect.Value) bool {
	type member struct {
		index int
		*equality
	}
	var members []member
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			members = append(members, member{i, equalityOf(f.Type)})
		}
	}
	return func(a, b reflect.Value) bool {
		for i := range members {
			if m := &members[i]; !m.compare(a.Field(m.index), b.Field(m.index)) {
				return false
			}
		}
		return true
	}
}

func listComparer(t reflect.Type) func(a, b reflect.Value) bool {
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
		return func(a, b reflect.Value) bool { return bytes.Equal(a.Bytes(), b.Bytes()) }
	}
	elem := equalityOf(t.Elem())
	return func(a, b reflect.Value) bool {
		n := a.Len()
		if n != b.Len() {
			return false
		}
		for i := range n {
			if !elem.compare(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
}

// fewEntries is how many entries of a map are looked for one by one: Go's way to look one up copies what it finds.
const fewEntries = 8

// entries is room to go through two maps.
type entries struct {
	a, b         entry
	iterA, iterB reflect.MapIter
}

func mapComparer(t reflect.Type) func(a, b reflect.Value) bool {
	switch t {
	case reflect.TypeFor[map[string]string]():
		return func(a, b reflect.Value) bool {
			return equalMaps(*pointer(a).(*map[string]string), *pointer(b).(*map[string]string), func(x, y string) bool { return x == y })
		}
	case reflect.TypeFor[map[string][]byte]():
		return func(a, b reflect.Value) bool {
			return equalMaps(*pointer(a).(*map[string][]byte), *pointer(b).(*map[string][]byte), bytes.Equal)
		}
	case reflect.TypeFor[map[string]any]():
		return func(a, b reflect.Value) bool {
			return equalMaps(*pointer(a).(*map[string]any), *pointer(b).(*map[string]any), EqualJSON)
		}
	}
	elem := equalityOf(t.Elem())
	room := sync.Pool{New: func() any {
		return &entries{
			a: entry{reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()},
			b: entry{reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()},
		}
	}}
	return func(a, b reflect.Value) bool {
		if a.Len() != b.Len() {
			return false
		}
		if a.Len() == 0 || a.Pointer() == b.Pointer() {
			return true
		}
		e := room.Get().(*entries)
		defer func() {
			e.a.clear()
			e.b.clear()
			e.iterA.Reset(reflect.Value{})
			e.iterB.Reset(reflect.Value{})
			room.Put(e)
		}()
		for e.iterA.Reset(a); e.iterA.Next(); {
			e.a.key.SetIterKey(&e.iterA)
			e.a.value.SetIterValue(&e.iterA)
			other, ok := e.find(b)
			if !ok || !elem.compare(e.a.value, other) {
				return false
			}
		}
		return true
	}
}

func (e *entry) clear() {
	e.key.SetZero()
	e.value.SetZero()
}

// find returns what b has at the key of the entry of a.
func (e *entries) find(b reflect.Value) (value reflect.Value, ok bool) {
	if b.Len() > fewEntries {
		value = b.MapIndex(e.a.key)
		return value, value.IsValid()
	}
	for e.iterB.Reset(b); e.iterB.Next(); {
		if e.b.key.SetIterKey(&e.iterB); e.b.key.Equal(e.a.key) {
			e.b.value.SetIterValue(&e.iterB)
			return e.b.value, true
		}
	}
	return value, false
}

func equalMaps[V any](a, b map[string]V, equal func(x, y V) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for key, x := range a {
		if y, ok := b[key]; !ok || !equal(x, y) {
			return false
		}
	}
	return true
}

// EqualJSON is Equal for two trees of JSON values: map[string]any, []any and scalars, where 1 and 1.0 differ, as for
// equality.Semantic. Values of other types are compared by the rules of their types.
func EqualJSON(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && equalMaps(x, y, EqualJSON)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !EqualJSON(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && equalityOf(t).compare(reflect.ValueOf(a), reflect.ValueOf(b))
}
