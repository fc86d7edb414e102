package apply

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// This file reads and writes FieldsV1, the JSON form of a Set in managedFields. A Set is an object
// with a member for each element. The member's name is f:name, k:{keys}, v:value or i:index; the
// member's value is the Set of what is below that element. An element with an empty object is
// itself in the set. An element with members below it is itself in the set only if the object also
// has the key ".". Example: {"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}.
//
// managed.go calls it, for each entry of managedFields that a write reads or makes.

// errFields is the error for JSON that is not FieldsV1. It has no detail, because clients do not
// write FieldsV1 by hand. Text that is not JSON, and numbers that do not parse, give the errors of
// jsontext and strconv.
var errFields = errors.New("malformed FieldsV1")

// ParseFields reads a Set from data, its FieldsV1 form. Members of an unknown sort are left out, as
// later versions may have more sorts. The set shares no memory with data.
func ParseFields(m *meter.Meter, data []byte) (*Set, error) {
	w := newWalker(m)
	defer w.done()
	r := fieldsReader{jsontext.NewScanner(data, false, m), &w.builders[0], m}
	s, _, err := r.set()
	if err == nil {
		err = m.Err()
	}
	return s, err
}

// fieldsReader reads FieldsV1 in one pass, without a tree in between.
type fieldsReader struct {
	jsontext.Scanner
	*builder
	meter *meter.Meter
}

// set reads the object of a set, or null for an empty set. self reports whether the element to
// which the object belongs is itself in the set.
func (r *fieldsReader) set() (s *Set, self bool, err error) {
	if r.Next() == 'n' {
		return nil, true, r.Word("null")
	}
	if r.Next() != '{' || r.Open() != nil {
		return nil, false, errFields
	}
	start := r.begin()
	for first := true; ; first = false {
		more, err := r.More('}', first)
		if err != nil {
			return nil, false, err
		}
		if !more {
			break
		}
		if err := r.part(&self); err != nil {
			return nil, false, err
		}
	}
	s = r.end(r.meter, start, lastNode)
	return s, self || s == nil, nil
}

// lastNode merges two nodes of one element: the element is in the set if either says so; what is
// below it is what the later node says.
func lastNode(a, b node) node {
	a.member = a.member || b.member
	if b.sub != nil {
		a.sub = b.sub
	}
	return a
}

// part reads one member of an object. It sets *self if the member is ".".
func (r *fieldsReader) part(self *bool) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	if name == "." {
		*self = true
		return r.Skip()
	}
	if err := r.meter.Step(stepsPerValue); err != nil {
		return err
	}
	e, known, err := parseElement(name)
	if err != nil {
		return err
	}
	if !known {
		return r.Skip()
	}
	sub, member, err := r.set()
	if err == nil {
		r.push(node{e, member, sub})
	}
	return err
}

// name reads a member's name and the colon behind it. Bytes that are not UTF-8 are kept as they
// are.
func (r *fieldsReader) name() (string, error) {
	if r.Next() != '"' {
		return "", errFields
	}
	start, end, plain, err := r.Quoted()
	if err != nil {
		return "", err
	}
	name := r.Text[start:end]
	if !plain && strings.IndexByte(name, '\\') >= 0 {
		name = alias.String(jsontext.Unquote(r.Data[start:end]))
	}
	return name, r.Colon()
}

// parseElement reads the name of a member as an Element; known is false if the name has a sort that
// this version does not know.
func parseElement(name string) (e Element, known bool, err error) {
	if len(name) < 2 || name[1] != ':' {
		return e, false, errFields
	}
	text := name[2:]
	switch name[0] {
	case 'f':
		return Field(text), true, nil
	case 'k':
		of, err := parseKeys(text)
		return Element{sort: keyed, of: of}, true, err
	case 'v':
		s := valueScanner(text)
		v, err := fieldsValue(&s)
		return Value(v), true, err
	case 'i':
		at, err := strconv.Atoi(text)
		return Element{sort: index, at: at}, true, err
	}
	return e, false, nil
}

// valueScanner returns a Scanner that reads one value from text. Text behind the value is ignored.
func valueScanner(text string) jsontext.Scanner {
	s := jsontext.NewScanner(alias.Bytes(text), true, nil)
	s.Literal = true
	return s
}

// parseKeys reads the keys that identify an element, from the text after "k:". The keys are sorted
// by name, and a repeated name is kept. The text null stands for no keys. parseKeys ignores text
// behind the object (valueScanner).
func parseKeys(text string) ([]key, error) {
	s := valueScanner(text)
	of := make([]key, 0, 2)
	if s.Next() == 'n' {
		return of, s.Word("null")
	}
	if s.Next() != '{' || s.Open() != nil {
		return nil, errFields
	}
	for first := true; ; first = false {
		more, err := s.More('}', first)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		name, err := s.Key()
		if err != nil {
			return nil, err
		}
		v, err := fieldsValue(&s)
		if err != nil {
			return nil, err
		}
		of = append(of, key{name, v})
	}
	slices.SortStableFunc(of, func(a, b key) int { return strings.Compare(a.name, b.name) })
	return of, nil
}

