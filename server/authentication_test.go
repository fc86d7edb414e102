package server_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// ask sends a request with the first certificate of certs, if there is one, even if the server
// requests certificates of other authorities. header has names and values in turn.
func ask(t testing.TB, s *servertest.Server, path string, certs []tls.Certificate, header ...string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool(t, s.CAPEM),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &append(certs, tls.Certificate{})[0], nil
		},
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	servertest.Sent(r)
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// eventually waits until holds returns true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came about that %s", what)
		}
	}
}

// do sends a request as the administrator.
func do(t testing.TB, s *servertest.Server, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := s.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestFrontProxy sends requests through a front proxy, and directly.
func TestFrontProxy(t *testing.T) {
	t.Parallel()
	proxies, clients, more := pkitest.NewAuthority(t, "front"), pkitest.NewAuthority(t, "clients"), pkitest.NewAuthority(t, "more")
	passwords := filepath.Join(t.TempDir(), "passwords.csv")
	if err := os.WriteFile(passwords, []byte("sesame,carol,3,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, server.Config{Authentication: identity.Config{
		ClientCAFile: clients.File, BasicAuthFile: passwords,
		FrontProxy: identity.FrontProxy{ClientCAFile: proxies.File, AllowedNames: []string{"front"}, Headers: authn.StandardHeaders},
	}})
	const namespace = "/api/v1/namespaces/default"
	as := func(name string, groups ...string) []string {
		header := []string{"X-Remote-User", name}
		for _, g := range groups {
			header = append(header, "X-Remote-Group", g)
		}
		return header
	}
	proxy, alice := []tls.Certificate{proxies.Client("front").TLS()}, []tls.Certificate{clients.Client("alice").TLS()}
	for name, tt := range map[string]struct {
		certs  []tls.Certificate
		header []string
		code   int
		says   string
	}{
		"for an administrator": {proxy, as("bob", "system:masters"), 200, ""},
		"for a user":           {proxy, as("bob"), 403, `User \"bob\" cannot get`},
		"for nobody":           {proxy, nil, 401, ""},
		"an outsider":          {nil, as("root", "system:masters"), 403, `User \"system:anonymous\" cannot`},
		"a client":             {alice, as("root", "system:masters"), 403, `User \"alice\" cannot`},
		"another server":       {[]tls.Certificate{proxies.Client("back").TLS()}, as("root", "system:masters"), 401, ""},
		"a client, no name":    {[]tls.Certificate{clients.Client("", "dev").TLS()}, nil, 401, ""},
		"a stranger":           {[]tls.Certificate{more.Client("front", "system:masters").TLS()}, as("root", "system:masters"), 401, ""},
		"a password":           {nil, []string{"Authorization", "Basic Y2Fyb2w6c2VzYW1l"}, 200, ""},
		"a wrong one":          {nil, []string{"Authorization", "Basic Y2Fyb2w6c2VzYW0="}, 401, ""},
	} {
		if code, body := ask(t, s, namespace, tt.certs, tt.header...); code != tt.code || !strings.Contains(body, tt.says) {
			t.Errorf("%s: got %d %s, want %d %s", name, code, body, tt.code, tt.says)
		}
	}
	pkitest.Write(t, proxies.File, pki.EncodeCertificates(more.Cert, proxies.Cert))
	eventually(t, "another authority of front proxies counts", func() bool {
		code, _ := ask(t, s, namespace, []tls.Certificate{more.Client("front").TLS()}, as("bob", "system:masters")...)
		return code == 200
	})
}

