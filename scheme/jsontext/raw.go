package jsontext

import (
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/alias"
)

// Raw is the text of a value, without white space around it. The values within are looked for when they are asked for, so
// that what nobody changes is never made a tree of.
type Raw string

// Member is a key of an object and its value.
type Member struct {
	Key   string
	Value Raw
	// Spaced says that there is white space between the tokens of the value.
	Spaced bool
}

// RawOf returns the value in data, which never change. It is not looked into: what is malformed about it, nothing at all
// included, comes to light later.
func RawOf(data []byte) Raw { return Raw(strings.Trim(alias.String(data), " \n\t\r")) }

// scanner returns a Scanner of the value, which lies within depth others.
func (r Raw) scanner(depth int) Scanner {
	return Scanner{Data: alias.Bytes(string(r)), Text: string(r), Depth: depth}
}

// IsNull reports whether the value is null.
func (r Raw) IsNull() bool { return r == "null" }

// Members splits an object into members appended to into, in the order and number that they have there. depth counts for
// its nesting. It reports false if the value is no object.
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

// Elements splits an array into values appended to into. depth counts for its nesting. It reports false if the value is no
// array.
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

// inline is how many members of an object are kept on the stack.
const inline = 12

// Look looks into the value, one level deep: what an object or array holds stays Raw, nulls apart, and so does a number.
// depth counts for its nesting. It reports false for what is malformed.
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

// Lazy returns the value as a part of a lazy tree: nil if it is null.
func (r Raw) Lazy() any {
	if r.IsNull() {
		return nil
	}
	return r
}

// Str returns the string that the value is; ok is false if it is none.
func (r Raw) Str() (_ string, ok bool) {
	s := r.scanner(0)
	if s.Next() != '"' {
		return "", false
	}
	text, err := s.Str()
	return text, err == nil && s.End() == nil
}

// IsNumber reports whether the value, which is well-formed, is a number.
func (r Raw) IsNumber() bool { return r[0] == '-' || '0' <= r[0] && r[0] <= '9' }

// Number returns the int64 or float64 that the value, a number, stands for; what is beyond a float64 is infinite.
func (r Raw) Number() any {
	if !strings.ContainsAny(string(r), ".eE") {
		if n, err := strconv.ParseInt(string(r), 10, 64); err == nil {
			return n
		}
	}
	f, _ := strconv.ParseFloat(string(r), 64)
	return f
}
