package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/eventsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

const eventHead = `{"apiVersion":"eventratelimit.admission.k8s.io/v1alpha1","kind":"Configuration","limits":`

// eventLimits makes the plugin with limits written as JSON.
func eventLimits(t *testing.T, limits string) *admission.EventRateLimit {
	t.Helper()
	p, err := admission.NewEventRateLimit([]byte(eventHead + limits + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eventAttributes describe the create of an event in a namespace by a user.
func eventAttributes(namespace, user, about string) *admission.Attributes {
	return &admission.Attributes{
		Operation: admission.Create, Resource: corev1.GroupVersion.WithResource("events"), Kind: corev1.GroupVersion.WithKind("Event"),
		Namespace: namespace, User: &request.User{Name: user},
		Object: &corev1.Event{Source: corev1.EventSource{Component: "kubelet", Host: "n1"},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: about, UID: "u", APIVersion: "v1"}},
	}
}

// TestEventRateLimit sends events, with pauses, to each type of limit and to several at once.
func TestEventRateLimit(t *testing.T) {
	const refused = "Too many requests: limit reached on type "
	type step struct {
		pause                  time.Duration
		namespace, user, about string
		want                   string
	}
	for name, tt := range map[string]struct {
		limits string
		steps  []step
	}{
		"Server": {`[{"type":"Server","qps":2,"burst":2}]`, []step{
			{0, "a", "u", "p", ""}, {0, "b", "v", "q", ""}, {0, "a", "u", "p", refused + "Server for key "},
			{499 * time.Millisecond, "a", "u", "p", refused + "Server for key "}, {time.Millisecond, "a", "u", "p", ""},
			{time.Hour, "a", "u", "p", ""}, {0, "a", "u", "p", ""}, {0, "a", "u", "p", refused + "Server for key "},
		}},
		"Namespace": {`[{"type":"Namespace","qps":1,"burst":1,"cacheSize":2}]`, []step{
			{0, "a", "u", "p", ""}, {0, "b", "u", "p", ""}, {0, "a", "u", "p", refused + "Namespace for key a"},
			// The cache has two buckets. The bucket of c replaces that of b, which was used least
			// recently.
			{0, "c", "u", "p", ""}, {0, "a", "u", "p", refused + "Namespace for key a"}, {0, "b", "u", "p", ""},
		}},
		"User": {`[{"type":"User","qps":1,"burst":1}]`, []step{
			{0, "a", "u", "p", ""}, {0, "b", "u", "p", refused + "User for key u"}, {0, "a", "v", "p", ""},
		}},
		"SourceAndObject": {`[{"type":"SourceAndObject","qps":1,"burst":1}]`, []step{
			{0, "a", "u", "p", ""}, {0, "a", "v", "p", refused + "SourceAndObject for key kubeletn1Podapuv1"}, {0, "a", "u", "q", ""},
		}},
		"all are charged": {`[{"type":"User","qps":1,"burst":1},{"type":"Namespace","qps":1,"burst":2},{"type":"User","qps":1,"burst":1}]`, []step{
			{0, "a", "u", "p", ""}, {0, "a", "u", "p", refused + "User for key u"},
			{0, "a", "u", "p", "Too many requests: [limit reached on type User for key u, limit reached on type Namespace for key a]"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := eventLimits(t, tt.limits)
				for i, s := range tt.steps {
					time.Sleep(s.pause)
					err := p.Validate(t.Context(), eventAttributes(s.namespace, s.user, s.about))
					if got := messageOf(err); got != s.want {
						t.Errorf("event %d: got %q, want %q", i, got, s.want)
					}
					if status, ok := err.(*meta.StatusError); err != nil && (!ok || status.Status.Code != 429 || status.Status.Details != nil) {
						t.Errorf("event %d: got %+v, want a 429 without details", i, err)
					}
				}
			})
		})
	}
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestEventRateLimitConcerns: the plugin does not limit dry runs, events of events.k8s.io, and
// other kinds.
func TestEventRateLimitConcerns(t *testing.T) {
	p := eventLimits(t, `[{"type":"Server","qps":1,"burst":1}]`)
	dry, newer, pod := eventAttributes("a", "u", "p"), eventAttributes("a", "u", "p"), eventAttributes("a", "u", "p")
	dry.DryRun, newer.Kind, pod.Kind = true, eventsv1.GroupVersion.WithKind("Event"), corev1.GroupVersion.WithKind("Pod")
	for range 2 {
		for _, a := range []*admission.Attributes{dry, newer, pod} {
			if err := p.Validate(t.Context(), a); err != nil {
				t.Errorf("%v: got %v", a.Kind, err)
			}
		}
	}
	own := eventAttributes("a", "", "p")
	own.User = nil
	if err := p.Validate(t.Context(), own); err != nil {
		t.Errorf("an event of the server itself: got %v", err)
	}
	if p.Handles(admission.Delete) || p.Handles(admission.Connect) || !p.Handles(admission.Update) {
		t.Error("handles other operations than creates and updates")
	}
	if n := testing.AllocsPerRun(100, func() { p.Validate(t.Context(), pod) }); n > 0 {
		t.Errorf("a pod costs %v allocations", n)
	}
}

// TestEventRateLimitConfiguration: wrong configurations give errors that name the field.
func TestEventRateLimitConfiguration(t *testing.T) {
	for _, tt := range []struct{ configuration, want string }{
		{"", "limits: Invalid value: null: must not be empty"},
		{eventHead + "[]}", "limits: Invalid value: []: must not be empty"},
		{eventHead + `[{"type":"server","qps":1,"burst":1}]}`, `limits[0].type: Unsupported value: "server": supported values: "Server", "Namespace", "User", "SourceAndObject"`},
		{eventHead + `[{"type":"User","cacheSize":-1}]}`, "[limits[0].burst: Invalid value: 0: must be positive, limits[0].qps: Invalid value: 0: must be positive, " +
			"limits[0].cacheSize: Invalid value: -1: must not be negative]"},
		{eventHead + `[{"type":"Server","qps":1,"burst":1,"cacheSize":-1,"other":1}]}`, ""},
		{eventHead + `[{"qps":"1"}]}`, "limits.qps"},
		{`{"limits":[]}`, "Object 'Kind' is missing in"},
		{strings.Replace(eventHead, "v1alpha1", "v1", 1) + "[]}", `no kind "Configuration" is registered for version "eventratelimit.admission.k8s.io/v1"`},
	} {
		var data []byte
		if tt.configuration != "" {
			data = []byte(tt.configuration)
		}
		_, err := admission.NewEventRateLimit(data)
		if (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) && err != nil {
			t.Errorf("%s: got %v, want %s", tt.configuration, err, tt.want)
		}
	}
}

func FuzzEventRateLimitConfiguration(f *testing.F) {
	f.Add(eventHead + `[{"type":"Server","qps":1,"burst":1,"cacheSize":-1}]}`)
	f.Add("apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits:\n- {type: User, qps: 5, burst: 9}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := admission.NewEventRateLimit([]byte(text))
		if err == nil {
			p.Validate(t.Context(), eventAttributes("a", "u", "p"))
		}
	})
}
