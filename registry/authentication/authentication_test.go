package authentication

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// authenticatorFunc is a TokenAuthenticator that is a function.
type authenticatorFunc func(token string, audiences []string) (*request.User, []string, error)

func (j authenticatorFunc) AuthenticateToken(_ context.Context, token string, audiences []string) (*request.User, []string, error) {
	return j(token, audiences)
}

// ask runs the creation of a review, without decoding and admission.
func ask(t *testing.T, tokens request.TokenAuthenticator, name string, obj meta.Object) (meta.Typed, error) {
	t.Helper()
	all := Actions(tokens)
	i := slices.IndexFunc(all, func(a registry.Actions) bool { return a.GroupResource.Resource == name })
	act := &registry.Action{Object: obj, User: &request.User{Name: "alice", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"a", "b"}}}}
	if check := all[i].Check; check != nil {
		if err := check(act); err != nil {
			return nil, err
		}
	}
	return all[i].Create(t.Context(), act)
}

// TestTokenReview compares the status of reviews of valid and invalid tokens.
func TestTokenReview(t *testing.T) {
	jane := &request.User{Name: "jane", UID: "8", Groups: []string{"dev"}}
	for _, tt := range []struct {
		name      string
		token     string
		audiences []string
		user      *request.User
		accepted  []string
		err       error
		want      string // the status, or the error
	}{
		{"known", "t", nil, jane, nil, nil, `{true {jane 8 [dev] map[]} [] }`},
		{"known, for the server", "t", nil, jane, []string{"api"}, nil, `{true {jane 8 [dev] map[]} [api] }`},
		{"known, for one of two", "t", []string{"a", "b"}, jane, []string{"b"}, nil, `{true {jane 8 [dev] map[]} [b] }`},
		{"known to one who cares for no audiences", "t", []string{"a"}, jane, nil, nil, "Internal error occurred: error validating audiences"},
		{"known, at the end of a line", "t\n", nil, jane, nil, nil, `{true {jane 8 [dev] map[]} [] }`},
		{"known, and more", "t more", nil, jane, nil, nil, `{true {jane 8 [dev] map[]} [] }`},
		{"unknown", "t", nil, nil, nil, nil, `{false {  [] map[]} [] invalid bearer token}`},
		{"not to be judged", "t", nil, nil, nil, errors.New("expired"), `{false {  [] map[]} [] [invalid bearer token, expired]}`},
		{"not to be judged by several", "t", nil, nil, nil, errors.Join(errors.New("expired"), errors.Join(errors.New("bad key"), errors.New("expired"))),
			`{false {  [] map[]} [] [invalid bearer token, expired, bad key]}`},
		{"known, but", "t", nil, jane, nil, errors.New("expired"), `{false {  [] map[]} [] [invalid bearer token, expired]}`},
		{"none", "", nil, jane, nil, nil, "token is required for TokenReview in authentication"},
	} {
		tokens := authenticatorFunc(func(token string, audiences []string) (*request.User, []string, error) {
			if token != strings.Fields(tt.token)[0] || !slices.Equal(audiences, tt.audiences) {
				t.Errorf("%s: asked about %q for %q", tt.name, token, audiences)
			}
			return tt.user, tt.accepted, tt.err
		})
		r := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: tt.token, Audiences: tt.audiences}}
		r.Status.Authenticated, r.Status.User.Username = true, "what the client says of it"
		out, err := ask(t, tokens, "tokenreviews", r)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(out.(*authenticationv1.TokenReview).Status)
		}
		if got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestTokenReviewIsNoUse: a review does not use the token. Warnings for the bearer of the token do
// not go to the client that reviews it.
func TestTokenReviewIsNoUse(t *testing.T) {
	tokens := tokenUse(func(ctx context.Context) {
		if info := request.From(ctx); info != nil {
			t.Error("knows of the request")
		}
	})
	act := &registry.Action{Object: &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t"}}}
	if _, err := tokenReviews(tokens).Create(request.NewContext(t.Context(), new(request.Info)), act); err != nil {
		t.Error(err)
	}
}

// tokenUse is a TokenAuthenticator that finds no user.
type tokenUse func(ctx context.Context)

func (u tokenUse) AuthenticateToken(ctx context.Context, _ string, _ []string) (*request.User, []string, error) {
	u(ctx)
	return nil, nil, nil
}

// TestSelfSubjectReview: the answer does not depend on the object that the client sent.
func TestSelfSubjectReview(t *testing.T) {
	sent := &authenticationv1.SelfSubjectReview{ObjectMeta: meta.ObjectMeta{Name: "x"}}
	sent.Status.UserInfo.Username = "root"
	out, err := ask(t, nil, "selfsubjectreviews", sent)
	if err != nil {
		t.Fatal(err)
	}
	r := out.(*authenticationv1.SelfSubjectReview)
	if got, want := fmt.Sprint(r.Name, r.Status), "{{alice 7 [dev] map[k:[a b]]}}"; got != want || r.CreationTimestamp.IsZero() {
		t.Errorf("got %s, want %s", got, want)
	}
}
