package authn

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/coracle-project/coracle/router/request"
)

// Socket authenticates a WebSocket request by a token among the offered subprotocols, because
// browsers cannot set the Authorization header there. The token must be meant for one of audiences,
// if there are any. If the token has a user, Socket removes it from the request, so that no handler
// sees it.
func Socket(tokens request.TokenAuthenticator, audiences ...string) request.Authenticator {
	return &socket{tokens, audiences}
}

type socket struct {
	tokens    request.TokenAuthenticator
	audiences []string
}

// protocolHeader is the header with the offered subprotocols, in net/http's canonical form.
const protocolHeader = "Sec-Websocket-Protocol"

// socketProtocol begins the subprotocol that carries a token; the token follows in base64url
// without padding.
const socketProtocol = "base64url.bearer.authorization.k8s.io."

// Authenticate implements request.Authenticator.
func (s *socket) Authenticate(r *http.Request) (*request.User, error) {
	offered := r.Header[protocolHeader]
	if len(offered) == 0 || !asksForSocket(r.Header) {
		return nil, nil
	}
	token, others, err := socketToken(offered)
	if token == "" || err != nil {
		return nil, err
	}
	user, err := userOfToken(r, s.tokens, token, s.audiences)
	if user != nil && err == nil {
		r.Header[protocolHeader] = []string{strings.Join(others, ",")}
	}
	return user, err
}

// asksForSocket reports whether a request asks for an upgrade to a WebSocket.
func asksForSocket(h http.Header) bool {
	if !strings.EqualFold(request.Header(h, "Upgrade"), "websocket") {
		return false
	}
	for option := range strings.SplitSeq(request.Header(h, "Connection"), ",") {
		if strings.EqualFold(strings.TrimSpace(option), "upgrade") {
			return true
		}
	}
	return false
}

// socketToken returns the token among the offered subprotocols, "" if there is none, and the other
// subprotocols. Beside a token there must be another subprotocol, which the server can select in
// its response.
func socketToken(offered []string) (token string, others []string, err error) {
	found := false
	for _, line := range offered {
		for p := range strings.SplitSeq(line, ",") {
			p = strings.TrimSpace(p)
			encoded, ok := strings.CutPrefix(p, socketProtocol)
			if !ok {
				others = append(others, p)
				continue
			}
			text, err := base64.RawURLEncoding.DecodeString(encoded)
			switch {
			case found:
				return "", nil, errors.New("the subprotocols of a WebSocket request contain several tokens")
			case err != nil || !utf8.Valid(text):
				return "", nil, errors.New("the token among the subprotocols of a WebSocket request is malformed")
			}
			token, found = string(text), true
		}
	}
	if token != "" && len(others) == 0 {
		return "", nil, errors.New("a WebSocket request must offer a subprotocol beside its token")
	}
	return token, others, nil
}
