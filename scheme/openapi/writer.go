package openapi

import (
	"encoding/json"
	"slices"
	"strconv"
)

// writer writes JSON. It puts commas between what is written into one object or array. Keys are "" in arrays.
type writer struct {
	b []byte
}

// key starts a value.
func (w *writer) key(key string) {
	if n := len(w.b); n > 0 && w.b[n-1] != '{' && w.b[n-1] != '[' {
		w.b = append(w.b, ',')
	}
	if key != "" {
		w.b = append(appendString(w.b, key), ':')
	}
}

func (w *writer) open(key string, bracket byte) {
	w.key(key)
	w.b = append(w.b, bracket)
}

func (w *writer) close(bracket byte) { w.b = append(w.b, bracket) }

// str writes a string, also an empty one.
func (w *writer) str(key, value string) {
	w.key(key)
	w.b = appendString(w.b, value)
}

// text writes a string unless it is empty.
func (w *writer) text(key, value string) {
	if value != "" {
		w.str(key, value)
	}
}

func (w *writer) boolean(key string, value bool) {
	w.key(key)
	w.b = strconv.AppendBool(w.b, value)
}

// tree writes any JSON value.
func (w *writer) tree(key string, value any) {
	w.key(key)
	w.b = appendTree(w.b, value)
}

func appendTree(dst []byte, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // cannot be: trees are made of JSON
		return append(dst, "null"...)
	}
	return append(dst, text...)
}

// strs writes a list of strings unless it is empty.
func (w *writer) strs(key string, values []string) {
	if len(values) == 0 {
		return
	}
	w.open(key, '[')
	for _, v := range values {
		w.str("", v)
	}
	w.close(']')
}

// trees writes a list of JSON values unless it is empty.
func (w *writer) trees(key string, values []any) {
	if len(values) == 0 {
		return
	}
	w.open(key, '[')
	for _, v := range values {
		w.tree("", v)
	}
	w.close(']')
}

func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > '~' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil { // cannot be: strings always encode
				return append(dst, `""`...)
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
