package objects

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// This file has the view of a list, which View.at (value.go) makes, and the part that its iterator
// shares with the iterator of mapping.go.

// list is the view of a list.
type list struct {
	view *View
	t    *typeinfo.Type
	p    typeinfo.Pointer
}

var (
	_ traits.Lister = (*list)(nil)
	_ traits.Zeroer = (*list)(nil)
)

func (l *list) len() int { return l.p.Slice().Len }

// element returns the element at an index below the length.
func (l *list) element(i int) ref.Val {
	return l.view.behind(l.t.Elem, l.t.ElemPointer, l.p.Slice().Elem(i, l.t.Go.Elem().Size()))
}

// Get implements traits.Indexer.
func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	switch {
	case err != nil:
		return types.ValOrErr(index, "%v", err)
	case i < 0 || i >= l.len():
		return types.NewErr("index '%d' out of range in list size '%d'", i, l.len())
	}
	return l.element(i)
}

// Size implements traits.Sizer.
func (l *list) Size() ref.Val { return types.Int(l.len()) }

// IsZeroValue implements traits.Zeroer.
func (l *list) IsZeroValue() bool { return l.len() == 0 }

// Contains implements traits.Container.
func (l *list) Contains(v ref.Val) ref.Val {
	for i := range l.len() {
		if v.Equal(l.element(i)) == types.True {
			return types.True
		}
	}
	return types.False
}

// Add implements traits.Adder.
func (l *list) Add(other ref.Val) ref.Val {
	with, ok := other.(traits.Lister)
	switch {
	case !ok:
		return types.MaybeNoSuchOverloadErr(other)
	case l.len() == 0:
		return other
	case with.Size() == types.IntZero:
		return l
	}
	elements := make([]ref.Val, l.len())
	for i := range elements {
		elements[i] = l.element(i)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elements).Add(other)
}

// Iterator implements traits.Iterable.
func (l *list) Iterator() traits.Iterator { return &listIterator{list: l} }

type listIterator struct {
	nothing
	list *list
	next int
}

// HasNext implements traits.Iterator.
func (i *listIterator) HasNext() ref.Val { return types.Bool(i.next < i.list.len()) }

// Next implements traits.Iterator.
func (i *listIterator) Next() ref.Val {
	i.next++
	return i.list.element(i.next - 1)
}

// Equal implements ref.Val.
func (l *list) Equal(other ref.Val) ref.Val {
	with, ok := other.(traits.Lister)
	if !ok || l.Size() != with.Size() {
		return types.False
	}
	for i := range l.len() {
		if types.Equal(l.element(i), with.Get(types.Int(i))) == types.False {
			return types.False
		}
	}
	return types.True
}

// Type implements ref.Val.
func (l *list) Type() ref.Type { return types.ListType }

// Value implements ref.Val. It is the view itself; Tree makes a Go list.
func (l *list) Value() any { return l }

// ConvertToType implements ref.Val.
func (l *list) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case types.ListType:
		return l
	case types.TypeType:
		return types.ListType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.ListType, to)
}

// ConvertToNative implements ref.Val.
func (l *list) ConvertToNative(to reflect.Type) (any, error) { return toNative(l, to) }

// String returns the form in which error messages show the value.
func (l *list) String() string {
	var b strings.Builder
	for i := range l.len() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v", l.element(i))
	}
	return "[" + b.String() + "]"
}

// nothing has the methods of ref.Val that no expression calls for an iterator.
type nothing struct{}

// Type implements ref.Val.
func (nothing) Type() ref.Type { return types.IteratorType }

// Value implements ref.Val.
func (nothing) Value() any { return nil }

// Equal implements ref.Val.
func (nothing) Equal(ref.Val) ref.Val { return types.NewErr("no such overload") }

// ConvertToType implements ref.Val.
func (nothing) ConvertToType(ref.Type) ref.Val { return types.NewErr("no such overload") }

// ConvertToNative implements ref.Val.
func (nothing) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion on iterators not supported")
}
