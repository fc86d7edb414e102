package policies

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/coracle-project/coracle/scheme/cel/objects"
)

// made is an object that an expression has made: Object{...} or Object.spec{...}.
type made struct {
	typ    *types.Type
	fields map[string]ref.Val
}

var _ traits.Zeroer = (*made)(nil)

// IsZeroValue implements traits.Zeroer.
func (m *made) IsZeroValue() bool { return len(m.fields) == 0 }

// Type implements ref.Val.
func (m *made) Type() ref.Type { return m.typ }

// Equal implements ref.Val. As in Kubernetes, the fields of equal objects have been made in the
// same way: the number 1 is not the number 1.0.
func (m *made) Equal(other ref.Val) ref.Val {
	with, ok := other.(*made)
	if !ok || m.typ.TypeName() != with.typ.TypeName() || len(m.fields) != len(with.fields) {
		return types.False
	}
	for name, v := range m.fields {
		if theirs, found := with.fields[name]; !found || !reflect.DeepEqual(plain(v), plain(theirs)) {
			return types.False
		}
	}
	return types.True
}

// plain returns the value as DeepEqual can compare it: views of equal objects are not equal.
func plain(v ref.Val) any {
	if tree, ok := objects.Tree(v); ok {
		return tree
	}
	return v
}

// ConvertToType implements ref.Val.
func (m *made) ConvertToType(to ref.Type) ref.Val {
	switch {
	case m.typ.TypeName() == to.TypeName():
		return m
	case to == types.TypeType:
		return types.NewTypeTypeWithParam(m.typ)
	}
	return types.NewErr("unsupported conversion into %v", to)
}

// ConvertToNative implements ref.Val.
func (m *made) ConvertToNative(to reflect.Type) (any, error) {
	tree := make(map[string]any, len(m.fields))
	for name, v := range m.fields {
		held, err := member(v)
		if err != nil {
			return nil, fmt.Errorf("fail to convert field %q: %w", name, err)
		}
		tree[name] = held
	}
	switch to {
	case reflect.TypeFor[map[string]any]():
		return tree, nil
	case reflect.TypeFor[*structpb.Value]():
		s, err := structpb.NewStruct(tree)
		if err != nil {
			return nil, err
		}
		return structpb.NewStructValue(s), nil // Kubernetes returns s, and panics for a list of such objects
	}
	return nil, fmt.Errorf("unable to convert to %v", to)
}

// Value implements ref.Val. It is a map[string]any, or an error value.
func (m *made) Value() any {
	tree, err := m.ConvertToNative(reflect.TypeFor[map[string]any]())
	if err != nil {
		return types.WrapErr(err)
	}
	return tree
}

// member returns the value of a field as part of a tree.
func member(v ref.Val) (any, error) {
	switch held := v.Value().(type) {
	case []ref.Val:
		var tree []any
		for _, element := range held {
			tree = append(tree, native(element))
		}
		return tree, nil
	case map[ref.Val]ref.Val:
		tree := make(map[string]any, len(held))
		for k, element := range held {
			key, ok := k.Value().(string)
			if !ok {
				return nil, fmt.Errorf("map key %q is of type %T, not string", k, k)
			}
			tree[key] = native(element)
		}
		return tree, nil
	}
	return native(v), nil
}

// native returns the Go value of v.
func native(v ref.Val) any {
	if tree, ok := objects.Tree(v); ok {
		return tree
	}
	if v == types.NullValue {
		return nil
	}
	return v.Value()
}

// checkNames returns an error for each object inside v whose type is not named after its place, as
// in Object{spec: Object.status{}}. Lists and maps have no names.
func checkNames(v ref.Val, path string) (errs []error) {
	if m, ok := v.(*made); ok {
		if name := m.typ.TypeName(); name != path {
			errs = append(errs, fmt.Errorf(
				"unexpected type name %q, expected %q, which matches field name path from root Object type", name, path))
		}
		for name, f := range m.fields {
			errs = append(errs, checkNames(f, path+"."+name)...)
		}
		return errs
	}
	switch held := v.Value().(type) {
	case []ref.Val:
		for _, element := range held {
			errs = append(errs, checkNames(element, path)...)
		}
	case map[ref.Val]ref.Val:
		for _, element := range held {
			errs = append(errs, checkNames(element, path)...)
		}
	}
	return errs
}

// misnamed returns the error of checkNames for an object that the path of its own name leads to.
func (m *made) misnamed() error {
	if errs := checkNames(m, m.typ.TypeName()); len(errs) > 0 {
		return fmt.Errorf("type mismatch: %w", errors.Join(errs...))
	}
	return nil
}

// operation is one operation of a JSON patch that an expression has made: JSONPatch{...}.
type operation struct {
	op, from, path string
	value          ref.Val // nil if there is none
}

// newOperation returns the value of JSONPatch{...} with these fields.
func newOperation(fields map[string]ref.Val) ref.Val {
	o := &operation{}
	for name, v := range fields {
		if name == "value" {
			o.value = v
			continue
		}
		text, ok := v.Value().(string)
		if !ok {
			return types.NewErr("unexpected type %T for JSONPatchType '%s' field", v.Value(), name)
		}
		*o.text(name) = text
	}
	return o
}

// text returns a field that is a string, nil if there is none of that name.
func (o *operation) text(name string) *string {
	switch name {
	case "op":
		return &o.op
	case "path":
		return &o.path
	case "from":
		return &o.from
	}
	return nil
}

// Get implements traits.Indexer.
func (o *operation) Get(index ref.Val) ref.Val {
	name, _ := index.Value().(string)
	if text := o.text(name); text != nil {
		return types.String(*text)
	}
	if name == "value" {
		return o.value
	}
	return types.NewErr("unsupported indexer: %s", index)
}

// IsSet implements traits.FieldTester.
func (o *operation) IsSet(field ref.Val) ref.Val {
	name, _ := field.Value().(string)
	if text := o.text(name); text != nil {
		return types.Bool(*text != "")
	}
	if name == "value" {
		return types.Bool(o.value != nil)
	}
	return types.NewErr("unsupported field: %s", field)
}

// Equal implements ref.Val.
func (o *operation) Equal(other ref.Val) ref.Val {
	with, ok := other.(*operation)
	switch {
	case !ok, o.op != with.op, o.from != with.from, o.path != with.path, (o.value == nil) != (with.value == nil):
		return types.False
	case o.value == nil:
		return types.True
	}
	return o.value.Equal(with.value)
}

// Type implements ref.Val.
func (o *operation) Type() ref.Type { return JSONPatchType }

// Value implements ref.Val.
func (o *operation) Value() any { return o }

// ConvertToType implements ref.Val.
func (o *operation) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case JSONPatchType:
		return o
	case types.TypeType:
		return types.NewTypeTypeWithParam(JSONPatchType)
	}
	return types.NewErr("unsupported type: %s", to.TypeName())
}

// ConvertToNative implements ref.Val.
func (o *operation) ConvertToNative(to reflect.Type) (any, error) {
	if to == reflect.TypeFor[*operation]() {
		return o, nil
	}
	return nil, fmt.Errorf("cannot convert to native type: %v", to)
}
