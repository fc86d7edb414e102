package jsontext

import (
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/alias"
)

// Lazy trees: JSON text that is split into parts level by level. Packages apply and patch read
// large objects in this way, and decode only what they change.

// Raw is the text of a value without white space around it. It is split into parts only on demand,
// so that parts which nobody changes never become trees.
type Raw string

// Member is one member of an object: a key and its value.
type Member struct {
	Key   string
	Value Raw
	// Spaced says that the value has white space between its tokens.
	Spaced bool
}

// RawOf returns the value in data, which must never change. It does not read data: malformed or
// missing JSON is found when the value is used.
func RawOf(data []byte) Raw { return Raw(strings.Trim(alias.String(data), " \n\t\r")) }

// scanner returns a Scanner of the value. depth is the number of arrays and objects around it.
func (r Raw) scanner(depth int) Scanner {
	return Scanner{Data: alias.Bytes(string(r)), Text: string(r), Depth: depth}
}

// IsNull reports whether the value is null.
func (r Raw) IsNull() bool { return r == "null" }

// Members appends the members of an object to into and returns the result. Members keep their
// order, and repeated keys stay. depth is the number of arrays and objects around the object; it
// counts against MaxDepth. It reports false if the value is malformed or no object.
func (r Raw) Members(depth int, into []Member) ([]Member, bool) {
	s := r.scanner(depth)
	if s.Next() != '{' || s.Open() != nil {
		return nil, false
	}
	for first := true; ; first = false {
		more, err := s.More('}', first)
		if err != nil {
			return nil, false
		}
		if !more {
			return into, s.End() == nil
		}
		key, err := s.Key()
		if err != nil {
			return nil, false
		}
		s.Next()
		start := s.Pos
		s.Spaced = false
		if s.Skip() != nil {
			return nil, false
		}
		into = append(into, Member{key, r[start:s.Pos], s.Spaced})
	}
}

// Elements appends the elements of an array to into and returns the result. depth is the number of
// arrays and objects around the array; it counts against MaxDepth. It reports false if the value is
// malformed or no array.
func (r Raw) Elements(depth int, into []Raw) ([]Raw, bool) {
	s := r.scanner(depth)
	if s.Next() != '[' || s.Open() != nil {
		return nil, false
	}
	for first := true; ; first = false {
		more, err := s.More(']', first)
		if err != nil {
			return nil, false
		}
		if !more {
			return into, s.End() == nil
		}
		s.Next()
		start := s.Pos
		if s.Skip() != nil {
			return nil, false
		}
		into = append(into, r[start:s.Pos])
	}
}

// inline is the number of members or elements that Look keeps on the stack.
const inline = 12

// Look decodes one level of the value: the members of an object and the elements of an array stay
// Raw, except nulls, which become nil; a number stays Raw. depth is the number of arrays and
// objects around the value; it counts against MaxDepth. It reports false if the value is malformed.
func (r Raw) Look(depth int) (any, bool) {
	if r == "" {
		return nil, false
	}
	switch r[0] {
	case '{':
		var space [inline]Member
		ms, ok := r.Members(depth, space[:0])
		object := make(map[string]any, len(ms))
		for _, m := range ms {
			object[m.Key] = m.Value.Lazy()
		}
		return object, ok
	case '[':
		var space [inline]Raw
		es, ok := r.Elements(depth, space[:0])
		array := make([]any, len(es))
		for i, e := range es {
			array[i] = e.Lazy()
		}
		return array, ok
	}
	s := r.scanner(depth)
	s.Literal = true
	v, err := s.Document()
	return v, err == nil
}

// Lazy returns the value as a part of a lazy tree: nil if it is null, else itself.
func (r Raw) Lazy() any {
	if r.IsNull() {
		return nil
	}
	return r
}

// Str returns the content of the value if it is a string; ok is false otherwise.
func (r Raw) Str() (_ string, ok bool) {
	s := r.scanner(0)
	if s.Next() != '"' {
		return "", false
	}
	text, err := s.Str()
	return text, err == nil && s.End() == nil
}

// IsNumber reports whether the value, which must be well-formed, is a number.
func (r Raw) IsNumber() bool { return r[0] == '-' || '0' <= r[0] && r[0] <= '9' }

// Number returns the value, which must be a number, as an int64 or float64. A number beyond the
// range of float64 becomes infinite.
func (r Raw) Number() any {
	if !strings.ContainsAny(string(r), ".eE") {
		if n, err := strconv.ParseInt(string(r), 10, 64); err == nil {
			return n
		}
	}
	f, _ := strconv.ParseFloat(string(r), 64)
	return f
}
