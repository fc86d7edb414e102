package jwt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

var authenticated = request.GroupAuthenticated

func TestTokens(t *testing.T) {
	p, other := newProvider(t), newProvider(t)
	a := open(t, trusting(p), Options{})
	only := open(t, trusting(p), Options{Algorithms: []string{"RS256"}})
	long := time.Now().Add(-time.Hour).Unix()
	good := p.token(nil)
	parts := strings.Split(good, ".")
	for _, tt := range []struct {
		name, token string
		of          *Authenticators
		fails       string // part of the error; "" and no user: the token is not for this authenticator
		user        *request.User
	}{
		{"good", good, a, "", &request.User{Name: "alice", Groups: []string{authenticated}}},
		{"by RSA", p.sign("RS256", "first", p.content(nil)), a, "", &request.User{Name: "alice", Groups: []string{authenticated}}},
		{"groups and id", p.token(map[string]any{"groups": []string{"a", "b"}, "jti": "7"}), a, "", &request.User{
			Name: "alice", Groups: []string{"g:a", "g:b", authenticated}, Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=7"}},
		}},
		{"one group", p.token(map[string]any{"groups": "a"}), a, "", &request.User{Name: "alice", Groups: []string{"g:a", authenticated}}},
		{"several audiences", p.token(map[string]any{"aud": []string{"x", "us"}}), a, "", &request.User{Name: "alice", Groups: []string{authenticated}}},
		{"no groups", p.token(map[string]any{"groups": 7}), a, "parse groups claim", nil},
		{"other audience", p.token(map[string]any{"aud": "them"}), a, "expected audience", nil},
		{"no audience", p.token(map[string]any{"aud": nil}), a, "expected audience", nil},
		{"expired", p.token(map[string]any{"exp": long}), a, "expired", nil},
		{"never expires", p.token(map[string]any{"exp": nil}), a, "expired", nil},
		{"not yet", p.token(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), a, "not before", nil},
		{"no name", p.token(map[string]any{"sub": nil}), a, "claim not present", nil},
		{"name is no text", p.token(map[string]any{"sub": []int{7}}), a, "cannot unmarshal", nil},
		{"other issuer", other.token(nil), a, "", nil},
		{"other's key", other.token(map[string]any{"iss": p.URL}), a, "failed to verify", nil},
		{"no issuer", p.token(map[string]any{"iss": nil}), a, "", nil},
		{"alg none", p.sign("none", "first", p.content(nil)), a, "malformed jwt", nil},
		{"alg none, no signature", strings.TrimSuffix(p.sign("none", "first", p.content(nil)), "."), a, "", nil},
		{"public key as secret", p.sign("HS256", "first", p.content(nil)), a, "malformed jwt", nil},
		{"not that algorithm", good, only, "malformed jwt", nil},
		{"changed", parts[0] + "." + strings.Split(p.token(map[string]any{"sub": "root"}), ".")[1] + "." + parts[2], a, "failed to verify", nil},
		{"no signature", parts[0] + "." + parts[1] + ".", a, "failed to verify", nil},
		{"four parts", good + ".x", a, "", nil},
		{"JSON", `{"payload":"x.y.z"}`, a, "", nil},
		{"nothing", "", a, "", nil},
		{"dots", "..", a, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			user, _, err := tt.of.AuthenticateToken(t.Context(), tt.token, nil)
			switch {
			case tt.fails != "":
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %v, %v, want an error with %q", user, err, tt.fails)
				}
				if err != nil && (strings.Contains(err.Error(), tt.token) || strings.Contains(err.Error(), "alice")) {
					t.Errorf("the error quotes the token: %v", err)
				}
			case err != nil || !reflect.DeepEqual(user, tt.user):
				t.Errorf("got %+v, %v, want %+v", user, err, tt.user)
			}
		})
	}
}

