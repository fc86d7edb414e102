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

// equal.go compares values by their meaning in the API, as Kubernetes' equality.Semantic does. The
// registry asks whether an update changes anything, and checks ask whether an immutable field did.
//
//   - An empty list or map is equal to nil.
//   - Two times are equal if they are the same instant.
//   - A type that implements Equaler compares itself: a Quantity by amount, so 1000m is 1.
//   - A struct with unexported fields and a JSON or text form of its own is compared by that form.
//   - In other structs unexported fields do not count.
//   - Everything else is equal if reflect.DeepEqual says so.
//
// Each type has a comparison that is made once and goes through both values. It allocates nothing,
// except for values that are compared by their JSON and for large maps of uncommon types.

// Equaler is implemented by types whose values may be equal although their fields differ.
type Equaler interface {
	// EqualTo compares the value with another, given as a pointer to the same type.
	EqualTo(other any) bool
}

// equality compares two values of one Go type. equal is filled at first use and not when the
// equality is made, because the equality of a recursive type refers to itself.
type equality struct {
	goType reflect.Type
	fill   sync.Once
	equal  func(a, b Pointer) bool
}

var equalities sync.Map // reflect.Type to *equality

// equalityOf returns the equality of t. There is one for each type.
func equalityOf(t reflect.Type) *equality {
	if found, ok := equalities.Load(t); ok {
		return found.(*equality)
	}
	found, _ := equalities.LoadOrStore(t, &equality{goType: t})
	return found.(*equality)
}

func (e *equality) compare(a, b Pointer) bool {
	e.fill.Do(func() { e.equal = comparer(e.goType) })
	return e.equal(a, b)
}

// equalValues compares two values of one type.
func equalValues(a, b reflect.Value) bool {
	return equalityOf(a.Type()).compare(addressOfAny(a), addressOfAny(b))
}

// addressOfAny returns the address of v. A value from a map or an interface has no address, so it
// is copied first.
func addressOfAny(v reflect.Value) Pointer {
	if v.CanAddr() {
		return AddressOf(v)
	}
	c := reflect.New(v.Type())
	c.Elem().Set(v)
	return PointerIn(c)
}

// Equal reports whether *a and *b mean the same (see the head of this file). A nil pointer is equal
// to a nil pointer only.
func Equal[T any](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equalityOf(reflect.TypeFor[T]()).compare(PointerTo(a), PointerTo(b))
}

// EqualAny is Equal for pointers whose type is known at run time only. Pointers of different types
// are not equal. Both must be non-nil.
func EqualAny(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Type() == y.Type() && equalityOf(x.Type().Elem()).compare(PointerIn(x), PointerIn(y))
}

// Differ returns a function that reports whether two structs of type t, given as pointers, differ
// at any of the paths. A path is made of JSON names, such as "spec" or "spec.replicas"; all but its
// last field must be structs, not pointers to structs. The error names a path that does not exist.
func Differ(t *Type, paths []string) (func(a, b any) bool, error) {
	members := make([]member, len(paths))
	for i, path := range paths {
		names := strings.Split(path, ".")
		if _, _, err := locate(t, names); err != nil {
			return nil, err
		}
		var offset uintptr
		var goType reflect.Type
		for at := t; len(names) > 0; names = names[1:] {
			f := at.Field(names[0])
			goType = at.Go.FieldByIndex(f.Index).Type
			offset, at = offset+f.Offset, f.Type
		}
		members[i] = member{offset, equalityOf(goType)}
	}
	return func(a, b any) bool {
		return !equalMembers(members, PointerIn(reflect.ValueOf(a)), PointerIn(reflect.ValueOf(b)))
	}, nil
}

var (
	equalerType   = reflect.TypeFor[Equaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// comparer returns the function that compares two values of type t, given their addresses.
func comparer(t reflect.Type) func(a, b Pointer) bool {
	switch {
	case t == timeType:
		return func(a, b Pointer) bool { return As[time.Time](a).Equal(*As[time.Time](b)) }
	case reflect.PointerTo(t).Implements(equalerType):
		return ownComparer(reflect.New(t).Interface())
	case hides(t) && (reflect.PointerTo(t).Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(textMarshaler)):
		return writtenComparer(t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return structComparer(t)
	case reflect.Slice:
		return sliceComparer(t)
	case reflect.Array:
		return arrayComparer(t)
	case reflect.Map:
		return mapComparer(t)
	case reflect.Pointer:
		return pointerComparer(equalityOf(t.Elem()))
	case reflect.Interface:
		return func(a, b Pointer) bool { return EqualJSON(a.Value(t).Interface(), b.Value(t).Interface()) }
	case reflect.String:
		return sameAs[string]
	case reflect.Float32:
		return sameAs[float32]
	case reflect.Float64:
		return sameAs[float64]
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return sameAs[uint8]
	case reflect.Int16, reflect.Uint16:
		return sameAs[uint16]
	case reflect.Int32, reflect.Uint32:
		return sameAs[uint32]
	case reflect.Int64, reflect.Uint64:
		return sameAs[uint64]
	case reflect.Int, reflect.Uint:
		return sameAs[uint]
	}
	panic(fmt.Sprintf("typeinfo: values of type %s cannot be compared", t))
}

// sameAs compares two scalars. It serves for signed integers with an unsigned T of the same size:
// they are equal if their bits are.
func sameAs[T comparable](a, b Pointer) bool { return *As[T](a) == *As[T](b) }

// ownComparer compares by EqualTo. sample is a pointer to a value of the type; InterfaceAt makes
// interface values of it without reflection.
//
//go:noinline
func ownComparer(sample any) func(a, b Pointer) bool {
	equaler := sample.(Equaler)
	return func(a, b Pointer) bool { return InterfaceAt(equaler, a).EqualTo(InterfaceAt(sample, b)) }
}

// writtenComparer compares the JSON of two values. A value that cannot be encoded is equal to no
// value, not even to itself.
func writtenComparer(t reflect.Type) func(a, b Pointer) bool {
	return func(a, b Pointer) bool {
		x, errA := json.Marshal(a.Value(t).Addr().Interface())
		y, errB := json.Marshal(b.Value(t).Addr().Interface())
		return errA == nil && errB == nil && bytes.Equal(x, y)
	}
}

//go:noinline
func pointerComparer(elem *equality) func(a, b Pointer) bool {
	return func(a, b Pointer) bool {
		x, y := *a.Slot(), *b.Slot()
		if x.IsNil() || y.IsNil() || x == y {
			return x == y
		}
		return elem.compare(x, y)
	}
}

// hides reports whether t is a struct with unexported fields.
func hides(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); !f.IsExported() && f.Name != "_" { // a field called _ only carries tags
			return true
		}
	}
	return false
}

// member is a field of a struct: where it is, and how its values are compared.
type member struct {
	offset uintptr
	*equality
}

func structComparer(t reflect.Type) func(a, b Pointer) bool {
	var members []member
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			members = append(members, member{f.Offset, equalityOf(f.Type)})
		}
	}
	return func(a, b Pointer) bool { return equalMembers(members, a, b) }
}

