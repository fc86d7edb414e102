package access_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
)

// nothing is a set of stores without any store.
type nothing struct{}

func (nothing) Store(meta.GroupResource) *registry.Store { return nil }

// issuer signs every token.
type issuer struct{}

func (issuer) Sign(context.Context, *core.AccountToken) (token, credential string, err error) {
	return "signed", "", nil
}

func (issuer) Bounds() (longest, extended time.Duration) { return time.Hour, time.Minute }

// known authenticates every token, for the audiences that are asked for.
type known struct{}

func (known) AuthenticateToken(_ context.Context, token string, audiences []string) (*request.User, []string, error) {
	return &request.User{Name: token}, audiences, nil
}

// TestPromise: until the promise is kept, every call fails. Afterwards its authorizer and
// authenticator answer, and cannot be replaced.
func TestPromise(t *testing.T) {
	ctx, p := t.Context(), new(access.Promise)
	user := &request.User{Name: "a"}
	errs := func() map[string]error {
		_, _, token := p.AuthenticateToken(ctx, "t", nil)
		_, _, may := p.Authorize(ctx, &request.Attributes{User: user})
		_, _, rules := p.RulesFor(ctx, user, "ns")
		_, _, roles := p.Roles().RulesFor(ctx, user, "ns")
		_, _, sign := p.Sign(ctx, nil)
		return map[string]error{"token": token, "authorize": may, "rules": rules, "roles": roles, "sign": sign}
	}
	for name, err := range errs() {
		if err == nil {
			t.Errorf("%s: got no error before the promise is kept", name)
		}
	}
	if decision, _, _ := p.Authorize(ctx, &request.Attributes{User: user}); decision == request.Allow {
		t.Error("allowed before the promise is kept")
	}
	c, err := access.Config{Modes: []string{access.AlwaysAllow}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	a, err := access.New(c, access.Needs{Stores: nothing{}, Metrics: prometheus.NewRegistry(), Log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	answers := access.Promised{Tokens: known{}, Audiences: []string{"here"}, Authorizers: a, Issuer: issuer{}}
	p.Keep(answers)
	for name, err := range errs() {
		if err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if decision, _, _ := p.Authorize(ctx, &request.Attributes{User: user}); decision != request.Allow {
		t.Errorf("Authorize: got %v", decision)
	}
	if _, audiences, _ := p.AuthenticateToken(ctx, "t", nil); len(audiences) != 1 || audiences[0] != "here" {
		t.Errorf("a token for no audience was asked about for %q", audiences)
	}
	if longest, extended := p.Bounds(); longest != time.Hour || extended != time.Minute {
		t.Errorf("Bounds: got %v, %v", longest, extended)
	}
	defer func() {
		if recover() == nil {
			t.Error("the promise was kept twice")
		}
	}()
	p.Keep(answers)
}

// TestRolesAreNeeded: a server that serves no roles cannot authorize by RBAC.
func TestRolesAreNeeded(t *testing.T) {
	c, err := access.Config{}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	_, err = access.New(c, access.Needs{Stores: nothing{}, Metrics: prometheus.NewRegistry(), Log: zap.NewNop()})
	if err == nil {
		t.Error("got no error")
	}
}
