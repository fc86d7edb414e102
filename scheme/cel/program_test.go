package cel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"

	"github.com/coracle-project/coracle/scheme/cel"
)

// plan returns a program with a variable self of dynamic type.
func plan(t testing.TB, expression string) *cel.Program {
	t.Helper()
	program, err := compile(t, expression).Program()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func compile(t testing.TB, expression string) *cel.Expression {
	t.Helper()
	env, err := cel.Base().Extend(celgo.Variable("self", celgo.DynType))
	if err != nil {
		t.Fatal(err)
	}
	x, err := env.Check(expression)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func vars(t testing.TB, self any) celgo.Activation {
	t.Helper()
	a, err := celgo.NewActivation(map[string]any{"self": self})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		expression string
		self       any
		want       any
		wrong      string
	}{
		{"self.a + 1 < 3", map[string]any{"a": 1}, true, ""},
		{"quantity(self).add(quantity('1k')) == quantity('3k')", "2k", true, ""},
		{"quantity('3k') == quantity(self).add(quantity('1k'))", "2k", nil, "no such overload"},
		{"cidr('10.0.0.0/8').containsIP(self)", "10.1.2.3", true, ""},
		{"ip(self).family()", "1.2.3.4.5", nil, `IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5"): IPv4 address too long`},
		{"self[3]", []int{1}, nil, "index out of bounds: 3"},
		{"self.find('b+')", "abbc", "bb", ""},
		{"format.dns1123Label().validate(self).value()[0].contains('RFC 1123')", "A", true, ""},
		{"{'a': 1}.transformList(k, v, k + string(v))[0] + self", "x", "a1x", ""},
		{"[int(self), 1].min()", 2, int64(1), ""},
	} {
		t.Run(tt.expression, func(t *testing.T) {
			budget := cel.ObjectBudget
			got, err := plan(t, tt.expression).Run(t.Context(), vars(t, tt.self), &budget)
			if tt.wrong != "" {
				if err == nil || err.Error() != tt.wrong {
					t.Fatalf("got %v, %v, want error %q", got, err, tt.wrong)
				}
				return
			}
			if err != nil || got.Value() != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
			if budget >= cel.ObjectBudget {
				t.Error("the run was free")
			}
		})
	}
}

func TestCheck(t *testing.T) {
	_, err := cel.Base().Check("1 + 'a'")
	want := "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = compile(t, "'a'.find('(')").Program()
	if want := "program instantiation failed: error parsing regexp: missing closing ): `(`"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if x := compile(t, "self == 1"); !x.Uses("self") || x.Uses("oldSelf") || x.Type() != celgo.BoolType {
		t.Errorf("got %v, %v, %v", x.Uses("self"), x.Uses("oldSelf"), x.Type())
	}
}

func TestLimits(t *testing.T) {
	long := make([]int, 2000)
	square := plan(t, "self.all(a, size(lists.range(1000)) == 1000)") // 2000 * 1000
	budget := cel.ObjectBudget
	if _, err := square.Run(t.Context(), vars(t, long), &budget); !errors.Is(err, cel.ErrCallLimit) {
		t.Errorf("got %v, want %v", err, cel.ErrCallLimit)
	}
	if spent := cel.ObjectBudget - budget; spent < cel.CallLimit || spent > 2*cel.CallLimit {
		t.Errorf("a run that was stopped cost %d", spent)
	}

	line, budget := plan(t, "self.all(a, a == 0)"), cel.Budget(10)
	for _, self := range []any{long, []int{0}} { // after an overdraft, no further run is allowed
		if _, err := line.Run(t.Context(), vars(t, self), &budget); !errors.Is(err, cel.ErrBudget) {
			t.Errorf("got %v, want %v", err, cel.ErrBudget)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	budget = cel.ObjectBudget
	if _, err := line.Run(ctx, vars(t, long), &budget); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("got %v after the context ended", err)
	}
}

func TestCost(t *testing.T) {
	x := compile(t, "self.all(s, s.find('a*') == '')")
	cost, err := x.Cost(func(path []string) (uint64, bool) { return 10, true })
	if err != nil || cost.Max < 10 || cost.Max > 1000 {
		t.Errorf("got %+v, %v for 10 strings of 10 characters", cost, err)
	}
	if unknown, _ := x.Cost(nil); unknown.Max <= cost.Max {
		t.Errorf("got %+v for strings of any length", unknown)
	}
}

// FuzzExpression: every expression is refused or runs within its budget, in bounded time.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"self.a.b > 1 && has(self.c)", "self.map(x, x.replace('', x))", "[1, 2].sum() == self", "format.named('uri').value().validate(self)",
		"quantity(self).add(1) < 2", "'%s'.format([self])", "self.transformMapEntry(k, v, {v: k})", "[?self.a]", "ip(self) == cidr(self).ip()",
	} {
		f.Add(s)
	}
	env, err := cel.Base().Extend(celgo.Variable("self", celgo.DynType))
	if err != nil {
		f.Fatal(err)
	}
	values := []any{"10.0.0.1", int64(7), map[string]any{"a": []any{"b", 1.5, nil}, "c": "1Gi"}, []any{"b", "a", int64(1)}, nil}
	f.Fuzz(func(t *testing.T, expression string) {
		x, err := env.Check(expression)
		if err != nil {
			return
		}
		if cost, err := x.Cost(nil); err != nil || cost.Min > cost.Max {
			t.Errorf("got estimate %+v, %v", cost, err)
		}
		program, err := x.Program()
		if err != nil {
			return
		}
		for _, self := range values {
			budget := cel.ObjectBudget
			_, err := program.Run(t.Context(), vars(t, self), &budget)
			if err != nil && strings.Contains(err.Error(), "internal error") {
				t.Errorf("panicked: %v", err)
			}
			if err == nil && budget < cel.ObjectBudget-cel.CallLimit {
				t.Errorf("cost %d", cel.ObjectBudget-budget)
			}
		}
	})
}

