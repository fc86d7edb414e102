package authz

import (
	"context"
	"errors"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

func fixed(d Decision, reason string, err error) Authorizer {
	return Func(func(context.Context, *Attributes) (Decision, string, error) { return d, reason, err })
}

func TestUnion(t *testing.T) {
	oops := errors.New("oops")
	for _, tt := range []struct {
		name   string
		all    []Authorizer
		want   Decision
		reason string
		fails  bool
	}{
		{"nobody", nil, NoOpinion, "", false},
		{"allow", []Authorizer{fixed(NoOpinion, "a", nil), fixed(Allow, "", nil), fixed(Deny, "", nil)}, Allow, "", false},
		{"deny", []Authorizer{fixed(NoOpinion, "a", nil), fixed(Deny, "b", nil), fixed(Allow, "", nil)}, Deny, "b", false},
		{"reasons", []Authorizer{fixed(NoOpinion, "a", nil), fixed(NoOpinion, "", nil), fixed(NoOpinion, "b", oops)}, NoOpinion, "a\nb", true},
		{"allowed after an error", []Authorizer{fixed(NoOpinion, "", oops), AlwaysAllow()}, Allow, "", false},
		{"nothing allowed", []Authorizer{AlwaysDeny()}, NoOpinion, "Everything is forbidden.", false},
	} {
		got, reason, err := Union(tt.all...).Authorize(t.Context(), new(Attributes))
		if got != tt.want || reason != tt.reason || (err != nil) != tt.fails {
			t.Errorf("%s: got %v %q %v, want %v %q", tt.name, got, reason, err, tt.want, tt.reason)
		}
	}
}

func TestPrivileged(t *testing.T) {
	a := Privileged("system:masters")
	for _, tt := range []struct {
		user *request.User
		want Decision
	}{
		{nil, NoOpinion},
		{&request.User{Groups: []string{"dev"}}, NoOpinion},
		{&request.User{Groups: []string{"dev", "system:masters"}}, Allow},
	} {
		if got, _, _ := a.Authorize(t.Context(), &Attributes{User: tt.user}); got != tt.want {
			t.Errorf("Authorize(%v): got %v, want %v", tt.user, got, tt.want)
		}
	}
}

func TestFrom(t *testing.T) {
	info := &request.Info{User: &request.User{Name: "u"}, Verb: "list", IsResource: true, APIGroup: "g", APIVersion: "v", Namespace: "n",
		Resource: "r", Subresource: "s", Name: "x", Path: "/p", FieldSelector: "f", LabelSelector: "l"}
	want := Attributes{info.User, "list", true, "g", "v", "n", "r", "s", "x", "/p", "f", "l"}
	var got Attributes
	if got.From(info); got != want {
		t.Errorf("From: got %+v, want %+v", got, want)
	}
}

func TestDecisions(t *testing.T) {
	var zero Decision
	if zero != Deny {
		t.Error("the zero Decision must be Deny")
	}
	for d, want := range map[Decision]string{Deny: "deny", Allow: "allow", NoOpinion: "no opinion", 9: "unknown"} {
		if got := d.String(); got != want {
			t.Errorf("String of %d: got %q, want %q", d, got, want)
		}
	}
}

func TestDiscovery(t *testing.T) {
	anonymous := &request.User{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}
	alice := &request.User{Name: "alice", Groups: []string{"system:authenticated"}}
	path := func(verb, path string) Attributes { return Attributes{Verb: verb, Path: path} }
	review := func(group, resource string) Attributes {
		return Attributes{IsResource: true, Verb: "create", Group: group, Resource: resource}
	}
	for _, tt := range []struct {
		a                Attributes
		anonymous, alice Decision
	}{
		{path("get", "/healthz"), Allow, Allow},
		{path("get", "/version/"), Allow, Allow},
		{path("post", "/healthz"), NoOpinion, NoOpinion},
		{path("get", "/healthz/ping"), NoOpinion, NoOpinion},
		{path("get", "/api"), NoOpinion, Allow},
		{path("get", "/api/v1"), NoOpinion, Allow},
		{path("get", "/apis/apps/v1"), NoOpinion, Allow},
		{path("get", "/apisx"), NoOpinion, NoOpinion},
		{path("get", "/openapi/v2"), NoOpinion, Allow},
		{path("get", "/metrics"), NoOpinion, NoOpinion},
		{path("get", "/"), NoOpinion, NoOpinion},
		{review("authentication.k8s.io", "selfsubjectreviews"), NoOpinion, Allow},
		{review("authorization.k8s.io", "selfsubjectaccessreviews"), NoOpinion, Allow},
		{review("authorization.k8s.io", "subjectaccessreviews"), NoOpinion, NoOpinion},
		{review("", "pods"), NoOpinion, NoOpinion},
	} {
		for user, want := range map[*request.User]Decision{anonymous: tt.anonymous, alice: tt.alice, nil: NoOpinion} {
			a := tt.a
			a.User = user
			if got, _, _ := Discovery().Authorize(t.Context(), &a); got != want {
				t.Errorf("%s %s %s of %v: got %v, want %v", a.Verb, a.Path, a.Resource, user, got, want)
			}
		}
	}
}
