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

// FieldsV1 is JSON: an object with a key for each part, f:name, k:{its keys}, v:value or i:index, whose value is the object of
// what is in that part. One that has nothing in it is a field by itself; one that has something is if it also has the key ".".

// errFields is what there is to say of text that is no FieldsV1: nobody but the server writes it.
var errFields = errors.New("malformed FieldsV1")

// ParseFields reads a set as FieldsV1, the form in which managedFields have it. Parts of an unknown sort are left out.
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

// fieldsReader reads FieldsV1.
type fieldsReader struct {
	jsontext.Scanner
	*builder
	meter *meter.Meter
}

// set reads an object, or null for an empty one. self says that the part which it belongs to is a field.
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

// lastNode is what becomes of a part that is there twice: what is in it is what the last one has.
func lastNode(a, b node) node {
	a.member = a.member || b.member
	if b.sub != nil {
		a.sub = b.sub
	}
	return a
}

// part reads a member of an object.
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

// name reads the key of a member. What of it is no UTF-8 stays as it is.
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

// parseElement reads a part's name; known is false if it is of a sort that a later version may have.
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

// valueScanner returns a Scanner of a value. What follows the value does not matter.
func valueScanner(text string) jsontext.Scanner {
	s := jsontext.NewScanner(alias.Bytes(text), true, nil)
	s.Literal = true
	return s
}

// parseKeys reads the keys of an element, or null for none.
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

// fieldsValue reads a value, whose numbers are all float64.
func fieldsValue(s *jsontext.Scanner) (any, error) {
	v, err := s.Tree()
	if err != nil {
		return nil, err
	}
	return floats(v)
}

// floats makes float64 of the numbers of a tree, which are text.
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

// AppendFields appends the set as FieldsV1. Once m has ended the rest is missing: the caller has to
// ask m.
func (s *Set) AppendFields(m *meter.Meter, dst []byte) []byte {
	w := fieldsWriter{meter: m, dst: dst}
	w.set(s, false)
	return w.dst
}

// fieldsWriter writes FieldsV1.
type fieldsWriter struct {
	meter     *meter.Meter
	dst, name []byte
}

// set writes the object of what is in a part; self says that the part itself is a field.
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

// appendName appends what FieldsV1 calls the element.
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

// appendFieldsValue appends a value as FieldsV1 spells it.
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

// appendQuoted appends a JSON string. Entries of one set have to be equal byte by byte whoever has written them, so this is the
// spelling of kube-apiserver, which in FieldsV1 is not that of encoding/json: only three control characters have a short
// escape, and what is not told to be safe in HTML leaves anything else alone.
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
