package policies

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/coracle-project/coracle/scheme/cel/rules"
)

// This file has the value of the variable "variables", through which expressions read the variables
// of their policy. Set.evaluate (run.go) makes it for each evaluation.

// lazyVariables is the value of the variable "variables". It evaluates a variable of the policy
// when an expression reads it first, and keeps the value, which may be an error, for the other
// expressions of the evaluation.
type lazyVariables struct {
	all    *variables
	of     *activation
	values map[string]ref.Val // nil for a variable that is being evaluated
}

// maxDepth is the largest number of variables that are being evaluated at once, each because the
// one before reads it. Each takes some kilobytes of stack.
const maxDepth = 1000

var _ traits.Mapper = (*lazyVariables)(nil)

// variablesValue is the type of the value.
var variablesValue = types.NewTypeValue(variablesType, traits.IndexerType|traits.FieldTesterType|traits.IterableType)

// value returns the value of a variable that exists.
func (v *lazyVariables) value(name string) ref.Val {
	held, begun := v.values[name]
	switch {
	case held != nil:
		return held
	case begun: // it is being evaluated: its expression reads it by dyn(variables)
		return types.NewErr("composited variable %q fails to evaluate: it refers to itself", name)
	case v.of.depth >= maxDepth:
		return types.NewErr("composited variable %q fails to evaluate: it depends on too many variables", name)
	}
	if v.values == nil {
		v.values = map[string]ref.Val{}
	}
	v.values[name] = nil
	v.of.depth++
	held = v.evaluate(name, v.all.byName[name])
	v.of.depth--
	v.values[name] = held
	return held
}

// evaluate runs the expression of a variable and counts its cost.
func (v *lazyVariables) evaluate(name string, x *Expression) ref.Val {
	if x.err != nil {
		return types.NewErr("composited variable %q fails to compile: %v", name, x.err)
	}
	a := v.of
	if a.spent > *a.budget {
		return types.WrapErr(ErrBudget) // the activation then ends the evaluation
	}
	left := unlimited
	value, err := x.program.Run(a.ctx, a, &left)
	a.spent += unlimited - left
	if err != nil {
		return types.NewErr("composited variable %q fails to evaluate: %v", name, err)
	}
	return value
}

// Find implements traits.Mapper.
func (v *lazyVariables) Find(key ref.Val) (ref.Val, bool) {
	ident, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	name, ok := rules.Unescape(string(ident))
	if !ok || v.all.byName[name] == nil {
		return nil, false
	}
	return v.value(name), true
}

// Get implements traits.Indexer.
func (v *lazyVariables) Get(key ref.Val) ref.Val {
	if value, found := v.Find(key); found {
		return value
	}
	return types.ValOrErr(key, "no such key: %v", key)
}

// Contains implements traits.Container.
func (v *lazyVariables) Contains(key ref.Val) ref.Val {
	value, found := v.Find(key)
	if value != nil && types.IsUnknownOrError(value) {
		return value
	}
	return types.Bool(found)
}

// Size implements traits.Sizer.
func (v *lazyVariables) Size() ref.Val { return types.Int(len(v.all.names)) }

// Iterator implements traits.Iterable. As in Kubernetes it yields values, not names.
func (v *lazyVariables) Iterator() traits.Iterator { return &variablesIterator{lazyVariables: v} }

type variablesIterator struct {
	*lazyVariables
	next int
}

// HasNext implements traits.Iterator.
func (i *variablesIterator) HasNext() ref.Val { return types.Bool(i.next < len(i.all.names)) }

// Next implements traits.Iterator.
func (i *variablesIterator) Next() ref.Val {
	i.next++
	return i.value(i.all.names[i.next-1])
}

// ConvertToNative implements ref.Val.
func (v *lazyVariables) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("disallowed conversion from %q to %q", variablesType, to.Name())
}

// ConvertToType implements ref.Val.
func (v *lazyVariables) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case variablesValue:
		return v
	case types.TypeType:
		return variablesValue
	}
	return types.NewErr("disallowed conversion from %q to %q", variablesType, to.TypeName())
}

// Equal implements ref.Val.
func (v *lazyVariables) Equal(other ref.Val) ref.Val {
	with, ok := other.(*lazyVariables)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(v == with)
}

// Type implements ref.Val.
func (v *lazyVariables) Type() ref.Type { return variablesValue }

// Value implements ref.Val.
func (v *lazyVariables) Value() any { return types.NoSuchOverloadErr() }
