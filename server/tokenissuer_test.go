package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// tokenIssuer is an OpenID Connect provider as far as servers see it.
type tokenIssuer struct {
	*httptest.Server
	t   testing.TB
	key *ecdsa.PrivateKey
	ca  string
}

func newTokenIssuer(t testing.TB) *tokenIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	p := &tokenIssuer{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, p.URL, p.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","x":%q,"y":%q}]}`, inBase64(point[1:33]), inBase64(point[33:]))
	})
	p.Server = httptest.NewTLSServer(mux)
	p.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}))
	t.Cleanup(p.Close)
	return p
}

func inBase64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// config is what trusts it, as part of an AuthenticationConfiguration.
func (p *tokenIssuer) config() string {
	return fmt.Sprintf("jwt: [{issuer: {url: %q, certificateAuthority: %s, audiences: [us]},"+
		" claimMappings: {username: {expression: claims.sub}, groups: {claim: groups, prefix: ''}}}]\n", p.URL, strconv.Quote(p.ca))
}

// token is for a user with groups.
func (p *tokenIssuer) token(name string, groups ...string) string {
	p.t.Helper()
	content, err := json.Marshal(map[string]any{
		"iss": p.URL, "aud": []string{"us"}, "sub": name, "groups": groups, "hd": "example.com", "exp": time.Now().Add(time.Hour).Unix(),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	text := inBase64([]byte(`{"alg":"ES256"}`)) + "." + inBase64(content)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		p.t.Fatal(err)
	}
	return text + "." + inBase64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}
