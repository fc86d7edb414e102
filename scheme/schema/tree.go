package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
)

// maxDepth bounds the nesting of trees, as it does in decoding.
const maxDepth = 10000

// typeOf returns the JSON type of a value, "null" for nil. Numbers without a fraction in them count as what they were
// written as. What is no tree has no type.
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

// equal reports whether two trees say the same. Numbers are compared by value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return float64(a) == b
		}
		return false
	case float64:
		if n, ok := b.(int64); ok {
			return a == float64(n)
		}
		return a == b
	case string, bool, nil:
		return a == b
	}
	return false
}

// text returns JSON that is the same for equal trees: keys in order, numbers of one value in one spelling.
func text(v any) string { return string(appendText(nil, v)) }

func appendText(dst []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, k), ':')
			dst = appendText(dst, v[k])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, held := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendText(dst, held)
		}
		return append(dst, ']')
	case float64:
		if n := int64(v); float64(n) == v && n > -1<<53 && n < 1<<53 {
			return strconv.AppendInt(dst, n, 10)
		}
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case string:
		if isPlain(v) {
			return append(append(append(dst, '"'), v...), '"')
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // no tree
		return append(dst, "null"...)
	}
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}

// isPlain reports whether a string stands in JSON as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return false
		}
	}
	return true
}

// step is one step of the way to a value: a field, an element, or an entry of a map where that is written like one.
type step struct {
	name  string
	index int // -1 if it is none
	entry bool
}

// way is how a value was reached.
type way []step

func (w *way) field(name string) { *w = append(*w, step{name: name, index: -1}) }
func (w *way) entry(key string)  { *w = append(*w, step{name: key, index: -1, entry: true}) }
func (w *way) index(i int)       { *w = append(*w, step{index: i}) }
func (w *way) back()             { *w = (*w)[:len(*w)-1] }

// String writes the way as messages do: names joined by dots, indexes and entries in brackets. A long one is cut: it is
// made of keys that a client chose, and stands in an error up to three times.
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
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(name)
		}
	}
	return field.Cut(b.String(), field.MaxText)
}

func keysOf(m map[string]any) []string { return slices.Collect(maps.Keys(m)) }
