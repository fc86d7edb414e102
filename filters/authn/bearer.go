package authn

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Bearer authenticates a request by the token in its Authorization header (RFC 6750). If audiences
// are given, the token must be meant for one of them.
func Bearer(tokens request.TokenAuthenticator, audiences ...string) request.Authenticator {
	return &bearer{tokens, audiences}
}

type bearer struct {
	tokens    request.TokenAuthenticator
	audiences []string
}

var errBadToken = errors.New("invalid bearer token")

// Authenticate implements request.Authenticator.
func (b *bearer) Authenticate(r *http.Request) (*request.User, error) {
	token, spaced := bearerToken(r)
	if token == "" {
		if info := request.From(r.Context()); spaced && info != nil {
			info.Warn("the provided Authorization header contains extra space before the bearer token, and is ignored")
		}
		return nil, nil
	}
	return userOfToken(r, b.tokens, token, b.audiences)
}

// userOfToken returns the user of the token that r carries. A token that tokens does not know is an
// error: a client that shows a token must not become anonymous.
func userOfToken(
	r *http.Request, tokens request.TokenAuthenticator, token string, audiences []string,
) (*request.User, error) {
	user, _, err := tokens.AuthenticateToken(r.Context(), token, audiences)
	if user == nil && err == nil {
		err = errBadToken
	}
	return user, err
}

// BearerToken returns the token in r's Authorization header, or "" if there is none or another
// scheme.
func BearerToken(r *http.Request) string {
	token, _ := bearerToken(r)
	return token
}

// bearerToken is BearerToken. spaced reports that the token is ignored because of extra space
// before it; kube-apiserver ignores such a token, too.
func bearerToken(r *http.Request) (token string, spaced bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(request.Header(r.Header, "Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	token, rest, _ := strings.Cut(token, " ")
	return token, token == "" && rest != ""
}

// TokenUnion asks all authenticators in turn and returns the first user found. If none finds a
// user, it returns their errors, or no error if there was none.
func TokenUnion(all ...request.TokenAuthenticator) request.TokenAuthenticator {
	if len(all) == 1 {
		return all[0]
	}
	return tokenUnion(all)
}

type tokenUnion []request.TokenAuthenticator

// AuthenticateToken implements request.TokenAuthenticator.
func (u tokenUnion) AuthenticateToken(
	ctx context.Context, token string, audiences []string,
) (*request.User, []string, error) {
	var failed error
	for _, a := range u {
		user, accepted, err := a.AuthenticateToken(ctx, token, audiences)
		if user != nil && err == nil {
			return user, accepted, nil
		}
		failed = joinErrors(failed, err)
	}
	return nil, nil, failed
}

// commonAudiences returns those audiences in asked that are in of, the audiences of a token. It
// allocates only if they are some but not all of asked.
func commonAudiences(asked, of []string) []string {
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

// Fixed wraps a, whose tokens name no audiences, and makes them good for the given audiences.
func Fixed(a request.TokenAuthenticator, audiences []string) request.TokenAuthenticator {
	return &fixedAudiences{a, audiences}
}

type fixedAudiences struct {
	request.TokenAuthenticator
	audiences []string
}

// AuthenticateToken implements request.TokenAuthenticator. If the token is asked about for other
// audiences, a is not asked at all.
func (f *fixedAudiences) AuthenticateToken(
	ctx context.Context, token string, audiences []string,
) (*request.User, []string, error) {
	accepted := commonAudiences(audiences, f.audiences)
	if len(audiences) > 0 && accepted == nil {
		return nil, nil, nil
	}
	user, _, err := f.TokenAuthenticator.AuthenticateToken(ctx, token, nil)
	if user == nil || err != nil {
		return nil, nil, err
	}
	return user, accepted, nil
}
