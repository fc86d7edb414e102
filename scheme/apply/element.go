package apply

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// This file has the steps of which paths are made, their order, and their form in messages. The
// order decides how FieldsV1 is written, so it has to be that of kube-apiserver, including the
// order of values of different types.

// sort is what an Element identifies. The order of the constants is the order in FieldsV1.
type sort uint8

const (
	field sort = iota // of an object: by its name
	keyed             // an element of a list of type map: by its keys
	value             // an element of a set: by itself
	index             // an element of any other list: by its index; only messages, and sets that clients send, have one
)

// Element is one step of a Path: from an object to a field of it, or from a list to one of its
// elements. It is immutable.
type Element struct {
	sort sort
	name string // of a field
	at   int    // the index, if sort is index
	of   any    // if sort is value, the value as a tree; if sort is keyed, a []key that is sorted by name
}

// key is the name and value of one of the keys that identify an element of a list of type map.
type key struct {
	name  string
	value any // a tree
}

// Field returns the Element of an object's field, or of a map's entry, that has the given name.
func Field(name string) Element { return Element{sort: field, name: name} }

// Keyed returns the Element of a list of type map that has the given values of its keys.
func Keyed(keys map[string]any) Element {
	of := make([]key, 0, len(keys))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		of = append(of, key{name, keys[name]})
	}
	return Element{sort: keyed, of: of}
}

// Value returns the Element of a list of type set that equals v, a tree.
func Value(v any) Element { return Element{sort: value, of: v} }

// stepsPerCompare is what one comparison costs, in steps of package meter.
const stepsPerCompare = 20

// compare orders elements as FieldsV1 lists them. Once m has ended all elements compare as equal,
// so that sorts in progress end soon.
func (e Element) compare(m *meter.Meter, other Element) int {
	if m.Step(stepsPerCompare) != nil {
		return 0
	}
	if c := cmp.Compare(e.sort, other.sort); c != 0 {
		return c
	}
	switch e.sort {
	case field:
		return strings.Compare(e.name, other.name)
	case keyed:
		return slices.CompareFunc(e.of.([]key), other.of.([]key), func(a, b key) int {
			return cmp.Or(strings.Compare(a.name, b.name), compareTrees(m, a.value, b.value))
		})
	case value:
		return compareTrees(m, e.of, other.of)
	}
	return cmp.Compare(e.at, other.at)
}

// String writes the element as messages do: .name, [name="a",port=80], [="a"], [0].
func (e Element) String() string {
	switch e.sort {
	case field:
		return "." + e.name
	case keyed:
		var parts []string
		for _, k := range e.of.([]key) {
			parts = append(parts, k.name+"="+textOf(k.value))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case value:
		return "[=" + textOf(e.of) + "]"
	}
	return "[" + strconv.Itoa(e.at) + "]"
}

// textOf writes a tree as structured-merge-diff's messages do.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = textOf(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var b strings.Builder
		for _, k := range jsontext.Keys(v) {
			b.WriteString(k + "=" + textOf(v[k]))
		}
		return b.String()
	}
	text, _ := jsontext.AppendTree(nil, v, jsontext.Plain)
	return string(text)
}

// rank orders trees of different types. Integers and floats have the same rank, because they are
// compared by value.
func rank(v any) int {
	switch v.(type) {
	case float64, int64:
		return 0
	case string:
		return 1
	case bool:
		return 2
	case []any:
		return 3
	case map[string]any:
		return 4
	}
	return 5
}

// compareTrees orders trees that are not lazy. Once m has ended all trees compare as equal.
func compareTrees(m *meter.Meter, a, b any) int {
	if m.Step(stepsPerCompare) != nil {
		return 0
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
		return cmp.Compare(float64(a), b.(float64))
	case float64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, float64(b))
		}
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	case bool:
		if a == b.(bool) {
			return 0
		} else if a {
			return 1
		}
		return -1
	case []any:
		return slices.CompareFunc(a, b.([]any), func(a, b any) int { return compareTrees(m, a, b) })
	case map[string]any:
		return compareObjects(m, a, b.(map[string]any))
	}
	return 0
}

// compareObjects orders objects as lists of their names and values, sorted by name.
func compareObjects(m *meter.Meter, a, b map[string]any) int {
	_ = m.Step(stepsPerCompare * (len(a) + len(b))) // to sort their keys; what follows sees that m has ended
	ka, kb := jsontext.Keys(a), jsontext.Keys(b)
	for i := range min(len(ka), len(kb)) {
		if c := cmp.Or(strings.Compare(ka[i], kb[i]), compareTrees(m, a[ka[i]], b[kb[i]])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(ka), len(kb))
}

// Path is the list of steps that lead from the top of an object to a field.
type Path []Element

// String writes the path as messages do: .spec.containers[name="a"].image.
func (p Path) String() string {
	var b strings.Builder
	for _, e := range p {
		b.WriteString(e.String())
	}
	return b.String()
}
