package server_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
)

// askFor requests a token for an account. It returns the token, its expiry and the answer; if the
// request fails, only the message.
func (p *inProcess) askFor(account, spec string) (token string, expires time.Time, answer string) {
	p.TB.Helper()
	code, body := p.do("POST", "/api/v1/namespaces/ns/serviceaccounts/"+account+"/token", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":`+spec+`}`)
	var made struct {
		Status struct {
			Token               string
			ExpirationTimestamp time.Time
		}
	}
	if code != http.StatusCreated {
		return "", time.Time{}, status(body).Message
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || made.Status.Token == "" {
		p.TB.Fatalf("token: got %s, %v", body, err)
	}
	return made.Status.Token, made.Status.ExpirationTimestamp, body
}

// known reports whether the server authenticates a token.
func (p *inProcess) known(token string) bool {
	p.TB.Helper()
	code, body := p.do("GET", "/api/v1/namespaces/ns", "", "Authorization", "Bearer "+token)
	if code != http.StatusOK && code != http.StatusUnauthorized || strings.Contains(body, token) {
		p.TB.Fatalf("got %d %s", code, body)
	}
	return code == http.StatusOK
}

// must sends a request that must succeed, and returns the answer.
func (p *inProcess) must(method, target, body string) string {
	p.TB.Helper()
	code, answer := p.do(method, target, body)
	if code >= 300 {
		p.TB.Fatalf("%s %s: %d %s", method, target, code, answer)
	}
	return answer
}

// claims returns the claims of a token.
func claims(tb testing.TB, token string) map[string]any {
	tb.Helper()
	var c map[string]any
	data, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil || json.Unmarshal(data, &c) != nil {
		tb.Fatalf("%.40s: got %s, %v", token, data, err)
	}
	return c
}

const accountsPath = "/api/v1/namespaces/ns/serviceaccounts"

// TestTokenEnds: a token becomes invalid as soon as the object that it is bound to is deleted.
func TestTokenEnds(t *testing.T) {
	p := newInProcess(t)
	pod := `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"bot","nodeName":"w","containers":[{"name":"c","image":"i"}]}}`
	p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	p.must("POST", "/api/v1/nodes", `{"metadata":{"name":"w"}}`)
	p.must("POST", "/api/v1/namespaces/ns/pods", pod)
	p.must("POST", "/api/v1/namespaces/ns/secrets", `{"metadata":{"name":"s"}}`)
	for _, tt := range []struct{ kind, name, path string }{
		{"Pod", "p", "/api/v1/namespaces/ns/pods/p?gracePeriodSeconds=0"}, {"Secret", "s", "/api/v1/namespaces/ns/secrets/s"}, {"Node", "w", "/api/v1/nodes/w"},
	} {
		token, _, answer := p.askFor("bot", fmt.Sprintf(`{"boundObjectRef":{"apiVersion":"v1","kind":%q,"name":%q}}`, tt.kind, tt.name))
		for range 2 {
			if !p.known(token) {
				t.Errorf("%s: is not known: %s", tt.kind, answer)
			}
		}
		bound := claims(t, token)["kubernetes.io"].(map[string]any)
		if ref, _ := bound[strings.ToLower(tt.kind)].(map[string]any); ref["name"] != tt.name || ref["uid"] == "" {
			t.Errorf("%s: says %v", tt.kind, bound)
		}
		if _, ok := bound["node"]; ok != (tt.kind != "Secret") {
			t.Errorf("%s: says %v", tt.kind, bound)
		}
		p.must("DELETE", tt.path, "")
		if p.known(token) {
			t.Errorf("%s: the token is valid after its deletion", tt.kind)
		}
	}
	token, _, _ := p.askFor("bot", `{}`)
	p.must("DELETE", accountsPath+"/bot", "")
	if p.known(token) {
		t.Error("the token is valid after the deletion of the account")
	}
	p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	if p.known(token) {
		t.Error("the token is valid for a new account with the same name")
	}
}

// TestTokenRequests requests tokens with unusual and invalid specs.
func TestTokenRequests(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) {
		c.Authentication.ServiceAccounts.Longest = 2 * time.Hour
		c.Authentication.Audiences = []string{"here", "there"}
	})
	p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	p.must("POST", "/api/v1/namespaces/ns/pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"bot","containers":[{"name":"c","image":"i"}]}}`)
	p.must("POST", "/api/v1/namespaces/ns/pods", `{"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	pod := `"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}`
	for _, tt := range []struct {
		spec     string
		lasts    time.Duration // the lifetime in the answer
		says     time.Duration // the lifetime in the token
		audience string
		warn     time.Duration
	}{
		{`{}`, time.Hour, time.Hour, "[here there]", 0},
		{`{"audiences":["else"],"expirationSeconds":600}`, 10 * time.Minute, 10 * time.Minute, "[else]", 0},
		{`{"expirationSeconds":99999}`, 2 * time.Hour, 2 * time.Hour, "[here there]", 0},
		{`{"expirationSeconds":3607}`, 3607 * time.Second, 3607 * time.Second, "[here there]", 0},
		{`{"expirationSeconds":3607,` + pod + `}`, 3607 * time.Second, 365 * 24 * time.Hour, "[here there]", 3607 * time.Second},
		{`{"expirationSeconds":3607,"audiences":["there"],` + pod + `}`, 3607 * time.Second, 365 * 24 * time.Hour, "[there]", 3607 * time.Second},
		{`{"expirationSeconds":3607,"audiences":["there","else"],` + pod + `}`, 3607 * time.Second, 3607 * time.Second, "[there else]", 0},
		{`{"expirationSeconds":3608,` + pod + `}`, 3608 * time.Second, 3608 * time.Second, "[here there]", 0},
	} {
		now := time.Now()
		token, expires, answer := p.askFor("bot", tt.spec)
		if token == "" {
			t.Errorf("%s: got %s", tt.spec, answer)
			continue
		}
		near := func(what string, got time.Time, want time.Duration) {
			if off := got.Sub(now) - want; off < -2*time.Second || off > 2*time.Second {
				t.Errorf("%s: %s is %v off", tt.spec, what, off)
			}
		}
		near("expirationTimestamp", expires, tt.lasts)
		c := claims(t, token)
		seconds := func(v any) time.Time { s, _ := v.(float64); return time.Unix(int64(s), 0) }
		near("exp", seconds(c["exp"]), tt.says)
		near("iat", seconds(c["iat"]), 0)
		near("nbf", seconds(c["nbf"]), 0)
		bound := c["kubernetes.io"].(map[string]any)
		if warn := bound["warnafter"]; tt.warn > 0 {
			near("warnafter", seconds(warn), tt.warn)
		} else if warn != nil {
			t.Errorf("%s: warns after %v", tt.spec, warn)
		}
		if got := fmt.Sprint(c["aud"]); got != tt.audience || c["iss"] != "https://kubernetes.default.svc.cluster.local" ||
			c["sub"] != "system:serviceaccount:ns:bot" || len(c["jti"].(string)) != 36 {
			t.Errorf("%s: says %v", tt.spec, c)
		}
		if p.known(token) != (tt.audience != "[else]") {
			t.Errorf("%s: known is %v", tt.spec, p.known(token))
		}
	}
	for _, tt := range []struct{ account, spec, want string }{
		{"bot", `{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"q"}}`, `cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.`},
		{"bot", `{"boundObjectRef":{"kind":"Pod","apiVersion":"apps/v1","name":"p"}}`, `cannot bind token to object of type apps/v1, Kind=Pod`},
		{"bot", `{"boundObjectRef":{"kind":"Node","name":"x"}}`, `nodes "x" not found`},
		{"absent", `{"expirationSeconds":1}`, `serviceaccounts "absent" not found`},
	} {
		if _, _, got := p.askFor(tt.account, tt.spec); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.spec, got, tt.want)
		}
	}
	for _, tt := range []struct{ metadata, want string }{
		{`{"name":"other"}`, `TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified`},
		{`{"uid":"x"}`, `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID in the token request (x) does not match the UID of the service account (`},
		{`{"namespace":"other"}`, `the namespace of the provided object does not match the namespace sent on the request`},
	} {
		_, body := p.do("POST", accountsPath+"/bot/token", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":`+tt.metadata+`,"spec":{}}`)
		if got := status(body).Message; !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.metadata, got, tt.want)
		}
	}
}

