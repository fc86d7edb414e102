package cel

import (
	"net/url"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The work of calls: how much they do beyond what they cost. guarded.Eval in guard.go computes the
// work of a call from its arguments before the call. The computed work must not be much less than
// the real work, and must be cheap to compute.

// A work describes a call in advance: cost is the least that the call will cost, free the work that
// it does without paying. Both are in elements that it reads or makes.
type work struct{ cost, free uint64 }

// maxWork is the largest sum of free work of one run.
const maxWork = 2 * CallLimit

const (
	// perElement is the number of characters that are as much work as one element of a list.
	perElement = 16
	// perState is the number of elements that are as much work as compiling one state of a regular
	// expression.
	perState = 4
)

// works maps each guarded function to the function that computes the work of a call.
var works = map[string]func(args []ref.Val) work{
	operators.Add: func(args []ref.Val) work {
		_, lists := args[0].(traits.Lister)
		if _, ok := args[1].(traits.Lister); !ok || !lists {
			return work{}
		}
		n := size(args[0]) + size(args[1])
		// The sum refers to its parts, so it is counted with them.
		return work{cost: n, free: n}
	},
	operators.Equals:    compared,
	operators.NotEquals: compared,
	operators.In: func(args []ref.Val) work {
		return work{free: min(weight(args[0])*size(args[1]), weight(args[1]))}
	},
	"indexOf":     searched,
	"lastIndexOf": searched,
	"isSorted":    traversed,
	"sum":         traversed,
	"min":         traversed,
	"max":         traversed,
	"flatten":     traversed,
	"lists.range": func(args []ref.Val) work {
		n, _ := args[0].(types.Int)
		return work{cost: uint64(max(n, 0))}
	},
	"distinct":        func(args []ref.Val) work { return product(args[0], args[0]) },
	"sets.contains":   func(args []ref.Val) work { return product(args[0], args[1]) },
	"sets.equivalent": func(args []ref.Val) work { return product(args[0], args[1]) },
	"sets.intersects": func(args []ref.Val) work { return product(args[0], args[1]) },
	"replace":         func(args []ref.Val) work { return work{free: replacedLength(args) / perElement} },
	"join":            func(args []ref.Val) work { return work{free: joinedLength(args) / perElement} },
	"format":          func(args []ref.Val) work { return work{free: precision(args[0])/perElement + weight(args[1])} },
	"matches":         matched,
	"find":            matched,
	"findAll":         func(args []ref.Val) work { return work{free: matched(args).free + found(args).free} },
	"getEscapedPath":  func(args []ref.Val) work { return work{free: urlLength(args[0]) / perElement} },
	"getQuery":        func(args []ref.Val) work { return work{free: urlLength(args[0]) / perElement} },
}

// compared is the work of ==, which ends with the smaller value.
func compared(args []ref.Val) work { return work{free: min(weight(args[0]), weight(args[1]))} }

// matched is the work of compiling a regular expression that is no literal. Literals are compiled
// with the program and are not guarded.
func matched(args []ref.Val) work {
	pattern, _ := args[1].(types.String)
	return work{free: perState * states(string(pattern))}
}

// found is the work of findAll, in which each match counts as 4 elements. An empty regular
// expression matches around every character, and cel-go charges nothing for it.
func found(args []ref.Val) work { return work{free: 4 * length(args[0])} }

// traversed is the work of reading all of a value.
func traversed(args []ref.Val) work { return work{free: weight(args[0])} }

// searched is the work of indexOf and lastIndexOf of lists. Those of strings are paid for.
func searched(args []ref.Val) work {
	if _, ok := args[0].(traits.Lister); !ok || len(args) != 2 {
		return work{}
	}
	return work{free: weight(args[0])}
}

// product is the work of comparing each element of a with each of b. cel-go charges for the pairs,
// but not for the content of the elements.
func product(a, b ref.Val) work {
	n := size(a) * size(b)
	return work{cost: n, free: max(weight(a)*size(b), weight(b)*size(a), n) - n}
}

// length returns the length of a string in bytes, 0 for other values.
func length(v ref.Val) uint64 {
	s, _ := v.(types.String)
	return uint64(len(s))
}

// urlLength returns the length of the path and query of a URL.
func urlLength(v ref.Val) uint64 {
	if u, ok := v.(*value[*url.URL]); ok {
		return uint64(len(u.v.Path) + len(u.v.RawQuery))
	}
	return 0
}

// replacedLength returns the length of the result of replace().
func replacedLength(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	what, _ := args[1].(types.String)
	n := strings.Count(string(s), string(what))
	if len(args) > 3 {
		if limit, ok := args[3].(types.Int); ok && limit >= 0 {
			n = min(n, int(limit))
		}
	}
	return uint64(n)*length(args[2]) + uint64(len(s))
}

// joinedLength returns the length of the result of join(), or some length beyond maxWork.
func joinedLength(args []ref.Val) (n uint64) {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	var between uint64
	if len(args) > 1 {
		between = length(args[1])
	}
	for it := list.Iterator(); it.HasNext() == types.True && n <= perElement*maxWork; {
		n += length(it.Next()) + between
	}
	return n
}

// precision returns the sum of the precisions in a format string, such as 3 for "%.3f": each is a
// number of digits that format() writes.
func precision(format ref.Val) (n uint64) {
	s, _ := format.(types.String)
	for _, part := range strings.Split(string(s), "%.")[1:] {
		var digits uint64
		for i := 0; i < len(part) && '0' <= part[i] && part[i] <= '9' && digits <= perElement*maxWork; i++ {
			digits = 10*digits + uint64(part[i]-'0')
		}
		n += digits
	}
	return n
}

// weight returns the number of elements that reading all of v takes, or some number beyond maxWork.
// Lists and maps that an expression made are counted at all depths. Such a value may hold the same
// list many times; it weighs as much as if they were different lists. A list or map of the object
// counts by its length alone (isMade).
func weight(v ref.Val) uint64 {
	var n uint64
	weigh(v, &n)
	return n
}

// weigh adds the weight of v to *n. It goes no deeper once *n is beyond maxWork.
func weigh(v ref.Val, n *uint64) {
	*n++
	switch v := v.(type) {
	case types.String:
		*n += uint64(len(v)) / perElement
		return
	case *types.Optional:
		if v.HasValue() {
			weigh(v.GetValue(), n)
		}
		return
	case traits.Lister, traits.Mapper:
		if !isMade(v) {
			*n += size(v)
			return
		}
	}
	switch v := v.(type) {
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && *n <= maxWork; {
			weigh(it.Next(), n)
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && *n <= maxWork; {
			k := it.Next()
			weigh(k, n)
			weigh(v.Get(k), n)
		}
	}
}

// isMade reports whether an expression may have made the list or map. All others are parts of an
// object, whose size is bounded; they weigh no more than their length. A value of another package
// says so itself.
func isMade(v ref.Val) bool {
	if m, ok := v.(interface{ IsMade() bool }); ok {
		return m.IsMade()
	}
	t := reflect.TypeOf(v)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == reflect.TypeFor[types.Optional]().PkgPath()
}
