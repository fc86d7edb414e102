package authn

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/router/request"
)

func TestReadTokens(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		len        int
		err        string
	}{
		{"empty", "", 0, ""},
		{"plain", "t,u,1\n", 1, ""},
		{"groups", `t,u,1,"a,b"`, 1, ""},
		{"more columns", "t,u,1,g,extra\n", 1, ""},
		{"no token", ",u,1\nt,u,1\n", 1, ""},
		{"twice", "t,u,1\nt,v,2\n", 1, ""},
		{"too few", "t,u,1\nt,u\n", 0, "line 2: must have at least 3 columns (token, user name, user uid), found 2"},
		{"bad quote", "t,\"u,1\n", 0, "quote"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadTokens(strings.NewReader(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("ReadTokens: got error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.Len() != tt.len {
				t.Errorf("ReadTokens: got %v, %v, want %d tokens", got, err, tt.len)
			}
		})
	}
}

func TestReadTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	if _, err := ReadTokenFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	if err := os.WriteFile(path, []byte("t,u,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadTokenFile(path); err != nil || got.Len() != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTokens(t *testing.T) {
	long := strings.Repeat("x", 2000)
	tokens, err := ReadTokens(strings.NewReader("t,u,1,\"a,b\"\n" + long + ",long,2\nnobody,system:anonymous,\nempty,e,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := Anonymous(Bearer(tokens))
	nobody := []string{request.GroupUnauthenticated}
	for _, tt := range []struct {
		header, user string
		groups       []string
		fails        bool
	}{
		{"Bearer t", "u", []string{"a", "b", request.GroupAuthenticated}, false},
		{"bearer t", "u", []string{"a", "b", request.GroupAuthenticated}, false},
		{" Bearer t more", "u", []string{"a", "b", request.GroupAuthenticated}, false},
		{"Bearer " + long, "long", []string{request.GroupAuthenticated}, false},
		{"Bearer empty", "e", []string{"", request.GroupAuthenticated}, false}, // as in kube-apiserver
		{"Bearer nobody", request.AnonymousUser, nil, false},
		{"Bearer x", "", nil, true},
		{"Bearer tt", "", nil, true},
		{"Bearer", request.AnonymousUser, nobody, false},
		{"Bearer  t", request.AnonymousUser, nobody, false},
		{"Basic YTpi", request.AnonymousUser, nobody, false},
		{"t", request.AnonymousUser, nobody, false},
		{"", request.AnonymousUser, nobody, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", tt.header)
		user, err := a.Authenticate(r)
		if (err != nil) != tt.fails || err == nil && (user.Name != tt.user || !slices.Equal(user.Groups, tt.groups)) {
			t.Errorf("Authorization %.20q: got %+v, %v, want %q of %q", tt.header, user, err, tt.user, tt.groups)
		}
	}
}

// TestTokensAdd: tokens can be added without a file.
func TestTokensAdd(t *testing.T) {
	tokens := new(Tokens)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer t")
	if user, err := Bearer(tokens).Authenticate(r); err == nil {
		t.Errorf("before: got %v", user)
	}
	tokens.Add("t", request.User{Name: "u", Groups: []string{"g"}})
	user, err := Bearer(tokens).Authenticate(r)
	if err != nil || user.Name != "u" || !slices.Equal(user.Groups, []string{"g", request.GroupAuthenticated}) || tokens.Len() != 1 {
		t.Errorf("after: got %+v, %v, %d tokens", user, err, tokens.Len())
	}
}

type fixed struct {
	user *request.User
	err  error
}

func (f fixed) Authenticate(*http.Request) (*request.User, error) { return f.user, f.err }

func TestUnion(t *testing.T) {
	none, bad, good := fixed{}, fixed{err: errors.New("bad")}, fixed{user: &request.User{Name: "u"}}
	for _, tt := range []struct {
		name        string
		all         []request.Authenticator
		user, fails bool
	}{
		{"nobody", nil, false, false},
		{"none", []request.Authenticator{none, none}, false, false},
		{"bad then good", []request.Authenticator{bad, good}, true, false},
		{"good then bad", []request.Authenticator{good, bad}, true, false},
		{"none then bad", []request.Authenticator{none, bad}, false, true},
	} {
		user, err := Union(tt.all...).Authenticate(nil)
		if (user != nil) != tt.user || (err != nil) != tt.fails {
			t.Errorf("%s: got %v, %v", tt.name, user, err)
		}
	}
	if user, err := Anonymous(nil).Authenticate(nil); err != nil || user.Name != request.AnonymousUser {
		t.Errorf("Anonymous(nil): got %v, %v", user, err)
	}
}

func with(certs ...*x509.Certificate) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: certs}
	return r
}

func TestX509(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	a := NewX509(func() *x509.CertPool { return ca.Pool })
	var left []time.Duration
	a.Shown = func(d time.Duration) { left = append(left, d.Round(time.Minute)) }
	clientAuth := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	withUIDs := func(values ...string) *http.Request {
		name := pkix.Name{CommonName: "u"}
		for _, v := range values {
			name.ExtraNames = append(name.ExtraNames, pkix.AttributeTypeAndValue{Type: oidUID, Value: v})
		}
		return with(ca.Sign(&x509.Certificate{Subject: name, ExtKeyUsage: clientAuth}).Cert)
	}
	for _, tt := range []struct {
		name  string
		r     *http.Request
		user  string
		fails bool
	}{
		{"no TLS", httptest.NewRequest("GET", "/", nil), "", false},
		{"no certificate", with(), "", false},
		{"good", with(ca.Client("alice", "dev").Cert), "alice", false},
		{"with uid", withUIDs("the-uid"), "u", false},
		{"two uids", withUIDs("the-uid", "the-uid"), "", true},
		{"empty uid", withUIDs(""), "", true},
		{"no name", with(ca.Client("").Cert), "", false},
		{"of a stranger", with(other.Client("alice").Cert), "", true},
		{"of a server", with(ca.Sign(&x509.Certificate{Subject: pkix.Name{CommonName: "s"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}).Cert), "", true},
		{"expired", with(ca.Sign(&x509.Certificate{Subject: pkix.Name{CommonName: "old"}, ExtKeyUsage: clientAuth, NotAfter: time.Now().Add(-time.Minute)}).Cert), "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the second time from the cache
				left = nil
				user, err := a.Authenticate(tt.r)
				if shown := tt.r.TLS != nil && len(tt.r.TLS.PeerCertificates) > 0; len(left) != 0 != shown || tt.name == "expired" && left[0] != -time.Minute {
					t.Errorf("told of %v left, of a certificate: %v", left, shown)
				}
				if (err != nil) != tt.fails || (user != nil) != (tt.user != "") || user != nil && user.Name != tt.user {
					t.Fatalf("got %v, %v, want %q", user, err, tt.user)
				}
				if tt.user == "alice" && (!slices.Equal(user.Groups, []string{"dev", request.GroupAuthenticated}) || user.Extra["authentication.kubernetes.io/credential-id"] == nil) {
					t.Errorf("got %+v", user)
				}
				if tt.user == "u" && user.UID != "the-uid" {
					t.Errorf("UID: got %q", user.UID)
				}
			}
		})
	}
}

// TestX509Forgets: a remembered certificate is forgotten when it expires, and when the roots
// change.
func TestX509Forgets(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	pool, now := ca.Pool, time.Now()
	a := NewX509(func() *x509.CertPool { return pool })
	a.now = func() time.Time { return now }
	r := with(ca.Client("alice").Cert)
	check := func(what string, want bool) {
		t.Helper()
		if user, _ := a.Authenticate(r); (user != nil) != want {
			t.Errorf("%s: got %v, want one: %v", what, user, want)
		}
	}
	check("at first", true)
	pool = other.Pool
	check("under other roots", false)
	pool = ca.Pool
	check("under the first again", true)
	pool = nil
	check("without roots", false)
	pool = ca.Pool
	now = now.Add(2 * time.Hour)
	check("when expired", false)
}

func TestX509Bounded(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	a := NewX509(func() *x509.CertPool { return ca.Pool })
	for i := range verifiedMax {
		a.mu.verified[string(rune(i))] = verified{}
	}
	if user, err := a.Authenticate(with(ca.Client("alice").Cert)); user == nil || err != nil {
		t.Fatal(user, err)
	}
	if got := len(a.mu.verified); got > verifiedMax {
		t.Errorf("remembered: got %d, want at most %d", got, verifiedMax)
	}
}

func TestAllocs(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	tokens, err := ReadTokens(strings.NewReader("some-token,u,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	roots := func() *x509.CertPool { return ca.Pool }
	a := StripHeaders(Anonymous(Union(NewFrontProxy(roots, []string{"front"}, StandardHeaders), NewX509(roots), Bearer(tokens))), StandardHeaders)
	token := httptest.NewRequest("GET", "/", nil)
	token.Header.Set("Authorization", "Bearer some-token")
	for name, r := range map[string]*http.Request{"certificate": with(ca.Client("alice").Cert), "token": token, "nothing": httptest.NewRequest("GET", "/", nil)} {
		if got := testing.AllocsPerRun(100, func() {
			if user, err := a.Authenticate(r); user == nil || err != nil {
				t.Fatal(user, err)
			}
		}); got > 0 {
			t.Errorf("%s: got %v allocs, want 0", name, got)
		}
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	ca := pkitest.NewAuthority(b, "ca")
	tokens, err := ReadTokens(strings.NewReader("some-token,u,1\n"))
	if err != nil {
		b.Fatal(err)
	}
	roots := func() *x509.CertPool { return ca.Pool }
	a := StripHeaders(Anonymous(Union(NewFrontProxy(roots, []string{"front"}, StandardHeaders), NewX509(roots), Bearer(tokens))), StandardHeaders)
	token := httptest.NewRequest("GET", "/", nil)
	token.Header.Set("Authorization", "Bearer some-token")
	for _, bb := range []struct {
		name string
		r    *http.Request
	}{{"certificate", with(ca.Client("alice").Cert)}, {"token", token}} {
		b.Run("with="+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if user, err := a.Authenticate(bb.r); user == nil || err != nil {
					b.Fatal(user, err)
				}
			}
		})
	}
}

func FuzzReadTokens(f *testing.F) {
	f.Add("t,u,1,\"a,b\"\n")
	f.Add("\"")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := ReadTokens(strings.NewReader(text)); err == nil && got == nil {
			t.Error("ReadTokens: got neither tokens nor an error")
		}
	})
}
