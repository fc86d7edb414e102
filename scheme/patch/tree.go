package patch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/meter"
)

// The strategic merge works on trees of these values:
//
//	nil, bool, string    as they are
//	number               the literal
//	object, list         containers; the elements of a list are never raw
//	raw                  a value of the document that nothing has looked into yet
//
// Objects and lists are shared and changed in place, so that what a merge puts into the document and what it leaves
// of the patch are what they are in Kubernetes, whose messages show both.
type (
	object = map[string]any
	list   = []any
	number string
	raw    []byte
)

// parse reads a checked value; deep asks for the whole tree, else what an object holds stays raw. A deep tree is not
// complete if the Meter has ended.
func parse(value []byte, deep bool, m *meter.Meter) any {
	if m.Step(len(value)) != nil && deep {
		return nil
	}
	switch value[0] {
	case '{':
		var space [inline]member
		ms, _ := fields(value, 0, space[:0])
		o := make(object, len(ms))
		for _, held := range ms {
			if deep {
				o[string(held.key)] = parse(held.value, true, m)
			} else {
				o[string(held.key)] = raw(held.value)
			}
		}
		return o
	case '[':
		var space [inline][]byte
		es, _ := elements(value, 0, space[:0])
		l := make(list, len(es))
		for i, e := range es {
			l[i] = parse(e, deep, m)
		}
		return l
	case '"':
		return string(unquote(value))
	case 't', 'f':
		return value[0] == 't'
	case 'n':
		return nil
	}
	return number(value)
}

// lookup returns what an object holds at key, looking into it if nothing has before.
func lookup(o object, key string, m *meter.Meter) (any, bool) {
	v, ok := o[key]
	if r, lazy := v.(raw); lazy {
		v = parse(r, false, m)
		o[key] = v
	}
	return v, ok
}

// appendTree writes a tree as JSON with sorted keys.
func appendTree(dst []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		dst = append(dst, '{')
		for i, k := range sortedKeys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, []byte(k)), ':')
			dst = appendTree(dst, v[k])
		}
		return append(dst, '}')
	case list:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendTree(dst, e)
		}
		return append(dst, ']')
	case string:
		return appendQuoted(dst, []byte(v))
	case number:
		return append(dst, v...)
	case bool:
		return strconv.AppendBool(dst, v)
	case raw:
		return appendValue(dst, v, spaced|escaped)
	}
	return append(dst, "null"...)
}

func sortedKeys(o object) []string {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// native turns a tree into the Go values that Kubernetes decodes it to. Messages print those.
func native(v any) any {
	switch v := v.(type) {
	case object:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = native(e)
		}
		return m
	case list:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = native(e)
		}
		return l
	case number:
		if !strings.ContainsAny(string(v), ".eE") {
			if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
				return i
			}
		}
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case raw:
		return native(parse(v, true, nil))
	}
	return v
}

// text prints a tree as fmt prints the Go values, which is how Kubernetes' messages show it.
func text(v any) string { return fmt.Sprintf("%v", native(v)) }

// same reports whether two values are equal scalars. The integer 1 and the float 1.0 differ, as they do in Kubernetes.
func same(a, b any) bool {
	switch a := a.(type) {
	case object, list:
		return false
	case number:
		b, ok := b.(number)
		return ok && (a == b || native(a) == native(b))
	}
	switch b.(type) {
	case object, list:
		return false
	}
	return a == b
}

// shapeOf names the Go type that Kubernetes decodes a value to; values of unequal shape do not merge.
func shapeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "%!s(<nil>)" // so Kubernetes' messages have it
	case object:
		return "map[string]interface {}"
	case list:
		return "[]interface {}"
	case number:
		if _, ok := native(v).(int64); ok {
			return "int64"
		}
		return "float64"
	case bool:
		return "bool"
	}
	return "string"
}

const (
	objectShape = "map[string]interface {}"
	listShape   = "[]interface {}"
)

// wrongShape is the refusal of a value that has to be of another shape.
func wrongShape(want string, got any) error {
	return unmergeable("expected a " + want + ", but received a " + shapeOf(got))
}

// withoutDirectives removes objects that carry a $patch directive, in place where it can. It reports false if v itself
// is one.
func withoutDirectives(v any) (any, bool) {
	switch v := v.(type) {
	case object:
		if _, ok := v[directive]; ok {
			return nil, false
		}
		for k, e := range v {
			if e, keep := withoutDirectives(e); keep {
				v[k] = e
			} else {
				delete(v, k)
			}
		}
	case list:
		kept := make(list, 0, len(v))
		for _, e := range v {
			if e, keep := withoutDirectives(e); keep {
				kept = append(kept, e)
			}
		}
		return kept, true
	}
	return v, true
}

// dropNulls removes keys that are null, in place. Nulls in lists stay.
func dropNulls(v any) {
	switch v := v.(type) {
	case object:
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				dropNulls(e)
			}
		}
	case list:
		for _, e := range v {
			dropNulls(e)
		}
	}
}
