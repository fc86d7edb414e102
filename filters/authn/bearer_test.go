package authn

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

// TestSocketToken: a token among the protocols of a web socket counts if there is another protocol to agree on, and is taken off.
func TestSocketToken(t *testing.T) {
	token := socketProtocol + base64.RawURLEncoding.EncodeToString([]byte("some-token"))
	for _, tt := range []struct {
		offered []string
		user    string
		left    []string
	}{
		{[]string{"v4.channel.k8s.io, " + token}, "u", []string{"v4.channel.k8s.io"}},
		{[]string{token, "a", "b,c"}, "u", []string{"a,b,c"}},
		{[]string{token}, "", []string{token}},
		{[]string{token, token, "a"}, "", []string{token, token, "a"}},
		{[]string{socketProtocol + "%%, a"}, "", []string{socketProtocol + "%%, a"}},
		{[]string{socketProtocol + ", a"}, "", []string{socketProtocol + ", a"}},
		{[]string{"a"}, "", []string{"a"}},
	} {
		tokens := new(Tokens)
		tokens.Add("some-token", request.User{Name: "u"})
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Sec-Websocket-Protocol"] = tt.offered
		user, err := Bearer(tokens).Authenticate(r)
		if (user != nil) != (tt.user != "") || user != nil && user.Name != tt.user || err != nil {
			t.Errorf("%q: got %v, %v, want %q", tt.offered, user, err, tt.user)
		}
		if got := r.Header["Sec-Websocket-Protocol"]; !slices.Equal(got, tt.left) {
			t.Errorf("%q: left %q, want %q", tt.offered, got, tt.left)
		}
	}
}

type tokenFunc func(token string, audiences []string) (*request.User, []string, error)

func (f tokenFunc) AuthenticateToken(_ context.Context, token string, audiences []string) (*request.User, []string, error) {
	return f(token, audiences)
}

// TestAudiences: a token that says nothing of what it is for is good for some audiences alone.
func TestAudiences(t *testing.T) {
	tokens := new(Tokens)
	tokens.Add("some-token", request.User{Name: "u"})
	all := TokenUnion(Fixed(tokens, []string{"api", "other"}), tokenFunc(func(token string, _ []string) (*request.User, []string, error) {
		if token == "broken" {
			return nil, nil, errors.New("broken")
		}
		return nil, nil, nil
	}))
	for _, tt := range []struct {
		token           string
		asked, accepted []string
		known, fails    bool
	}{
		{"some-token", nil, nil, true, false},
		{"some-token", []string{"api"}, []string{"api"}, true, false},
		{"some-token", []string{"vault", "other", "api"}, []string{"other", "api"}, true, false},
		{"some-token", []string{"vault"}, nil, false, false},
		{"else", []string{"api"}, nil, false, false},
		{"broken", []string{"api"}, nil, false, true},
	} {
		user, accepted, err := all.AuthenticateToken(t.Context(), tt.token, tt.asked)
		if (user != nil) != tt.known || (err != nil) != tt.fails || !slices.Equal(accepted, tt.accepted) {
			t.Errorf("%s for %q: got %v for %q, %v", tt.token, tt.asked, user, accepted, err)
		}
	}
}
