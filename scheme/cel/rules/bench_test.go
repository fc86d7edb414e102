package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// twenty is a schema with 20 rules of common kinds, and an object of 10 KB that keeps them.
func twenty(t testing.TB) (*schema.Schema, map[string]any) {
	t.Helper()
	texts := []string{
		"self.min <= self.max", "!has(self.name) || self.name.startsWith('x-')", "size(self.items) < 100", "self.mode in ['A', 'B', 'C']",
		"self.mode != 'A' || has(self.name)", "self.ports.all(p, p.port > 0 && p.port < 65536)", "self.ports.exists_one(p, p.name == 'p1')",
		"has(self.min) == has(self.max)", "self.replicas >= 0", "self.name.matches('^x-[a-z]+$')", "!(has(self.a) && has(self.b))",
		"self.max - self.min < 1000", "self.name.size() <= 20", "self.items.exists(i, i == 'item-3')", "self.replicas == oldSelf.replicas || self.replicas > 0",
		"self.mode == 'B' ? self.min > 0 : true", "self.items[0] != ''", "!has(self.ref) || self.ref.kind == 'Pod'", "self.ports.size() > 0",
	}
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = fmt.Sprintf(`{"rule":%q,"message":"no"}`, text)
	}
	s := parse(t, `{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[`+strings.Join(list, ",")+`],
		"properties":{"min":{"type":"integer"},"max":{"type":"integer"},"replicas":{"type":"integer"},
		"name":{"type":"string","maxLength":20,"x-kubernetes-validations":[{"rule":"self != 'bad'"}]},
		"mode":{"type":"string"},"a":{"type":"string"},"b":{"type":"string"},"ref":{"type":"object","properties":{"kind":{"type":"string"}}},
		"items":{"type":"array","maxItems":100,"items":{"type":"string"}},"note":{"type":"string"},
		"ports":{"type":"array","maxItems":50,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
		"items":{"type":"object","properties":{"name":{"type":"string"},"port":{"type":"integer"}}}}}}}}`)
	spec := map[string]any{"min": int64(1), "max": int64(9), "replicas": int64(3), "name": "x-abc", "mode": "B", "note": strings.Repeat("n", 8000)}
	var items, ports []any
	for i := range 50 {
		items = append(items, fmt.Sprint("item-", i))
	}
	for i := range 10 {
		ports = append(ports, map[string]any{"name": fmt.Sprint("p", i), "port": int64(80 + i)})
	}
	spec["items"], spec["ports"] = items, ports
	return s, map[string]any{"spec": spec}
}

func parse(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, errs := schema.Parse(nil, []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return s
}

// BenchmarkValidate validates an update of an object of 10 KB, by its schema and by its 20 rules.
func BenchmarkValidate(b *testing.B) {
	s, object := twenty(b)
	r := rules.Of(s, true)
	b.ReportAllocs()
	for b.Loop() {
		if errs := s.Validate(nil, nil, object, object); len(errs) > 0 {
			b.Fatal(errs)
		}
		if errs := r.Validate(b.Context(), nil, object, object, func(string) {}); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// TestValidateAllocates bounds what validation by 20 rules allocates.
func TestValidateAllocates(t *testing.T) {
	s, object := twenty(t)
	r := rules.Of(s, true)
	got := testing.AllocsPerRun(100, func() {
		if errs := r.Validate(t.Context(), nil, object, object, func(string) {}); len(errs) > 0 {
			t.Fatal(errs)
		}
	})
	if got > 400 {
		t.Errorf("got %v allocations, want at most 400", got)
	}
}

// hundred is a schema with 100 rules: 50 fields with two each.
func hundred(t testing.TB) *schema.Schema {
	t.Helper()
	var fields []string
	for i := range 50 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","maxLength":10}},
			"x-kubernetes-validations":[{"rule":"self.a > %d && self.b != 'x'"},{"rule":"!has(self.a) || self.a < 5"}]}`, i, i))
	}
	return parse(t, `{"type":"object","properties":{`+strings.Join(fields, ",")+`}}`)
}

// check compiles and estimates the rules of a schema in which each field has two rules.
func check(t testing.TB, s *schema.Schema) {
	scope := rules.In(s)
	for _, name := range jsontext.Keys(s.Properties) {
		found, err := scope.Field(name).Check(field.NewPath(name))
		if err != nil || len(found) != 2 || found[0].Err != nil {
			t.Fatal(found, err)
		}
	}
}

// BenchmarkCheck compiles and estimates 100 rules, in 50 schemas that are all different.
func BenchmarkCheck(b *testing.B) {
	s := hundred(b)
	b.ReportAllocs()
	for b.Loop() {
		check(b, s)
	}
}

// TestCheckAllocates bounds what compiling 100 rules allocates.
func TestCheckAllocates(t *testing.T) {
	s := hundred(t)
	if got := testing.AllocsPerRun(1, func() { check(t, s) }); got > 85_000 {
		t.Errorf("got %v allocations, want at most 85,000", got)
	}
}
