package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// step is a plugin that notes that it ran.
type step struct {
	name string
	log  *[]string
	only admission.Operation
	err  error
}

func (s step) Name() string                                            { return s.name }
func (s step) Handles(op admission.Operation) bool                     { return s.only == "" || s.only == op }
func (s step) note(what string) error                                  { *s.log = append(*s.log, what+" "+s.name); return s.err }
func (s mutating) Mutate(context.Context, *admission.Attributes) error { return s.note("mutate") }
func (s validating) Validate(context.Context, *admission.Attributes) error {
	return s.note("validate")
}

type (
	mutating   struct{ step }
	validating struct{ step }
)

func TestChain(t *testing.T) {
	var log []string
	boom := errors.New("boom")
	chain := admission.Chain{
		validating{step{name: "a", log: &log}},
		mutating{step{name: "b", log: &log}},
		mutating{step{name: "c", log: &log, only: admission.Delete}},
		mutating{step{name: "d", log: &log, err: boom}},
		mutating{step{name: "e", log: &log}},
	}
	attrs := &admission.Attributes{Operation: admission.Create}
	if err := chain.Mutate(t.Context(), attrs); !errors.Is(err, boom) {
		t.Errorf("Mutate: got %v, want the plugin's error", err)
	}
	if err := chain.Validate(t.Context(), attrs); err != nil {
		t.Errorf("Validate: got %v", err)
	}
	if got, want := strings.Join(log, ", "), "mutate b, mutate d, validate a"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
	if err := admission.Chain(nil).Mutate(t.Context(), attrs); err != nil {
		t.Errorf("the zero Chain: %v", err)
	}
}

// TestObserved: an observer does not change what a chain does. The observer hears of each plugin
// that has run, and then of the whole chain.
func TestObserved(t *testing.T) {
	var ran, told []string
	boom := errors.New("boom")
	chain := admission.Chain{
		validating{step{name: "a", log: &ran}},
		mutating{step{name: "b", log: &ran}},
		mutating{step{name: "c", log: &ran, only: admission.Delete}},
		mutating{step{name: "d", log: &ran, err: boom}},
		mutating{step{name: "e", log: &ran}},
	}.WithObserver(func(plugin string) admission.Observer {
		return func(validates bool, op admission.Operation, took time.Duration, rejected bool) {
			told = append(told, fmt.Sprintf("%s %s validates=%t rejected=%t", plugin, op, validates, rejected))
			if took < 0 || took > time.Minute {
				t.Errorf("%s took %v", plugin, took)
			}
		}
	})
	attrs := &admission.Attributes{Operation: admission.Create}
	if err := chain.Mutate(t.Context(), attrs); !errors.Is(err, boom) {
		t.Errorf("Mutate: got %v, want the plugin's error", err)
	}
	if err := chain.Validate(t.Context(), attrs); err != nil {
		t.Errorf("Validate: got %v", err)
	}
	if got, want := strings.Join(ran, ", "), "mutate b, mutate d, validate a"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
	want := []string{
		"b CREATE validates=false rejected=false", "d CREATE validates=false rejected=true", " CREATE validates=false rejected=true",
		"a CREATE validates=true rejected=false", " CREATE validates=true rejected=false",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestForbidden(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: meta.ObjectMeta{GenerateName: "g-"}}
	for _, tt := range []struct {
		a    admission.Attributes
		want string
	}{
		{admission.Attributes{Name: "n", Object: pod}, `pods "n" is forbidden: no 7`},
		{admission.Attributes{Object: pod}, `pods "g-" is forbidden: no 7`},
		{admission.Attributes{Object: &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "own", GenerateName: "g-"}}}, `pods "own" is forbidden: no 7`},
		{admission.Attributes{}, `pods "Unknown" is forbidden: no 7`},
	} {
		tt.a.Resource.Resource = "pods"
		if got := tt.a.Forbidden("no %d", 7); got.Error() != tt.want || got.Status.Code != 403 {
			t.Errorf("got %d %q, want 403 %q", got.Status.Code, got, tt.want)
		}
	}
}

// fakeNamespaces has the phases of namespaces, by name: as the cache has them, and as the store has
// them.
type fakeNamespaces struct {
	cached, stored map[string]string
	reads          int
	err            error
}

func (f *fakeNamespaces) lookUp(_ context.Context, name string, fresh request.Freshness) (admission.Namespace, error) {
	f.reads++
	if f.err != nil {
		return admission.Namespace{}, f.err
	}
	from := f.cached
	if fresh == request.Consistent {
		from = f.stored
	}
	phase, ok := from[name]
	if !ok {
		return admission.Namespace{}, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
	}
	return admission.Namespace{Labels: meta.Set{"phase": phase}, Terminating: phase == "Terminating"}, nil
}