// TestTokensInProfile: a server without pods and nodes issues tokens, but none that are bound to a
// pod or a node.
func TestTokensInProfile(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) { c.API.Profile = server.ProfileCRDOnly })
	p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	if token, _, answer := p.askFor("bot", `{}`); token == "" || !p.known(token) {
		t.Errorf("got %s", answer)
	}
	if _, _, got := p.askFor("bot", `{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}`); got != `pods "p" not found` {
		t.Errorf("got %q", got)
	}
}

// TestSecretTokens authenticates with the token of a secret, before and after the server has
// recorded its use.
func TestSecretTokens(t *testing.T) {
	dir := t.TempDir()
	p := newInProcess(t, func(c *server.Config) { c.DataDir = dir })
	p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	p.must("POST", "/api/v1/namespaces/ns/secrets", `{"metadata":{"name":"s","annotations":{"kubernetes.io/service-account.name":"bot"}},`+
		`"type":"kubernetes.io/service-account-token"}`)
	var uid struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal([]byte(p.must("GET", accountsPath+"/bot", "")), &uid); err != nil {
		t.Fatal(err)
	}
	token, err := p.SecretToken("ns", "bot", uid.Metadata.UID, "s")
	if err != nil {
		t.Fatal(err)
	}
	if p.known(token) {
		t.Error("the token is valid before it is in the secret")
	}
	p.must("PATCH", "/api/v1/namespaces/ns/secrets/s", `{"stringData":{"token":"`+token+`"}}`)
	for range 2 {
		if !p.known(token) {
			t.Error("is not known")
		}
	}
	if got := p.must("GET", "/api/v1/namespaces/ns/secrets/s", ""); !strings.Contains(got, `"kubernetes.io/legacy-token-last-used":"`+time.Now().UTC().Format(time.DateOnly)) {
		t.Errorf("got %s, want the day on it", got)
	} else if owned := `"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/legacy-token-last-used":{}}}}`; !strings.Contains(got, owned) ||
		!strings.Contains(got, `{"manager":"coracle","operation":"Update","apiVersion":"v1",`) {
		t.Errorf("got %s, want an owner of the label", got)
	}
	p.must("PATCH", "/api/v1/namespaces/ns/secrets/s", `{"metadata":{"labels":{"kubernetes.io/legacy-token-invalid-since":"2026-01-01"}}}`)
	if p.known(token) {
		t.Error("the token is valid although it is marked as invalid")
	}
	p.must("PATCH", "/api/v1/namespaces/ns/secrets/s", `{"metadata":{"labels":{"kubernetes.io/legacy-token-invalid-since":null}}}`)
	if !p.known(token) {
		t.Error("is not known though it is valid again")
	}
	p.must("DELETE", "/api/v1/namespaces/ns/secrets/s", "")
	if p.known(token) {
		t.Error("the token is valid after the deletion of the secret")
	}
}

