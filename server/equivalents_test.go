package server_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/eventsv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
)

// equivalentTo returns the equivalents of a resource, as "group/version/plural Kind.group" each.
func equivalentTo(s *server.Server, group, version, resource, subresource string) string {
	var list []string
	for _, t := range s.Equivalents(meta.GroupVersionResource{Group: group, Version: version, Resource: resource}, subresource) {
		if t.Subresource != subresource || t.Type == nil {
			list = append(list, "INCOMPLETE")
		}
		list = append(list, t.Resource.Group+"/"+t.Resource.Version+"/"+t.Resource.Resource+" "+t.Kind.Kind+"."+t.Kind.Version+"."+t.Kind.Group)
	}
	return strings.Join(list, ", ")
}

// TestEquivalents: resources under which the same objects are served are equivalent, also when a
// definition is created or deleted.
func TestEquivalents(t *testing.T) {
	q := newQuay(t)
	s := q.Server.Server
	check := func(group, version, resource, subresource, want string) {
		t.Helper()
		if got := equivalentTo(s, group, version, resource, subresource); got != want {
			t.Errorf("%s/%s/%s %s: got %s, want %s", group, version, resource, subresource, got, want)
		}
	}
	const events = "/v1/events Event.v1., events.k8s.io/v1/events Event.v1.events.k8s.io"
	for range 2 { // the second result comes from the cache
		check("", "v1", "events", "", events)
		check("events.k8s.io", "v1", "events", "", events)
	}
	check("", "v1", "pods", "", "/v1/pods Pod.v1.")
	check("", "v1", "pods", "eviction", "/v1/pods Eviction.v1.policy")
	check("", "v1", "pods", "none", "")
	check("", "v1", "things", "", "")
	check("autoscaling", "v1", "horizontalpodautoscalers", "status", "autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler.v2.autoscaling, "+
		"autoscaling/v1/horizontalpodautoscalers HorizontalPodAutoscaler.v1.autoscaling")
	check("apps", "v1", "deployments", "scale", "apps/v1/deployments Scale.v1.autoscaling")
	check("authorization.k8s.io", "v1", "subjectaccessreviews", "", "authorization.k8s.io/v1/subjectaccessreviews SubjectAccessReview.v1.authorization.k8s.io")

	hidden := strings.Replace(version("v9", false), `"served":true`, `"served":false`, 1)
	scaled := strings.Replace(version("v1", true), `"served"`, `"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}},"served"`, 1)
	const group = "quay.example.com"
	q.define("ships", "Ship", hidden, version("v1beta1", false), scaled, version("v2", false))
	ship := func(version string) string { return group + "/" + version + "/ships Ship." + version + "." + group }
	check(group, "v2", "ships", "", strings.Join([]string{ship("v1beta1"), ship("v1"), ship("v2"), ship("v9")}, ", "))
	check(group, "v1", "ships", "status", ship("v1"))
	check(group, "v1", "ships", "scale", group+"/v1/ships Scale.v1.autoscaling")
	q.want(200, "DELETE", definitions+"/ships."+group, "", nil)
	q.gone(q.path("ships", "v1"))
	check(group, "v2", "ships", "", "")
}

// TestEquivalentsAllocations: a look-up of equivalents allocates nothing, because every write makes
// one.
func TestEquivalentsAllocations(t *testing.T) {
	p := newInProcess(t)
	gvr := meta.GroupVersionResource{Version: "v1", Resource: "events"}
	if n := testing.AllocsPerRun(100, func() {
		if len(p.Equivalents(gvr, "")) != 2 {
			t.Fatal("events have an equivalent")
		}
	}); n > 0 {
		t.Errorf("got %v allocations", n)
	}
}

// otherEvents is a plugin that changes the events of one group in the form of the other group.
type otherEvents struct {
	m    *matching.Matcher
	w    atomic.Pointer[matching.World]
	seen atomic.Pointer[eventsv1.Event] // the old event of an update
}

func (*otherEvents) Name() string                        { return "OtherEvents" }
func (*otherEvents) Handles(op admission.Operation) bool { return true }

func (o *otherEvents) Mutate(ctx context.Context, a *admission.Attributes) error {
	w := o.w.Load()
	if w == nil || a.Reinvoked {
		return nil
	}
	target, ok, err := o.m.Match(ctx, a, w)
	if !ok || err != nil {
		return err
	}
	obj, err := target.Object(ctx, a)
	if err != nil {
		return err
	}
	old, err := target.Old(ctx, a)
	if err != nil {
		return err
	}
	event := *obj.(*eventsv1.Event)
	event.Note += ", changed"
	if was, ok := old.(*eventsv1.Event); ok {
		o.seen.Store(was)
	}
	return a.Replace(ctx, &event)
}

// TestEventsInTheOtherGroup: a hook for events.k8s.io sees and changes events of the core.
func TestEventsInTheOtherGroup(t *testing.T) {
	everything := &meta.LabelSelector{}
	hook := &otherEvents{m: matching.Compile(matching.OfWebhook([]v1.RuleWithOperations{{
		Operations: []v1.OperationType{"*"},
		Rule:       v1.Rule{APIGroups: []string{"events.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"events"}},
	}}, new(v1.Equivalent), everything, everything))}
	p := newInProcess(t, func(c *server.Config) {
		c.Admission.Plugins = []plugins.Plugin{{Name: hook.Name(), Make: func(registry.Stores, []byte) (admission.Plugin, error) {
			return hook, nil
		}}}
	})
	hook.w.Store(&matching.World{Equivalents: p.Equivalents})
	const path = "/api/v1/namespaces/ns/events"
	p.mustDo("POST", path, `{"metadata":{"name":"a"},"involvedObject":{"namespace":"ns"},"message":"one"}`)
	p.check(path+"/a", 200, `"message":"one, changed"`)
	p.check("/apis/events.k8s.io/v1/namespaces/ns/events/a", 200, `"note":"one, changed"`)
	p.mustDo("PATCH", path+"/a", `{"message":"two"}`)
	p.check(path+"/a", 200, `"message":"two, changed"`)
	if old := hook.seen.Load(); old == nil || old.Note != "one, changed" {
		t.Errorf("got the old event %+v", old)
	}
}
