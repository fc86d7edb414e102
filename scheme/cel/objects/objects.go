// Package objects shows objects of the API to expressions as maps by their JSON names, without
// copying or encoding them.
//
// Words: a view is the CEL value of a struct, a list or a map of Go; it refers to the memory of the
// object, and makes the values of its parts when an expression reads them.
//
// Laws:
//   - Expressions see the JSON of an object: fields that omitempty leaves out do not exist, a nil
//     pointer, list or map is null, and types with a JSON form of their own have that form.
//   - A view behaves like the value that cel-go makes of the decoded JSON of the object: the same
//     results, costs and errors.
//   - Reading a field takes the same time, however large the object is. A View keeps what it had to
//     convert: the text of bytes, and the JSON of types with a form of their own.
//
// Objects must not change while expressions read them. A View and the values that it gives belong
// to one goroutine.
//
// Not here: objects with a schema (package rules), and which variables an expression has (package
// policies).
//
// Read: objects.go, value.go, fields.go, mapping.go, list.go, tree.go.
package objects

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// A View shows objects to the expressions of one evaluation.
type View struct {
	// converted keeps the values that were converted from another form.
	converted map[valueKey]ref.Val
}

// A valueKey identifies a value by its type and its address.
type valueKey struct {
	t *typeinfo.Type
	p typeinfo.Pointer
}

// Value returns the CEL value of an object. object is a pointer to a struct with JSON tags, a tree
// of JSON, or nil, which is null.
func (v *View) Value(object any) ref.Val {
	switch o := object.(type) {
	case nil:
		return types.NullValue
	case *scheme.Unstructured:
		if o == nil {
			return types.NullValue
		}
		return &mapping[unstructured]{unstructured{v, o}}
	case map[string]any, []any, string, bool, int64, float64:
		return types.DefaultTypeAdapter.NativeToValue(o)
	}
	at := reflect.ValueOf(object)
	if at.Kind() != reflect.Pointer {
		return types.UnsupportedRefValConversionErr(object)
	}
	if at.IsNil() {
		return types.NullValue
	}
	t := typeinfo.Of(at.Type())
	if t == nil {
		return types.UnsupportedRefValConversionErr(object)
	}
	return v.at(t, typeinfo.PointerIn(at))
}
