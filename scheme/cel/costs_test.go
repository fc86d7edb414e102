package cel_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	celgo "github.com/google/cel-go/cel"

	"github.com/coracle-project/coracle/scheme/cel"
)

// TestRecordedCosts runs the expressions of testdata/costs.txt. Their costs are those that
// Kubernetes 1.36 counts with cel-go 0.26.0. The costs are part of the API, so they must stay the
// same with every version of cel-go. The first lines of the file are values of the variables; each
// of the others has a cost, whether there is a value or an error, the number of the line with the
// variables, and an expression. test/differential compares more of them with Kubernetes itself.
func TestRecordedCosts(t *testing.T) {
	env, err := cel.Base().Extend(
		celgo.Variable("s", celgo.StringType), celgo.Variable("n", celgo.IntType), celgo.Variable("d", celgo.DynType),
		celgo.Variable("l", celgo.ListType(celgo.StringType)), celgo.Variable("li", celgo.ListType(celgo.IntType)),
		celgo.Variable("m", celgo.MapType(celgo.StringType, celgo.StringType)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/costs.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var values []celgo.Activation
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "{") {
			values = append(values, recordedVars(t, line))
			continue
		}
		part := strings.SplitN(lines.Text(), "\t", 4)
		cost, _ := strconv.ParseInt(part[0], 10, 64)
		set, _ := strconv.Atoi(part[2])
		x, err := env.Check(part[3])
		if err != nil {
			t.Fatal(err)
		}
		program, err := x.Program()
		if err != nil {
			t.Fatal(err)
		}
		budget := cel.ObjectBudget
		_, err = program.Run(t.Context(), values[set], &budget)
		outcome := "value"
		if err != nil {
			outcome = "error"
		}
		if got := int64(cel.ObjectBudget - budget); got != cost || outcome != part[1] {
			t.Errorf("%s with variables %d: got %s at %d (%v), want %s at %d", part[3], set, outcome, got, err, part[1], cost)
		}
	}
}

// recordedVars parses values of the variables by their types.
func recordedVars(t *testing.T, line string) celgo.Activation {
	t.Helper()
	var v struct {
		S  string
		N  int64
		D  any
		L  []string
		LI []int64
		M  map[string]string
	}
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	a, err := celgo.NewActivation(map[string]any{"s": v.S, "n": v.N, "d": whole(v.D), "l": v.L, "li": v.LI, "m": v.M})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// whole turns floats without a fraction into integers.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}

// TestLongLists runs loops over the longest lists that are allowed, and over one element more. If
// the time of a run grew with the square of the length, each of these would exceed the timeout.
func TestLongLists(t *testing.T) {
	for _, tt := range []struct {
		expression string
		longest    int
	}{
		{"self.all(a, a < 5)", 199_999},
		{"self.exists(a, a > 5)", 166_666},
		{"self.exists_one(a, a == 1)", 499_998},
		{"self.map(a, a + 1).size() > 0", 71_428},
		{"self.filter(a, a == 0).size() > 0", 66_666},
		{"self.all(a, a > 1 ? a < 3 : a + 1 < 5)", 124_999},
		{"self.all(a, [a, a].all(b, b == a))", 35_714},
		{"self.all(a, optional.of(a).orValue(1) == 0 && a in [0, 1])", 142_856},
		{"self.all(a, lists.range(500).size() == 500)", 1937},
	} {
		program := plan(t, tt.expression)
		for n, want := range map[int]error{tt.longest: nil, tt.longest + 1: cel.ErrCallLimit} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			budget := cel.ObjectBudget
			_, err := program.Run(ctx, vars(t, make([]int64, n)), &budget)
			if !errors.Is(err, want) {
				t.Errorf("%s with %d elements: got %v at %d, want %v", tt.expression, n, err, cel.ObjectBudget-budget, want)
			}
		}
	}
}

// BenchmarkLongList shows that a list ten times as long takes ten times as long.
func BenchmarkLongList(b *testing.B) {
	program := plan(b, "self.all(a, a < 5)")
	for _, n := range []int{1000, 10_000, 100_000} {
		self := vars(b, make([]int64, n))
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
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
