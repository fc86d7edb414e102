package policies

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/coracle-project/coracle/scheme/cel/objects"
)

// This file has the two types of values that expressions of mutating policies make: made, an object
// to apply, and operation, an operation of a JSON patch. patches (types.go) makes both, and
// mutation.go turns them into JSON. made has the methods of a CEL value; then its tree of JSON
// (tree, member, native); then bounds on its size (fits) and the check of its type names
// (checkNames).

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

// Equal implements ref.Val. As in Kubernetes, objects are equal only if their fields have the same
// types: the number 1 is not the number 1.0.
func (m *made) Equal(other ref.Val) ref.Val {
	with, ok := other.(*made)
	return types.Bool(ok && m.same(with, map[[2]*made]bool{}))
}

// same does the work of Equal. seen has the pairs that have been compared already, because an
// object may hold another one many times.
func (m *made) same(with *made, seen map[[2]*made]bool) bool {
	pair := [2]*made{m, with}
	if m == with || seen[pair] {
		return true
	}
	seen[pair] = true
	if m.typ.TypeName() != with.typ.TypeName() || len(m.fields) != len(with.fields) {
		return false
	}
	for name, v := range m.fields {
		theirs, found := with.fields[name]
		if !found || !sameMember(v, theirs, seen) {
			return false
		}
	}
	return true
}

func sameMember(v, theirs ref.Val, seen map[[2]*made]bool) bool {
	if inner, ok := v.(*made); ok {
		with, ok := theirs.(*made)
		return ok && inner.same(with, seen)
	}
	if objects.IsView(v) {
		return objects.IsView(theirs) && types.Equal(v, theirs) == types.True
	}
	return reflect.DeepEqual(v, theirs)
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
	if to != reflect.TypeFor[*structpb.Value]() {
		return nil, fmt.Errorf("unable to convert to %v", to)
	}
	tree, err := m.tree()
	if err != nil {
		return nil, err
	}
	s, err := structpb.NewStruct(tree)
	if err != nil {
		return nil, err
	}
	return structpb.NewStructValue(s), nil // Kubernetes returns s, and panics for a list of such objects
}

func (m *made) tree() (map[string]any, error) {
	tree := make(map[string]any, len(m.fields))
	for name, v := range m.fields {
		held, err := member(v)
		if err != nil {
			return nil, fmt.Errorf("fail to convert field %q: %w", name, err)
		}
		tree[name] = held
	}
	return tree, nil
}

// Value implements ref.Val. It is the object itself, because a tree may be much larger.
func (m *made) Value() any { return m }

// isSet implements has(Object{...}.name).
func isSet(target any, name string) bool {
	m, ok := target.(*made)
	return ok && m.fields[name] != nil
}

// fieldOf implements Object{...}.name. An object in a field is read as a map, because Kubernetes
// converts the outer object to a map first.
func fieldOf(target any, name string) (any, error) {
	m, ok := target.(*made)
	if !ok {
		return nil, fmt.Errorf("cannot get field %q", name)
	}
	v := m.fields[name]
	if v == nil {
		return nil, nil
	}
	return asMap(v), nil
}

// asMap returns an object as a map, and any other value as it is.
func asMap(v ref.Val) ref.Val {
	if m, ok := v.(*made); ok {
		return objects.Converted(m.fields, asMap)
	}
	return v
}

// member returns the value of a field as part of a tree.
func member(v ref.Val) (any, error) {
	if optional, ok := v.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil, nil
		}
		return member(optional.GetValue())
	}
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

// native returns the Go value of v. A null that the expression itself writes becomes a
// structpb.NullValue, which no tree of JSON contains. So the merge refuses the object, as in
// Kubernetes.
func native(v ref.Val) any {
	if tree, ok := objects.Tree(v); ok {
		return tree
	}
	switch v := v.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return nil
		}
		return native(v.GetValue())
	case *made:
		tree, err := v.tree()
		if err != nil {
			return types.WrapErr(err)
		}
		return tree
	}
	if sum, ok := v.Value().([]any); ok {
		return elements(sum)
	}
	return v.Value()
}

// elements returns the elements of a list that an expression has added up from other lists. It
// converts those that are CEL values.
func elements(sum []any) []any {
	if !slices.ContainsFunc(sum, func(e any) bool { _, ok := e.(ref.Val); return ok }) {
		return sum
	}
	tree := make([]any, len(sum))
	for i, e := range sum {
		if tree[i] = e; e == nil {
			continue
		}
		if v, ok := e.(ref.Val); ok {
			tree[i] = native(v)
		}
	}
	return tree
}

// goType returns the name of the Go type that a value has in Kubernetes, for error texts.
func goType(v ref.Val) string {
	if optional, ok := v.(*types.Optional); ok && optional.HasValue() {
		return goType(optional.GetValue())
	}
	if _, itself := v.Value().(ref.Val); itself {
		switch v.(type) {
		case traits.Lister:
			return "[]interface {}"
		case traits.Mapper, *made:
			return "map[string]interface {}"
		}
	}
	return fmt.Sprintf("%T", v.Value())
}

// maxMade bounds the values that leave expressions, in elements. An expression can put a list into
// a list twice, that list into another one twice, and so on.
const maxMade = 1 << 20

var errTooLarge = errors.New("the value of the expression is too large")

// fits returns errTooLarge for a value that has more than maxMade elements when it is written out.
func fits(v ref.Val) error {
	left := maxMade
	if count(v, &left); left < 0 {
		return errTooLarge
	}
	return nil
}

// count subtracts the number of elements of v from left. It ends soon after left is negative. 16
// bytes of a string count as an element.
func count(v ref.Val, left *int) {
	if *left--; *left < 0 {
		return
	}
	switch v := v.(type) {
	case types.String:
		*left -= len(v) / 16
	case *types.Optional:
		if v.HasValue() {
			count(v.GetValue(), left)
		}
	case *made:
		for name, f := range v.fields {
			*left -= len(name) / 16
			count(f, left)
		}
	case *operation:
		*left -= (len(v.op) + len(v.path) + len(v.from)) / 16
		if v.value != nil {
			count(v.value, left)
		}
	case traits.Lister:
		for it := v.Iterator(); *left >= 0 && it.HasNext() == types.True; {
			count(it.Next(), left)
		}
	case traits.Mapper:
		for it := v.Iterator(); *left >= 0 && it.HasNext() == types.True; {
			key := it.Next()
			count(key, left)
			if held, found := v.Find(key); found {
				count(held, left)
			}
		}
	}
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

// misnamed returns an error if an object inside m has another type name than its place demands. The
// type name of m itself counts as right.
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
			return types.NewErr("unexpected type %s for JSONPatchType '%s' field", goType(v), name)
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
