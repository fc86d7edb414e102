package extensions_test

import (
	"context"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestJudge: the errors of a custom resource come in the order of kube-apiserver. A write to the
// status gets only the errors about the status.
func TestJudge(t *testing.T) {
	def := definition(t, `"size":{"type":"integer"}`, `
		"spec":{"type":"object","properties":{"size":{"type":"integer"},
			"flags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
			"crew":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{}, "x-kubernetes-preserve-unknown-fields":true}}},
		"status":{"type":"object","properties":{"size":{"type":"integer","maximum":3}}}`)
	def.Spec.Versions[0].Subresources = &v1.CustomResourceSubresources{Status: &v1.CustomResourceSubresourceStatus{},
		Scale: &v1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}}
	res, err := extensions.Declare(def, nil)
	if err != nil {
		t.Fatal(err)
	}
	kite := func(flags ...any) *scheme.Unstructured {
		return &scheme.Unstructured{
			TypeMeta: meta.TypeMeta{APIVersion: "example.com/v1", Kind: "Kite"}, ObjectMeta: meta.ObjectMeta{Name: "a", UID: "u"},
			Content: map[string]any{
				"spec":   map[string]any{"size": "x", "flags": flags, "crew": map[string]any{"kind": "Sailor"}, "replicas": int64(-1)},
				"status": map[string]any{"size": int64(4), "replicas": int64(-1)},
			},
		}
	}
	r, twice, once := &registry.Request{Context: context.Background()}, kite("red", "red"), kite("red")
	once.Content["status"] = map[string]any{}
	status := res.Subresources[slices.IndexFunc(res.Subresources, func(sub registry.Subresource) bool { return sub.Name == "status" })]
	for _, tt := range []struct {
		name string
		got  field.ErrorList
		want []string
	}{
		{"create", res.Strategy.ValidateRequest(r, nil, twice, nil),
			[]string{"spec.size", "status.size", ".spec.replicas", ".status.replicas", "spec.crew.apiVersion", "spec.flags[1]"}},
		{"status", status.ValidateRequest(r, nil, twice, once), []string{"status.size", ".status.replicas", "spec.flags[1]"}},
		{"status of what was so before", status.ValidateRequest(r, nil, twice, twice), []string{".status.replicas"}},
	} {
		if got := fieldsOf(tt.got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func fieldsOf(errs field.ErrorList) (out []string) {
	for _, err := range errs {
		out = append(out, err.Field)
	}
	return out
}