// fieldsValue reads a value. All its numbers become float64.
func fieldsValue(s *jsontext.Scanner) (any, error) {
	v, err := s.Tree()
	if err != nil {
		return nil, err
	}
	return floats(v)
}

// floats replaces the numbers of a tree, which are text, by float64. It changes v in place.
func floats(v any) (_ any, err error) {
	switch v := v.(type) {
	case jsontext.Raw:
		return strconv.ParseFloat(string(v), 64)
	case []any:
		for i := range v {
			if v[i], err = floats(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = floats(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// AppendFields appends the FieldsV1 form of the set to dst. Once m has ended the text is cut short,
// so the caller has to check m before it uses the text.
func (s *Set) AppendFields(m *meter.Meter, dst []byte) []byte {
	w := fieldsWriter{meter: m, dst: dst}
	w.set(s, false)
	return w.dst
}

// fieldsWriter writes FieldsV1. name is room for the name of the member that is being written.
type fieldsWriter struct {
	meter     *meter.Meter
	dst, name []byte
}

// set writes the object of what is below an element; self says that the element itself is in the
// set.
func (w *fieldsWriter) set(s *Set, self bool) {
	w.dst = append(w.dst, '{')
	if s != nil {
		if self {
			w.dst = append(w.dst, `".":{},`...)
		}
		for i := range s.nodes {
			if w.meter.Step(stepsPerValue) != nil {
				return
			}
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			n := &s.nodes[i]
			w.name = n.element.appendName(w.name[:0])
			w.dst = append(appendQuoted(w.dst, alias.String(w.name), false), ':')
			w.set(n.sub, n.member)
		}
	}
	w.dst = append(w.dst, '}')
}

// appendName appends the member name of the element, such as f:spec.
func (e Element) appendName(dst []byte) []byte {
	switch e.sort {
	case field:
		return append(append(dst, "f:"...), e.name...)
	case keyed:
		dst = append(dst, "k:{"...)
		for i, k := range e.of.([]key) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendFieldsValue(append(appendQuoted(dst, k.name, false), ':'), k.value)
		}
		return append(dst, '}')
	case value:
		return appendFieldsValue(append(dst, "v:"...), e.of)
	}
	return strconv.AppendInt(append(dst, "i:"...), int64(e.at), 10)
}

// appendFieldsValue appends a value in the spelling of FieldsV1, with object members sorted by
// name.
func appendFieldsValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendQuoted(dst, v, true)
	case float64:
		if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
			return strconv.AppendFloat(dst, v, 'e', -1, 64)
		}
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	case []any:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendFieldsValue(dst, v[i])
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, k := range jsontext.Keys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendFieldsValue(append(appendQuoted(dst, k, true), ':'), v[k])
		}
		return append(dst, '}')
	}
	dst, _ = jsontext.AppendTree(dst, v, jsontext.HTML) // what is left has one spelling
	return dst
}

// appendQuoted appends s as a JSON string. Two servers that write the same set have to write the
// same bytes, so the spelling is that of kube-apiserver in FieldsV1, which is not that of
// encoding/json: only \n, \r and \t have a short escape, and without html only control characters,
// quotes and backslashes are escaped, and bytes that are not UTF-8 stay.
func appendQuoted(dst []byte, s string, html bool) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	plain := 0 // from here on s stands as it is
	for i := 0; i < len(s); {
		c, n := rune(s[i]), 1
		if c >= utf8.RuneSelf && html {
			c, n = utf8.DecodeRuneInString(s[i:])
		}
		escape := ""
		switch {
		case c == '"' || c == '\\':
			escape = `\` + s[i:i+1]
		case c == '\n':
			escape = `\n`
		case c == '\r':
			escape = `\r`
		case c == '\t':
			escape = `\t`
		case c < ' ', html && (c == '<' || c == '>' || c == '&'):
			escape = `\u00` + hex[c>>4:c>>4+1] + hex[c&15:c&15+1]
		case html && c == utf8.RuneError && n == 1:
			escape = `\ufffd`
		case html && (c == '\u2028' || c == '\u2029'):
			escape = `\u202` + hex[c&15:c&15+1]
		default:
			i += n
			continue
		}
		dst = append(append(dst, s[plain:i]...), escape...)
		i += n
		plain = i
	}
	return append(append(dst, s[plain:]...), '"')
}
