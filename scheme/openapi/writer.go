package openapi

import (
	"strconv"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// writer appends JSON to b, with commas between the members of an object or the elements of an
// array. In arrays the key of an element is "".
type writer struct {
	b  []byte
	v3 bool // schemas are written as version 3 has them
}

// key begins a value.
func (w *writer) key(key string) {
	if n := len(w.b); n > 0 && w.b[n-1] != '{' && w.b[n-1] != '[' {
		w.b = append(w.b, ',')
	}
	if key != "" {
		w.b = append(jsontext.AppendString(w.b, key, jsontext.HTML), ':')
	}
}

// name begins a value whose key may be any string, even the empty one.
func (w *writer) name(key string) {
	w.key("")
	w.b = append(jsontext.AppendString(w.b, key, jsontext.HTML), ':')
}

// member begins an object whose key may be any string.
func (w *writer) member(key string) {
	w.name(key)
	w.b = append(w.b, '{')
}

// open begins an object or array.
func (w *writer) open(key string, bracket byte) {
	w.key(key)
	w.b = append(w.b, bracket)
}

// close ends an object or array.
func (w *writer) close(bracket byte) { w.b = append(w.b, bracket) }

// str writes a string, even an empty one.
func (w *writer) str(key, value string) {
	w.key(key)
	w.b = jsontext.AppendString(w.b, value, jsontext.HTML)
}

// text writes a string unless it is empty.
func (w *writer) text(key, value string) {
	if value != "" {
		w.str(key, value)
	}
}

// boolean writes true or false.
func (w *writer) boolean(key string, value bool) {
	w.key(key)
	w.b = strconv.AppendBool(w.b, value)
}

// tree writes any JSON value.
func (w *writer) tree(key string, value any) {
	w.key(key)
	w.b = appendTree(w.b, value)
}

// appendTree appends a tree as JSON. A value that is no tree, which defaults and examples never
// are, becomes null.
func appendTree(dst []byte, tree any) []byte {
	out, err := jsontext.AppendTree(dst, tree, jsontext.HTML)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

// flag writes true, or nothing for false.
func (w *writer) flag(key string, value bool) {
	if value {
		w.boolean(key, true)
	}
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
