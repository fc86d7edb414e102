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

// A work is what a call will do: the least that it will cost, and what it does for nothing, in elements that it looks at or makes.
type work struct{ cost, free uint64 }

// maxWork is how much work the calls of a run may do for nothing, all together.
const maxWork = 2 * CallLimit

const (
	// perElement is how many characters are as much work as an element of a list.
	perElement = 16
	// perState is how many elements are as much work as compiling a state of a regular expression.
	perState = 4
)

// works are the functions that are asked before they are called.
var works = map[string]func(args []ref.Val) work{
	operators.Add: func(args []ref.Val) work {
		_, lists := args[0].(traits.Lister)
		if _, ok := args[1].(traits.Lister); !ok || !lists {
			return work{}
		}
		n := size(args[0]) + size(args[1])
		return work{cost: n, free: n} // a sum consists of its parts, and counts them
	},
	operators.Equals:    compared,
	operators.NotEquals: compared,
	operators.In:        func(args []ref.Val) work { return work{free: min(weight(args[0])*size(args[1]), weight(args[1]))} },
	"indexOf":           searched,
	"lastIndexOf":       searched,
	"isSorted":          traversed,
	"sum":               traversed,
	"min":               traversed,
	"max":               traversed,
	"flatten":           traversed,
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

// compared is the work of finding out whether two values are equal, which ends with the smaller one.
func compared(args []ref.Val) work { return work{free: min(weight(args[0]), weight(args[1]))} }

// matched is the work of compiling a regular expression. One that is a literal has been compiled before, and is not asked about.
func matched(args []ref.Val) work {
	pattern, _ := args[1].(types.String)
	return work{free: perState * states(string(pattern))}
}

// found is the work of finding all matches, each of which is that of some elements. An empty expression is found everywhere, for
// nothing.
func found(args []ref.Val) work { return work{free: 4 * length(args[0])} }

func traversed(args []ref.Val) work { return work{free: weight(args[0])} }

func searched(args []ref.Val) work {
	if _, ok := args[0].(traits.Lister); !ok || len(args) != 2 {
		return work{}
	}
	return work{free: weight(args[0])}
}

// product is the work of comparing each element of a list with each of another. The elements are paid for, and not what is
// in them.
func product(a, b ref.Val) work {
	n := size(a) * size(b)
	return work{cost: n, free: max(weight(a)*size(b), weight(b)*size(a)) - n}
}

func length(v ref.Val) uint64 {
	s, _ := v.(types.String)
	return uint64(len(s))
}

func urlLength(v ref.Val) uint64 {
	if u, ok := v.(*value[*url.URL]); ok {
		return uint64(len(u.v.Path) + len(u.v.RawQuery))
	}
	return 0
}

// replacedLength is how long a string will be after a replacement.
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

// joinedLength is how long the strings of a list are together.
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

// precision is how many digits a format asks for.
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

// weight is how many elements a value consists of, up to more than is ever allowed. What an expression has made may hold the
// same value many times, and is as heavy as if these were many.
func weight(v ref.Val) uint64 {
	var n uint64
	weigh(v, &n)
	return n
}

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

// isMade reports whether a list or map may have been made by an expression. Others are parts of an object, whose size is bounded.
func isMade(v ref.Val) bool {
	t := reflect.TypeOf(v)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == reflect.TypeFor[types.Optional]().PkgPath()
}
