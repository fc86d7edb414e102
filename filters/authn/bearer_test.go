package authn

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

// TestSpacedToken: an Authorization header with an extra space is ignored, with a warning.
func TestSpacedToken(t *testing.T) {
	for _, tt := range []struct {
		header string
		warned bool
	}{
		{"Bearer  t", true}, {"bearer  t x", true}, {"Bearer", false}, {"Bearer ", false}, {"Basic  t", false}, {"", false},
	} {
		info := new(request.Info)
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", tt.header)
		r = r.WithContext(request.NewContext(r.Context(), info))
		user, err := Bearer(new(Tokens)).Authenticate(r)
		if user != nil || err != nil || (len(info.Warnings) == 1) != tt.warned {
			t.Errorf("%q: got %v, %v, warnings %q", tt.header, user, err, info.Warnings)
		}
	}
}

type tokenFunc func(token string, audiences []string) (*request.User, []string, error)

func (f tokenFunc) AuthenticateToken(_ context.Context, token string, audiences []string) (*request.User, []string, error) {
	return f(token, audiences)
}

// TestAudiences: a token without audiences is good only for the audiences of Fixed.
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
