package rules

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Lists as CEL values, of the three list types of schemas (x-kubernetes-list-type): atomic lists,
// sets and maps. The type decides what == and + mean. The semantics, including their oddities, are
// those of kube-apiserver.

// listValue is an atomic list: equal element by element, and + appends.
type listValue struct {
	*shape
	// Trees; after an addition also the Go values of other CEL values.
	elements []any
}

// listValue returns the CEL value of a list of the shape.
func (sh *shape) listValue(tree any) ref.Val {
	elements, ok := tree.([]any)
	switch {
	case !ok:
		return types.NewErr("invalid data, expected an array for the provided schema with type=array")
	case sh.item == nil:
		return types.NewErr("invalid array type, expected Items with a non-empty Schema")
	}
	l := listValue{sh, elements}
	switch typ := sh.schema.ListType; typ {
	case "", "atomic":
		return &l
	case "set":
		return &setValue{l}
	case "map":
		return &mapValue{l}
	default:
		return types.NewErr("invalid x-kubernetes-list-type, expected 'map', 'set' or 'atomic' but got %s", typ)
	}
}

var _ traits.Lister = (*listValue)(nil)

// Get implements traits.Indexer.
func (l *listValue) Get(index ref.Val) ref.Val {
	i, ok := index.(types.Int)
	if !ok {
		return types.ValOrErr(index, "unsupported index: %v", index)
	}
	if i < 0 || int64(i) >= int64(len(l.elements)) {
		return types.NewErr("index out of bounds: %v", index)
	}
	return l.item.value(l.elements[i])
}

// Size implements traits.Sizer.
func (l *listValue) Size() ref.Val { return types.Int(len(l.elements)) }

// Contains implements traits.Container.
func (l *listValue) Contains(v ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	var wrong ref.Val
	for _, held := range l.elements {
		switch same := l.item.value(held).Equal(v).(type) {
		case types.Bool:
			if same {
				return types.True
			}
		default:
			if wrong == nil {
				wrong = types.MaybeNoSuchOverloadErr(same)
			}
		}
	}
	if wrong != nil {
		return wrong
	}
	return types.False
}

// Iterator implements traits.Iterable.
func (l *listValue) Iterator() traits.Iterator { return &elements{listValue: l} }

// elements iterates over a list.
type elements struct {
	*listValue
	next int
}

// HasNext implements traits.Iterator.
func (e *elements) HasNext() ref.Val { return types.Bool(e.next < len(e.elements)) }

// Next implements traits.Iterator.
func (e *elements) Next() ref.Val {
	e.next++
	return e.item.value(e.elements[e.next-1])
}

// Equal implements ref.Val.
func (l *listValue) Equal(other ref.Val) ref.Val {
	with, wrong := l.asLong(other)
	if wrong != nil {
		return wrong
	}
	for i := range types.Int(len(l.elements)) {
		if same := l.Get(i).Equal(with.Get(i)); same != types.True {
			return same // false, or an error
		}
	}
	return types.True
}

// asLong returns other as a list if it has the length of l. Otherwise wrong is the result of
// comparing the two: false or an error.
func (l *listValue) asLong(other ref.Val) (with traits.Lister, wrong ref.Val) {
	with, ok := other.(traits.Lister)
	switch {
	case !ok:
		return nil, types.MaybeNoSuchOverloadErr(other)
	case l.Size() != with.Size():
		return nil, types.False
	}
	return with, nil
}

// Add implements traits.Adder.
func (l *listValue) Add(other ref.Val) ref.Val {
	with, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	sum := slices.Clip(l.elements)
	for it := with.Iterator(); it.HasNext() == types.True; {
		sum = append(sum, it.Next().Value())
	}
	return &listValue{l.shape, sum}
}

// Type implements ref.Val.
func (l *listValue) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (l *listValue) Value() any { return l.elements }

