package cel_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"

	"github.com/coracle-project/coracle/scheme/cel"
)

// TestBounds: expressions that would take minutes to check, or all memory to plan, are refused.
func TestBounds(t *testing.T) {
	nested := func(begin, middle, end string, n int) string {
		return strings.Repeat(begin, n) + middle + strings.Repeat(end, n)
	}
	for _, tt := range []struct{ name, expression, wrong string }{
		{"lists", nested("[", "", "]", 240), "nested deeper than 40 levels"},
		{"maps", nested("{1: ", "1", "}", 100), "nested deeper than 40 levels"},
		{"macros", nested("[1].map(x, ", "x", ")", 100), "nested deeper than 40 levels"},
		{"a chain of macros", "[1]" + strings.Repeat(".map(x, [x])", 41), "nested deeper than 40 levels"},
		{"as deep as may be", nested("[", "", "]", 40), ""},
		{"parentheses", nested("(", "1", ")", 200), ""},
		{"more parentheses", nested("(", "1", ")", 300), "expression recursion limit exceeded: 250"},
		{"operations", "true" + strings.Repeat(" && 1 == 1", 1001), "expression has more than 2000 operations"},
		{"literals", "self in [" + strings.Repeat("'a', ", 500) + "'b']", ""},
		{"text", "'" + strings.Repeat("a", 100_000) + "'", "expression code point size exceeds limit: size: 100002, limit 100000"},
		{"a pattern", "self.matches('(" + strings.Repeat("a", 300) + "){900}')", "regular expressions have more than 200000 states"},
		{"patterns", "true" + strings.Repeat(" || matches(self, '((a{10}){10}){10}') || self.find('(ab{999})') == ''", 150), "more than 200000 states"},
		{"a common pattern", `self.matches('^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.?){1,5}$')`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, err := cel.Base().Extend(celgo.Variable("self", celgo.DynType))
			if err != nil {
				t.Fatal(err)
			}
			_, err = env.Check(tt.expression)
			switch {
			case tt.wrong == "" && err != nil:
				t.Errorf("got %v", err)
			case tt.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), "compilation failed: ") || !strings.Contains(err.Error(), tt.wrong)):
				t.Errorf("got %v, want %q", err, tt.wrong)
			}
		})
	}
}

// TestHostile: the time and memory of a run are bounded even where little of it counts as cost.
func TestHostile(t *testing.T) {
	text := strings.Repeat("x", 1<<18)
	again := func(s string) string { return strings.Repeat(s, 35) }
	for _, tt := range []struct {
		expression string
		self       any
	}{
		{"lists.range(self) == []", int64(1) << 60},
		{"lists.range(dyn(self)) == []", int64(1) << 60},
		{"lists.range(200000).distinct() == []", nil},
		{"sets.contains(lists.range(2000), lists.range(2000))", nil},
		{"['0123456789']" + again(".map(x, x + x)") + " == []", nil},
		{"['0123456789']" + again(".map(x, x.replace('', x))") + " == []", nil},
		{"[[1]]" + again(".map(x, x + x)") + " == []", nil},
		{"['a']" + again(".map(x, [x, x].join(x))") + " == []", nil},
		{"[[self]" + again(".map(x, [x, x])") + "].all(x, x == x)", text},
		{"[[self]" + again(".map(x, {'a': x, 'b': x})") + "].all(x, x in [x, x])", text},
		{"[[dyn(1)]" + again(".map(x, dyn([x, x]))") + "].all(x, x.flatten(100) == [])", nil},
		{"'" + strings.Repeat("%.999999f", 1000) + "'.format([" + strings.Repeat("1.0, ", 999) + "1.0]) == ''", nil},
		{"lists.range(100000).map(i, 'a'.replace('', self)) == []", text},
		{"lists.range(100000).map(i, '%s'.format([self])) == []", text},
		{"lists.range(100000).map(i, self.findAll('')) == []", text},
		{"[url('/a?k=' + self)].all(u, lists.range(100000).map(i, u.getQuery()) == [])", text},
		{"lists.range(100000).all(i, !''.matches(self))", strings.Repeat("a", 20000)},
		{"lists.range(100000).map(i, ''.find(self)) == []", strings.Repeat("(abcdefghij){1000}", 10)},
	} {
		t.Run(tt.expression[:min(len(tt.expression), 60)], func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			budget := cel.ObjectBudget
			value, err := plan(t, tt.expression).Run(t.Context(), vars(t, tt.self), &budget)
			if !errors.Is(err, cel.ErrCallLimit) || budget > cel.ObjectBudget-cel.CallLimit {
				t.Errorf("got %v, %v with %d left", value, err, budget)
			}
			runtime.ReadMemStats(&after)
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 500 {
				t.Errorf("made %d MiB", made)
			}
		})
	}
}
