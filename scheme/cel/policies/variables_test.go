package policies_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
)

// evaluate runs expressions that see variables, given as name and expression in turn.
func evaluate(t *testing.T, budget *cel.Budget, variables []string, texts ...string) ([]policies.Result, error) {
	t.Helper()
	s := policies.WithVariables(t.Context())
	for i := 0; i < len(variables); i += 2 {
		s.Variable(variables[i], variables[i+1], policies.Uses{})
	}
	var expressions []*policies.Expression
	for _, text := range texts {
		expressions = append(expressions, s.Compile(text, policies.Uses{}))
	}
	return s.Set(expressions...).Evaluate(t.Context(), inputs(), budget)
}

// TestVariables: a variable is evaluated when it is first read, and its cost counts once.
func TestVariables(t *testing.T) {
	variables := []string{
		"name", "object.metadata.name", // costs 3
		"both", "variables.name + variables.name", // costs 5, without name
		"never", "object.metadata.name.missing",
		"wrong", "object.",
	}
	budget := cel.ObjectBudget
	results, err := evaluate(t, &budget, variables, "variables.both == 'webweb'", "variables.both + variables.name == 'webwebweb'",
		"variables.never", "variables.wrong", "has(variables.none)")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"true", "true",
		`expression 'variables.never' resulted in error: composited variable "never" fails to evaluate: no such key: missing`,
		`expression 'variables.wrong' resulted in error: composited variable "wrong" fails to compile: compilation failed: ERROR`,
		"compilation error: compilation failed: ERROR: <input>:1:4: undefined field 'none'",
	} {
		got := fmt.Sprint(results[i].Value)
		if results[i].Err != nil {
			got = results[i].Err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestVariablesCost: the cost of the variables counts for the expression that reads them first, and
// once.
func TestVariablesCost(t *testing.T) {
	cost := func(variables []string, texts ...string) cel.Budget {
		budget := cel.ObjectBudget
		if _, err := evaluate(t, &budget, variables, texts...); err != nil {
			t.Fatal(err)
		}
		return cel.ObjectBudget - budget
	}
	alone := cost(nil, "object.metadata.name")
	variables := []string{"name", "object.metadata.name"}
	once := cost(variables, "variables.name == ''")
	twice := cost(variables, "variables.name == ''", "variables.name == ''")
	if reads := twice - once; once != alone+reads {
		t.Errorf("the variable costs %d, the first expression %d, and the second %d", alone, once, reads)
	}
	if unread := cost(variables, "true"); unread != 0 {
		t.Errorf("a variable that no expression reads costs %d", unread)
	}
}

// TestBudget: an evaluation whose budget does not suffice has no results.
func TestBudget(t *testing.T) {
	variables := []string{"sum", "[1, 2, 3].map(x, x + 1).sum()"}
	whole := cel.ObjectBudget
	if _, err := evaluate(t, &whole, variables, "variables.sum == 9", "1 + 1 == 2"); err != nil {
		t.Fatal(err)
	}
	enough := cel.ObjectBudget - whole
	for budget := range enough + 1 {
		left := budget
		results, err := evaluate(t, &left, variables, "variables.sum == 9", "1 + 1 == 2")
		switch {
		case budget == enough && (err != nil || left != 0 || results[1].Value != types.True):
			t.Errorf("with budget %d: got %v, %v, %d left", budget, results, err, left)
		case budget < enough && (!errors.Is(err, policies.ErrBudget) || results != nil || left >= 0):
			t.Errorf("with budget %d of %d: got %v, %v, %d left", budget, enough, results, err, left)
		}
	}
}

// TestHostileVariables: variables that refer to themselves or to a thousand others end in an error.
// 300 variables, each with the largest cost of an expression, would take half a minute. The
// evaluation ends when the cost of two of them is spent.
func TestHostileVariables(t *testing.T) {
	var chain, bombs []string
	for i := range 1200 {
		before := "1"
		if i > 0 {
			before = fmt.Sprintf("variables.v%d", i-1)
		}
		chain = append(chain, fmt.Sprintf("v%d", i), before)
	}
	lists := "dyn([" + strings.Repeat("1,", 90) + "1])"
	bomb := fmt.Sprintf("%[1]s.all(a, %[1]s.all(b, %[1]s.all(c, a + b + c > 0)))", lists)
	all := "true"
	for i := range 300 {
		bombs = append(bombs, fmt.Sprintf("b%d", i), bomb)
		all += fmt.Sprintf(" && (variables.b%d || true)", i)
	}
	for _, tt := range []struct {
		name      string
		variables []string
		text      string
		want      string
	}{
		{"itself", []string{"a", "dyn(variables).a"}, "variables.a == 1", `composited variable "a" fails to evaluate: it refers to itself`},
		{"each other", []string{"a", "dyn(variables).b", "b", "variables.a"}, "variables.a == 1", `it refers to itself`},
		{"chain", chain, "variables.v1199 == 1", `it depends on too many variables`},
		{"bombs", bombs, all, policies.ErrBudget.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			budget := cel.Budget(2 * cel.CallLimit)
			results, err := evaluate(t, &budget, tt.variables, tt.text)
			if err == nil {
				err = results[0].Err
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
