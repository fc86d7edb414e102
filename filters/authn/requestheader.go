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

// Headers are those in which a front proxy says whom it speaks for.
type Headers struct {
	// Names and UIDs are asked in turn for the user's name and uid: the first that has a value counts.
	Names, UIDs []string
	// Groups are headers with a group in each value.
	Groups []string
	// ExtraPrefixes begin the names of headers that hold extras; the rest of a name is the key.
	ExtraPrefixes []string
}

// StandardHeaders are those that servers agree on. They are never let through, whether there is a front proxy or not.
var StandardHeaders = Headers{
	Names: []string{"X-Remote-User"}, UIDs: []string{"X-Remote-Uid"}, Groups: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"X-Remote-Extra-"},
}

// Validate says what no header can be called.
func (h *Headers) Validate() error {
	for _, names := range [][]string{h.Names, h.UIDs, h.Groups, h.ExtraPrefixes} {
		for _, name := range names {
			if strings.TrimSpace(name) == "" {
				return errors.New("the name of a header is empty")
			}
		}
	}
	if len(h.UIDs) > 0 && !slices.ContainsFunc(h.UIDs, func(name string) bool { return strings.EqualFold(name, StandardHeaders.UIDs[0]) }) {
		return fmt.Errorf("the headers for uids are without %s, which other servers send", StandardHeaders.UIDs[0])
	}
	return nil
}

// user returns who stands in the headers, nil if nobody does.
func (h *Headers) user(from http.Header) *request.User {
	name := first(from, h.Names)
	if name == "" {
		return nil
	}
	user := &request.User{Name: name, UID: first(from, h.UIDs)}
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

func first(from http.Header, names []string) string {
	for _, name := range names {
		if value := from.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// addExtra adds what headers hold whose names begin with prefix. Two names can stand for one key, by different escapes.
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

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// NewFrontProxy knows whom a front proxy speaks for, which shows a client certificate that roots() signed, with one of names; with
// no names, any such certificate will do. Whoever shows none is not asked, whatever stands in the headers. See NewX509 for roots.
func NewFrontProxy(roots func() *x509.CertPool, names []string, headers Headers) *FrontProxy {
	proxy := new(request.User)
	return &FrontProxy{headers, newVerifier(roots, func(c *x509.Certificate) (*request.User, error) {
		if cn := c.Subject.CommonName; len(names) > 0 && !slices.Contains(names, cn) {
			return nil, fmt.Errorf("the certificate of %q is not one of a front proxy", meta.Excerpt(cn))
		}
		return proxy, nil
	})}
}

// FrontProxy is an authenticator for front proxies.
type FrontProxy struct {
	headers Headers
	proxies *X509
}

// Authenticate looks at certificates of those alone who speak for somebody.
func (p *FrontProxy) Authenticate(r *http.Request) (*request.User, error) {
	if first(r.Header, p.headers.Names) == "" {
		return nil, nil
	}
	if proxy, err := p.proxies.Authenticate(r); proxy == nil || err != nil {
		return nil, err
	}
	return p.headers.user(r.Header), nil
}

// Others returns an authenticator that knows nobody. It refuses whoever shows a certificate that is
// not one of a front proxy, and so makes of a certificate in which no user stands a refusal, where
// the client would be anonymous without front proxies: kube-apiserver judges each certificate as
// one of a front proxy, and counts that it is none. Others is asked last, about those whom nobody
// knows.
func (p *FrontProxy) Others() request.Authenticator { return others{p.proxies} }

type others struct{ proxies *X509 }

// Authenticate returns nobody, or the error.
func (o others) Authenticate(r *http.Request) (*request.User, error) {
	_, err := o.proxies.Authenticate(r)
	return nil, err
}

// StripHeaders takes the standard headers of front proxies and those in use off each request that a lets in, whoever sent them, so
// that nobody behind believes them.
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
	begin           [256]bool // by the first letter of a name: whether it may be one of those
}

func (s *stripping) add(list []string, name string) []string {
	if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name == "" || slices.Contains(list, name) {
		return list
	}
	s.begin[name[0]], s.begin[strings.ToLower(name)[0]] = true, true
	return append(list, name)
}

// Authenticate looks at each header once, and at most of them at their first letter.
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
