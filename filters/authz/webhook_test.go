package authz

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// hook gives every request the same response.
type hook struct {
	status reviewStatus
	err    error
	asked  int
}

func (h *hook) Call(_ context.Context, in, out any) error {
	h.asked++
	*out.(*review) = review{APIVersion: in.(*review).APIVersion, Kind: reviewKind, Status: h.status}
	return h.err
}

func TestWebhook(t *testing.T) {
	oops := errors.New("oops")
	get := &request.Attributes{User: &request.User{Name: "alice"}, Verb: "get", IsResource: true, Resource: "pods", Namespace: "ns"}
	for _, tt := range []struct {
		name       string
		hook       hook
		onError    request.Decision
		conditions []string
		want       request.Decision
		fails      bool
		asked      int
	}{
		{"allowed", hook{status: reviewStatus{Allowed: true}}, pass, nil, allow, false, 1},
		{"denied", hook{status: reviewStatus{Denied: true}}, pass, nil, deny, false, 1},
		{"both", hook{status: reviewStatus{Denied: true, Allowed: true}}, pass, nil, deny, true, 1},
		{"neither", hook{}, pass, nil, pass, false, 1},
		{"fails open", hook{err: oops}, pass, nil, pass, true, 2},
		{"fails closed", hook{err: oops}, deny, nil, deny, true, 2},
		{"excluded", hook{status: reviewStatus{Denied: true}}, deny, []string{"true", "request.user == 'bob'"}, pass, false, 0},
		{"included", hook{status: reviewStatus{Allowed: true}}, deny, []string{"request.resourceAttributes.namespace == 'ns'"}, allow, false, 1},
		{"false beats errors", hook{}, deny, []string{"request.extra['a'][0] == 'b'", "false"}, pass, false, 0},
		{"an error denies", hook{}, deny, []string{"true", "request.extra['a'][0] == 'b'"}, deny, true, 0},
		{"no path", hook{}, deny, []string{"has(request.nonResourceAttributes)"}, pass, false, 0},
	} {
		for _, version := range []string{ReviewV1, ReviewV1beta1} {
			h := tt.hook
			w, err := NewWebhook(WebhookConfig{Hook: &h, Version: version, AuthorizedTTL: time.Hour, UnauthorizedTTL: time.Hour, OnError: tt.onError, Conditions: tt.conditions})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got, _, err := w.Authorize(t.Context(), get); got != tt.want || (err != nil) != tt.fails {
					t.Errorf("%s: got %v %v, want %v", tt.name, got, err, tt.want)
				}
			}
			if h.asked != tt.asked {
				t.Errorf("%s: asked %d times, want %d", tt.name, h.asked, tt.asked)
			}
		}
	}
}

// TestWebhookKnows: a remembered response is used for an equal request only, until it expires.
func TestWebhookKnows(t *testing.T) {
	h := &hook{status: reviewStatus{Allowed: true}}
	w, err := NewWebhook(WebhookConfig{Hook: h, Version: ReviewV1, AuthorizedTTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	all := []request.Attributes{
		{}, {Path: "/a"}, {IsResource: true}, {IsResource: true, Verb: "a"}, {IsResource: true, Group: "a"}, {IsResource: true, Version: "a"},
		{IsResource: true, Namespace: "a"}, {IsResource: true, Resource: "a"}, {IsResource: true, Subresource: "a"}, {IsResource: true, Name: "a"},
		{IsResource: true, FieldSelector: "a=b"}, {IsResource: true, FieldSelector: "a!=b"}, {IsResource: true, LabelSelector: "a=b"},
		{User: &request.User{Name: "a"}}, {User: &request.User{UID: "a"}}, {User: &request.User{Groups: []string{"a"}}},
		{User: &request.User{Extra: map[string][]string{"a": {"b"}}}},
	}
	for range 2 {
		for i := range all {
			w.Authorize(t.Context(), &all[i])
		}
		if h.asked != len(all) {
			t.Errorf("asked %d times, want %d", h.asked, len(all))
		}
	}
	long := request.Attributes{Path: "/" + strings.Repeat("a", maxCachedSent)}
	h.asked = 0
	w.Authorize(t.Context(), &long)
	if w.Authorize(t.Context(), &long); h.asked != 2 {
		t.Errorf("a long question: asked %d times, want 2", h.asked)
	}
}

func TestAnswers(t *testing.T) {
	var c answers
	now := time.Now()
	key := func(i int) [sha256.Size]byte { return sha256.Sum256([]byte(fmt.Sprint(i))) }
	for i := range maxAnswers + 10 {
		c.put(key(i), reviewStatus{}, now, time.Minute)
		c.get(key(0), now) // stays, as it is used
	}
	if len(c.byKey) != maxAnswers || c.recent.Len() != maxAnswers {
		t.Errorf("%d and %d answers, want %d", len(c.byKey), c.recent.Len(), maxAnswers)
	}
	if _, ok := c.get(key(0), now); !ok {
		t.Error("an answer in use has been evicted")
	}
	if _, ok := c.get(key(1), now); ok {
		t.Error("what is not used is still there")
	}
	if _, ok := c.get(key(0), now.Add(time.Minute)); ok {
		t.Error("it counts beyond its time")
	}
	c.put(key(1), reviewStatus{Reason: strings.Repeat("a", maxAnswerText+1)}, now, time.Minute)
	c.put(key(2), reviewStatus{}, now, 0)
	for i := 1; i <= 2; i++ {
		if _, ok := c.get(key(i), now); ok {
			t.Errorf("answer %d is remembered", i)
		}
	}
}
