package authn

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/router/request"
)

var proxyHeaders = Headers{
	Names: []string{"X-Remote-User", "x-other-user"}, UIDs: []string{"X-Remote-Uid"}, Groups: []string{"X-Remote-Group", "x-team"},
	ExtraPrefixes: []string{"X-Remote-Extra-", "x-more-"},
}

// proxyRequest returns a request with a certificate and headers. A name and its value take turns in
// headers.
func proxyRequest(c *x509.Certificate, headers ...string) *http.Request {
	r := with(c)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestFrontProxy(t *testing.T) {
	proxies, clients := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	proxy, alice := proxies.Client("front").Cert, clients.Client("alice", "dev").Cert
	front := NewFrontProxy(func() *x509.CertPool { return proxies.Pool }, []string{"front"}, proxyHeaders)
	a := Anonymous(Union(front, NewX509(func() *x509.CertPool { return clients.Pool }), front.Others()))
	in := func(groups ...string) []string { return append(groups, request.GroupAuthenticated) }
	for _, tt := range []struct {
		name  string
		r     *http.Request
		want  *request.User // nil: refused. Without groups, only the name is compared
		fails string
	}{
		{"a name", proxyRequest(proxy, "X-Remote-User", "bob"), &request.User{Name: "bob", Groups: in()}, ""},
		{"the second header", proxyRequest(proxy, "X-Remote-User", "", "X-Other-User", "bob"), &request.User{Name: "bob", Groups: in()}, ""},
		{
			"everything", proxyRequest(proxy, "X-Remote-User", "bob", "X-Remote-Uid", "7", "X-Team", "b", "X-Remote-Group", "a", "X-Remote-Group", "", "X-Remote-Group", "c",
				"X-Remote-Extra-Scopes", "one", "X-Remote-Extra-Scopes", "two", "X-Remote-Extra-Acme.io%2fKey", "v", "X-More-Bad%zz", "w"),
			&request.User{Name: "bob", UID: "7", Groups: in("a", "c", "b"), Extra: map[string][]string{
				"scopes": {"one", "two"}, "acme.io/key": {"v"}, "bad%zz": {"w"},
			}}, "",
		},
		{"an anonymous user", proxyRequest(proxy, "X-Remote-User", request.AnonymousUser), &request.User{Name: request.AnonymousUser}, ""},
		{"already in the group of authenticated users", proxyRequest(proxy, "X-Remote-User", "u", "X-Remote-Group", request.GroupAuthenticated), &request.User{Name: "u", Groups: in()}, ""},
		{"no name", proxyRequest(proxy, "X-Remote-Group", "system:masters"), nil, "unknown authority"},
		{"not a proxy", proxyRequest(proxies.Client("back").Cert, "X-Remote-User", "bob"), nil, `"back" is not one of a front proxy`},
		{"a client", proxyRequest(alice, "X-Remote-User", "root", "X-Remote-Group", "system:masters"), &request.User{Name: "alice"}, ""},
		{"a client with a proxy's name", proxyRequest(clients.Client("front").Cert, "X-Remote-User", "root"), &request.User{Name: "front"}, ""},
		{"a client without a name", proxyRequest(clients.Client("", "dev").Cert), nil, "unknown authority"},
		{"a client without a name, with headers", proxyRequest(clients.Client("", "dev").Cert, "X-Remote-User", "root"), nil, "unknown authority"},
		{"nobody", proxyRequest(nil, "X-Remote-User", "root"), &request.User{Name: request.AnonymousUser, Groups: []string{request.GroupUnauthenticated}}, ""},
		{"a proxy's certificate without usages", proxyRequest(proxies.Sign(&x509.Certificate{Subject: pkix.Name{CommonName: "front"}}).Cert, "X-Remote-User", "root"), &request.User{Name: "root", Groups: in()}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.r.TLS.PeerCertificates[0] == nil {
				tt.r.TLS = nil
			}
			for range 2 { // the second time from the cache
				user, err := a.Authenticate(tt.r)
				switch {
				case tt.fails != "":
					if err == nil || !strings.Contains(err.Error(), tt.fails) {
						t.Errorf("got %v, %v, want an error with %q", user, err, tt.fails)
					}
				case err != nil:
					t.Errorf("got error %v", err)
				case len(tt.want.Groups) == 0 && tt.want.Name != request.AnonymousUser:
					if user.Name != tt.want.Name || user.InGroup("system:masters") {
						t.Errorf("got %+v, want %s", user, tt.want.Name)
					}
				case !reflect.DeepEqual(user, tt.want):
					t.Errorf("got %+v, want %+v", user, tt.want)
				}
			}
		})
	}
}

