package authz

import (
	"context"
	"errors"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
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

func TestRules(t *testing.T) {
	all := AlwaysAllow()
	oops := errors.New("oops")
	broken := resolver(func() ([]rbacv1.PolicyRule, bool, error) { return make([]rbacv1.PolicyRule, 1), true, oops })
	rules, incomplete, err := Rules(all, broken).RulesFor(t.Context(), new(request.User), "")
	if len(rules) != 3 || !incomplete || !errors.Is(err, oops) {
		t.Errorf("got %v %t %v, want all that could be found", rules, incomplete, err)
	}
	if rules, incomplete, err := Rules().RulesFor(t.Context(), new(request.User), ""); rules != nil || incomplete || err != nil {
		t.Errorf("nobody: got %v %t %v", rules, incomplete, err)
	}
}

type resolver func() ([]rbacv1.PolicyRule, bool, error)

func (resolver) Authorize(context.Context, *request.Attributes) (request.Decision, string, error) {
	return request.NoOpinion, "", nil
}

func (f resolver) RulesFor(context.Context, *request.User, string) ([]rbacv1.PolicyRule, bool, error) {
	return f()
}
