package policies_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/coracle-project/coracle/scheme/cel/policies"
)

// TestApply checks the objects that expressions make.
func TestApply(t *testing.T) {
	for _, tt := range []struct {
		text string
		want map[string]any
		err  string
	}{
		{text: "Object{}", want: map[string]any{}},
		{
			text: "Object{metadata: Object.metadata{labels: {'a': object.metadata.name}}, spec: Object.spec{" +
				"containers: [Object.spec.containers{name: 'b', n: 1}], more: object.spec.containers, ?left: optional.none()}}",
			want: map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"a": "web"}},
				"spec": map[string]any{
					"containers": []any{map[string]any{"name": "b", "n": int64(1)}},
					"more":       []any{map[string]any{"name": "main", "image": "example.com/web:1", "resources": map[string]any{}}},
				},
			},
		},
		{text: "Object{a: [1] + [2]}.a.sum() == 3 ? Object{b: Object.b{}} : Object{}", want: map[string]any{"b": map[string]any{}}},
		{text: "Object{a: 1} == Object{a: 1} && Object{a: 1} != Object{a: 1.0} ? Object{ok: has(Object{a: 1}.a)} : Object{}",
			want: map[string]any{"ok": true}},
		{text: "Object{spec: Object.status{}}",
			err: `type mismatch: unexpected type name "Object.status", expected "Object.spec", which matches field name path from root Object type`},
		{text: "Object{spec: [Object{}]}", err: `type mismatch: unexpected type name "Object", expected "Object.spec"`},
		{text: "Object{spec: {1: 2}}", err: "invalid return type: *dynamic.ObjectVal"},
		{
			text: "Object{a: object.spec.containers + [Object.a{b: 1}], b: object.?metadata.labels, c: [1] + [2]}",
			want: map[string]any{
				"a": []any{map[string]any{"name": "main", "image": "example.com/web:1", "resources": map[string]any{}}, map[string]any{"b": int64(1)}},
				"b": map[string]any{"app": "web"}, "c": []any{int64(1), int64(2)},
			},
		},
		{text: "Object{a: null}", want: map[string]any{"a": structpb.NullValue_NULL_VALUE}},
		{text: "Object{a: Object.a{b: Object.a.b{c: 1}}}.a == {'b': {'c': 1}} ? Object{} : Object{a: 1}", want: map[string]any{}},
		{text: "Object.spec{}", err: "must evaluate to Object but got Object.spec"},
		{text: "Object{spec: object.nothing}", err: "expression 'Object{spec: object.nothing}' resulted in error: no such key: nothing"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, err := policies.New(t.Context()).ApplyConfiguration(tt.text, policies.Uses{}).Apply(t.Context(), inputs())
			checkText(t, err, tt.err)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, want %#v", got, tt.want)
			}
		})
	}
}

// TestPatch checks the JSON patches that expressions make.
func TestPatch(t *testing.T) {
	for _, tt := range []struct{ text, want, err string }{
		{text: "[]", err: "must evaluate to list(JSONPatch) but got list(dyn)"},
		{
			text: "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'c'}, JSONPatch{op: 'move', from: '/a', path: '/b'}]",
			want: `[{"op":"add","path":"/metadata/labels/a~1b","value":"c"},{"op":"move","path":"/b","from":"/a"}]`,
		},
		{
			text: "[JSONPatch{op: 'add', path: '/s', value: Object.s{a: 1, b: [true], c: object.spec.containers[0].name}}]",
			want: `[{"op":"add","path":"/s","value":{"a":1,"b":[true],"c":"main"}}]`,
		},
		{
			text: "[JSONPatch{op: 'add', path: '/s', value: [Object.s{a: 1}, Object.s{a: 2}]}]",
			want: `[{"op":"add","path":"/s","value":[{"a":1},{"a":2}]}]`,
		},
		{
			text: "[JSONPatch{op: 'test', path: '/spec', value: object.spec}].filter(o, o.op == 'test' && has(o.value))",
			want: `[{"op":"test","path":"/spec","value":{"containers":[{"image":"example.com/web:1","name":"main","resources":{}}]}}]`,
		},
		{text: "[JSONPatch{op: 'add', path: '/a', value: 9007199254740993}]", want: `[{"op":"add","path":"/a","value":"9007199254740993"}]`},
		{text: "[JSONPatch{op: 'add', path: '/a', value: null}]", want: `[{"op":"add","path":"/a","value":null}]`},
		{text: "[JSONPatch{op: 'add', path: '/a', value: url('https://a')}]",
			err: "JSONPath valueExpression evaluated to a type that could not marshal to JSON: type conversion error"},
		{text: "[JSONPatch{op: 'add', path: '/a', value: Object.a{b: Object{}}}]", err: "type mismatch: unexpected type name"},
		{text: "[JSONPatch{op: dyn(1), path: '/a'}]", err: "expression '[JSONPatch{op: dyn(1), path: '/a'}]' resulted in error: unexpected type int64"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, err := policies.New(t.Context()).JSONPatch(tt.text, policies.Uses{}).Patch(t.Context(), inputs())
			checkText(t, err, tt.err)
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// checkText checks how the text of an error begins; want is "" for none.
func checkText(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

// TestHostileMutations: objects that hold the same object many times are refused, and soon. Each
// variable holds the one before twice.
func TestHostileMutations(t *testing.T) {
	s := policies.WithVariables(t.Context())
	uses := policies.Uses{Patches: true}
	s.Variable("o0", "Object.a{a: object, b: object}", uses)
	s.Variable("l0", "dyn([object])", uses)
	for i := range 60 {
		s.Variable(fmt.Sprint("o", i+1), fmt.Sprintf("Object.a{a: variables.o%d, b: variables.o%[1]d}", i), uses)
		s.Variable(fmt.Sprint("l", i+1), fmt.Sprintf("dyn([variables.l%d, variables.l%[1]d])", i), uses)
	}
	for _, text := range []string{"variables.o60", "[variables.o60]", "variables.l60", "{'a': variables.l60}"} {
		_, err := s.ApplyConfiguration("Object{a: "+text+"}", uses).Apply(t.Context(), inputs())
		checkText(t, err, "the value of the expression is too large")
		_, err = s.JSONPatch("[JSONPatch{op: 'add', path: '/a', value: "+text+"}]", uses).Patch(t.Context(), inputs())
		checkText(t, err, "the value of the expression is too large")
	}
	for _, text := range []string{
		"Object{?a: Object{a: variables.o60}.a == Object{a: variables.o59}.a ? optional.of(1) : optional.none()}",
		"Object{a: variables.o60} == Object{a: Object.a{a: variables.o59, b: variables.o59}} ? Object{} : Object{a: 1}",
		"Object{a: variables.o60}.a == Object{a: variables.o60}.a ? Object{} : Object{a: 1}",
		"has(Object{a: variables.o60}.a) ? Object{} : Object{a: 1}",
	} {
		if _, err := s.ApplyConfiguration(text, uses).Apply(t.Context(), inputs()); err != nil && !strings.Contains(err.Error(), "cost limit") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