// TestFrontProxyForgets: a front proxy is refused when its authority is no longer trusted.
func TestFrontProxyForgets(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	pool := ca.Pool
	a := NewFrontProxy(func() *x509.CertPool { return pool }, nil, StandardHeaders)
	r := proxyRequest(ca.Client("anybody").Cert, "X-Remote-User", "bob")
	if user, err := a.Authenticate(r); err != nil || user == nil || user.Name != "bob" {
		t.Errorf("at first: got %v, %v", user, err)
	}
	pool = other.Pool
	if user, err := a.Authenticate(r); err == nil {
		t.Errorf("under other roots: got %v", user)
	}
}

// TestStripHeaders: headers of a front proxy that other clients send reach no handler.
func TestStripHeaders(t *testing.T) {
	a := StripHeaders(fixed{user: &request.User{Name: "alice"}}, Headers{Names: []string{"x-who"}, ExtraPrefixes: []string{"x-MORE-"}})
	r := proxyRequest(nil, "X-Remote-User", "root", "X-Remote-Uid", "0", "X-Remote-Group", "system:masters", "X-Remote-Group", "more", "X-Remote-Extra-Scopes", "all",
		"X-Who", "root", "X-More-A", "a", "X-Remote", "stays", "Accept", "stays", "X-Remote-Users", "stays")
	r.Header["x-remote-extra-raw name"] = []string{"as it came"}
	if _, err := a.Authenticate(r); err != nil {
		t.Fatal(err)
	}
	want := http.Header{"X-Remote": {"stays"}, "Accept": {"stays"}, "X-Remote-Users": {"stays"}}
	if !reflect.DeepEqual(r.Header, want) {
		t.Errorf("left: got %q, want %q", r.Header, want)
	}
}

func TestHeadersValidate(t *testing.T) {
	for _, tt := range []struct {
		headers Headers
		ok      bool
	}{
		{Headers{}, true}, {StandardHeaders, true}, {Headers{Names: []string{" "}}, false}, {Headers{Groups: []string{""}}, false},
		{Headers{ExtraPrefixes: []string{"a", ""}}, false}, {Headers{UIDs: []string{"X-Uid"}}, false}, {Headers{UIDs: []string{"X-Uid", "x-remote-uid"}}, true},
	} {
		if err := tt.headers.Validate(); (err == nil) != tt.ok {
			t.Errorf("%+v: got %v, want no error: %v", tt.headers, err, tt.ok)
		}
	}
}

// FuzzHeaders sends random headers: only a proxy's are believed, and none are left.
func FuzzHeaders(f *testing.F) {
	proxies := pkitest.NewAuthority(f, "ca")
	proxy := proxies.Client("front").Cert
	outsider := pkitest.NewAuthority(f, "ca").Client("front").Cert
	a := StripHeaders(Anonymous(NewFrontProxy(func() *x509.CertPool { return proxies.Pool }, []string{"front"}, proxyHeaders)), proxyHeaders)
	f.Add("X-Remote-User: bob\nX-Remote-Extra-A%2fb: c\nx-more-: d\nX-Remote-Extra-%: \x00")
	f.Add("X-Remote-User: \nX-Other-User: \xff\nX-Team: a,b")
	f.Fuzz(func(t *testing.T, lines string) {
		r, out := proxyRequest(proxy), proxyRequest(outsider)
		for line := range strings.SplitSeq(lines, "\n") {
			name, value, _ := strings.Cut(line, ":")
			r.Header.Add(name, value)
			out.Header.Add(name, value)
		}
		name := firstValue(r.Header, proxyHeaders.Names)
		user, err := a.Authenticate(r)
		if err != nil || name != "" && user.Name != name || name == "" && user.Name != request.AnonymousUser {
			t.Errorf("%q: got %v, %v, want %q", lines, user, err, name)
		}
		for key := range r.Header {
			if strings.HasPrefix(strings.ToLower(key), "x-remote-extra-") || strings.EqualFold(key, "x-team") || strings.EqualFold(key, "x-remote-user") {
				t.Errorf("%q is left", key)
			}
		}
		if user, err := a.Authenticate(out); err == nil && user.Name != request.AnonymousUser {
			t.Errorf("an outsider is %v", user)
		}
	})
}
