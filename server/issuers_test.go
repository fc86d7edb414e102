package server_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// tokenIssuer is an OpenID Connect provider, with the endpoints that servers use.
type tokenIssuer struct {
	*httptest.Server
	t   testing.TB
	key *ecdsa.PrivateKey
	ca  string
}

func newTokenIssuer(t testing.TB) *tokenIssuer {
	t.Helper()
	key := pkitest.Key(t)
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
	p.ca = string(pki.EncodeCertificates(p.Certificate()))
	t.Cleanup(p.Close)
	return p
}

func inBase64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// config returns the part of an AuthenticationConfiguration that trusts the issuer.
func (p *tokenIssuer) config() string {
	return fmt.Sprintf("jwt: [{issuer: {url: %q, certificateAuthority: %s, audiences: [us]},"+
		" claimMappings: {username: {expression: claims.sub}, groups: {claim: groups, prefix: ''}}}]\n", p.URL, strconv.Quote(p.ca))
}

// token returns a token for a user with groups.
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

// TestIssuers: the server accepts tokens of the issuer in its configuration, and those of another
// one after the configuration changes.
func TestIssuers(t *testing.T) {
	t.Parallel()
	first, second := newTokenIssuer(t), newTokenIssuer(t)
	file := filepath.Join(t.TempDir(), "authentication.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const anonymous = "anonymous: {enabled: true, conditions: [{path: /livez}]}\n"
	write(anonymous + first.config())
	core, logged := observer.New(zapcore.ErrorLevel)
	s := servertest.Start(t, server.Config{Log: zap.New(core), Authentication: identity.Config{File: file}})
	code := func(path, token string) int {
		var header []string
		if token != "" {
			header = []string{"Authorization", "Bearer " + token}
		}
		code, _ := ask(t, s, path, nil, header...)
		return code
	}
	const namespace = "/api/v1/namespaces/default"
	eventually(t, "a token of the issuer counts", func() bool { return code(namespace, first.token("alice", "system:masters")) == 200 })
	for name, tt := range map[string]struct {
		path, token string
		code        int
	}{
		"a token of another":      {namespace, second.token("alice", "system:masters"), 401},
		"without rights":          {namespace, first.token("bob"), 403},
		"anonymous":               {"/livez", "", 200},
		"anonymous, where not":    {"/readyz", "", 401},
		"a bad token in that way": {"/livez", second.token("alice"), 401},
	} {
		if got := code(tt.path, tt.token); got != tt.code {
			t.Errorf("%s: got %d, want %d", name, got, tt.code)
		}
	}
	failures := func() int { return logged.FilterMessageSnippet("cannot use the new").Len() }
	for n, text := range []string{anonymous + "jwt: 7\n", anonymous + "jwt: [{issuer: {url: 'http://x'}}]\n", second.config()} {
		write(text)
		eventually(t, "the log says what is wrong", func() bool { return failures() == n+1 })
		if got := code(namespace, first.token("alice", "system:masters")); got != 200 {
			t.Errorf("with %q the one before is not in force: got %d", text, got)
		}
	}
	write(anonymous + second.config())
	eventually(t, "a token of the other issuer counts", func() bool { return code(namespace, second.token("alice", "system:masters")) == 200 })
	if got := code(namespace, first.token("alice", "system:masters")); got != 401 {
		t.Errorf("the issuer before: got %d", got)
	}
	_, text := do(t, s, "GET", "/metrics", "")
	text = anywhere(text)
	for _, want := range []string{
		`apiserver_authentication_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:X",status="failure"} 3`,
		`apiserver_authentication_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:X",status="success"} 1`,
		`apiserver_authentication_jwt_authenticator_latency_seconds_count{jwt_issuer_hash="` + labelHash(second.URL) + `",result="success"} 1`,
		`apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds{apiserver_id_hash="sha256:X",jwt_issuer_hash="` + labelHash(second.URL) + `",result="success"}`,
		`apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info{apiserver_id_hash="sha256:X",hash="sha256:`,
		`apiserver_client_certificate_expiration_seconds_bucket{le="1800"} 0`,
		`authentication_token_cache_request_total{status="hit"}`,
		`authentication_token_cache_request_duration_seconds_count{status="miss"}`,
		`authentication_token_cache_fetch_total{status="ok"}`,
		`authentication_token_cache_active_fetch_count{status="blocked"} 0`,
		`authentication_token_cache_active_fetch_count{status="in_flight"} 0`,
		`apiserver_authentication_config_controller_last_config_info{apiserver_id_hash="sha256:X",hash="` + fileHash(t, file) + `"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics: no %s", want)
		}
	}
}

// TestOIDC: the server accepts tokens of the provider that the flags of kube-apiserver name, and
// adds a prefix to the groups.
func TestOIDC(t *testing.T) {
	p := newTokenIssuer(t)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, []byte(p.ca), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, server.Config{Authentication: identity.Config{OIDC: identity.OIDC{
		IssuerURL: p.URL, ClientID: "us", CAFile: ca, GroupsClaim: "groups", GroupsPrefix: "system:", SigningAlgs: []string{"ES256"},
		RequiredClaims: map[string]string{"hd": "example.com"},
	}}})
	const namespace = "/api/v1/namespaces/default"
	eventually(t, "a token counts", func() bool {
		code, _ := ask(t, s, namespace, nil, "Authorization", "Bearer "+p.token("alice", "masters"))
		return code == 200
	})
	want := `User \"` + p.URL + `#bob\" cannot`
	if code, body := ask(t, s, namespace, nil, "Authorization", "Bearer "+p.token("bob")); code != 403 || !strings.Contains(body, want) {
		t.Errorf("got %d %s, want 403 with %s", code, body, want)
	}
}

var serverLabel = regexp.MustCompile(`apiserver_id_hash="sha256:[0-9a-f]{64}"`)

// anywhere replaces the hash of the server's name in metrics, which differs from machine to
// machine.
func anywhere(text string) string {
	return serverLabel.ReplaceAllString(text, `apiserver_id_hash="sha256:X"`)
}

// fileHash returns the hash of a file, as metrics show it.
func fileHash(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return labelHash(string(data))
}

// labelHash returns the hash that stands for a value in a label of metrics.
func labelHash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}