// TestTokensOutliveServers: the signing key is kept over restarts. A server with another data
// folder does not accept its tokens.
func TestTokensOutliveServers(t *testing.T) {
	dir := t.TempDir()
	open := func(dir string) *inProcess {
		p := newInProcess(t, func(c *server.Config) { c.DataDir = dir; c.Authentication.ServiceAccounts.NoLookup = true })
		p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
		return p
	}
	p := open(dir)
	token, err := p.SecretToken("ns", "bot", "u", "s")
	if err != nil || !p.known(token) {
		t.Fatal("is not known at first", err)
	}
	if !open(dir).known(token) {
		t.Error("is not known after a restart")
	}
	if open(t.TempDir()).known(token) {
		t.Error("another server accepts the token")
	}
}

// lockedBuffer is a buffer that can be read while others write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestTokensInNoLog sends valid and invalid tokens of all sorts, and searches for them in the most
// verbose log, in the metrics and in the answers.
func TestTokensInNoLog(t *testing.T) {
	var log lockedBuffer
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewDevelopmentEncoderConfig()), zapcore.AddSync(&log), zapcore.DebugLevel)
	p := newInProcess(t, func(c *server.Config) { c.Log, c.Authentication.BootstrapTokens = zap.New(core), true })
	p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	bound, _, _ := p.askFor("bot", `{}`)
	elsewhere, _, _ := p.askFor("bot", `{"audiences":["else"]}`)
	legacy, err := p.SecretToken("ns", "bot", "u", "s")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(bound, ".")
	for _, token := range []string{
		bound, elsewhere, legacy, "abcdef.0123456789abcdef", parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])),
		parts[0] + "." + strings.Repeat("A", 40) + "." + parts[2], "plain-and-unknown",
	} {
		var seen strings.Builder
		for _, path := range []string{"/api/v1/namespaces/ns", "/api/v1/nope", "/metrics", "/api/v1/namespaces/ns/configmaps/none"} {
			_, body := p.do("GET", path, "", "Authorization", "Bearer "+token)
			seen.WriteString(body)
		}
		_, metrics := p.do("GET", "/metrics", "")
		for _, part := range strings.Split(token, ".") {
			if where := log.String() + seen.String() + metrics; len(part) > 6 && strings.Contains(where, part) {
				t.Errorf("%.20s... is in the log, the metrics or an answer", token)
			}
		}
	}
	if log.String() == "" {
		t.Error("there is no log")
	}
	if _, metrics := p.do("GET", "/metrics", ""); !strings.Contains(metrics, "\nserviceaccount_legacy_tokens_total 4\n") {
		t.Error("uses of tokens without an audience are not counted")
	}
}

