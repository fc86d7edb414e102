package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/filters/authn/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is an OpenID Connect provider.
type provider struct {
	*httptest.Server
	t    testing.TB
	ca   string
	away atomic.Bool  // every answer is an error
	asks atomic.Int64 // requests for its keys

	mu     sync.Mutex
	ec     *ecdsa.PrivateKey
	rsa    *rsa.PrivateKey
	kid    string
	groups string // the answer at /groups: a token with a distributed claim
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{t: t}
	p.rotate("first")
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, map[string]any{"issuer": "https://issuer.example.com", "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.asks.Add(1)
		p.answer(w, map[string]any{"keys": p.keys()})
	})
	mux.HandleFunc("/groups", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer access" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		w.Write([]byte(p.groups))
	})
	p.Server = httptest.NewTLSServer(mux)
	p.ca = string(pki.EncodeCertificates(p.Certificate()))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) answer(w http.ResponseWriter, v any) {
	if p.away.Load() {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

// rotate makes new keys.
func (p *provider) rotate(kid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if p.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		p.t.Fatal(err)
	}
	if p.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		p.t.Fatal(err)
	}
	p.kid = kid
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (p *provider) keys() []map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	point, err := p.ec.PublicKey.Bytes()
	if err != nil {
		p.t.Error(err)
	}
	return []map[string]string{
		{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": p.kid, "x": b64(point[1:33]), "y": b64(point[33:])},
		{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": p.kid, "n": b64(p.rsa.N.Bytes()), "e": b64(big.NewInt(int64(p.rsa.E)).Bytes())},
	}
}

// content returns the claims of a valid token with the claims of change in place of them. A nil
// value removes a claim.
func (p *provider) content(change map[string]any) map[string]any {
	c := map[string]any{"iss": p.URL, "aud": "us", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
	for k, v := range change {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

// token returns a signed token with content(change).
func (p *provider) token(change map[string]any) string {
	return p.sign("ES256", p.kid, p.content(change))
}

// sign signs claims. alg may be an algorithm that must not be accepted.
func (p *provider) sign(alg, kid string, content any) string {
	p.t.Helper()
	head, err := json.Marshal(map[string]string{"alg": alg, "kid": kid})
	if err != nil {
		p.t.Fatal(err)
	}
	body, err := json.Marshal(content)
	if err != nil {
		p.t.Fatal(err)
	}
	text := b64(head) + "." + b64(body)
	sum := sha256.Sum256([]byte(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	var signature []byte
	switch alg {
	case "ES256":
		r, s, err := ecdsa.Sign(rand.Reader, p.ec, sum[:])
		if err != nil {
			p.t.Fatal(err)
		}
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case "RS256":
		if signature, err = rsa.SignPKCS1v15(rand.Reader, p.rsa, crypto.SHA256, sum[:]); err != nil {
			p.t.Fatal(err)
		}
	case "HS256": // the secret is a public key
		h := hmac.New(sha256.New, p.rsa.N.Bytes())
		h.Write([]byte(text))
		signature = h.Sum(nil)
	}
	return text + "." + b64(signature)
}

func ptr(s string) *string { return &s }

// trusting returns a configuration with the issuer p, in which the claim sub is the name and groups
// has the groups, after change.
func trusting(p *provider, change ...func(*Issuer)) *Config {
	i := Issuer{
		Issuer: Source{URL: p.URL, CertificateAuthority: p.ca, Audiences: []string{"us"}},
		ClaimMappings: Mappings{
			Username: PrefixedMapping{Claim: "sub", Prefix: ptr("")}, Groups: PrefixedMapping{Claim: "groups", Prefix: ptr("g:")},
		},
	}
	for _, f := range change {
		f(&i)
	}
	return &Config{JWT: []Issuer{i}}
}

// open makes Authenticators and waits until it has discovered the issuers.
func open(t testing.TB, c *Config, o Options) *Authenticators {
	t.Helper()
	a, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	if err := a.Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}
