package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// typeOf returns the JSON type of a value, "null" for nil. Numbers without a fraction in them count
// as what they were written as. What is no tree has no type.
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

// text returns JSON that is the same for equal trees: keys in order, numbers of one value in one
// spelling.
func text(v any) string { return string(appendText(nil, v)) }

func appendText(dst []byte, v any) []byte {
	if v == 0.0 { // also the negative one
		v = int64(0)
	}
	out, err := jsontext.AppendTree(dst, v, jsontext.Plain)
	if err != nil { // no tree
		return append(dst, "null"...)
	}
	return out
}

// step is one step of the way to a value: a field, an element, or an entry of a map.
type step struct {
	name  string
	index int // -1 if it is none
	entry bool
	// additional is set for an entry that messages write like a field, but for a dot before it even
	// where nothing else is.
	additional bool
	// key is set for an entry that messages write like a field, but for those about the metadata of
	// a resource below it.
	key bool
}

// way is how a value was reached.
type way []step

func (w *way) field(name string)     { *w = append(*w, step{name: name, index: -1}) }
func (w *way) entry(key string)      { *w = append(*w, step{name: key, index: -1, entry: true}) }
func (w *way) additional(key string) { *w = append(*w, step{name: key, index: -1, additional: true}) }
func (w *way) key(key string)        { *w = append(*w, step{name: key, index: -1, key: true}) }
func (w *way) index(i int)           { *w = append(*w, step{index: i}) }
func (w *way) back()                 { *w = (*w)[:len(*w)-1] }

// String writes the way as messages do: names joined by dots, indexes and entries in brackets. A
// long one is cut: it is made of keys that a client chose, and stands in an error up to three
// times.
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

// toMeta writes a way into the metadata of a resource: as String does, but for its keys, which are
// in brackets.
func (w way) toMeta() string {
	w = slices.Clone(w)
	for i := range w {
		w[i].entry = w[i].entry || w[i].key
	}
	return w.String()
}