// TestRotation: keys are fetched again for a token with an unknown key, but not for each such
// token.
func TestRotation(t *testing.T) {
	p := newProvider(t)
	a := open(t, trusting(p), Options{})
	if user, _, err := a.AuthenticateToken(t.Context(), p.token(nil), nil); user == nil || err != nil {
		t.Fatal(user, err)
	}
	p.rotate("second")
	if user, _, err := a.AuthenticateToken(t.Context(), p.token(nil), nil); user == nil || err != nil {
		t.Fatalf("after a change of keys: got %v, %v", user, err)
	}
	before := p.asks.Load()
	bad := p.sign("none", "third", p.content(nil))
	forged := strings.Replace(p.sign("ES256", "third", p.content(nil)), "x", "y", 1)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			for _, token := range []string{bad, forged} {
				if user, _, err := a.AuthenticateToken(ctx, token, nil); err == nil && user != nil {
					t.Errorf("got %v", user)
				}
			}
		})
	}
	all.Wait()
	if n := p.asks.Load() - before; n > 2 {
		t.Errorf("200 forged tokens made %d requests for keys", n)
	}
}

// TestAway: an unreachable issuer is discovered later, and no request waits for that.
func TestAway(t *testing.T) {
	p := newProvider(t)
	p.away.Store(true)
	failed := make(chan error, 1)
	a, err := New(trusting(p), Options{Failed: func(_ string, err error) {
		select {
		case failed <- err:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Found(ctx); err == nil || !strings.Contains(err.Error(), "is not initialized") {
		t.Errorf("Found: got %v", err)
	}
	if _, _, err := a.AuthenticateToken(t.Context(), p.token(nil), nil); err == nil || !strings.Contains(err.Error(), "not initialized") {
		t.Errorf("got %v", err)
	}
	a.Close()
}

// TestSearch: discovery is tried again until it succeeds.
func TestSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		way, err := newTransport(ctx, &Source{})
		if err != nil {
			t.Fatal(err)
		}
		it, err := newIssuer(ctx, &Issuer{Issuer: Source{URL: "https://127.0.0.1:0"}}, new(compiled), &Options{Algorithms: Algorithms})
		if err != nil {
			t.Fatal(err)
		}
		it.transport = way
		failures := 0
		began := time.Now()
		it.find(ctx, func(string, error) {
			if failures++; failures == 3 {
				cancel()
			}
		})
		if took := time.Since(began); took != 2*findEvery || failures != 3 {
			t.Errorf("%d failures in %v, want 3 in %v", failures, took, 2*findEvery)
		}
	})
}

func TestDiscoveryURL(t *testing.T) {
	p := newProvider(t)
	a := open(t, trusting(p, func(i *Issuer) {
		i.Issuer.URL, i.Issuer.DiscoveryURL = "https://issuer.example.com", p.URL+"/elsewhere"
	}), Options{})
	user, _, err := a.AuthenticateToken(t.Context(), p.token(map[string]any{"iss": "https://issuer.example.com"}), nil)
	if err != nil || user.Name != "alice" {
		t.Errorf("got %v, %v", user, err)
	}
}

// TestDistributedClaims: if a token names a server that has the claim groups, the groups come from
// that server.
func TestDistributedClaims(t *testing.T) {
	p, other := newProvider(t), newProvider(t)
	// One authority signs for both.
	a := open(t, trusting(p, func(i *Issuer) { i.Issuer.CertificateAuthority = p.ca + other.ca }), Options{})
	ask := func(source map[string]any) (*request.User, error) {
		user, _, err := a.AuthenticateToken(t.Context(), p.token(map[string]any{
			"_claim_names": map[string]string{"groups": "s"}, "_claim_sources": map[string]any{"s": source},
		}), nil)
		return user, err
	}
	other.groups = other.token(map[string]any{"groups": []string{"far"}})
	user, err := ask(map[string]any{"endpoint": other.URL + "/groups", "access_token": "access"})
	if err != nil || !user.InGroup("g:far") {
		t.Errorf("got %v, %v", user, err)
	}
	for name, tt := range map[string]struct {
		groups string
		source map[string]any
		fails  string
	}{
		"not let in":        {other.groups, map[string]any{"endpoint": other.URL + "/groups", "access_token": "secret"}, "401"},
		"for others":        {other.token(map[string]any{"groups": "far", "aud": "them"}), map[string]any{"endpoint": other.URL + "/groups", "access_token": "access"}, "audience"},
		"without":           {other.token(nil), map[string]any{"endpoint": other.URL + "/groups", "access_token": "access"}, "does not contain the claim"},
		"no token":          {"no", map[string]any{"endpoint": other.URL + "/groups", "access_token": "access"}, "verifier"},
		"of nobody":         {p.sign("ES256", "first", map[string]any{"iss": other.URL + "/no"}), map[string]any{"endpoint": other.URL + "/groups", "access_token": "access"}, "verifier"},
		"forged":            {p.token(map[string]any{"iss": other.URL, "groups": "far"}), map[string]any{"endpoint": other.URL + "/groups", "access_token": "access"}, "failed to verify"},
		"nowhere":           {"", map[string]any{"endpoint": "https://127.0.0.1:0/secret"}, "getting distributed claim"},
		"a place that is a": {"", map[string]any{"endpoint": "::"}, "no valid URL"},
	} {
		other.groups = tt.groups
		user, err := ask(tt.source)
		if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, %v, want an error with %q", name, user, err, tt.fails)
		}
	}
	before := other.asks.Load()
	other.groups = other.sign("ES256", "third", other.content(map[string]any{"groups": "far"}))
	other.groups = strings.Replace(other.groups, "x", "y", 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil { // another server's keys are fetched no more often than the issuer's own
		_, _, err := a.AuthenticateToken(ctx, p.token(map[string]any{
			"_claim_names": map[string]string{"groups": "s"}, "_claim_sources": map[string]any{"s": map[string]any{"endpoint": other.URL + "/groups", "access_token": "access"}},
		}), nil)
		if err == nil {
			t.Error("a forged token of the source is believed")
		}
	}
	if n := other.asks.Load() - before; n > 2 {
		t.Errorf("forged tokens of the source made %d requests for keys", n)
	}
	if user, err := ask(map[string]any{"JWT": "x.y.z"}); err != nil || user.InGroup("g:far") {
		t.Errorf("aggregated: got %v, %v, want no groups", user, err)
	}
}

func TestBounded(t *testing.T) {
	b := &bounded{endless{}, func() {}, 10}
	p := make([]byte, 100)
	n, err := b.Read(p)
	if _, again := b.Read(p); n > 11 || !errors.Is(err, errTooLarge) || !errors.Is(again, errTooLarge) {
		t.Errorf("got %d bytes, %v, then %v", n, err, again)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

// TestTold: the hooks get the result of each token of the issuer, and the fetched keys.
func TestTold(t *testing.T) {
	p := newProvider(t)
	var mu sync.Mutex
	var told []string
	tell := func(what, issuer string, err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprint(what, " ", issuer == p.URL, " ", err == nil))
	}
	a := open(t, trusting(p), Options{
		Observe: func(issuer string, _ time.Duration, err error) { tell("judged", issuer, err) },
		Keys: func(issuer string, keys []byte, err error) {
			if err == nil && !bytes.Contains(keys, []byte(`"kty"`)) {
				t.Errorf("Keys was called with %s", keys)
			}
			tell("keys", issuer, err)
		},
	})
	_, _, _ = a.AuthenticateToken(t.Context(), p.token(nil), nil)
	_, _, _ = a.AuthenticateToken(t.Context(), p.token(map[string]any{"aud": "them"}), nil)
	_, _, _ = a.AuthenticateToken(t.Context(), "of.nobody.else", nil)
	if want := []string{"keys true true", "judged true true", "judged true false"}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
	p.away.Store(true)
	unknown := p.sign("ES256", "unknown", p.content(nil))
	for told = nil; !slices.Contains(told, "keys true false"); { // go-oidc may still be about to end its first request for keys
		_, _, _ = a.AuthenticateToken(t.Context(), unknown, nil)
		if last := told[len(told)-1]; last != "judged true false" {
			t.Fatalf("got %q after a token with an unknown key", told)
		}
	}
	if !a.Knows(p.URL) || a.Knows("else") || !slices.Equal(a.Issuers(), []string{p.URL}) {
		t.Errorf("issuers: got %q", a.Issuers())
	}
}
