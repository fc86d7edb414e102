package authn

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Bearer knows who sends a request by the token in its Authorization header. The token must be good for one of audiences; with none it
// need not say what it is for.
func Bearer(tokens request.TokenAuthenticator, audiences ...string) request.Authenticator {
	return &bearer{tokens, audiences}
}

type bearer struct {
	tokens    request.TokenAuthenticator
	audiences []string
}

var errBadToken = errors.New("invalid bearer token")

// Authenticate returns the user whose token r carries.
func (b *bearer) Authenticate(r *http.Request) (*request.User, error) {
	token, spaced := bearerToken(r)
	if token == "" {
		if info := request.From(r.Context()); spaced && info != nil {
			info.Warn("the provided Authorization header contains extra space before the bearer token, and is ignored")
		}
		return nil, nil
	}
	return knownBy(r, b.tokens, token, b.audiences)
}

// knownBy returns the user that the token of r stands for. One that nobody knows is an error: who shows it is not nobody.
func knownBy(r *http.Request, tokens request.TokenAuthenticator, token string, audiences []string) (*request.User, error) {
	user, _, err := tokens.AuthenticateToken(r.Context(), token, audiences)
	if user == nil && err == nil {
		err = errBadToken
	}
	return user, err
}

// BearerToken returns the token of r's Authorization header, or "" if there is none or another kind of credentials.
func BearerToken(r *http.Request) string {
	token, _ := bearerToken(r)
	return token
}

// bearerToken is BearerToken, and reports whether there would be one, were there no space before it.
func bearerToken(r *http.Request) (token string, spaced bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(request.Header(r.Header, "Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token, rest, _ := strings.Cut(token, " ")
	return token, token == "" && rest != ""
}

// TokenUnion asks all in turn and returns the first user found. If there is none, it fails if any of them did.
func TokenUnion(all ...request.TokenAuthenticator) request.TokenAuthenticator {
	if len(all) == 1 {
		return all[0]
	}
	return tokenUnion(all)
}

type tokenUnion []request.TokenAuthenticator

func (u tokenUnion) AuthenticateToken(ctx context.Context, token string, audiences []string) (*request.User, []string, error) {
	var failed error
	for _, a := range u {
		user, accepted, err := a.AuthenticateToken(ctx, token, audiences)
		if user != nil && err == nil {
			return user, accepted, nil
		}
		failed = both(failed, err)
	}
	return nil, nil, failed
}

// meant returns those of the audiences asked for that are among those that a token is for. It allocates only if it is some of
// several.
func meant(asked, of []string) []string {
	in := 0
	for _, a := range asked {
		if slices.Contains(of, a) {
			in++
		}
	}
	switch in {
	case 0:
		return nil
	case len(asked):
		return asked
	}
	both := make([]string, 0, in)
	for _, a := range asked {
		if slices.Contains(of, a) {
			both = append(both, a)
		}
	}
	return both
}

// Fixed makes the tokens of a, which say nothing of what they are for, good for audiences.
func Fixed(a request.TokenAuthenticator, audiences []string) request.TokenAuthenticator {
	return &fixedAudiences{a, audiences}
}

type fixedAudiences struct {
	request.TokenAuthenticator
	audiences []string
}

// AuthenticateToken does not ask whose a token is that is asked about for other audiences.
func (f *fixedAudiences) AuthenticateToken(ctx context.Context, token string, audiences []string) (*request.User, []string, error) {
	accepted := meant(audiences, f.audiences)
	if len(audiences) > 0 && accepted == nil {
		return nil, nil, nil
	}
	user, _, err := f.TokenAuthenticator.AuthenticateToken(ctx, token, nil)
	if user == nil || err != nil {
		return nil, nil, err
	}
	return user, accepted, nil
}
