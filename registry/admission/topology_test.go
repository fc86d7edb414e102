package admission_test

import (
	"context"
	"maps"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// zones finds the labels of nodes by name.
type zones map[string]map[string]string

func (z zones) of(_ context.Context, name string) (meta.Lookup, error) {
	labels, ok := z[name]
	if name == "a/b" {
		return nil, meta.NewBadRequest("no name")
	}
	if !ok {
		return nil, meta.NewNotFound(meta.GroupResource{Resource: "nodes"}, name)
	}
	return meta.Set(labels), nil
}

func TestPodTopologyLabels(t *testing.T) {
	const zone, region = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
	plugin := admission.NewPodTopologyLabels(zones{"n": {zone: "z", region: "", "other": "o"}, "bare": {}}.of)
	pods := meta.GroupVersionResource{Version: "v1", Resource: "pods"}
	had := map[string]string{zone: "mine", "app": "a"}
	binding := func(kind, node string) meta.Object {
		return &corev1.Binding{ObjectMeta: meta.ObjectMeta{Labels: maps.Clone(had)}, Target: corev1.ObjectReference{Kind: kind, Name: node}}
	}
	pod := func(node string) meta.Object {
		return &corev1.Pod{ObjectMeta: meta.ObjectMeta{Labels: maps.Clone(had)}, Spec: corev1.PodSpec{NodeName: node}}
	}
	labelled := map[string]string{zone: "z", region: "", "app": "a"}
	for _, tt := range []struct {
		name, sub string
		obj       meta.Object
		want      map[string]string
	}{
		{"a binding", "binding", binding("Node", "n"), labelled},
		{"a binding that does not say of what kind", "binding", binding("", "n"), had},
		{"a binding to what is not known", "binding", binding("Node", "m"), had},
		{"a pod on what can be no node", "", pod("a/b"), had},
		{"a pod on a node", "", pod("n"), labelled},
		{"a pod on a node without labels", "", pod("bare"), had},
		{"a pod on no node", "", pod(""), had},
		{"a pod's status", "status", pod("n"), had},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &admission.Attributes{Operation: admission.Create, Resource: pods, Subresource: tt.sub, Object: tt.obj}
			if err := plugin.Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if got := tt.obj.GetObjectMeta().Labels; !maps.Equal(got, tt.want) {
				t.Errorf("got the labels %v, want %v", got, tt.want)
			}
		})
	}
	none := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}
	if err := plugin.Mutate(t.Context(), &admission.Attributes{Resource: pods, Object: none}); err != nil || none.Labels[zone] != "z" {
		t.Errorf("a pod without labels: got %v, %v", none.Labels, err)
	}
}
