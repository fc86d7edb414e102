package schema

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/meter/metertest"
)

// TestLongEnum checks that a long enumeration, which has an index, allows the same values as one
// whose values are compared one after the other.
func TestLongEnum(t *testing.T) {
	enum := []string{"null", "true", `"a"`, `"b"`, `"A"`, "1", "2.0", "3.5", "-7", "97", "9007199254740993", "9007199254740992.0", "1e300",
		`{"a":1,"b":[2,{"c":"d"}]}`, `{}`, `[]`, `[1,2.0]`, `[[1],{"x":null}]`, `{"n":9007199254740993}`, `"\u0000"`, `"é"`}
	s := parseSchema(t, `{"x-kubernetes-preserve-unknown-fields":true,"enum":[`+strings.Join(enum, ",")+`]}`)
	if s.enums == nil {
		t.Fatal("the enumeration has no set")
	}
	values := append(enum, "1.0", "2", "3", "3.6", "-7.2", "65", "98", "97.0", "9007199254740992", "9007199254740994", `{"b":[2.0,{"c":"d"}],"a":1.0}`,
		`{"a":1,"b":[2,{"c":"e"}]}`, `{"a":1}`, `[2,1]`, `[1.0,2]`, `[[1.0],{"x":null}]`, `[[1],{"y":null}]`, `{"n":9007199254740992.0}`, `{"n":9007199254740995}`,
		`"c"`, "false", "0", "-0.0", "233", "4294967393", `"1"`, `[null]`)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		values = append(values, fmt.Sprint(rnd.Int64()>>rnd.IntN(64)), text(string(rune(rnd.IntN(300)))), fmt.Sprintf("[%d,%d.0]", rnd.IntN(3), rnd.IntN(3)))
	}
	for _, value := range values {
		v := parseTree(t, value)
		want := slices.ContainsFunc(s.Enum, func(allowed any) bool { return isOneOf(s, allowed, v) })
		if got := new(checker).isAllowed(s, v); got != want {
			t.Errorf("%s: got %v, want %v", value, got, want)
		}
	}
}

// TestLargeEnum checks many values against a long enumeration. Comparisons are counted as steps, so
// few steps show that values are looked up.
func TestLargeEnum(t *testing.T) {
	enum, list := make([]any, 60_000), make([]any, 150_000)
	for i := range enum {
		switch i % 4 {
		case 0:
			enum[i] = fmt.Sprint("value-", i)
		case 1:
			enum[i] = int64(i)
		case 2:
			enum[i] = float64(i) + 0.5
		default:
			enum[i] = map[string]any{"n": int64(i), "list": []any{"a", true, int64(i)}}
		}
	}
	for i := range list {
		list[i] = enum[len(enum)-1-i%len(enum)]
	}
	s := parseSchema(t, `{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true,"enum":`+text(enum)+`}}`)
	const each = 10 * stepsPerValue
	m := meter.WithBudget(t.Context(), each*(len(list)+len(enum)))
	if errs := s.Validate(m, nil, list, nil); len(errs) > 0 || m.Err() != nil {
		t.Errorf("got %v, %v", errs, m.Err())
	}
	m = meter.WithBudget(t.Context(), each*len(list))
	for i := range list {
		list[i] = "none of them"
	}
	if errs := s.Validate(m, nil, list, nil); len(errs) == 0 || m.Err() != nil {
		t.Errorf("got %d errors, %v", len(errs), m.Err())
	}
}

// TestEnds checks that each loop over values ends within a few thousand steps after its context has
// ended.
func TestEnds(t *testing.T) {
	const n = 20_000
	list, object := make([]any, n), make(map[string]any, n)
	for i := range list {
		list[i] = map[string]any{"a": int64(i)}
		object[fmt.Sprint("k", i)] = map[string]any{"a": int64(i), "x": int64(1)}
	}
	spare := func() map[string]any { return map[string]any{"list": slices.Clone(list), "object": object} }
	branches := strings.TrimSuffix(strings.Repeat(`{"properties":{"a":{"not":{"enum":[-1]}}}},`, 10), ",")
	element := `{"type":"object","allOf":[` + branches + `],"properties":{"a":{"type":"integer"},"b":{"type":"string","default":"c"},
		"x":{"type":"object","x-kubernetes-embedded-resource":true}}}`
	s := parseSchema(t, `{"type":"object","properties":{"list":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":`+
		element+`},"object":{"type":"object","additionalProperties":`+element+`}}}`)
	for name, work := range map[string]func(m *meter.Meter, tree map[string]any){
		"Validate":          func(m *meter.Meter, tree map[string]any) { s.Validate(m, nil, tree, nil) },
		"Validate a change": func(m *meter.Meter, tree map[string]any) { s.Validate(m, nil, tree, tree) },
		"ValidateLists":     func(m *meter.Meter, tree map[string]any) { s.ValidateLists(m, nil, tree, nil) },
		"ValidateResources": func(m *meter.Meter, tree map[string]any) { s.ValidateResources(m, nil, tree) },
		"Coerce":            func(m *meter.Meter, tree map[string]any) { _ = s.Coerce(m, nil, tree) },
		"Prune":             func(m *meter.Meter, tree map[string]any) { s.Prune(m, tree) },
		"SetDefaults": func(m *meter.Meter, tree map[string]any) {
			if err := s.SetDefaults(m, tree); err == nil {
				t.Error("SetDefaults: got no error")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := &metertest.Context{Context: t.Context(), End: 2}
			m := meter.New(ctx)
			work(m, spare())
			if m.Err() == nil || ctx.Looks != 2 {
				t.Errorf("got %v after %d looks at the context, want an error at the second", m.Err(), ctx.Looks)
			}
		})
	}
}