// TestBootstrapTokens authenticates with bootstrap tokens, if these are enabled.
func TestBootstrapTokens(t *testing.T) {
	for _, on := range []bool{true, false} {
		p := newInProcess(t, func(c *server.Config) { c.Authentication.BootstrapTokens = on })
		p.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"kube-system"}}`)
		p.must("POST", "/api/v1/namespaces/kube-system/secrets", `{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token","stringData":{`+
			`"token-id":"abcdef","token-secret":"0123456789abcdef","usage-bootstrap-authentication":"true"}}`)
		if got := p.known("abcdef.0123456789abcdef"); got != on {
			t.Errorf("on=%v: got %v", on, got)
		}
		if p.known("abcdef.0123456789abcdee") || p.known("abcdee.0123456789abcdef") {
			t.Error("a wrong token is valid")
		}
	}
}

// TestIssuerPaths reads the documents by which other servers verify tokens.
func TestIssuerPaths(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) { c.Authentication.ServiceAccounts.KeysURL = "https://keys.example.com/x" })
	for path, want := range map[string][3]string{
		"/.well-known/openid-configuration": {"application/json", `{"issuer":"https://kubernetes.default.svc.cluster.local","jwks_uri":"https://keys.example.com/x",` +
			`"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`},
		"/openid/v1/jwks": {"application/jwk-set+json", `{"keys":[{"use":"sig","kty":"EC","kid":"`},
	} {
		w := p.serve(p.request("GET", path, nil))
		if got := w.Body.String(); w.Code != 200 || !strings.HasPrefix(got, want[1]) || w.Header().Get("Content-Type") != want[0] ||
			w.Header().Get("Cache-Control") != "public, max-age=3600" {
			t.Errorf("%s: got %d %s %v", path, w.Code, got, w.Header())
		}
	}
	if code, _ := newInProcess(t, func(c *server.Config) { c.Authentication.ServiceAccounts.Issuers = []string{"me"} }).do("GET", "/openid/v1/jwks", ""); code != http.StatusNotFound {
		t.Errorf("of an issuer that is no URL: got %d", code)
	}
}

