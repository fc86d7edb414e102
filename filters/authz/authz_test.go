package authz

import (
	"context"
	"errors"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

const allow, deny, pass = request.Allow, request.Deny, request.NoOpinion

func fixed(d request.Decision, reason string, err error) request.Authorizer {
	return Func(func(context.Context, *request.Attributes) (request.Decision, string, error) { return d, reason, err })
}

func TestUnion(t *testing.T) {
	oops := errors.New("oops")
	for _, tt := range []struct {
		name   string
		all    []request.Authorizer
		want   request.Decision
		reason string
		fails  bool
	}{
		{"nobody", nil, pass, "", false},
		{"allow", []request.Authorizer{fixed(pass, "a", nil), fixed(allow, "", nil), fixed(deny, "", nil)}, allow, "", false},
		{"deny", []request.Authorizer{fixed(pass, "a", nil), fixed(deny, "b", nil), fixed(allow, "", nil)}, deny, "b", false},
		{"reasons", []request.Authorizer{fixed(pass, "a", nil), fixed(pass, "", nil), fixed(pass, "b", oops)}, pass, "a\nb", true},
		{"allowed after an error", []request.Authorizer{fixed(pass, "", oops), AlwaysAllow()}, allow, "", false},
		{"nothing allowed", []request.Authorizer{AlwaysDeny()}, pass, "Everything is forbidden.", false},
	} {
		got, reason, err := Union(tt.all...).Authorize(t.Context(), new(request.Attributes))
		if got != tt.want || reason != tt.reason || (err != nil) != tt.fails {
			t.Errorf("%s: got %v %q %v, want %v %q", tt.name, got, reason, err, tt.want, tt.reason)
		}
	}
}

func TestPrivileged(t *testing.T) {
	a := Privileged(request.GroupMasters)
	for _, tt := range []struct {
		user *request.User
		want request.Decision
	}{
		{nil, pass},
		{&request.User{Groups: []string{"dev"}}, pass},
		{&request.User{Groups: []string{"dev", request.GroupMasters}}, allow},
	} {
		if got, _, _ := a.Authorize(t.Context(), &request.Attributes{User: tt.user}); got != tt.want {
			t.Errorf("Authorize(%v): got %v, want %v", tt.user, got, tt.want)
		}
	}
}

func TestDiscovery(t *testing.T) {
	anonymous := &request.User{Name: request.AnonymousUser, Groups: []string{request.GroupUnauthenticated}}
	alice := &request.User{Name: "alice", Groups: []string{request.GroupAuthenticated}}
	path := func(verb, path string) request.Attributes { return request.Attributes{Verb: verb, Path: path} }
	review := func(group, resource string) request.Attributes {
		return request.Attributes{IsResource: true, Verb: "create", Group: group, Resource: resource}
	}
	for _, tt := range []struct {
		a                request.Attributes
		anonymous, alice request.Decision
	}{
		{path("get", "/healthz"), allow, allow},
		{path("get", "/version/"), allow, allow},
		{path("post", "/healthz"), pass, pass},
		{path("get", "/healthz/ping"), pass, pass},
		{path("get", "/api"), pass, allow},
		{path("get", "/api/v1"), pass, allow},
		{path("get", "/apis/apps/v1"), pass, allow},
		{path("get", "/apisx"), pass, pass},
		{path("get", "/openapi/v2"), pass, allow},
		{path("get", "/metrics"), pass, pass},
		{path("get", "/"), pass, pass},
		{review("authentication.k8s.io", "selfsubjectreviews"), pass, allow},
		{review("authorization.k8s.io", "selfsubjectaccessreviews"), pass, allow},
		{review("authorization.k8s.io", "subjectaccessreviews"), pass, pass},
		{review("", "pods"), pass, pass},
	} {
		for user, want := range map[*request.User]request.Decision{anonymous: tt.anonymous, alice: tt.alice, nil: pass} {
			a := tt.a
			a.User = user
			if got, _, _ := Discovery().Authorize(t.Context(), &a); got != want {
				t.Errorf("%s %s %s of %v: got %v, want %v", a.Verb, a.Path, a.Resource, user, got, want)
			}
		}
	}
}