// equalMembers compares the members of the two structs at a and b. It ends at the first difference.
func equalMembers(members []member, a, b Pointer) bool {
	for i := range members {
		if m := &members[i]; !m.compare(a.Add(m.offset), b.Add(m.offset)) {
			return false
		}
	}
	return true
}

func sliceComparer(t reflect.Type) func(a, b Pointer) bool {
	if t.Elem().Kind() == reflect.Uint8 {
		return func(a, b Pointer) bool { return bytes.Equal(*As[[]byte](a), *As[[]byte](b)) }
	}
	elem, size := equalityOf(t.Elem()), t.Elem().Size()
	return func(a, b Pointer) bool {
		x, y := a.Slice(), b.Slice()
		return x.Len == y.Len && equalElements(elem, size, x.Data, y.Data, x.Len)
	}
}

func arrayComparer(t reflect.Type) func(a, b Pointer) bool {
	elem, size, n := equalityOf(t.Elem()), t.Elem().Size(), t.Len()
	return func(a, b Pointer) bool { return equalElements(elem, size, a, b, n) }
}

func equalElements(elem *equality, size uintptr, a, b Pointer, n int) bool {
	for i := range n {
		if at := uintptr(i) * size; !elem.compare(a.Add(at), b.Add(at)) {
			return false
		}
	}
	return true
}

// fewEntries is the number of entries up to which a map is searched one entry after the other:
// reflect's MapIndex allocates a copy of the value that it finds.
const fewEntries = 8

// entries is the memory for walking through two maps, pooled so that a comparison allocates
// nothing.
type entries struct {
	a, b         entry
	iterA, iterB reflect.MapIter
}

// mapComparer compares maps: by type for the three most common types, by reflection for others.
func mapComparer(t reflect.Type) func(a, b Pointer) bool {
	switch t {
	case reflect.TypeFor[map[string]string]():
		return func(a, b Pointer) bool {
			return equalMaps(*As[map[string]string](a), *As[map[string]string](b),
				func(x, y string) bool { return x == y })
		}
	case reflect.TypeFor[map[string][]byte]():
		return func(a, b Pointer) bool {
			return equalMaps(*As[map[string][]byte](a), *As[map[string][]byte](b), bytes.Equal)
		}
	case reflect.TypeFor[map[string]any]():
		return func(a, b Pointer) bool {
			return equalMaps(*As[map[string]any](a), *As[map[string]any](b), EqualJSON)
		}
	}
	elem := equalityOf(t.Elem())
	room := sync.Pool{New: func() any {
		return &entries{
			a: entry{reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()},
			b: entry{reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()},
		}
	}}
	return func(x, y Pointer) bool {
		a, b := x.Value(t), y.Value(t)
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
			if !e.find(b) || !elem.compare(AddressOf(e.a.value), AddressOf(e.b.value)) {
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

// find sets e.b.value to the value that b has at the key e.a.key, and reports whether b has one.
func (e *entries) find(b reflect.Value) bool {
	if b.Len() > fewEntries {
		value := b.MapIndex(e.a.key)
		if value.IsValid() {
			e.b.value.Set(value)
		}
		return value.IsValid()
	}
	for e.iterB.Reset(b); e.iterB.Next(); {
		if e.b.key.SetIterKey(&e.iterB); e.b.key.Equal(e.a.key) {
			e.b.value.SetIterValue(&e.iterB)
			return true
		}
	}
	return false
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

// EqualJSON reports whether two trees of JSON values mean the same: map[string]any, []any and
// scalars. The integer 1 and the float 1.0 differ, as for equality.Semantic. Values of other types
// are compared by the rules of their types.
func EqualJSON(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string, bool, int64, float64:
		return a == b
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
	return t == reflect.TypeOf(b) && equalValues(reflect.ValueOf(a), reflect.ValueOf(b))
}
