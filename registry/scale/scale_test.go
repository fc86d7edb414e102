package scale

import (
	"fmt"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// herd is a kind whose objects have a size.
type herd struct {
	meta.TypeMeta
	meta.ObjectMeta
	heads    *int32
	counted  int32
	selector *meta.LabelSelector
}

func TestScale(t *testing.T) {
	door := Of(func(h *herd) Size { return Size{Wanted: &h.heads, Counted: h.counted, Selector: Selector(h.selector)} })
	if door.Name != "scale" || door.Kind != (meta.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}) {
		t.Errorf("the door: got %s of %s", door.Name, door.Kind)
	}
	show := func(h *herd) *autoscalingv1.Scale {
		shown, err := door.Project.Show(h, registry.ToRead)
		if err != nil {
			t.Fatal(err)
		}
		return shown.(*autoscalingv1.Scale)
	}
	h := &herd{counted: 2, selector: &meta.LabelSelector{MatchLabels: map[string]string{"b": "c", "a": "b"}}}
	shown := show(h)
	if shown.Spec.Replicas != 0 || shown.Status.Replicas != 2 || shown.Status.Selector != "a=b,b=c" {
		t.Errorf("shown: got %+v", shown)
	}
	err := door.Project.Apply(h, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}})
	if err != nil || h.heads == nil || *h.heads != 5 {
		t.Errorf("applied: got %v, %v", h.heads, err)
	}
	if shown := show(h); shown.Spec.Replicas != 5 {
		t.Errorf("shown then: got %+v", shown)
	}
	h.selector = &meta.LabelSelector{MatchExpressions: []meta.LabelSelectorRequirement{{Key: "a", Operator: "X"}}}
	if shown := show(h); shown.Status.Selector != "" {
		t.Errorf("of a selector that is none: got %q", shown.Status.Selector)
	}
}

func TestTable(t *testing.T) {
	s := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}, Status: autoscalingv1.ScaleStatus{Replicas: 2}}
	s.Name = "web"
	var names []string
	for _, c := range table.Columns {
		names = append(names, c.Name+" "+c.Type)
	}
	if got, want := fmt.Sprint(names, table.Cells(s, time.Time{})), "[Name string Desired integer Available integer Age string] [web 3 2 <unknown>]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCheck(t *testing.T) {
	s := &autoscalingv1.Scale{}
	s.Name, s.Namespace = "s", "ns"
	checktest.Want(t, checkScale(s), "")
	s.Name, s.Finalizers, s.Spec.Replicas = "S_", []string{"mine"}, -1
	checktest.Want(t, checkScale(s), `
metadata.name: Invalid value: "S_": `+checktest.Subdomain+`
metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified
spec.replicas: Invalid value: -1: must be greater than or equal to 0`)
	s.Name, s.Namespace, s.Finalizers, s.Spec.Replicas = "s", "", nil, 0
	checktest.Want(t, checkScale(s), "metadata.namespace: Required value")
}
