package schema

import (
	"fmt"
	"reflect"
	"strings"
)

// before is the value that an update replaces, if there is one.
type before struct {
	value any
	known bool
	by    *Schema // of value; nil for those of Go types
}

// field returns what a field was of which v is an object that has it now.
func (b before) field(name string) before {
	if b.by == nil {
		return before{}
	}
	below := b.by.Child(name)
	previous, _ := b.value.(map[string]any)
	was, known := previous[name]
	if !known || below == nil || below.isAnything() {
		return before{}
	}
	return before{was, true, below.Target()}
}

// A Former finds the elements of a list before an update. The zero Former knows none.
type Former struct {
	list *Schema
	was  map[any]any // elements of a list of type map by their keys
}

// Former returns what the list that s describes was. Of lists that are not of type map no element
// is known.
func (s *Schema) Former(list []any) Former {
	if s.ListType != "map" || len(list) == 0 {
		return Former{}
	}
	f := Former{s, make(map[any]any, len(list))}
	for _, element := range list {
		if key, ok := s.scalarKeys(element); ok {
			if _, repeated := f.was[key]; !repeated {
				f.was[key] = element
			}
		}
	}
	return f
}

// Element returns what an element was that is v now, nil if that is not known.
func (f *Former) Element(v any) any {
	if f.was == nil {
		return nil
	}
	key, ok := f.list.scalarKeys(v)
	if !ok {
		return nil
	}
	return f.was[key]
}

// before is Element for the walk of a checker.
func (f *Former) before(v any) before {
	was := f.Element(v)
	if was == nil {
		return before{}
	}
	return before{was, true, f.list.item()}
}

// scalarKeys returns what identifies an element of a list of type map across an update: its keys,
// if all are there and scalars. As in kube-apiserver, 1 is not 1.0, and where there are several
// keys, six decimals of a number count.
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

// Unchanged reports whether a value that s describes, which an update may not be held to, is what
// it was. As in kube-apiserver, an object with a field that s does not describe never is, and 1 is
// not 1.0.
func (s *Schema) Unchanged(v, old any) bool { return s.Target().unchanged(v, old) }

func (s *Schema) unchanged(v, old any) bool {
	switch v := v.(type) {
	case map[string]any:
		was, ok := old.(map[string]any)
		if !ok || len(v) != len(was) {
			return false
		}
		for name, held := range v {
			below := before{was, true, s}.field(name)
			if !below.known || !below.by.unchanged(held, below.value) {
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
		previous := s.Former(was)
		for _, held := range v {
			if e := previous.before(held); !e.known || !e.by.unchanged(held, e.value) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(v, old)
}
