package cel

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// A valueType is a type that a library adds to CEL: what all its values have in common.
type valueType[T any] struct {
	*cel.Type
	short string // the name in error messages
	equal func(a, b T) bool
	// text returns a value as a string for Go code; nil if there is no such form.
	text func(T) string
	// converts says that string() works on values of the type in an expression.
	converts bool
}

// of returns a value of the type.
func (t *valueType[T]) of(v T) *value[T] { return &value[T]{t, v} }

// A value is a value of a valueType. Expressions reach its content only through functions.
type value[T any] struct {
	kind *valueType[T]
	v    T
}

// opaque is implemented by the values of all libraries here: == of two of them costs 1.
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

// on makes a CEL function of a Go function of type A. An argument of another type, which passes the
// type check if it is written as dyn(x), is an error.
func on[A any](f func(A) ref.Val) functions.UnaryOp {
	return func(arg ref.Val) ref.Val {
		a, ok := arg.Value().(A)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return f(a)
	}
}

// on2 makes a CEL function of a Go function with two arguments.
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
