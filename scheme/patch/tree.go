package patch

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// The strategic merge works on lazy trees of package jsontext. A member of an object of the
// document stays raw until lookup opens it; the patch is decoded in whole. Numbers stay raw in
// both, because they are not rewritten.
//
// Objects and lists are shared and changed in place, so that the merged document and the remains of
// the patch are the same as in Kubernetes, whose messages show both.
type (
	object = map[string]any
	list   = []any
)

// parse decodes a patch that has been checked. It returns nil for null, or if the Meter has ended.
func parse(patch []byte, m *meter.Meter) object {
	s := jsontext.NewScanner(patch, true, m)
	s.Literal = true
	tree, _ := s.Document()
	o, _ := tree.(object)
	return o
}

// look decodes one level of a value, and of the elements if it is a list. depth counts towards the
// limit of nesting. It returns nil for malformed text, or if the Meter has ended.
func look(value raw, depth int, m *meter.Meter) any {
	if value == "" || m.Step(len(value)) != nil {
		return nil
	}
	if value[0] == '[' {
		var space [inline]raw
		es, _ := value.Elements(depth, space[:0])
		l := make(list, len(es))
		for i, e := range es {
			l[i] = look(e, 0, m)
		}
		return l
	}
	v, ok := value.Look(depth)
	if !ok {
		return nil
	}
	return v
}

// lookup returns the value of an object at key, and opens it if it is still raw.
func lookup(o object, key string, m *meter.Meter) (any, bool) {
	v, ok := o[key]
	if r, lazy := v.(raw); lazy && !r.IsNumber() {
		v = look(r, 0, m)
		o[key] = v
	}
	return v, ok
}

// appendTree appends the JSON of a tree as it is stored. It cannot fail on trees of this package.
func appendTree(dst []byte, tree any) []byte {
	dst, _ = jsontext.AppendTree(dst, tree, jsontext.HTML)
	return dst
}

// native turns a tree into the Go values that Kubernetes decodes it to. Messages print those.
func native(v any) any {
	v, _ = jsontext.Decode(appendTree(nil, v), nil)
	return v
}

// text prints a tree as fmt prints the Go values, which is how Kubernetes' messages show it.
func text(v any) string { return fmt.Sprintf("%v", native(v)) }

// same reports whether two values are equal scalars. The integer 1 and the float 1.0 differ, as
// they do in Kubernetes.
func same(a, b any) bool {
	switch a := a.(type) {
	case object, list:
		return false
	case raw:
		b, ok := b.(raw)
		return ok && (a == b || a.Number() == b.Number())
	}
	switch b.(type) {
	case object, list:
		return false
	}
	return a == b
}

const (
	objectShape = "map[string]interface {}"
	listShape   = "[]interface {}"
)

// shapeOf names the Go type that Kubernetes decodes a value to; values of unequal shape do not
// merge.
func shapeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "%!s(<nil>)" // so Kubernetes' messages have it
	case object:
		return objectShape
	case list:
		return listShape
	case raw:
		if _, ok := v.Number().(int64); ok {
			return "int64"
		}
		return "float64"
	case bool:
		return "bool"
	}
	return "string"
}

// wrongShape is the refusal of a value that has to be of another shape.
func wrongShape(want string, got any) error {
	return unmergeable("expected a " + want + ", but received a " + shapeOf(got))
}

// withoutDirectives removes objects that carry a $patch directive, in place where it can. It
// reports false if v itself is one.
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