func BenchmarkRule(b *testing.B) {
	pods := make([]any, 20)
	for i := range pods {
		pods[i] = map[string]any{"name": strings.Repeat("x", 20), "size": "1Gi", "port": int64(i)}
	}
	self := vars(b, map[string]any{"pods": pods, "min": int64(1), "max": int64(3)})
	for name, expression := range map[string]string{
		"fields":   "self.min <= self.max",
		"list":     "self.pods.all(p, p.port < 100)",
		"quantity": "self.pods.exists(p, quantity(p.size).isGreaterThan(quantity('2Gi')))",
		"regex":    "self.pods.all(p, p.name.matches('^[a-z]+$'))",
	} {
		b.Run("rule="+name+"/op=compile", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plan(b, expression)
			}
		})
		program := plan(b, expression)
		b.Run("rule="+name+"/op=run", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				budget := cel.ObjectBudget
				if _, err := program.Run(b.Context(), self, &budget); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRunCosts checks the costs of calls that cel-go's libraries count, and of calls that
// Kubernetes' libraries count by the length of strings and lists. The alternative of an optional
// costs nothing if it is not used.
func TestRunCosts(t *testing.T) {
	for expression, want := range map[string]cel.Budget{
		"self.distinct().size() == 3":                                 32,
		"self.slice(1, 3).size() == 2":                                16,
		"self.reverse()[0] == 3":                                      18,
		"self.map(i, int(i)).sort()[0] == 1":                          76,
		"[self, self].flatten().size() == 6":                          27,
		"sets.contains(self, [1, 2])":                                 8,
		"sets.equivalent(self, [3, 2, 1])":                            20,
		"'12345678901234567890'.replace('1', '2').size() == 20":       6,
		"'12345678901234567890'.split('5').size() == 3":               6,
		"'12345678901234567890'.lowerAscii().size() == 20":            4,
		"['1234567890', '1234567890'].join().size() == 20":            6,
		"self.isSorted()":                                             4,
		"has(self.a) || true":                                         1,
		"optional.of(1).orValue(self.map(i, int(i)).sort()[0]) == 1":  2,
		"optional.none().orValue(self.map(i, int(i)).sort()[0]) == 1": 77,
		"optional.of(1).or(optional.of(self.size())).value() == 1":    3,
		"optional.none().or(optional.of(self.size())).value() == 3":   6,
	} {
		budget := cel.ObjectBudget
		got, err := plan(t, expression).Run(t.Context(), vars(t, []any{int64(1), int64(2), int64(3)}), &budget)
		if spent := cel.ObjectBudget - budget; err != nil || got.Value() != true || spent != want {
			t.Errorf("%s: got %v, %v at %d, want true at %d", expression, got, err, spent, want)
		}
	}
}
