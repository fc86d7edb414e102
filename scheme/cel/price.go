package cel

import (
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A price computes the cost of a call from its arguments and its result, after the call. An
// argument may be an error.
type price func(args []ref.Val, result ref.Val) uint64

// priceOf returns the price of calls of a function. overload is "" if only the values determine the
// overload. It is called once per call in a program, while the program is planned.
func priceOf(function, overload string) price {
	if p := listPrice(overload); p != nil {
		return p
	}
	if cost, ok := flat[function]; ok {
		return func([]ref.Val, ref.Val) uint64 { return cost }
	}
	standard := standardPrice(overload)
	return func(args []ref.Val, result ref.Val) uint64 {
		if len(args) > 0 {
			if cost, ok := callCost(function, overload, args, result); ok {
				return cost
			}
		}
		return standard(args, result)
	}
}

// listPrice returns the price of a function of cel-go's list and set libraries, nil for other
// functions. If an argument is no list, the type assertion panics and ends the run, as in
// Kubernetes.
func listPrice(overload string) price {
	switch overload {
	case "list_slice", "lists_range", "list_reverse":
		return func(_ []ref.Val, result ref.Val) uint64 { return newList(1, size(result)) }
	case "list_flatten", "list_flatten_int":
		return func(args []ref.Val, _ ref.Val) uint64 {
			depth := 1.0
			if len(args) == 2 {
				depth = float64(args[1].(types.Int))
			}
			return newList(depth, size(args[0]))
		}
	case "list_distinct":
		return func(args []ref.Val, _ ref.Val) uint64 { return selfCompared(args[0]) }
	case "list_sets_contains_list", "list_sets_intersects_list":
		return func(args []ref.Val, _ ref.Val) uint64 { return 1 + size(args[0])*size(args[1]) }
	case "list_sets_equivalent_list":
		return func(args []ref.Val, _ ref.Val) uint64 { return 1 + 2*size(args[0])*size(args[1]) }
	}
	switch {
	case !strings.HasPrefix(overload, "list_"):
	case strings.HasSuffix(overload, "_sort"):
		return func(args []ref.Val, _ ref.Val) uint64 { return selfCompared(args[0]) }
	case strings.HasSuffix(overload, "_sortByAssociatedKeys"):
		return func(args []ref.Val, _ ref.Val) uint64 { return selfCompared(args[1]) }
	}
	return nil
}

// newList returns the price of a call that makes a list with a number of steps for each of n
// elements.
func newList(steps float64, n uint64) uint64 {
	return uint64(float64(n)*steps) + 1 + common.ListCreateBaseCost
}

// selfCompared returns the price of comparing all elements of a list with each other.
func selfCompared(v ref.Val) uint64 {
	list, steps := v.(traits.Lister), 2.0
	n := size(list)
	if n > 0 {
		if t := list.Get(types.IntZero).Type(); t == types.StringType || t == types.BytesType {
			steps += perChar
		}
	}
	return newList(steps, n*n)
}

// standardPrice returns the price of an overload of CEL's own functions, and 1 for all others. The
// numbers are cel-go's.
func standardPrice(overload string) price {
	switch overload {
	case overloads.StartsWithString, overloads.EndsWithString, overloads.StringToBytes, overloads.BytesToString,
		overloads.ExtQuoteString, overloads.ExtFormatString:
		return func(args []ref.Val, _ ref.Val) uint64 { return chars(1, sizeIfAny(args[0])) }
	case overloads.InList:
		return func(args []ref.Val, _ ref.Val) uint64 { return sizeIfAny(args[1]) }
	case overloads.LessString, overloads.GreaterString, overloads.LessEqualsString, overloads.GreaterEqualsString,
		overloads.LessBytes, overloads.GreaterBytes, overloads.LessEqualsBytes, overloads.GreaterEqualsBytes,
		overloads.Equals, overloads.NotEquals:
		return func(args []ref.Val, _ ref.Val) uint64 { return chars(1, min(sizeIfAny(args[0]), sizeIfAny(args[1]))) }
	case overloads.AddString, overloads.AddBytes:
		return func(args []ref.Val, _ ref.Val) uint64 { return chars(1, sizeIfAny(args[0])+sizeIfAny(args[1])) }
	case overloads.MatchesString:
		return func(args []ref.Val, _ ref.Val) uint64 { return matchCost(sizeIfAny(args[0]), sizeIfAny(args[1])) }
	case overloads.ContainsString:
		return func(args []ref.Val, _ ref.Val) uint64 {
			return chars(1, sizeIfAny(args[0])) * chars(1, sizeIfAny(args[1]))
		}
	}
	return func([]ref.Val, ref.Val) uint64 { return 1 }
}

// sizeIfAny returns the size of a value; of an optional that has a value, the size of that value.
func sizeIfAny(v ref.Val) uint64 {
	if o, ok := v.(*types.Optional); ok && o.HasValue() {
		return sizeIfAny(o.GetValue())
	}
	return size(v)
}
