package server_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// signerPlugin is an example of an external signer of tokens.
type signerPlugin struct {
	mu      sync.Mutex
	keys    map[string]*ecdsa.PrivateKey
	current string
	hidden  string // the key that is excluded from OIDC discovery
	typ     string // the typ of headers
	fetches int
	refresh uint64 // in seconds
	longest uint64 // in seconds
	down    bool
}

func newSignerPlugin(t testing.TB) *signerPlugin {
	p := &signerPlugin{keys: map[string]*ecdsa.PrivateKey{}, typ: "JWT", refresh: 3600, longest: 7200}
	p.rotate(t, "first")
	return p
}

// rotate makes a new key the one that signs. The other keys stay valid.
func (p *signerPlugin) rotate(t testing.TB, id string) {
	t.Helper()
	key := pkitest.Key(t)
	p.set(func() { p.keys[id], p.current = key, id })
}

func (p *signerPlugin) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *signerPlugin) fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func (p *signerPlugin) sign(in []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	header := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"ES256","kid":%q,"typ":%q}`, p.current, p.typ))
	sum := sha256.Sum256([]byte(header + "." + fieldsOf(in)[1]))
	r, s, err := ecdsa.Sign(rand.Reader, p.keys[p.current], sum[:])
	if err != nil {
		return nil, err
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return callout.AppendField(callout.AppendField(nil, 1, header), 2, base64.RawURLEncoding.EncodeToString(signature)), nil
}

func (p *signerPlugin) fetchKeys([]byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetches++
	if p.down {
		return nil, errors.New("no power")
	}
	var out []byte
	for id, key := range p.keys {
		der, err := x509.MarshalPKIXPublicKey(crypto.PublicKey(&key.PublicKey))
		if err != nil {
			return nil, err
		}
		k := callout.AppendField(callout.AppendField(nil, 1, id), 2, der)
		if id == p.hidden {
			k = appendNumber(k, 3, 1)
		}
		out = callout.AppendField(out, 1, k)
	}
	out = callout.AppendField(out, 2, appendNumber(nil, 1, uint64(time.Now().Unix())))
	return appendNumber(out, 3, p.refresh), nil
}

func (p *signerPlugin) serve(t testing.TB) (socket string) {
	socket = filepath.Join(t.TempDir(), "signer")
	servePlugin(t, socket, "v1.ExternalJWTSigner", map[string]func([]byte) ([]byte, error){
		"Sign": p.sign, "FetchKeys": p.fetchKeys,
		"Metadata": func([]byte) ([]byte, error) { return appendNumber(nil, 1, p.longest), nil },
	})
	return socket
}

const tokenPath = "/api/v1/namespaces/default/serviceaccounts/bot/token"

// tokenOf requests a token of the account "bot". It returns the token and the whole answer.
func tokenOf(t testing.TB, s *servertest.Server, seconds int) (token string, answer string) {
	t.Helper()
	code, body := do(t, s, "POST", tokenPath, fmt.Sprintf(`{"spec":{"expirationSeconds":%d}}`, seconds))
	var r struct{ Status struct{ Token string } }
	if code == 201 {
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
	}
	return r.Status.Token, body
}

// TestExternalSigner has a plugin sign tokens. Keys are added and removed.
func TestExternalSigner(t *testing.T) {
	t.Parallel()
	plugin := newSignerPlugin(t)
	s := servertest.Start(t, server.Config{Authentication: identity.Config{ServiceAccounts: identity.ServiceAccounts{
		SigningEndpoint: plugin.serve(t), Issuers: []string{"https://issuer.example.com"},
	}}})
	if code, body := do(t, s, "POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"bot"}}`); code != 201 {
		t.Fatal(code, body)
	}
	holds := func(token string) bool {
		code, _ := ask(t, s, "/api/v1/namespaces/default", nil, "Authorization", "Bearer "+token)
		return code == 403 // bot is authenticated, but has no rights
	}
	first, answer := tokenOf(t, s, 3600)
	if first == "" || !holds(first) {
		t.Fatalf("a token of the plugin does not hold: %s", answer)
	}
	header, _ := base64.RawURLEncoding.DecodeString(strings.Split(first, ".")[0])
	if want := `{"alg":"ES256","kid":"first","typ":"JWT"}`; string(header) != want {
		t.Errorf("the header is %s, want the plugin's", header)
	}
	if _, answer := tokenOf(t, s, 1_000_000); !strings.Contains(answer, `"expirationSeconds":7200`) {
		t.Errorf("a token for longer than the plugin allows: %s", answer)
	}

	// Another key signs: the server fetches it when it first sees a token of it. If a key is
	// removed, its tokens are invalid. A token with an unknown key has the keys fetched at most
	// once a second.
	next := func() (token string) {
		t.Helper()
		eventually(t, "a token by another key holds", func() bool {
			token, answer = tokenOf(t, s, 3600)
			return token != "" && holds(token)
		})
		return token
	}
	plugin.rotate(t, "second")
	second := next()
	if !holds(first) {
		t.Error("a token by the first key does not hold")
	}
	plugin.rotate(t, "third")
	plugin.set(func() { delete(plugin.keys, "first") })
	if next(); !holds(second) || holds(first) {
		t.Error("want tokens of the second key valid, and of the removed first key not")
	}
	fetches := plugin.fetched()
	for range 3 {
		holds(first)
	}
	if plugin.fetched() > fetches+1 {
		t.Errorf("a token by an unknown key had keys fetched %d times", plugin.fetched()-fetches)
	}

	// A key that the plugin excludes from discovery is not published, and must not sign.
	plugin.rotate(t, "hidden")
	plugin.set(func() { plugin.hidden = "hidden" })
	eventually(t, "a hidden key must not sign", func() bool {
		_, answer := tokenOf(t, s, 3600)
		return strings.Contains(answer, "key used for signing JWT (kid: hidden) is excluded from OIDC discovery docs")
	})
	if code, body := do(t, s, "GET", "/openid/v1/jwks", ""); code != 200 || strings.Contains(body, "hidden") || !strings.Contains(body, `"kid":"third"`) {
		t.Errorf("the keys for others: %d %s", code, body)
	}
	plugin.set(func() { plugin.typ = "other" })
	if token, answer := tokenOf(t, s, 3600); token != "" || !strings.Contains(answer, "failed to generate token: while validating header: bad type") {
		t.Errorf("with a bad header: %s", answer)
	}
	_, metrics := do(t, s, "GET", "/metrics", "")
	for _, want := range []string{
		`apiserver_externaljwt_fetch_keys_request_total{code="OK"} `, `apiserver_externaljwt_sign_request_total{code="OK"} `,
		`apiserver_externaljwt_sign_request_total{code="unknown-non-grpc"} `, "apiserver_externaljwt_fetch_keys_success_timestamp 1.", "apiserver_externaljwt_fetch_keys_data_timestamp 1.",
		`apiserver_externaljwt_request_duration_seconds_count{code="OK",method="/v1.ExternalJWTSigner/Sign"} `,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestExternalSignerRefresh: keys are fetched as often as the plugin says. While the plugin fails,
// the last keys stay valid.
func TestExternalSignerRefresh(t *testing.T) {
	t.Parallel()
	plugin := newSignerPlugin(t)
	plugin.refresh = 1
	s := servertest.Start(t, server.Config{Authentication: identity.Config{ServiceAccounts: identity.ServiceAccounts{
		SigningEndpoint: plugin.serve(t), Issuers: []string{"https://issuer.example.com"},
	}}})
	plugin.rotate(t, "second")
	shows := func(id string) bool {
		_, body := do(t, s, "GET", "/openid/v1/jwks", "")
		return strings.Contains(body, `"kid":"`+id+`"`)
	}
	eventually(t, "the other key is there", func() bool { return shows("second") })
	before := 0
	plugin.set(func() { plugin.down, before = true, plugin.fetches })
	eventually(t, "the plugin was asked again", func() bool { return plugin.fetched() > before })
	if !shows("second") {
		t.Error("without the plugin the keys are gone")
	}
}

// TestExternalSignerLeft: if the construction of a server fails, its connection to the signer is
// closed. TestMain finds connections that are left.
func TestExternalSignerLeft(t *testing.T) {
	_, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving:        server.ServingConfig{TLS: identity.TLS{CertFile: "none", KeyFile: "none"}},
		Authentication: identity.Config{ServiceAccounts: identity.ServiceAccounts{SigningEndpoint: newSignerPlugin(t).serve(t)}}})
	if err == nil || !strings.Contains(err.Error(), "server: serving certificate: none with none: ") {
		t.Errorf("got %v", err)
	}
}

