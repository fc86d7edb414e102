package schema

import (
	"fmt"
	"reflect"
	"strings"
)

// before is the old value that corresponds to a value in an update. exists is false if there is
// none, or if the walk cannot tell which old value corresponds.
type before struct {
	value  any
	exists bool
	by     *Schema // the schema of value; nil in the schemas of Go types
}

// field returns the old value of a field of the object that b is the old value of.
func (b before) field(name string) before {
	if b.by == nil {
		return before{}
	}
	below := b.by.Child(name)
	previous, _ := b.value.(map[string]any)
	was, exists := previous[name]
	if !exists || below == nil || below.isAnything() {
		return before{}
	}
	return before{was, true, below.Target()}
}

// OldElements finds the old element that corresponds to an element of a list in an update. The zero
// value finds none.
type OldElements struct {
	list *Schema
	was  map[any]any // old elements of a list of type map by their keys
}

// OldElements returns the OldElements of list, an old list that s describes. It returns the zero
// value for lists that are not of type map, whose elements have no identity. Of two elements with
// the same keys it finds the first.
func (s *Schema) OldElements(list []any) OldElements {
	if s.ListType != "map" || len(list) == 0 {
		return OldElements{}
	}
	f := OldElements{s, make(map[any]any, len(list))}
	for _, element := range list {
		if key, ok := s.scalarKeys(element); ok {
			if _, repeated := f.was[key]; !repeated {
				f.was[key] = element
			}
		}
	}
	return f
}

// Element returns the old element with the keys of v, nil if there is none.
func (f *OldElements) Element(v any) any {
	if f.was == nil {
		return nil
	}
	key, ok := f.list.scalarKeys(v)
	if !ok {
		return nil
	}
	return f.was[key]
}

// before returns what Element finds, in the form that a checker takes.
func (f *OldElements) before(v any) before {
	was := f.Element(v)
	if was == nil {
		return before{}
	}
	return before{was, true, f.list.item()}
}

// scalarKeys returns a comparable value that identifies an element of a list of type map across an
// update: its key, or several keys as one string. It returns false if a key is missing or no
// scalar. As in kube-apiserver, 1 is not 1.0, and of several keys, floats count to six decimals.
func (s *Schema) scalarKeys(element any) (any, bool) {
	fields, _ := element.(map[string]any)
	for _, name := range s.ListKeys {
		if !isScalar(fields[name]) {
			return nil, false
		}
	}
	if len(s.ListKeys) < 2 {
		return identity(element, s.ListKeys), len(s.ListKeys) == 1
	}
	var b strings.Builder
	for _, name := range s.ListKeys {
		switch v := fields[name].(type) {
		case string:
			fmt.Fprintf(&b, "%q,", v)
		case float64:
			fmt.Fprintf(&b, "%f,", v)
		default:
			fmt.Fprint(&b, v, ",")
		}
	}
	return b.String(), true
}

// Unchanged reports whether an update leaves a value that s describes as it was. If so, errors in
// the value are not reported (ratcheting, KEP-4008). As in kube-apiserver, an object with a field
// that s does not describe counts as changed, and 1 is not 1.0.
func (s *Schema) Unchanged(v, old any) bool { return s.Target().unchanged(v, old) }

// unchanged is Unchanged for s a Target. Elements of a list of type map are compared by their keys,
// so that a new order alone is no change of an element; other lists are compared as a whole.
func (s *Schema) unchanged(v, old any) bool {
	switch v := v.(type) {
	case map[string]any:
		was, ok := old.(map[string]any)
		if !ok || len(v) != len(was) {
			return false
		}
		for name, held := range v {
			below := before{was, true, s}.field(name)
			if !below.exists || !below.by.unchanged(held, below.value) {
				return false
			}
		}
		return true
	case []any:
		was, ok := old.([]any)
		if !ok || len(v) != len(was) {
			return false
		}
		if s.ListType != "map" {
			return reflect.DeepEqual(v, old)
		}
		previous := s.OldElements(was)
		for _, held := range v {
			if e := previous.before(held); !e.exists || !e.by.unchanged(held, e.value) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(v, old)
}
