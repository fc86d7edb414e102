package admission_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// classes lists priority classes. The class "hidden" cannot be read.
type classes []*schedulingv1.PriorityClass

func (c classes) Hidden(_ context.Context, name string) error {
	if name == "hidden" {
		return meta.NewStoreReadError("hidden cannot be read", nil)
	}
	return nil
}

func (c classes) List(context.Context, request.Freshness) ([]*schedulingv1.PriorityClass, error) {
	return c, nil
}

func ptr[T any](v T) *T { return &v }

// class returns a priority class; policy may be "".
func class(name string, value int32, policy corev1.PreemptionPolicy, isDefault bool) *schedulingv1.PriorityClass {
	c := &schedulingv1.PriorityClass{ObjectMeta: meta.ObjectMeta{Name: name}, Value: value, GlobalDefault: isDefault}
	if policy != "" {
		c.PreemptionPolicy = &policy
	}
	return c
}

// TestHiddenPriority: a class that exists but cannot be read is an error of the server, not a
// mistake of the client.
func TestHiddenPriority(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "hidden"}}
	if err := admission.NewPriority(classes{}).Mutate(t.Context(), podAttributes(admission.Create, pod, nil)); !meta.IsUnreadable(err) {
		t.Errorf("got %v", err)
	}
}

func TestPriority(t *testing.T) {
	const lower, never = corev1.PreemptLowerPriority, corev1.PreemptNever
	some := classes{class("high", 1234, never, false), class("old", 5, "", false)}
	pod := func(class string, p *int32, policy *corev1.PreemptionPolicy) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: class, Priority: p, PreemptionPolicy: policy}}
	}
	for _, tt := range []struct {
		name     string
		classes  classes
		op       admission.Operation
		pod, old *corev1.Pod
		want     *corev1.Pod // its class, priority and policy
		refused  string
	}{
		{name: "none", classes: some, op: admission.Create, pod: pod("", nil, nil), want: pod("", ptr[int32](0), ptr(lower))},
		{name: "a class", classes: some, op: admission.Create, pod: pod("high", nil, nil), want: pod("high", ptr[int32](1234), ptr(never))},
		{name: "with its number", classes: some, op: admission.Create, pod: pod("high", ptr[int32](1234), ptr(never)), want: pod("high", ptr[int32](1234), ptr(never))},
		{name: "without a policy", classes: some, op: admission.Create, pod: pod("old", nil, nil), want: pod("old", ptr[int32](5), nil)},
		{name: "a policy of its own", classes: some, op: admission.Create, pod: pod("old", nil, ptr(never)), want: pod("old", ptr[int32](5), ptr(never))},
		{name: "the default", classes: append(some, class("usual", 7, never, true)), op: admission.Create, pod: pod("", nil, nil), want: pod("usual", ptr[int32](7), ptr(never))},
		{name: "the least of two", classes: classes{class("a", 9, never, true), class("b", 8, lower, true)}, op: admission.Create, pod: pod("", nil, nil), want: pod("b", ptr[int32](8), ptr(lower))},
		{name: "unknown", classes: some, op: admission.Create, pod: pod("mine", nil, nil), refused: "no PriorityClass with name mine was found"},
		{name: "another number", classes: some, op: admission.Create, pod: pod("high", ptr[int32](5), nil), refused: "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1234 from"},
		{name: "number without class", classes: some, op: admission.Create, pod: pod("", ptr[int32](5), nil), refused: "the integer value of priority (5)"},
		{name: "another policy", classes: some, op: admission.Create, pod: pod("high", nil, ptr(lower)), refused: "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from"},
		{name: "policy without class", classes: some, op: admission.Create, pod: pod("", nil, ptr(never)), refused: "the string value of PreemptionPolicy (Never)"},
		{name: "update", classes: some, op: admission.Update, pod: pod("", nil, nil), old: pod("", ptr[int32](7), ptr(never)), want: pod("", ptr[int32](7), ptr(never))},
		{name: "update with a number", classes: some, op: admission.Update, pod: pod("gone", ptr[int32](8), nil), old: pod("gone", ptr[int32](7), ptr(never)), want: pod("gone", ptr[int32](8), ptr(never))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := admission.NewPriority(tt.classes).Mutate(t.Context(), podAttributes(tt.op, tt.pod, tt.old))
			if tt.refused != "" {
				if !meta.IsForbidden(err) || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("got %v, want %q", err, tt.refused)
				}
				return
			}
			got, want := &tt.pod.Spec, &tt.want.Spec
			if err != nil || got.PriorityClassName != want.PriorityClassName || !same(got.Priority, want.Priority) || !same(got.PreemptionPolicy, want.PreemptionPolicy) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
	sub := podAttributes(admission.Create, pod("mine", nil, nil), nil)
	sub.Subresource = "status"
	if err := admission.NewPriority(some).Mutate(t.Context(), sub); err != nil {
		t.Errorf("a subresource: %v", err)
	}
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func TestOneDefaultPriorityClass(t *testing.T) {
	have := classes{class("usual", 7, "", true), class("high", 8, "", false)}
	for _, tt := range []struct {
		name    string
		op      admission.Operation
		class   *schedulingv1.PriorityClass
		refused bool
	}{
		{"a plain one", admission.Create, class("a", 1, "", false), false},
		{"a second", admission.Create, class("a", 1, "", true), true},
		{"the same again", admission.Create, class("usual", 7, "", true), true},
		{"update", admission.Update, class("usual", 7, "", true), false},
		{"update to a second", admission.Update, class("high", 8, "", true), true},
	} {
		a := &admission.Attributes{
			Operation: tt.op, Name: tt.class.Name, Object: tt.class,
			Resource: meta.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
		}
		err := admission.NewPriority(have).Validate(t.Context(), a)
		const want = "PriorityClass usual is already marked as default. Only one default can exist"
		if tt.refused != (meta.IsForbidden(err) && strings.Contains(err.Error(), want)) || !tt.refused && err != nil {
			t.Errorf("%s: got %v, refused: %v", tt.name, err, tt.refused)
		}
	}
}