func TestNamespaceLifecycle(t *testing.T) {
	known := map[string]string{"live": "Active", "dying": "Terminating"}
	pods, namespaces := meta.GroupVersionResource{Version: "v1", Resource: "pods"}, meta.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	reviews := meta.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "localsubjectaccessreviews"}
	for _, tt := range []struct {
		name      string
		op        admission.Operation
		resource  meta.GroupVersionResource
		namespace string
		object    string
		cached    map[string]string
		want      meta.StatusReason
		reads     int
	}{
		{"create", admission.Create, pods, "live", "p", known, "", 1},
		{"create in a dying one", admission.Create, pods, "dying", "p", known, meta.StatusReasonForbidden, 1},
		{"update in a dying one", admission.Update, pods, "dying", "p", known, "", 1},
		{"delete in a dying one", admission.Delete, pods, "dying", "p", known, "", 0},
		{"create in none", admission.Create, pods, "none", "p", known, meta.StatusReasonNotFound, 1},
		{"create in one that the cache has not seen", admission.Create, pods, "live", "p", nil, "", 1},
		{"create in one whose end the cache has not seen", admission.Create, pods, "dying", "p", map[string]string{"dying": "Active"}, meta.StatusReasonForbidden, 1},
		{"update in one that the cache has not seen", admission.Update, pods, "live", "p", nil, "", 2},
		{"update in none", admission.Update, pods, "none", "p", known, meta.StatusReasonNotFound, 2},
		{"cluster-scoped", admission.Create, pods, "", "p", known, "", 0},
		{"create a namespace", admission.Create, namespaces, "", "n", known, "", 0},
		{"update a namespace", admission.Update, namespaces, "dying", "dying", known, "", 0},
		{"delete a namespace", admission.Delete, namespaces, "", "live", known, "", 0},
		{"delete default", admission.Delete, namespaces, "", "default", known, meta.StatusReasonForbidden, 0},
		{"delete kube-system", admission.Delete, namespaces, "", "kube-system", known, meta.StatusReasonForbidden, 0},
		{"delete kube-node-lease", admission.Delete, namespaces, "", "kube-node-lease", known, "", 0},
		{"ask in none", admission.Create, reviews, "none", "", known, "", 0},
		{"delete a pod called default", admission.Delete, pods, "live", "default", known, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeNamespaces{cached: tt.cached, stored: known}
			p := admission.NewNamespaceLifecycle(admission.NewNamespaces(f.lookUp))
			err := p.Mutate(t.Context(), &admission.Attributes{
				Operation: tt.op, Resource: tt.resource, Namespace: tt.namespace, Name: tt.object,
			})
			if got := meta.ReasonFor(err); (err == nil) != (tt.want == "") || err != nil && got != tt.want {
				t.Errorf("got %v (%s), want %q", err, got, tt.want)
			}
			if f.reads != tt.reads {
				t.Errorf("looked %d times, want %d", f.reads, tt.reads)
			}
		})
	}
	p := admission.NewNamespaceLifecycle(admission.NewNamespaces((&fakeNamespaces{stored: known, cached: known}).lookUp))
	err := p.Mutate(t.Context(), &admission.Attributes{Operation: admission.Create, Resource: pods, Namespace: "dying", Name: "p"})
	var status *meta.StatusError
	if !errors.As(err, &status) || len(status.Status.Details.Causes) != 1 || status.Status.Details.Causes[0].Type != "NamespaceTerminating" {
		t.Errorf("got %+v, want the cause NamespaceTerminating", err)
	}
	broken := admission.NewNamespaceLifecycle(admission.NewNamespaces((&fakeNamespaces{err: meta.NewServiceUnavailable("x")}).lookUp))
	if err := broken.Mutate(t.Context(), &admission.Attributes{Operation: admission.Create, Resource: pods, Namespace: "live"}); !meta.IsServiceUnavailable(err) {
		t.Errorf("got %v, want the error of the store", err)
	}
	if p.Handles(admission.Connect) || !p.Handles(admission.Delete) || p.Name() != "NamespaceLifecycle" {
		t.Error("wrong name or operations")
	}
}

func podAttributes(op admission.Operation, pod, old *corev1.Pod) *admission.Attributes {
	a := &admission.Attributes{Operation: op, Resource: meta.GroupVersionResource{Version: "v1", Resource: "pods"}, Object: pod, Name: "p"}
	if old != nil {
		a.Old = old
	}
	return a
}

func TestDefaultTolerationSeconds(t *testing.T) {
	plugin := admission.DefaultTolerationSeconds{}
	for _, tt := range []struct {
		name string
		have []corev1.Toleration
		want int
	}{
		{"none", nil, 2},
		{"one of them", []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"}}, 2},
		{"another effect", []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}}, 3},
		{"everything", []corev1.Toleration{{Operator: "Exists"}}, 1},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: tt.have}}
		for range 2 { // again changes nothing
			if err := plugin.Mutate(t.Context(), podAttributes(admission.Create, pod, nil)); err != nil || len(pod.Spec.Tolerations) != tt.want {
				t.Errorf("%s: got %v, %v, want %d", tt.name, pod.Spec.Tolerations, err, tt.want)
			}
		}
	}
}

// TestPodPlugins: both plugins run when a pod is stored, and at no other time.
func TestPodPlugins(t *testing.T) {
	for _, plugin := range []admission.Plugin{admission.NewPriority(nil), admission.DefaultTolerationSeconds{}} {
		for op, want := range map[admission.Operation]bool{admission.Create: true, admission.Update: true, admission.Delete: false, admission.Connect: false} {
			if got := plugin.Handles(op); got != want {
				t.Errorf("%s: handles %s: %v, want %v", plugin.Name(), op, got, want)
			}
		}
	}
}

func TestTaintNodesByCondition(t *testing.T) {
	node := &corev1.Node{}
	a := &admission.Attributes{Operation: admission.Create, Object: node}
	for range 2 {
		if err := (admission.TaintNodesByCondition{}).Mutate(t.Context(), a); err != nil || len(node.Spec.Taints) != 1 {
			t.Fatalf("got %v, %v, want one taint", node.Spec.Taints, err)
		}
	}
	if (admission.TaintNodesByCondition{}).Handles(admission.Update) {
		t.Error("handles updates")
	}
	if err := (admission.TaintNodesByCondition{}).Mutate(t.Context(), podAttributes(admission.Create, &corev1.Pod{}, nil)); err != nil {
		t.Error(err)
	}
}