// ConvertToNative implements ref.Val.
func (l *listValue) ConvertToNative(want reflect.Type) (any, error) {
	switch {
	case want.Kind() != reflect.Slice:
		return nil, fmt.Errorf("type conversion error from '%s' to '%s'", l.Type(), want)
	case l.item.schema.Type != "string":
		return l.elements, nil
	}
	var all []string
	for _, held := range l.elements {
		s, ok := held.(string)
		if !ok {
			return nil, fmt.Errorf("expected all elements to be of type string, but got %T", held)
		}
		all = append(all, s)
	}
	return all, nil
}

// ConvertToType implements ref.Val.
func (l *listValue) ConvertToType(want ref.Type) ref.Val { return convert(l, want) }

// setValue is a list of type set: the order does not matter for ==, and + is the union.
type setValue struct{ listValue }

// set returns the elements as a set. Elements are scalars; another element cannot be the key of a
// Go map and panics, which ends the expression with an internal error, as in Kubernetes.
func (s *setValue) set() map[any]struct{} {
	set := make(map[any]struct{}, len(s.elements))
	for _, held := range s.elements {
		set[held] = struct{}{}
	}
	return set
}

// Equal implements ref.Val.
func (s *setValue) Equal(other ref.Val) ref.Val {
	with, wrong := s.asLong(other)
	if wrong != nil {
		return wrong
	}
	set := s.set()
	for it := with.Iterator(); it.HasNext() == types.True; {
		if _, ok := set[it.Next().Value()]; !ok {
			return types.False
		}
	}
	return types.True
}

// Add implements traits.Adder. It returns the union.
func (s *setValue) Add(other ref.Val) ref.Val {
	with, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	sum, set := slices.Clip(s.elements), s.set()
	for it := with.Iterator(); it.HasNext() == types.True; {
		v := it.Next().Value()
		if _, ok := set[v]; !ok {
			set[v] = struct{}{}
			sum = append(sum, v)
		}
	}
	return &setValue{listValue{s.shape, sum}}
}

// ConvertToType implements ref.Val.
func (s *setValue) ConvertToType(want ref.Type) ref.Val { return convert(s, want) }

// mapValue is a list of type map: elements with equal keys correspond to each other.
type mapValue struct{ listValue }

// key returns the value of the key fields of an element, in a form that can be the key of a Go map.
func (m *mapValue) key(element any) any {
	fields, ok := element.(map[string]any)
	if !ok {
		return types.NewErr("unexpected data format for element of array with x-kubernetes-list-type=map: %T", element)
	}
	if len(m.keys) == 1 {
		return fields[m.keys[0]]
	}
	var key [3]any
	if len(m.keys) <= len(key) {
		for i, name := range m.keys {
			key[i] = fields[name]
		}
		return key
	}
	all := make([]any, len(m.keys))
	for i, name := range m.keys {
		all[i] = fields[name]
	}
	return fmt.Sprint(all)
}

// Equal implements ref.Val.
func (m *mapValue) Equal(other ref.Val) ref.Val {
	with, wrong := m.asLong(other)
	if wrong != nil {
		return wrong
	}
	byKey := make(map[any]any, len(m.elements))
	for _, held := range m.elements {
		byKey[m.key(held)] = held
	}
	for it := with.Iterator(); it.HasNext() == types.True; {
		theirs := it.Next()
		ours, ok := byKey[m.key(theirs.Value())]
		if !ok {
			return types.False
		}
		if same := m.item.value(ours).Equal(theirs); same != types.True {
			return same // false, or an error
		}
	}
	return types.True
}

// Add implements traits.Adder. An element of other replaces the element with the same key, or is
// appended if there is none.
func (m *mapValue) Add(other ref.Val) ref.Val {
	with, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	sum := slices.Clone(m.elements)
	byKey := make(map[any]int, len(m.elements))
	for i, held := range m.elements {
		byKey[m.key(held)] = i
	}
	for it := with.Iterator(); it.HasNext() == types.True; {
		v := it.Next().Value()
		if i, ok := byKey[m.key(v)]; ok {
			sum[i] = v
		} else {
			sum = append(sum, v)
		}
	}
	return &mapValue{listValue{m.shape, sum}}
}

// ConvertToType implements ref.Val.
func (m *mapValue) ConvertToType(want ref.Type) ref.Val { return convert(m, want) }
