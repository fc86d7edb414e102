package cel

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Kubernetes' list library: aggregates and searches over lists. Base includes it. The libraries of
// cel-go (distinct, sort, sets) come from there; price.go has their costs.

// lists returns the declarations of isSorted, sum, max, min, indexOf and lastIndexOf, with one
// overload for each type of elements.
func lists() []cel.EnvOption {
	summable := []element{
		{"int", cel.IntType, types.Int(0)}, {"uint", cel.UintType, types.Uint(0)},
		{"double", cel.DoubleType, types.Double(0)},
		{"duration", cel.DurationType, types.Duration{}},
	}
	ordered := []element{
		{"int", cel.IntType, nil}, {"uint", cel.UintType, nil}, {"double", cel.DoubleType, nil},
		{"bool", cel.BoolType, nil}, {"duration", cel.DurationType, nil},
		{"timestamp", cel.TimestampType, nil}, {"string", cel.StringType, nil},
		{"bytes", cel.BytesType, nil},
	}
	a := cel.TypeParamType("A")
	position := []*cel.Type{cel.ListType(a), a}
	return []cel.EnvOption{
		cel.Function("isSorted", eachOf(ordered, func(e element) cel.FunctionOpt {
			return cel.MemberOverload(fmt.Sprintf("list_%s_is_sorted_bool", e.name), e.list(), cel.BoolType,
				cel.UnaryBinding(isSorted))
		})...),
		cel.Function("sum", eachOf(summable, func(e element) cel.FunctionOpt {
			return cel.MemberOverload(fmt.Sprintf("list_%s_sum_%s", e.name, e.name), e.list(), e.typ,
				cel.UnaryBinding(sum(e.zero)))
		})...),
		cel.Function("max", eachOf(ordered, func(e element) cel.FunctionOpt {
			return cel.MemberOverload(fmt.Sprintf("list_%s_max_%s", e.name, e.name), e.list(), e.typ,
				cel.UnaryBinding(best("max", types.IntNegOne)))
		})...),
		cel.Function("min", eachOf(ordered, func(e element) cel.FunctionOpt {
			return cel.MemberOverload(fmt.Sprintf("list_%s_min_%s", e.name, e.name), e.list(), e.typ,
				cel.UnaryBinding(best("min", types.IntOne)))
		})...),
		cel.Function("indexOf", cel.MemberOverload("list_a_index_of_int", position, cel.IntType,
			cel.BinaryBinding(indexOf))),
		cel.Function("lastIndexOf", cel.MemberOverload("list_a_last_index_of_int", position, cel.IntType,
			cel.BinaryBinding(lastIndexOf))),
	}
}

// An element is an element type for which overloads are declared.
type element struct {
	name string
	typ  *cel.Type
	zero ref.Val // 0 of a type that can be summed
}

// list returns the argument types of a function of such a list.
func (e element) list() []*cel.Type { return []*cel.Type{cel.ListType(e.typ)} }

// eachOf declares one overload for each element type.
func eachOf(elements []element, overload func(element) cel.FunctionOpt) []cel.FunctionOpt {
	overloads := make([]cel.FunctionOpt, len(elements))
	for i, e := range elements {
		overloads[i] = overload(e)
	}
	return overloads
}

// fold calls step for each element of a list until step returns an error, which it returns.
func fold(list ref.Val, step func(ref.Val) ref.Val) ref.Val {
	all, ok := list.(traits.Iterable)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	for it := all.Iterator(); it.HasNext() == types.True; {
		if err := step(it.Next()); err != nil {
			return err
		}
	}
	return nil
}

// isSorted implements isSorted(). A list that is found unsorted is false, even if comparing a later
// element failed.
func isSorted(list ref.Val) ref.Val {
	var last traits.Comparer
	sorted := types.True
	err := fold(list, func(v ref.Val) ref.Val {
		next, ok := v.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		if last != nil && last.Compare(v) == types.IntOne {
			sorted = types.False
		}
		last = next
		return nil
	})
	if err != nil && sorted == types.True {
		return err
	}
	return sorted
}

// sum implements sum(), beginning with zero.
func sum(zero ref.Val) functions.UnaryOp {
	return func(list ref.Val) ref.Val {
		total := zero
		err := fold(list, func(v ref.Val) ref.Val {
			total = total.(traits.Adder).Add(v)
			if _, ok := total.(traits.Adder); !ok {
				return types.MaybeNoSuchOverloadErr(total)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return total
	}
}

// best implements max() and min(): it returns the first element such that no other is better. worse
// is the result of comparing an element with a better one.
func best(function string, worse ref.Val) functions.UnaryOp {
	return func(list ref.Val) ref.Val {
		var found traits.Comparer
		err := fold(list, func(v ref.Val) ref.Val {
			next, ok := v.(traits.Comparer)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			if found == nil || found.Compare(v) == worse {
				found = next
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case found == nil:
			return types.NewErr("%s called on empty list", function)
		}
		return found.(ref.Val)
	}
}

// indexOf implements indexOf(): the index of the first equal element, -1 if there is none.
func indexOf(list, item ref.Val) ref.Val {
	all, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	for i := range all.Size().(types.Int) {
		if all.Get(i).Equal(item) == types.True {
			return i
		}
	}
	return types.IntNegOne
}

// lastIndexOf implements lastIndexOf(): the index of the last equal element, -1 if there is none.
func lastIndexOf(list, item ref.Val) ref.Val {
	all, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	for i := all.Size().(types.Int) - 1; i >= 0; i-- {
		if all.Get(i).Equal(item) == types.True {
			return i
		}
	}
	return types.IntNegOne
}