// TestTokenKeyFiles runs servers that sign with different configured keys. One of them also accepts
// the keys of the others.
func TestTokenKeyFiles(t *testing.T) {
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	cert, ecFile := pkitest.Files(t, pkitest.SelfSigned(t))
	rsFile := pkitest.Write(t, filepath.Join(t.TempDir(), "rsa.key"), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rs)}))
	open := func(sa identity.ServiceAccounts) *inProcess {
		sa.NoLookup = true
		p := newInProcess(t, func(c *server.Config) { c.Authentication.ServiceAccounts = sa })
		p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
		return p
	}
	token := func(p *inProcess) string {
		t.Helper()
		text, err := p.SecretToken("ns", "bot", "u", "s")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	own, ofRSA, ofEC := open(identity.ServiceAccounts{}), open(identity.ServiceAccounts{SigningKeyFile: rsFile}), open(identity.ServiceAccounts{SigningKeyFile: ecFile})
	all := open(identity.ServiceAccounts{SigningKeyFile: rsFile, KeyFiles: []string{cert}})
	for name, tt := range map[string]struct {
		token            string
		rsa, ec, trusted bool
	}{
		"own": {token(own), false, false, false}, "RSA": {token(ofRSA), true, false, true}, "EC": {token(ofEC), false, true, true},
	} {
		if got := [3]bool{ofRSA.known(tt.token), ofEC.known(tt.token), all.known(tt.token)}; got != [3]bool{tt.rsa, tt.ec, tt.trusted} {
			t.Errorf("%s: got %v", name, got)
		}
	}
	_, keys := all.do("GET", "/openid/v1/jwks", "")
	if !strings.Contains(keys, `"alg":"ES256"`) || !strings.Contains(keys, `"alg":"RS256"`) || strings.Contains(keys, `"d"`) {
		t.Errorf("got %s, want both public keys", keys)
	}
	// The first of several issuers signs. Tokens of the other issuers are accepted.
	before := open(identity.ServiceAccounts{SigningKeyFile: rsFile, Issuers: []string{"https://before"}})
	bound, _, _ := before.askFor("bot", `{"audiences":["api"]}`)
	after := newInProcess(t, func(c *server.Config) {
		c.Authentication.Audiences = []string{"api"}
		c.Authentication.ServiceAccounts = identity.ServiceAccounts{SigningKeyFile: rsFile, Issuers: []string{"https://after", "https://before"}}
	})
	after.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	if code, body := after.do("GET", "/api/v1/namespaces/ns", "", "Authorization", "Bearer "+bound); code != http.StatusUnauthorized { // the account has the same name but another UID
		t.Errorf("of another cluster's account: got %d %s", code, body)
	}
	if text, _, _ := after.askFor("bot", `{}`); claims(t, text)["iss"] != "https://after" || !after.known(text) {
		t.Errorf("got %v", claims(t, text))
	}
}

// TestBoundObjectCostsNothing: if a bound object has not changed, another look-up allocates
// nothing.
func TestBoundObjectCostsNothing(t *testing.T) {
	p := newInProcess(t)
	p.must("POST", accountsPath, `{"metadata":{"name":"bot"}}`)
	p.must("GET", accountsPath, "") // waits until the cache is loaded
	bot := p.TokenObject("serviceaccounts", "ns", "bot")
	if got := testing.AllocsPerRun(100, func() {
		if state, err := bot.Get(t.Context()); err != nil || state.UID == "" {
			t.Fatal(state, err)
		}
	}); got > 0 {
		t.Errorf("got %v allocs, want 0", got)
	}
	for _, resource := range []string{"pods", "secrets", "nodes", "serviceaccounts"} {
		for _, name := range []string{"none", "", "a/b"} {
			if state, err := p.TokenObject(resource, "ns", name).Get(t.Context()); err == nil {
				t.Errorf("%s %q: got %v", resource, name, state)
			}
		}
	}
}
