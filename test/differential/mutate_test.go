package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// mutator changes objects at random places. It knows the Go types of what it changes, so that it
// can add fields that an object does not have.
type mutator struct {
	rand   *rand.Rand
	donors donors
	notes  []string
	// tame is set if values must have the right JSON types.
	tame bool
}

// donors are the values of examples, by the type and the name of their field.
type donors map[donor][]any

type donor struct {
	typ  reflect.Type
	name string
}

// spot is a place in an object that can be changed: a field, an element or an entry of a map.
type spot struct {
	path string
	name string // of the field with the value, or with the list or map around the value
	typ  reflect.Type
	here any // nil for a field that is not set

	set    func(v any)
	remove func()
}

// leaf reports whether a type has no inner places: it is a scalar, or a struct or list that JSON
// writes as one value.
func leaf(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.Duration](),
		reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[runtime.RawExtension](),
		reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[[]byte]():
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Map:
		return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	}
	return true
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fields calls each with the JSON fields of a struct, those of inlined structs among them.
func fields(t reflect.Type, each func(name string, f reflect.StructField)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || t == reflect.TypeFor[metav1.ObjectMeta]() && slices.Contains(untouched, name):
		case name == "" && f.Anonymous:
			fields(deref(f.Type), each)
		case name != "":
			each(name, f)
		}
	}
}

// spots calls each with all places below a value.
func spots(path, name string, t reflect.Type, v any, each func(spot)) {
	t = deref(t)
	if leaf(t) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if t.Kind() == reflect.Map {
			for _, key := range keys(v) {
				place := path + "[" + key + "]"
				each(spot{place, name, t.Elem(), v[key], func(x any) { v[key] = x }, func() { delete(v, key) }})
				spots(place, name, t.Elem(), v[key], each)
			}
		} else if t.Kind() == reflect.Struct {
			fields(t, func(key string, f reflect.StructField) {
				place := strings.TrimPrefix(path+"."+key, ".")
				each(spot{place, key, f.Type, v[key], func(x any) { v[key] = x }, func() { delete(v, key) }})
				if v[key] != nil {
					spots(place, key, f.Type, v[key], each)
				}
			})
		}
	case []any:
		if t.Kind() != reflect.Slice {
			return
		}
		for i := range v {
			place := fmt.Sprintf("%s[%d]", path, i)
			// The spot of the list removes elements.
			each(spot{place, name, t.Elem(), v[i], func(x any) { v[i] = x }, nil})
			spots(place, name, t.Elem(), v[i], each)
		}
	}
}

// learn adds the values of an example.
func (d donors) learn(t reflect.Type, example map[string]any) {
	spots("", "", t, example, func(s spot) {
		if s.here == nil {
			return
		}
		at := donor{deref(s.typ), s.name}
		text := string(encode(s.here))
		if len(d[at]) < 50 && !slices.ContainsFunc(d[at], func(v any) bool { return string(encode(v)) == text }) {
			d[at] = append(d[at], tree(s.here))
		}
	})
}

// untouched are fields that do not test rules of a kind.
var untouched = []string{"managedFields", "resourceVersion", "selfLink", "apiVersion", "kind"}

// mutate returns a copy of an object with one to three changes.
func (m *mutator) mutate(t reflect.Type, obj map[string]any) map[string]any {
	obj = tree(obj).(map[string]any)
	m.notes = nil
	for range []int{1, 1, 1, 2, 2, 3}[m.rand.IntN(6)] {
		if s, ok := m.pick(t, obj); ok {
			m.change(s)
		}
	}
	return obj
}

// pick chooses a place: mostly one that is set, and mostly not in the metadata, which all kinds
// share.
func (m *mutator) pick(t reflect.Type, obj map[string]any) (spot, bool) {
	var set, unset []spot
	inMeta := m.rand.IntN(8) == 0
	spots("", "", t, obj, func(s spot) {
		if slices.Contains(untouched, s.path) || strings.HasPrefix(s.path, "metadata") != inMeta {
			return
		}
		if s.here == nil {
			unset = append(unset, s)
		} else {
			set = append(set, s)
		}
	})
	list := set
	if len(set) == 0 || len(unset) > 0 && m.rand.IntN(3) == 0 {
		list = unset
	}
	if len(list) == 0 {
		return spot{}, false
	}
	return list[m.rand.IntN(len(list))], true
}

// change changes one place.
func (m *mutator) change(s spot) {
	t := deref(s.typ)
	if list, ok := s.here.([]any); ok && t.Kind() == reflect.Slice && m.rand.IntN(2) == 0 {
		m.changeList(s, t, list)
		return
	}
	if entries, ok := s.here.(map[string]any); ok && t.Kind() == reflect.Map && m.rand.IntN(2) == 0 {
		m.changeMap(s, t, entries)
		return
	}
	if s.here != nil && s.remove != nil && m.rand.IntN(4) == 0 {
		m.note("remove %s", s.path)
		s.remove()
		return
	}
	v := m.value(t, s.name, 0)
	m.note("set %s to %s", s.path, encode(v))
	s.set(v)
}

func (m *mutator) changeList(s spot, t reflect.Type, list []any) {
	n := len(list)
	switch op := m.rand.IntN(6); {
	case op == 0 || n == 0:
		m.note("append to %s", s.path)
		list = append(slices.Clone(list), m.value(t.Elem(), s.name, 1))
	case op == 1:
		i := m.rand.IntN(n)
		m.note("remove %s[%d]", s.path, i)
		list = slices.Delete(slices.Clone(list), i, i+1)
	case op == 2 || n == 1:
		i := m.rand.IntN(n)
		m.note("repeat %s[%d]", s.path, i)
		list = append(slices.Clone(list), tree(list[i]))
	case op == 3:
		i, j := m.rand.IntN(n), m.rand.IntN(n)
		m.note("swap %s[%d] and [%d]", s.path, i, j)
		list = slices.Clone(list)
		list[i], list[j] = list[j], list[i]
	case op == 4:
		i := m.rand.IntN(n)
		at := m.rand.IntN(n + 1)
		v := m.value(t.Elem(), s.name, 1)
		m.note("insert in %s[%d] beside [%d]", s.path, at, i)
		list = slices.Insert(slices.Clone(list), at, v)
	default:
		m.note("empty %s", s.path)
		list = []any{}
	}
	s.set(list)
}

func (m *mutator) changeMap(s spot, t reflect.Type, entries map[string]any) {
	known := keys(entries)
	key := m.text(s.name + " key")
	if len(known) > 0 && m.rand.IntN(2) == 0 {
		old := known[m.rand.IntN(len(known))]
		m.note("rename %s[%s] to %q", s.path, old, key)
		v := entries[old]
		delete(entries, old)
		entries[key] = v
		return
	}
	m.note("add %s[%q]", s.path, key)
	entries[key] = m.value(t.Elem(), s.name, 1)
}

func (m *mutator) note(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if len(note) > 200 {
		note = note[:200] + "..."
	}
	m.notes = append(m.notes, note)
}
