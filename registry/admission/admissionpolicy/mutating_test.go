package admissionpolicy_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// applies and patches are the specs of policies with one mutation.
func applies(expression string) string {
	return "\n  reinvocationPolicy: Never\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: \"" + expression + "\"}}]"
}

func patches(expression string) string {
	return "\n  reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: \"" + expression + "\"}}]"
}

// dataOf returns the data of the ConfigMap of a write, as "key=value" in the order of the keys.
func dataOf(a *admission.Attributes) string {
	data := a.Object.(*corev1.ConfigMap).Data
	var list []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		list = append(list, key+"="+data[key])
	}
	return strings.Join(list, " ")
}

// TestMutate checks the result for a ConfigMap with a=1.
func TestMutate(t *testing.T) {
	const about = `policy 'p' with binding 'b' denied request: `
	for _, tt := range []struct {
		name, policy string
		want         string // the data
		refused      string // "": the write is accepted
	}{
		{"a configuration", applies("Object{data: {'b': object.data.a}}"), "a=1 b=1", ""},
		{"an empty configuration", applies("Object{}"), "a=1", ""},
		{"a patch", patches("[JSONPatch{op: 'add', path: '/data/b', value: object.data.a}, JSONPatch{op: 'remove', path: '/data/a'}]"), "b=1", ""},
		{"a test that fails", patches("[JSONPatch{op: 'test', path: '/data/a', value: '2'}, JSONPatch{op: 'remove', path: '/data/a'}]"), "a=1", ""},
		{"a failure", applies("Object{data: {'b': object.data.b}}"), "a=1",
			about + "expression 'Object{data: {'b': object.data.b}}' resulted in error: no such key: b"},
		{"an ignored failure", "\n  failurePolicy: Ignore" + applies("Object{data: {'b': object.data.b}}"), "a=1", ""},
		{"an unknown field", applies("Object{date: '1'}"), "a=1",
			about + "error applying patch: failed to convert patch object to typed object: .date: field not declared in schema"},
		{"an atomic list", applies("Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: 'u'}]}}"), "a=1",
			about + "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .metadata.ownerReferences[0]"},
		{"a patch of what is not there", patches("[JSONPatch{op: 'remove', path: '/data/b'}]"), "a=1",
			about + "JSON Patch: error in remove for path: '/data/b': Unable to remove nonexistent key: b: missing value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.set(mutatingPolicy("p", tt.policy), mutatingBinding("b", "p", ""))
			a := w.write(admission.Create, configMap("a", "1"), nil)
			err := w.mutator.Mutate(t.Context(), a)
			wantRefusal(t, err, "", tt.refused, 403)
			if got := dataOf(a); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestMutateCustom changes a custom resource, whose type comes from the schema of its definition.
func TestMutateCustom(t *testing.T) {
	s, errs := schema.Parse(field.NewPath("schema"), []byte(`{"type":"object","properties":{"spec":{"type":"object","properties":{`+
		`"size":{"type":"integer","default":7},"tags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},`+
		`"args":{"type":"array","items":{"type":"string"}}}}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	widgets, err := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: "x.io", Kind: "Widget"}, Versions: []kind.DynamicVersion{{Name: "v1", Schema: s}}, Hubless: true,
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	const about = `policy 'p' with binding 'b' denied request: `
	for _, tt := range []struct{ name, policy, want, refused string }{
		{"a configuration", applies("Object{spec: Object.spec{tags: ['b', 'a'], size: object.spec.size + 1}}"), `{"size":2,"tags":["b","a"]}`, ""},
		{"an atomic list", applies("Object{spec: Object.spec{args: ['b']}}"), "",
			about + "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.args"},
		{"an unknown field", applies("Object{spec: Object.spec{nope: 1}}"), "",
			about + "error applying patch: failed to convert patch object to typed object: .spec.nope: field not declared in schema"},
		{"a patch with an unknown field", patches("[JSONPatch{op: 'add', path: '/spec/nope', value: 1}]"), `{"size":1,"tags":["a"]}`, ""},
		{"a patch, and a default", patches("[JSONPatch{op: 'remove', path: '/spec/size'}]"), `{"size":7,"tags":["a"]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.set("kind: MutatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n"+
				"  matchConstraints: {resourceRules: [{apiGroups: [x.io], apiVersions: [v1], operations: ['*'], resources: [widgets]}]}"+tt.policy,
				mutatingBinding("b", "p", ""))
			u := &scheme.Unstructured{Content: map[string]any{"spec": map[string]any{"size": int64(1), "tags": []any{"a"}}}}
			u.APIVersion, u.Kind, u.Name, u.Namespace = "x.io/v1", "Widget", "w", "ns"
			a := &admission.Attributes{
				Operation: admission.Create, Resource: meta.GroupVersionResource{Group: "x.io", Version: "v1", Resource: "widgets"},
				Kind: u.GroupVersionKind(), Namespace: "ns", Name: "w", Object: u, Type: widgets,
			}
			err := w.mutator.Mutate(t.Context(), a)
			wantRefusal(t, err, "", tt.refused, 403)
			if err != nil {
				return
			}
			got, err := jsontext.AppendTree(nil, a.Object.(*scheme.Unstructured).Content["spec"], jsontext.Plain)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// TestMutateInOrder: each policy sees what those before it have changed.
func TestMutateInOrder(t *testing.T) {
	w := newWorld(t)
	w.set(
		mutatingPolicy("b", applies("Object{data: {'b': object.data.a + '!'}}")), mutatingBinding("b", "b", ""),
		mutatingPolicy("a", applies("Object{data: {'a': '2'}}")), mutatingBinding("a", "a", ""),
	)
	a := w.write(admission.Create, configMap("a", "1"), nil)
	if err := w.mutator.Mutate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got, want := dataOf(a), "a=2 b=2!"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// other is a mutator that runs after the plugin.
type other struct{ mutate func(a *admission.Attributes) }

func (other) Name() string                        { return "Other" }
func (other) Handles(op admission.Operation) bool { return true }
func (o other) Mutate(_ context.Context, a *admission.Attributes) error {
	o.mutate(a)
	return nil
}

// TestReinvoke counts how often a policy changes an object, by the letters that it appends.
func TestReinvoke(t *testing.T) {
	grow := "Object{data: {'a': object.data.a + 'x'}}"
	touch := func(a *admission.Attributes) {
		if !a.Reinvoked {
			a.Object.(*corev1.ConfigMap).Data["b"] = "1"
			a.Reinvoke()
		}
	}
	for _, tt := range []struct {
		name, policy string
		other        func(a *admission.Attributes)
		want         string
	}{
		{"never", applies(grow), touch, "x"},
		{"if needed", strings.Replace(applies(grow), "Never", "IfNeeded", 1), touch, "xx"},
		{"if needed, after itself only", strings.Replace(applies(grow), "Never", "IfNeeded", 1), func(*admission.Attributes) {}, "xx"},
		{"that failed before", "\n  failurePolicy: Ignore" + strings.Replace(
			applies("Object{data: {'a': object.data.a + 'x' + object.data.b}}"), "Never", "IfNeeded", 1), touch, "x1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.set(mutatingPolicy("p", tt.policy), mutatingBinding("b", "p", ""))
			a := w.write(admission.Create, configMap("a", ""), nil)
			if err := (admission.Chain{w.mutator, other{tt.other}}).Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if got := a.Object.(*corev1.ConfigMap).Data["a"]; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// unmatched returns n policies of each sort with bindings, of which none is for ConfigMaps.
func unmatched(n int) (texts []string) {
	for i := range n {
		rules := fmt.Sprintf("\n  matchConstraints: {resourceRules: [{apiGroups: [g%d.io], apiVersions: [v1], operations: ['*'], resources: [things]}]}", i)
		name := fmt.Sprintf("p%d", i)
		texts = append(texts,
			"kind: ValidatingAdmissionPolicy\nmetadata: {name: "+name+"}\nspec:"+rules+"\n  validations: [{expression: 'false'}]",
			"kind: MutatingAdmissionPolicy\nmetadata: {name: "+name+"}\nspec:"+rules+applies("Object{}"),
			validatingBinding(name, name, "\n  validationActions: [Deny]"), mutatingBinding(name, name, ""))
	}
	return texts
}