func TestExternalSignerRefused(t *testing.T) {
	for want, tt := range map[string]struct {
		plugin func(*signerPlugin)
		config identity.ServiceAccounts
	}{
		"max token life supported by external-jwt-signer (599s) is less than acceptable (min 600s)": {plugin: func(p *signerPlugin) { p.longest = 599 }},
		"service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: 3h0m0s > 2h0m0s": {
			config: identity.ServiceAccounts{Longest: 3 * time.Hour}},
		"found invalid refresh hint (0s)": {plugin: func(p *signerPlugin) { p.refresh = 0 }},
		"found no keys":                   {plugin: func(p *signerPlugin) { clear(p.keys) }},
		"found invalid public key id":     {plugin: func(p *signerPlugin) { p.keys[""] = p.keys["first"] }},
		"while setting up external-jwt-signer: while initially filling key cache: while performing initial cache fill: while fetching token verification keys: " +
			"while getting externally supported jwt signing keys: rpc error": {plugin: func(p *signerPlugin) { p.down = true }},
		"(They are mutually exclusive)":                         {config: identity.ServiceAccounts{KeyFiles: []string{"x"}}},
		`invalid value "@a@" passed for`:                        {config: identity.ServiceAccounts{SigningEndpoint: "@a@"}},
		"can't set `--service-account-signing-key-file` and/or": {config: identity.ServiceAccounts{SigningKeyFile: "x"}},
	} {
		t.Run(want, func(t *testing.T) {
			plugin := newSignerPlugin(t)
			if tt.plugin != nil {
				tt.plugin(plugin)
			}
			if tt.config.SigningEndpoint == "" {
				tt.config.SigningEndpoint = plugin.serve(t)
			}
			_, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
				Authentication: identity.Config{ServiceAccounts: tt.config}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}