// TestAuthenticationTrust reads the config map from which servers behind learn how to authenticate
// requests.
func TestAuthenticationTrust(t *testing.T) {
	proxies, clients := pkitest.NewAuthority(t, "front"), pkitest.NewAuthority(t, "clients")
	s := servertest.Start(t, server.Config{Authentication: identity.Config{
		ClientCAFile: clients.File,
		FrontProxy:   identity.FrontProxy{ClientCAFile: proxies.File, AllowedNames: []string{"front"}, Headers: authn.StandardHeaders},
	}})
	const name = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	read := func() map[string]string {
		var m corev1.ConfigMap
		code, body := do(t, s, "GET", name, "")
		if code != 200 {
			return nil
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		return m.Data
	}
	complete := func() bool {
		data := read()
		for key, want := range map[string]string{
			"requestheader-allowed-names":        `["front"]`,
			"requestheader-username-headers":     `["X-Remote-User"]`,
			"requestheader-uid-headers":          `["X-Remote-Uid"]`,
			"requestheader-group-headers":        `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		} {
			if data[key] != want {
				return false
			}
		}
		ca, err := os.ReadFile(clients.File)
		if err != nil {
			t.Fatal(err)
		}
		proxyCA, err := os.ReadFile(proxies.File)
		if err != nil {
			t.Fatal(err)
		}
		return data["client-ca-file"] == string(s.CAPEM)+string(ca) && data["requestheader-client-ca-file"] == string(proxyCA)
	}
	eventually(t, "the config map is there", complete)
	if code, body := do(t, s, "DELETE", name, ""); code != 200 {
		t.Fatal(code, body)
	}
	eventually(t, "it comes again", complete)
	if code, body := do(t, s, "PATCH", name, `{"data":{"client-ca-file":"none","requestheader-allowed-names":"[\"other\"]","own":"x"}}`); code != 200 {
		t.Fatal(code, body)
	}
	eventually(t, "what others know is kept, and nothing else", func() bool {
		data := read()
		return data["requestheader-allowed-names"] == `["other","front"]` && strings.Count(data["client-ca-file"], "BEGIN") == 2 && data["own"] == ""
	})
}

func TestFrontProxyConfig(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	dir := t.TempDir()
	first, err := servertest.New(t, server.Config{DataDir: dir, Storage: server.StorageConfig{Engine: server.StorageMemory}})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]identity.Config{
		"the server's own": {FrontProxy: identity.FrontProxy{ClientCAFile: filepath.Join(dir, "pki", "ca.crt"), Headers: authn.StandardHeaders}},
		"one CA for all":   {ClientCAFile: ca.File, FrontProxy: identity.FrontProxy{ClientCAFile: ca.File, Headers: authn.StandardHeaders}},
		"no CA":            {FrontProxy: identity.FrontProxy{ClientCAFile: os.DevNull}},
		"missing CA":       {FrontProxy: identity.FrontProxy{ClientCAFile: "none"}},
		"no name":          {FrontProxy: identity.FrontProxy{AllowedNames: []string{" "}}},
		"empty header":     {FrontProxy: identity.FrontProxy{Headers: authn.Headers{Names: []string{""}}}},
		"missing password": {BasicAuthFile: "none"},
		"missing webhook":  {Webhook: identity.TokenWebhook{File: "none"}},
	} {
		s, err := servertest.New(t, server.Config{DataDir: dir, Storage: server.StorageConfig{Engine: server.StorageMemory}, Authentication: c})
		if err == nil {
			t.Errorf("%s: got no error", name)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestTokenWebhook: a webhook over TLS authenticates tokens. A call that fails with 503 is tried
// again, and answers are cached.
func TestTokenWebhook(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		var review struct {
			APIVersion string
			Spec       struct {
				Token     string
				Audiences []string
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || !slices.Equal(review.Spec.Audiences, []string{"api"}) {
			t.Errorf("asked for %q, %v", review.Spec.Audiences, err)
		}
		answer := map[string]any{}
		if review.Spec.Token == "sesame" {
			answer = map[string]any{"authenticated": true, "user": map[string]any{"username": "alice", "groups": []string{"system:masters"}}}
		}
		json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": "TokenReview", "status": answer})
	}))
	t.Cleanup(hook.Close)
	kubeconfig := filepath.Join(t.TempDir(), "webhook.yaml")
	ca := base64.StdEncoding.EncodeToString(pki.EncodeCertificates(hook.Certificate()))
	if err := os.WriteFile(kubeconfig, []byte(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],`+
		`"clusters":[{"name":"c","cluster":{"server":"`+hook.URL+`/review","certificate-authority-data":"`+ca+`"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{authn.ReviewV1, ""} {
		asked.Store(0)
		s := servertest.Start(t, server.Config{Authentication: identity.Config{
			Audiences: []string{"api"}, Webhook: identity.TokenWebhook{File: kubeconfig, Version: version},
		}})
		for token, want := range map[string]int{"sesame": 200, "other": 401} {
			if code, body := ask(t, s, "/api/v1/namespaces/default", nil, "Authorization", "Bearer "+token); code != want {
				t.Errorf("version %q, %s: got %d %s, want %d", version, token, code, body, want)
			}
		}
		before := asked.Load()
		for token, want := range map[string]int{"sesame": 200, "other": 401} {
			if code, _ := ask(t, s, "/api/v1/namespaces/default", nil, "Authorization", "Bearer "+token); code != want || asked.Load() > before {
				t.Errorf("version %q, %s again: got %d after %d more questions", version, token, code, asked.Load()-before)
			}
		}
	}
}

// TestNoCredentialsInLog runs a server with the most verbose log, has it refuse credentials of all
// kinds, and searches the log for them.
func TestNoCredentialsInLog(t *testing.T) {
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct{ Spec struct{ Token string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"error": "nobody has " + review.Spec.Token}})
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := base64.StdEncoding.EncodeToString(pki.EncodeCertificates(hook.Certificate()))
	issuer := newTokenIssuer(t)
	core, logged := observer.New(zapcore.DebugLevel)
	s := servertest.Start(t, server.Config{Log: zap.New(core), Authentication: identity.Config{
		BasicAuthFile: file("passwords.csv", "k1-secret,alice,1\n"),
		TokenAuthFile: file("tokens.csv", "k2-secret,bob,2\n"),
		File:          file("config.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"+issuer.config()),
		Webhook: identity.TokenWebhook{File: file("hook.yaml", `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],`+
			`"clusters":[{"name":"c","cluster":{"server":"`+hook.URL+`","certificate-authority-data":"`+ca+`"}}],"users":[{"name":"u","user":{"token":"k3-secret"}}]}`)},
	}})
	jwt := issuer.token("k4-secret")
	changed := jwt[:len(jwt)-4] + "AAAA"
	for _, credentials := range []string{
		"Basic " + base64.StdEncoding.EncodeToString([]byte("alice:k5-secret")), "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:k1-secret")),
		"Bearer k6-secret", "Bearer k2-secret", "Bearer " + jwt, "Bearer " + changed,
	} {
		ask(t, s, "/api/v1/namespaces/default", nil, "Authorization", credentials)
	}
	refused := 0
	for _, entry := range logged.All() {
		text, err := json.Marshal(entry.ContextMap())
		if err != nil {
			t.Fatal(err)
		}
		line := entry.Message + string(text)
		if strings.Contains(entry.Message, "not authenticated") {
			refused++
		}
		// The user's name in a valid token is not secret.
		line = strings.ReplaceAll(line, `"user":"k4-secret"`, "")
		for _, secret := range []string{"-secret", jwt, changed, base64.StdEncoding.EncodeToString([]byte("alice:k5-secret"))} {
			if strings.Contains(line, secret) {
				t.Errorf("the log has %q: %s", secret, line)
			}
		}
	}
	if refused < 3 {
		t.Errorf("the log tells of %d refusals, want 3", refused)
	}
}
