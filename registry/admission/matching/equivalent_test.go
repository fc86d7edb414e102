package matching_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/eventsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// targetsOf returns targets from words such as "apps/v1/deployments".
func targetsOf(t testing.TB, texts ...string) (list []matching.Target) {
	t.Helper()
	for _, text := range texts {
		a := requestOf(t, "CREATE "+text+" /")
		list = append(list, matching.Target{Resource: a.Resource, Subresource: a.Subresource, Kind: a.Kind})
	}
	return list
}

// TestEquivalents matches rules that name other versions and groups than the request.
func TestEquivalents(t *testing.T) {
	known := targetsOf(t, "core/v1/events", "core/v2/events", "events.k8s.io/v1/events", "events.k8s.io/v2/events")
	for _, tt := range []struct {
		name   string
		policy v1.MatchPolicyType
		rules  []string
		want   string // "" for no match
	}{
		{"itself", v1.Exact, []string{"* core v1 events"}, "core/v1/events"},
		{"another version, exactly", v1.Exact, []string{"* core v2 events"}, ""},
		{"another version", v1.Equivalent, []string{"* core v2 events"}, "core/v2/events"},
		{"another group, exactly", v1.Exact, []string{"* events.k8s.io * events"}, ""},
		{"another group", v1.Equivalent, []string{"* events.k8s.io * events"}, "events.k8s.io/v1/events"},
		{"no policy", "", []string{"* core v2 events"}, ""},
		{"another resource", v1.Equivalent, []string{"* core * pods"}, ""},
		{"itself by a later rule", v1.Equivalent, []string{"* core v2 events", "* * v1 *"}, "core/v1/events"},
		{"the first of two rules", v1.Equivalent, []string{"* events.k8s.io v2 *", "* core v2 *"}, "events.k8s.io/v2/events"},
		{"the first of two equivalents", v1.Equivalent, []string{"* * v2 *"}, "core/v2/events"},
		{"another operation", v1.Equivalent, []string{"CREATE * v2 *"}, ""},
		{"another name", v1.Equivalent, []string{"* core v2 * * b", "* events.k8s.io v2 * * a"}, "events.k8s.io/v2/events"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &matching.World{Equivalents: func(meta.GroupVersionResource, string) []matching.Target { return known }}
			a := requestOf(t, "UPDATE core/v1/events ns/a")
			all := rulesOf(t, tt.rules...)
			c := matching.Criteria{Rules: all, Namespaces: everything, Objects: everything}
			if tt.policy != "" {
				c.Policy = &tt.policy
			}
			target, got, err := matching.Compile(c).Match(t.Context(), a, w)
			if err != nil || got != (tt.want != "") {
				t.Fatalf("got %t, %v, want %q", got, err, tt.want)
			}
			if got && target != targetsOf(t, tt.want)[0] {
				t.Errorf("got %+v, want %s", target, tt.want)
			}
			c.Rules, c.Excluded, c.AnyResource = nil, all, true
			if _, passed, err := matching.Compile(c).Match(t.Context(), a, w); err != nil || passed == got {
				t.Errorf("the rules exclude: got %t, %v", passed, err)
			}
			if len(candidates(c, a, w)) != 1 {
				t.Error("a hook for every resource is no candidate")
			}
			c.Rules, c.Excluded = all, nil
			if got && len(candidates(c, a, w)) != 1 {
				t.Error("a hook that matches is no candidate")
			}
		})
	}
}

// candidates returns the hook of c if it is a candidate for the request.
func candidates(c matching.Criteria, a *admission.Attributes, w *matching.World) (list []*matching.Matcher) {
	x := matching.NewIndex([]*matching.Matcher{matching.Compile(c)}, func(m *matching.Matcher) *matching.Matcher { return m })
	for m := range x.Candidates(a, w) {
		list = append(list, m)
	}
	return list
}

// eventKinds returns the kinds of events, of the core and of events.k8s.io.
func eventKinds(t *testing.T) (core, own kind.Kind) {
	t.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	eventsv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	kinds := kind.NewTypes(s, codec.NewFactory(s))
	core, own = kinds.Kind(meta.GroupKind{Kind: "Event"}), kinds.Kind(meta.GroupKind{Group: "events.k8s.io", Kind: "Event"})
	if core == nil || own == nil {
		t.Fatal("no kind Event")
	}
	return core, own
}

// TestObjectsAcrossGroups shows an event to a hook for the other group, and takes its answer.
func TestObjectsAcrossGroups(t *testing.T) {
	core, own := eventKinds(t)
	hub := func(note string) *corev1.Event { return &corev1.Event{Message: note} }
	a := requestOf(t, "UPDATE core/v1/events ns/a")
	a.Type, a.Object, a.Old = core, hub("new"), hub("old")
	other := matching.Target{Kind: meta.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, Type: own}
	is, err := other.Object(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	was, err := other.Old(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	newer, okNew := is.(*eventsv1.Event)
	older, okOld := was.(*eventsv1.Event)
	if !okNew || !okOld || newer.Note != "new" || older.Note != "old" || newer.APIVersion != "events.k8s.io/v1" || newer.Kind != "Event" {
		t.Fatalf("got %+v after %+v", is, was)
	}
	newer.Note = "changed"
	if err := a.Replace(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	if got, ok := a.Object.(*corev1.Event); !ok || got.Message != "changed" {
		t.Errorf("got %+v, want the event of the hook as a core event", a.Object)
	}
	a.Old = nil
	if got, err := other.Old(t.Context(), a); got != nil || err != nil {
		t.Errorf("the old object of a create: got %v, %v", got, err)
	}
}

// TestExempt: no webhook sees the configurations of webhooks and policies, and no policy sees the
// configurations of policies.
func TestExempt(t *testing.T) {
	for _, tt := range []struct {
		group, kind, resource string
		webhooks, policies    bool
	}{
		{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", true, false},
		{"admissionregistration.k8s.io", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", true, false},
		{"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", true, true},
		{"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", true, true},
		{"admissionregistration.k8s.io", "Other", "others", false, false},
		{"example.com", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", false, false},
		{"authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", false, true},
		{"authentication.k8s.io", "TokenReview", "tokenreviews", false, true},
		{"", "Pod", "pods", false, false},
	} {
		a := &admission.Attributes{
			Kind:     meta.GroupVersionKind{Group: tt.group, Version: "v1", Kind: tt.kind},
			Resource: meta.GroupVersionResource{Group: tt.group, Version: "v1", Resource: tt.resource},
		}
		if w, p := matching.ExemptFromWebhooks(a), matching.ExemptFromPolicies(a); w != tt.webhooks || p != tt.policies {
			t.Errorf("%s %s: exempt from webhooks %t, from policies %t, want %+v", tt.group, tt.kind, w, p, tt)
		}
	}
}
