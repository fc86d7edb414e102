package cel

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// A valueType is a type that a library adds to the language: what all its values have in common.
type valueType[T any] struct {
	*cel.Type
	short string // in messages
	equal func(a, b T) bool
	// text is the value as a string, for Go; nil if it has none.
	text func(T) string
	// converts says that an expression may have that string, too.
	converts bool
}

// of returns a value of the type.
func (t *valueType[T]) of(v T) *value[T] { return &value[T]{t, v} }

// A value is opaque to expressions, which only reach it by functions.
type value[T any] struct {
	kind *valueType[T]
	v    T
}

// opaque is what the types of our libraries have in common: they are compared at the cost of 1.
type opaque interface{ opaque() }

func (v *value[T]) opaque() {}

// Value implements ref.Val.
func (v *value[T]) Value() any { return v.v }

// Type implements ref.Val.
func (v *value[T]) Type() ref.Type { return v.kind.Type }

// ConvertToNative implements ref.Val.
func (v *value[T]) ConvertToNative(want reflect.Type) (any, error) {
	switch {
	case reflect.TypeFor[T]().AssignableTo(want):
		return v.v, nil
	case v.kind.text != nil && reflect.TypeFor[string]().AssignableTo(want):
		return v.kind.text(v.v), nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", v.kind.short, want)
}

// ConvertToType implements ref.Val.
func (v *value[T]) ConvertToType(want ref.Type) ref.Val {
	switch {
	case want == v.kind.Type:
		return v
	case want == types.TypeType:
		return v.kind.Type
	case want == types.StringType && v.kind.converts:
		return types.String(v.kind.text(v.v))
	}
	return types.NewErr("type conversion error from '%s' to '%s'", v.kind.Type, want)
}

// Equal implements ref.Val.
func (v *value[T]) Equal(other ref.Val) ref.Val {
	o, ok := other.(*value[T])
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(v.kind.equal(v.v, o.v))
}

// on makes an operation of a function that is sure of its argument. One of another type comes there where an expression
// got around the checks by dyn().
func on[A any](f func(A) ref.Val) functions.UnaryOp {
	return func(arg ref.Val) ref.Val {
		a, ok := arg.Value().(A)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return f(a)
	}
}

// on2 is on for two arguments.
func on2[A, B any](f func(A, B) ref.Val) functions.BinaryOp {
	return func(first, second ref.Val) ref.Val {
		a, ok := first.Value().(A)
		if !ok {
			return types.MaybeNoSuchOverloadErr(first)
		}
		b, ok := second.Value().(B)
		if !ok {
			return types.MaybeNoSuchOverloadErr(second)
		}
		return f(a, b)
	}
}
