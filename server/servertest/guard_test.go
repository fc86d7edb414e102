package servertest_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestGuardForms distinguishes credentials from other texts by their form alone.
func TestGuardForms(t *testing.T) {
	pair := pkitest.SelfSigned(t)
	private, certificate := pair.KeyPEM, pair.CertPEM
	encoded := base64.StdEncoding.EncodeToString
	for text, want := range map[string]bool{
		"a token eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJtZSJ9.c2ln of somebody": true,
		"Authorization: Bearer 0123456789":                               true,
		"Authorization: Basic YWxpY2U6c2VjcmV0":                          true,
		"node joins with abcdef.0123456789abcdef":                        true,
		string(private):                         true,
		encoded(private):                        true,
		encoded([]byte("x" + string(private))):  true,
		encoded([]byte("xx" + string(private))): true,

		"a bearer token is missing":                  false,
		string(certificate):                          false,
		encoded(certificate):                         false,
		"GET /apis/apps/v1/deployments?continue=eyJ": false,
		"config map extension-apiserver-authentication changed in kube-system": false,
	} {
		cfg, g := servertest.Guard(server.Config{})
		log := func(fields ...zap.Field) { cfg.Log.With(zap.String("kept", "x")).Debug("m", fields...) }
		if log(zap.String("text", text), zap.Error(errors.New(text))); (len(g.CredentialLines()) > 0) != want {
			t.Errorf("%s: got %v, want %v", text, g.CredentialLines(), want)
		}
	}
}

// TestGuardFindsLeaks logs credentials that have no special form, and that were sent, configured or
// stored before.
func TestGuardFindsLeaks(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		leak         string // the text of the log line
		config       identity.Config
		header, body string // of a request
	}{
		{"sent-as-a-token", identity.Config{}, "Bearer sent-as-a-token", ""},
		{"sent-as-a-password", identity.Config{}, "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:sent-as-a-password")), ""},
		{base64.StdEncoding.EncodeToString([]byte("alice:sent-encoded")), identity.Config{},
			"Basic " + base64.StdEncoding.EncodeToString([]byte("alice:sent-encoded")), ""},
		{"token-of-a-file", identity.Config{TokenAuthFile: file("tokens.csv", "first-of-a-file,x,1\ntoken-of-a-file,y,2\n")}, "", ""},
		{"password-of-a-file", identity.Config{BasicAuthFile: file("passwords.csv", "password-of-a-file,x,1\n")}, "", ""},
		{"stored-in-a-secret", identity.Config{}, "", `{"metadata":{"name":"a"},"stringData":{"key":"stored-in-a-secret"}}`},
		{base64.StdEncoding.EncodeToString([]byte("encoded-in-a-secret")), identity.Config{}, "",
			`{"metadata":{"name":"b"},"stringData":{"key":"encoded-in-a-secret"}}`},
	} {
		cfg, g := servertest.Guard(server.Config{
			DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Authentication: tt.config,
			Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
		})
		s, err := server.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, ask := range [][2]string{{"/api/v1/namespaces", `{"metadata":{"name":"ns"}}`}, {"/api/v1/namespaces/ns/secrets", tt.body}} {
			r := httptest.NewRequestWithContext(t.Context(), "POST", ask[0], strings.NewReader(ask[1]))
			if tt.header != "" {
				r.Header.Set("Authorization", tt.header)
			}
			servertest.Sent(r)
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		}
		if found := g.CredentialLines(); len(found) > 0 {
			t.Errorf("%s: found before it leaks: %s", tt.leak, found)
		}
		s.Log().Debug("planted", zap.Error(fmt.Errorf("about %s: no", tt.leak)))
		if len(g.CredentialLines()) == 0 {
			t.Errorf("%s: not found", tt.leak)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
