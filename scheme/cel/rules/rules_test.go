package rules_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// judge validates an object, as an update of old unless old is empty, and returns the errors and
// the warnings.
func judge(t testing.TB, schema, object, old string) (errs, warnings []string) {
	t.Helper()
	var before any
	if old != "" {
		before = decode(t, old)
	}
	found := rules.Of(parse(t, schema), true).Validate(t.Context(), nil, decode(t, object), before,
		func(text string) { warnings = append(warnings, text) })
	for _, err := range found {
		errs = append(errs, err.Error())
	}
	return errs, warnings
}

func decode(t testing.TB, text string) any {
	t.Helper()
	v, err := jsontext.Decode([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ofSpec returns the schema of a resource whose spec has the given schema.
func ofSpec(spec string) string { return `{"type":"object","properties":{"spec":` + spec + `}}` }

func TestValidate(t *testing.T) {
	for _, tt := range []struct{ name, schema, object, old, want string }{
		{"a field with a name that has to be escaped", ofSpec(`{"type":"object","properties":{"a.b-c":{"type":"string"},"in":{"type":"string"}},
			"x-kubernetes-validations":[{"rule":"self.a__dot__b__dash__c == self.__in__"}]}`),
			`{"spec":{"a.b-c":"x","in":"y"}}`, "", "spec: Invalid value: failed rule: self.a__dot__b__dash__c == self.__in__"},
		{"a reserved word as it is", ofSpec(`{"type":"object","properties":{"namespace":{"type":"string"}},
			"x-kubernetes-validations":[{"rule":"self.namespace == 'x'"}]}`),
			`{"spec":{"namespace":"x"}}`, "", ""},
		{"a time", ofSpec(`{"type":"object","properties":{"t":{"type":"string","format":"date-time"}},
			"x-kubernetes-validations":[{"rule":"self.t.getFullYear() == 2021"}]}`),
			`{"spec":{"t":"2021-01-01T00:00:00Z"}}`, "", ""},
		{"int or string", ofSpec(`{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"self > 3"}]}`),
			`{"spec":"x"}`, "", "spec: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self > 3"},
		{"a set in another order", ofSpec(`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"},
			"x-kubernetes-validations":[{"rule":"self == oldSelf"}]}`),
			`{"spec":["a","b"]}`, `{"spec":["b","a"]}`, ""},
		{"a list in another order", ofSpec(`{"type":"array","items":{"type":"string"},
			"x-kubernetes-validations":[{"rule":"self == oldSelf"}]}`),
			`{"spec":["a","b"]}`, `{"spec":["b","a"]}`, "spec: Invalid value: failed rule: self == oldSelf"},
		{"elements are found by their keys", ofSpec(`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object",
			"properties":{"k":{"type":"string"},"n":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.n >= oldSelf.n"}]}}`),
			`{"spec":[{"k":"b","n":1},{"k":"a","n":1},{"k":"new","n":0}]}`, `{"spec":[{"k":"a","n":2},{"k":"b","n":1}]}`,
			"spec[1]: Invalid value: failed rule: self.n >= oldSelf.n"},
		{"2 is not the key 2.0", ofSpec(`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object",
			"properties":{"k":{"type":"number"},"n":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.n >= oldSelf.n"}]}}`),
			`{"spec":[{"k":2.0,"n":1},{"k":2,"n":1}]}`, `{"spec":[{"k":2,"n":2}]}`,
			"spec[1]: Invalid value: failed rule: self.n >= oldSelf.n"},
		{"a transition without anything before", ofSpec(`{"type":"integer",
			"x-kubernetes-validations":[{"rule":"self > oldSelf"}]}`), `{"spec":1}`, "", ""},
		{"an optional one", ofSpec(`{"type":"integer",
			"x-kubernetes-validations":[{"rule":"oldSelf.hasValue()","optionalOldSelf":true}]}`), `{"spec":1}`, "",
			"spec: Invalid value: 1: failed rule: oldSelf.hasValue()"},
		{"message, reason and field", ofSpec(`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}},
			"x-kubernetes-validations":[{"rule":"false","message":"m","messageExpression":"'size ' + string(size(self.m))","reason":"FieldValueForbidden","fieldPath":".m['a']"}]}`),
			`{"spec":{"m":{"a":"b"}}}`, "", "spec.m[a]: Forbidden: size 1"},
		{"a message that fails", ofSpec(`{"type":"object","properties":{"m":{"type":"string"}},
			"x-kubernetes-validations":[{"rule":"false","message":"usual","messageExpression":"self.m"}]}`),
			`{"spec":{}}`, "", "spec: Invalid value: usual"},
		{"a message of two lines", ofSpec(`{"type":"string",
			"x-kubernetes-validations":[{"rule":"false","message":"usual","messageExpression":"'a\\nb'"}]}`),
			`{"spec":"x"}`, "", `spec: Invalid value: "x": usual`},
		{"what every resource has", `{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name == 'a' && self.kind == 'W'","message":"no"}]}`,
			`{"kind":"W","metadata":{"name":"b"}}`, "", "<nil>: Invalid value: no"},
		{"an embedded resource", ofSpec(`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,
			"x-kubernetes-validations":[{"rule":"self.metadata.name == 'a'","message":"no"}]}`), `{"spec":{"metadata":{"name":"b"}}}`, "", "spec: Invalid value: no"},
		{"null is judged by nothing", ofSpec(`{"type":"string","nullable":true,"x-kubernetes-validations":[{"rule":"false"}]}`), `{"spec":null}`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if errs, _ := judge(t, tt.schema, tt.object, tt.old); strings.Join(errs, "; ") != tt.want {
				t.Errorf("got %q, want %q", errs, tt.want)
			}
		})
	}
}

// TestRatchet: a broken rule is no error if the value has not changed. A rule that reads the old
// value always counts. So does a rule about an element of a list whose elements cannot be matched,
// once the list changes.
func TestRatchet(t *testing.T) {
	schema := ofSpec(`{"type":"object","properties":{"a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 5"}]},
		"b":{"type":"integer","x-kubernetes-validations":[{"rule":"self > oldSelf"}]},
		"l":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 5"}]}},
		"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{
			"k":{"type":"number"},"v":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 5"}]}}}}}}`)
	for _, tt := range []struct{ name, object, old, errs, warnings string }{
		{"unchanged", `{"spec":{"a":1}}`, `{"spec":{"a":1}}`, "", "spec.a: Invalid value: 1: failed rule: self > 5"},
		{"changed", `{"spec":{"a":1}}`, `{"spec":{"a":2}}`, "spec.a: Invalid value: 1: failed rule: self > 5", ""},
		{"new", `{"spec":{"a":1}}`, `{"spec":{}}`, "spec.a: Invalid value: 1: failed rule: self > 5", ""},
		{"a transition", `{"spec":{"b":1}}`, `{"spec":{"b":1}}`, "spec.b: Invalid value: 1: failed rule: self > oldSelf", ""},
		{"in a list", `{"spec":{"l":[1]}}`, `{"spec":{"l":[1]}}`, "", "spec.l[0]: Invalid value: 1: failed rule: self > 5"},
		{"in an element with another key", `{"spec":{"m":[{"k":2.0,"v":1}]}}`, `{"spec":{"m":[{"k":2,"v":1}]}}`,
			"spec.m[0].v: Invalid value: 1: failed rule: self > 5", ""},
		{"in an element with the key", `{"spec":{"m":[{"k":2,"v":1}]}}`, `{"spec":{"m":[{"k":3,"v":1},{"k":2,"v":1}]}}`,
			"", "spec.m[0].v: Invalid value: 1: failed rule: self > 5"},
		{"in another list", `{"spec":{"l":[1]}}`, `{"spec":{"l":[1,7]}}`, "spec.l[0]: Invalid value: 1: failed rule: self > 5", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs, warnings := judge(t, schema, tt.object, tt.old)
			if strings.Join(errs, "; ") != tt.errs || strings.Join(warnings, "; ") != tt.warnings {
				t.Errorf("got errors %q and warnings %q, want %q and %q", errs, warnings, tt.errs, tt.warnings)
			}
		})
	}
}

// TestBounds: the cost of one rule, the cost of all rules of an object, and the number of errors
// are bounded.
func TestBounds(t *testing.T) {
	numbers := `{"spec":[` + strings.Repeat("1,", 2000) + `1]}`
	// A match costs 15 for each ten characters, but takes hardly any time.
	expensive := `"x-kubernetes-validations":[{"rule":"!self.matches('` + strings.Repeat("a", 60) + `')"}]`
	errs, _ := judge(t, ofSpec(`{"type":"string",`+expensive+`}`), `{"spec":"`+strings.Repeat("b", 1_000_000)+`"}`, "")
	if len(errs) != 1 || !strings.Contains(errs[0], "no further validation rules will be run due to call cost exceeds limit for rule") {
		t.Errorf("one expensive rule: %q", errs)
	}
	texts := `{"spec":[` + strings.Repeat(`"`+strings.Repeat("b", 300_000)+`",`, 30) + `""]}`
	errs, _ = judge(t, ofSpec(`{"type":"array","items":{"type":"string",`+expensive+`}}`), texts, "")
	if len(errs) != 1 || !strings.HasSuffix(errs[0], "validation failed due to running out of cost budget, no further validation rules will be run") {
		t.Errorf("many rules: %q", errs)
	}
	errs, _ = judge(t, ofSpec(`{"type":"array","items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}}`), numbers, "")
	if len(errs) != field.MaxErrors+1 {
		t.Errorf("%d errors, want %d", len(errs), field.MaxErrors+1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	loop := ofSpec(`{"type":"array","items":{"type":"integer"},"x-kubernetes-validations":[{"rule":"self.all(x, x < 2)"}]}`)
	found := rules.Of(parse(t, loop), true).Validate(ctx, nil, decode(t, numbers), nil, nil)
	if len(found) != 1 || !strings.Contains(found[0].Detail, "context canceled") {
		t.Errorf("after the end of the request: %v", found)
	}
}

// TestTotal: if all rules together are too expensive, the first error is about the most expensive
// rule.
func TestTotal(t *testing.T) {
	s := parse(t, ofSpec(`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}},
		"x-kubernetes-validations":[{"rule":"self.l.all(x, self.l.all(y, x == y))"},{"rule":"true"}]}`))
	scope := rules.In(s)
	found, err := scope.Field("spec").Check(field.NewPath("rules"))
	if err != nil || !strings.HasPrefix(found[0].Cost, "estimated rule cost exceeds budget by factor of more than 100x") || found[1].Cost != "" {
		t.Errorf("got %+v, %v", found, err)
	}
	errs := scope.Total(field.NewPath("schema"))
	if len(errs) != 2 || errs[0].Field != "rules[0].rule" || errs[1].Field != "schema" {
		t.Errorf("got %v", errs)
	}
}

// TestManyPatterns: the regular expressions of all rules of a schema are bounded together, because
// they are kept together.
func TestManyPatterns(t *testing.T) {
	const n = 400 // each has about 3,000 states
	var fields []string
	for i := range n {
		fields = append(fields, fmt.Sprintf(`"f%d":{"type":"string","x-kubernetes-validations":[{"rule":"self.matches('((a{10}){10}){10}')"}]}`, i))
	}
	scope, refused := rules.In(parse(t, ofSpec(`{"type":"object","properties":{`+strings.Join(fields, ",")+`}}`))).Field("spec"), 0
	for i := range n {
		found, err := scope.Field(fmt.Sprint("f", i)).Check(field.NewPath("rules"))
		switch {
		case err != nil:
			t.Fatal(err)
		case found[0].Err != nil && !strings.Contains(found[0].Err.Error(), "of all expressions have more than 1000000 states"):
			t.Errorf("rule %d: %v", i, found[0].Err)
		case found[0].Err != nil:
			refused++
		case refused > 0:
			t.Errorf("rule %d is compiled, and one before it is not", i)
		}
	}
	if refused < 50 || refused > 350 {
		t.Errorf("%d of %d rules are refused", refused, n)
	}
}

// FuzzValidate validates random objects, also those that the schema forbids, by rules of all kinds.
// Nothing panics.
func FuzzValidate(f *testing.F) {
	schema := ofSpec(`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"s":{"type":"array","x-kubernetes-list-type":"set",
		"items":{"type":"string"}},"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object",
		"properties":{"k":{"type":"string"}}}},"t":{"type":"string","format":"date-time"},"e":{"type":"object","additionalProperties":{"type":"integer"}}},
		"x-kubernetes-validations":[{"rule":"self == oldSelf"},{"rule":"self.s + self.s == self.s"},{"rule":"self.m + self.m == self.m"},
		{"rule":"self.t < timestamp('2020-01-01T00:00:00Z')"},{"rule":"self.e.all(k, v, v > 0)"},{"rule":"dyn(self).all(k, dyn(self)[k] == 1)"},{"rule":"'a' in self.s"}]}`)
	for _, seed := range []string{`{"spec":{"s":["a"],"m":[{"k":"a"}],"t":"x","e":{"a":1}}}`, `{"spec":{"s":[{}],"m":[1,null],"t":1,"e":[]}}`,
		`{"spec":{"s":[[]],"m":[{"k":{}},{"k":[]}],"e":{"a":null},"u":1}}`} {
		f.Add(seed, seed)
	}
	r := rules.Of(parse(f, schema), true)
	f.Fuzz(func(t *testing.T, object, old string) {
		v, err := jsontext.Decode([]byte(object), nil)
		was, oldErr := jsontext.Decode([]byte(old), nil)
		if err != nil || oldErr != nil || was == nil {
			return
		}
		first := r.Validate(t.Context(), nil, v, was, func(string) {})
		second := r.Validate(t.Context(), nil, v, was, func(string) {})
		if !slices.EqualFunc(first, second, func(a, b *field.Error) bool { return a.Field == b.Field }) {
			t.Errorf("%s from %s is judged twice: %v and %v", object, old, first, second)
		}
	})
}
