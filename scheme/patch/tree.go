package patch

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// tree.go has the trees that a strategic merge works on (strategic.go and order.go). The document
// is a lazy tree of package jsontext: a member of an object stays raw until lookup decodes it. The
// patch is decoded as a whole. Numbers stay raw in both, because they are not rewritten.
//
// Merged objects and lists are shared between document and patch, and changed in place. Kubernetes
// does so too, and its messages show the merged document and the rest of the patch; both must look
// the same.
type (
	object = map[string]any
	list   = []any
)

// parse decodes a patch that check has accepted. It returns nil for null, or if the Meter has
// ended.
func parse(patch []byte, m *meter.Meter) object {
	s := jsontext.NewScanner(patch, true, m)
	s.Literal = true
	tree, _ := s.Document()
	o, _ := tree.(object)
	return o
}

// look decodes one level of an object, and of each element of a list. depth is added to the nesting
// of the value. It returns nil for malformed text, or if the Meter has ended.
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

// lookup returns the value of an object at key. It decodes one level of the value if that is raw.
func lookup(o object, key string, m *meter.Meter) (any, bool) {
	v, ok := o[key]
	if r, lazy := v.(raw); lazy && !r.IsNumber() {
		v = look(r, 0, m)
		o[key] = v
	}
	return v, ok
}

// appendTree appends the JSON of a tree, compact and HTML-escaped. Trees of this package have only
// values that can be written.
func appendTree(dst []byte, tree any) []byte {
	dst, _ = jsontext.AppendTree(dst, tree, jsontext.HTML)
	return dst
}

// native returns the Go values that Kubernetes decodes the JSON of a tree to, for messages.
func native(v any) any {
	v, _ = jsontext.Decode(appendTree(nil, v), nil)
	return v
}

// text returns a tree as fmt prints its Go values: map[a:1 b:[x y]]. Kubernetes' messages show it
// so.
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

// shapeOf returns the name of the Go type that Kubernetes decodes a value to. Values of different
// shapes do not merge.
func shapeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "%!s(<nil>)" // in Kubernetes' messages, too
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

// wrongShape is the refusal of a value that is not of the shape want.
func wrongShape(want string, got any) error {
	return unmergeable("expected a " + want + ", but received a " + shapeOf(got))
}

// withoutDirectives removes objects that have a $patch directive from v and returns the rest. It
// changes objects in place, and copies lists. It returns false if v itself is such an object.
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
