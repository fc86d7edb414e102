package authn

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coracle-project/coracle/router/request"
)

// Bearer knows who sends a request by the token that it carries: in the Authorization header, or for web sockets, where browsers
// can set none, as one of the protocols that are offered. The token must be good for one of audiences; with none it need
// not say what it is for.
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
	token := BearerToken(r)
	if token == "" {
		if token = socketToken(r); token == "" {
			return nil, nil
		}
	}
	user, _, err := b.tokens.AuthenticateToken(r.Context(), token, b.audiences)
	if user == nil && err == nil {
		err = errBadToken
	}
	return user, err
}

// BearerToken returns the token of r's Authorization header, or "" if there is none or another kind of credentials.
func BearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(request.Header(r.Header, "Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	token, _, _ = strings.Cut(token, " ")
	return token
}

// socketProtocol begins the name of the protocol that carries a token, which follows in base64url without padding.
const socketProtocol = "base64url.bearer.authorization.k8s.io."

// socketToken returns the token among the protocols that r, which asks for a web socket, offers, and takes it off the request, so
// that nobody behind sees it. It is "" unless another protocol is offered as well, which can be agreed on.
func socketToken(r *http.Request) string {
	offered := r.Header["Sec-Websocket-Protocol"]
	if len(offered) == 0 {
		return ""
	}
	var token string
	var others []string
	for _, line := range offered {
		for p := range strings.SplitSeq(line, ",") {
			p = strings.TrimSpace(p)
			encoded, ok := strings.CutPrefix(p, socketProtocol)
			switch {
			case !ok:
				others = append(others, p)
			case token != "": // two of them are nobody's
				return ""
			default:
				text, err := base64.RawURLEncoding.DecodeString(encoded)
				if err != nil || len(text) == 0 || !utf8.Valid(text) {
					return ""
				}
				token = string(text)
			}
		}
	}
	if token == "" || len(others) == 0 {
		return ""
	}
	r.Header["Sec-Websocket-Protocol"] = []string{strings.Join(others, ",")}
	return token
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
	var errs []error
	for _, a := range u {
		user, accepted, err := a.AuthenticateToken(ctx, token, audiences)
		if user != nil && err == nil {
			return user, accepted, nil
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return nil, nil, errors.Join(errs...)
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
