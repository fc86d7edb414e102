package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// typeOf returns the JSON type of a value, "null" for nil. An int64 is an integer and a float64 a
// number, even if it has no fraction. A value that cannot be in a tree has the type "".
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return Object
	case []any:
		return Array
	case string:
		return String
	case bool:
		return Boolean
	case int64:
		return Integer
	case float64:
		return Number
	}
	return ""
}

// text returns JSON that is equal for equal trees: keys are sorted, and numbers of one value are
// written alike.
func text(v any) string { return string(appendText(nil, v)) }

func appendText(dst []byte, v any) []byte {
	if v == 0.0 { // or -0.0
		v = int64(0)
	}
	out, err := jsontext.AppendTree(dst, v, jsontext.Plain)
	if err != nil { // no tree
		return append(dst, "null"...)
	}
	return out
}

// step is one step of a way: a field of an object, an element of a list, or an entry of a map. The
// messages of kube-apiserver write entries in three ways, depending on what finds the error; entry,
// additional and key tell them apart.
type step struct {
	name  string // of a field or an entry
	index int    // of an element; -1 in other steps
	entry bool   // an entry in brackets: a[b]
	// additional is an entry after a dot, even at the root: a.b, or .b
	additional bool
	// key is an entry after a dot, but in brackets in messages about metadata below it; see toMeta
	key bool
}

// way is the path from the root of a tree to a value. Walks push a step before they descend, and
// call back afterwards.
type way []step

func (w *way) field(name string)     { *w = append(*w, step{name: name, index: -1}) }
func (w *way) entry(key string)      { *w = append(*w, step{name: key, index: -1, entry: true}) }
func (w *way) additional(key string) { *w = append(*w, step{name: key, index: -1, additional: true}) }
func (w *way) key(key string)        { *w = append(*w, step{name: key, index: -1, key: true}) }
func (w *way) index(i int)           { *w = append(*w, step{index: i}) }
func (w *way) back()                 { *w = (*w)[:len(*w)-1] }

// String returns the way as messages write it: names joined by dots, indexes and entries in
// brackets. It cuts a long way, because a client chooses the keys, and one error may hold the way
// three times.
func (w way) String() string {
	var b strings.Builder
	for _, s := range w {
		if b.Len() > field.MaxText {
			break
		}
		name := field.Cut(s.name, field.MaxText)
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.entry:
			b.WriteString("[" + name + "]")
		default:
			if b.Len() > 0 || s.additional {
				b.WriteByte('.')
			}
			b.WriteString(name)
		}
	}
	return field.Cut(b.String(), field.MaxText)
}

// toMeta returns a way that leads into the metadata of a resource: as String does, but with key
// steps in brackets.
func (w way) toMeta() string {
	w = slices.Clone(w)
	for i := range w {
		w[i].entry = w[i].entry || w[i].key
	}
	return w.String()
}
