package cel

import (
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// regex returns the declarations of find and findAll.
func regex() []cel.EnvOption {
	two := []*cel.Type{cel.StringType, cel.StringType}
	three := []*cel.Type{cel.StringType, cel.StringType, cel.IntType}
	all := cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Function("find", cel.MemberOverload("string_find_string", two, cel.StringType,
			cel.BinaryBinding(func(s, pattern ref.Val) ref.Val { return matching(find)(s, pattern) }))),
		cel.Function("findAll",
			cel.MemberOverload("string_find_all_string", two, all,
				cel.BinaryBinding(func(s, pattern ref.Val) ref.Val { return matching(findAll)(s, pattern) })),
			cel.MemberOverload("string_find_all_string_int", three, all, cel.FunctionBinding(matching(findAll)))),
	}
}

// finder finds at most n matches of re in s, all of them if n is negative.
type finder func(re *regexp.Regexp, s string, n int) ref.Val

func find(re *regexp.Regexp, s string, _ int) ref.Val { return types.String(re.FindString(s)) }

func findAll(re *regexp.Regexp, s string, n int) ref.Val {
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(s, n))
}

// matching makes a CEL function of a finder. Its arguments are a string, a regular expression and
// optionally a number. It compiles the expression at each call.
func matching(f finder) func(...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		if len(args) < 2 {
			return types.NoSuchOverloadErr()
		}
		pattern, ok := args[1].Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[1])
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return types.NewErr("Illegal regex: %v", err)
		}
		return apply(f, re, args)
	}
}

// apply calls a finder with the arguments of the CEL function.
func apply(f finder, re *regexp.Regexp, args []ref.Val) ref.Val {
	s, ok := args[0].Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	n := int64(-1)
	if len(args) == 3 {
		if n, ok = args[2].Value().(int64); !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
	}
	return f(re, s, int(n))
}

// maxPattern is the largest number of states that all literal regular expressions of a program may
// have together. A short expression can have many: (a{100}){10} has a thousand.
const maxPattern = 200_000

// states returns the approximate number of states of a regular expression, 0 if it is malformed.
func states(pattern string) uint64 {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return statesOf(re)
}

// statesOf returns the approximate number of states of a parsed regular expression.
func statesOf(re *syntax.Regexp) uint64 {
	n := 1 + uint64(len(re.Rune))
	for _, sub := range re.Sub {
		n += statesOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= uint64(max(re.Min, re.Max, 1))
	}
	return n
}

// findPlan and findAllPlan make the planner compile a literal regular expression once per program.
var (
	findPlan    = planned("find", find, nil)
	findAllPlan = planned("findAll", findAll, found)
)

// planned returns the plan for calls of a function with a literal regular expression. work computes
// the work of a call; nil means that its cost covers its work.
func planned(function string, f finder, work func([]ref.Val) work) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function:   function,
		RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			run := func(args ...ref.Val) ref.Val { return apply(f, re, args) }
			planned := interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), run)
			if work == nil {
				return planned, nil
			}
			return &guarded{planned, planned.Args(), work, run, false}, nil
		},
	}
}
