package authn

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file authenticates requests that come through a front proxy, which names the user in headers
// and itself by a client certificate (kube-apiserver's --requestheader-* flags).

// Headers are the names of the headers in which a front proxy sends the user.
type Headers struct {
	// Names and UIDs are tried in turn: the first header with a value has the user's name or uid.
	Names, UIDs []string
	// Groups are headers whose values are one group each.
	Groups []string
	// ExtraPrefixes are prefixes of headers with extras; the rest of the header's name is the key.
	ExtraPrefixes []string
}

// StandardHeaders are the headers that all servers use by default. StripHeaders removes them from
// every request, even if no front proxy is configured.
var StandardHeaders = Headers{
	Names: []string{"X-Remote-User"}, UIDs: []string{"X-Remote-Uid"}, Groups: []string{"X-Remote-Group"},
	ExtraPrefixes: []string{"X-Remote-Extra-"},
}

// Validate returns an error if a name is empty, or if UIDs lacks the standard header.
func (h *Headers) Validate() error {
	for _, names := range [][]string{h.Names, h.UIDs, h.Groups, h.ExtraPrefixes} {
		for _, name := range names {
			if strings.TrimSpace(name) == "" {
				return errors.New("the name of a header is empty")
			}
		}
	}
	if len(h.UIDs) > 0 && !slices.ContainsFunc(h.UIDs,
		func(name string) bool { return strings.EqualFold(name, StandardHeaders.UIDs[0]) }) {
		return fmt.Errorf("the headers for uids must include %s, which other servers send", StandardHeaders.UIDs[0])
	}
	return nil
}

// user returns the user in the headers, nil if there is none.
func (h *Headers) user(from http.Header) *request.User {
	name := firstValue(from, h.Names)
	if name == "" {
		return nil
	}
	user := &request.User{Name: name, UID: firstValue(from, h.UIDs)}
	for _, header := range h.Groups {
		for _, group := range from[http.CanonicalHeaderKey(header)] {
			if group != "" {
				user.Groups = append(user.Groups, group)
			}
		}
	}
	user.Groups = WithAuthenticated(name, user.Groups)
	for _, prefix := range h.ExtraPrefixes {
		user.Extra = addExtra(user.Extra, from, prefix)
	}
	return user
}

// firstValue returns the first value that is not empty among the headers called names.
func firstValue(from http.Header, names []string) string {
	for _, name := range names {
		if value := from.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// addExtra adds the values of the headers whose names begin with prefix. Keys are lower-cased and
// then unescaped, so two headers can have one key.
func addExtra(extra map[string][]string, from http.Header, prefix string) map[string][]string {
	var names []string
	for name := range from {
		if hasPrefixFold(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		key := strings.ToLower(name[len(prefix):])
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		if extra == nil {
			extra = map[string][]string{}
		}
		extra[key] = append(extra[key], from[name]...)
	}
	return extra
}

// hasPrefixFold reports whether s begins with prefix, in any case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// NewFrontProxy returns an authenticator for requests of a front proxy. The proxy must show a
// client certificate that one of roots() signed, with a common name in names; if names is empty,
// any common name will do. The headers of a client without such a certificate are ignored. roots is
// called for each request; it returns a new pool when the trusted authorities have changed, and nil
// if none is trusted.
func NewFrontProxy(roots func() *x509.CertPool, names []string, headers Headers) *FrontProxy {
	proxy := new(request.User)
	return &FrontProxy{headers, newVerifier(roots, func(c *x509.Certificate) (*request.User, error) {
		if cn := c.Subject.CommonName; len(names) > 0 && !slices.Contains(names, cn) {
			return nil, fmt.Errorf("the certificate of %q is not one of a front proxy", meta.Excerpt(cn))
		}
		return proxy, nil
	})}
}

// FrontProxy authenticates requests that a front proxy sends for a user.
type FrontProxy struct {
	headers Headers
	proxies *X509
}

// Authenticate implements request.Authenticator. It verifies the certificate only if the headers
// name a user.
func (p *FrontProxy) Authenticate(r *http.Request) (*request.User, error) {
	if firstValue(r.Header, p.headers.Names) == "" {
		return nil, nil
	}
	if proxy, err := p.proxies.Authenticate(r); proxy == nil || err != nil {
		return nil, err
	}
	return p.headers.user(r.Header), nil
}

// Others returns an authenticator that never finds a user, to be asked last. It returns an error
// for a request with a client certificate that is not a front proxy's. So a client whose
// certificate names no user is refused instead of being anonymous, if a front proxy is configured:
// kube-apiserver verifies each certificate as a front proxy's and keeps the error.
func (p *FrontProxy) Others() request.Authenticator { return notProxies{p.proxies} }

type notProxies struct{ proxies *X509 }

// Authenticate implements request.Authenticator.
func (o notProxies) Authenticate(r *http.Request) (*request.User, error) {
	_, err := o.proxies.Authenticate(r)
	return nil, err
}

// StripHeaders wraps a. It removes the standard front proxy headers and the used ones from each
// request that a authenticates, whoever sent them, so that no handler trusts them.
func StripHeaders(a request.Authenticator, used Headers) request.Authenticator {
	s := &stripping{Authenticator: a}
	for _, h := range []Headers{StandardHeaders, used} {
		for _, name := range slices.Concat(h.Names, h.UIDs, h.Groups) {
			s.names = s.add(s.names, name)
		}
		for _, prefix := range h.ExtraPrefixes {
			s.prefixes = s.add(s.prefixes, prefix)
		}
	}
	return s
}

type stripping struct {
	request.Authenticator
	names, prefixes []string
	begin           [256]bool // by first byte: whether a header to remove may begin with it
}

// add adds the name or prefix of headers to a list, and its first letter, in both cases, to begin.
func (s *stripping) add(list []string, name string) []string {
	if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name == "" || slices.Contains(list, name) {
		return list
	}
	s.begin[name[0]], s.begin[strings.ToLower(name)[0]] = true, true
	return append(list, name)
}

// Authenticate implements request.Authenticator. Most headers cost only a look at their first
// letter.
func (s *stripping) Authenticate(r *http.Request) (*request.User, error) {
	user, err := s.Authenticator.Authenticate(r)
	if user == nil || err != nil {
		return user, err
	}
	for name := range r.Header {
		if name != "" && s.begin[name[0]] && s.strips(name) {
			delete(r.Header, name)
		}
	}
	return user, nil
}

// strips reports whether a header is to be removed.
func (s *stripping) strips(name string) bool {
	for _, n := range s.names {
		if n == name {
			return true
		}
	}
	for _, prefix := range s.prefixes {
		if hasPrefixFold(name, prefix) {
			return true
		}
	}
	return false
}
