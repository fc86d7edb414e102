package authn

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

func TestPasswords(t *testing.T) {
	p, err := ReadPasswords(strings.NewReader("old,bob,1\nsesame,alice,1,\"a,b\"\nnew,bob,2\n,nobody,3\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := Anonymous(p)
	for _, tt := range []struct{ name, password, want string }{
		{"alice", "sesame", "alice"}, {"alice", "Sesame", ""}, {"alice", "", ""}, {"alice", "sesame ", ""}, {"bob", "new", "bob"}, {"bob", "old", ""},
		{"nobody", "", ""}, {"root", "sesame", ""}, {"", "", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth(tt.name, tt.password)
		user, err := a.Authenticate(r)
		if (err == nil) != (tt.want != "") || err == nil && user.Name != tt.want {
			t.Errorf("%s with %q: got %v, %v, want %q", tt.name, tt.password, user, err, tt.want)
		}
		if tt.want == "alice" && !slices.Equal(user.Groups, []string{"a", "b", request.GroupAuthenticated}) {
			t.Errorf("groups: got %q", user.Groups)
		}
		if err != nil && tt.password != "" && strings.Contains(err.Error(), tt.password) {
			t.Errorf("the error contains the password: %v", err)
		}
	}
	for _, header := range []string{"", "Bearer x", "Basic", "Basic !", "Basic YWxpY2U="} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		if user, err := a.Authenticate(r); err != nil || user.Name != request.AnonymousUser {
			t.Errorf("Authorization %q: got %v, %v, want anonymous", header, user, err)
		}
	}
	if text := fmt.Sprintf("%+v", p); strings.Contains(text, "sesame") {
		t.Error("the password is kept")
	}
	if _, err := ReadPasswords(strings.NewReader("secret,u\n")); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("too few columns: got %v", err)
	}
}

func TestAnonymousPaths(t *testing.T) {
	bad := fixed{err: errBadToken}
	for _, tt := range []struct {
		path  string
		inner request.Authenticator
		user  bool
		fails bool
	}{
		{"/healthz", nil, true, false}, {"/healthz/", nil, false, false}, {"/api", nil, false, false}, {"/healthz", bad, false, true}, {"/api", bad, false, true},
	} {
		user, err := Anonymous(tt.inner, "/healthz", "/livez").Authenticate(httptest.NewRequest("GET", tt.path, nil))
		if (user != nil) != tt.user || (err != nil) != tt.fails {
			t.Errorf("%s: got %v, %v", tt.path, user, err)
		}
	}
}

// FuzzReadPasswords reads random files and tries users: only a user with a password in the file
// gets in, with that password.
func FuzzReadPasswords(f *testing.F) {
	f.Add("sesame,alice,1,\"a,b\"\n", "alice", "sesame")
	f.Add("a,alice,1\nb,alice,2\n", "alice", "a")
	f.Add(",alice,1\n", "alice", "")
	f.Add("\"", "", "")
	f.Fuzz(func(t *testing.T, text, name, secret string) {
		p, err := ReadPasswords(strings.NewReader(text))
		if err != nil {
			if p != nil {
				t.Error("got passwords and an error")
			}
			return
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth(name, secret)
		user, err := p.Authenticate(r)
		given, secret, _ := r.BasicAuth() // a name ends at the first colon
		switch {
		case user == nil && err == nil:
			t.Error("neither a user nor an error")
		case user != nil && (user.Name != given || secret == "" || !strings.Contains(unquoted(text), unquoted(secret))):
			t.Errorf("%q lets %q in by %q as %q", text, given, secret, user.Name)
		}
		r.SetBasicAuth(given, secret+"x")
		if again, _ := p.Authenticate(r); user != nil && again != nil {
			t.Errorf("%q lets %q in by two passwords", text, given)
		}
	})
}

// unquoted returns a text without the characters that CSV would quote.
func unquoted(text string) string { return strings.NewReplacer(`"`, "", "\r", "").Replace(text) }
