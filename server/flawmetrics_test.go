package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
)

// TestFlawedCertificates: certificates with outdated properties are counted, separately for servers
// behind and for webhooks, even if the request fails because of them.
func TestFlawedCertificates(t *testing.T) {
	t.Parallel()
	nameless := pkitest.NewAuthority(t, "some").Sign(&x509.Certificate{Subject: pkix.Name{CommonName: "localhost"}})
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/openapi/") || r.URL.Path == "/apis" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, "{}")
	}))
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.TLS = &tls.Config{Certificates: []tls.Certificate{nameless.TLS()}}
	other.StartTLS()
	defer other.Close()
	file := filepath.Join(t.TempDir(), "webhook.kubeconfig")
	if err := os.WriteFile(file, []byte(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: x, user: u}}],
		users: [{name: u, user: {}}], clusters: [{name: x, cluster: {server: "`+other.URL+`", insecure-skip-tls-verify: true}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := inFront(t, func(c *server.Config) {
		c.Authentication.Webhook.File = file
		c.Authorization.Modes, c.Authorization.Webhook.ConfigFile = []string{access.RBAC, access.Webhook}, file
	})
	counted := func(name string) (n int) {
		t.Helper()
		_, metrics := do(t, s, "GET", "/metrics", "")
		for line := range strings.SplitSeq(metrics, "\n") {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				fmt.Sscan(rest, &n)
			}
		}
		return n
	}
	const behind, webhooks = "apiserver_kube_aggregator_x509_missing_san_total", "apiserver_webhooks_x509_missing_san_total"
	if n := counted(behind); n > 0 {
		t.Errorf("before any request: got %d", n)
	}
	before := counted(webhooks)
	as := func(header ...string) int {
		r := newRequest(t, s, "GET", "/api/v1/pods", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := s.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if code := as("Authorization", "Bearer nobody-knows-this-token"); code != http.StatusUnauthorized {
		t.Errorf("an unknown token: got %d", code)
	}
	first := counted(webhooks)
	if code := as("Impersonate-User", "alice"); code == http.StatusOK {
		t.Errorf("a request that no authorizer allows: got %d", code)
	}
	if second := counted(webhooks); first <= before || second <= first {
		t.Errorf("webhooks: counted %d, %d and then %d", before, first, second)
	}
	server.NoAvailability(s.Server)
	port := int32(other.Listener.Addr().(*net.TCPAddr).Port)
	skiffs := &apiregistrationv1.APIService{Spec: apiregistrationv1.APIServiceSpec{
		Group: "skiffs.example.com", Version: "v1", GroupPriorityMinimum: 1, VersionPriority: 1, InsecureSkipTLSVerify: true,
		Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "behind", Port: &port},
	}}
	skiffs.Name = "v1.skiffs.example.com"
	register(t, s, skiffs)
	if counted(behind) == 0 {
		t.Error("a server behind is not counted")
	}
	setAvailable(t, s, skiffs.Name, apiregistrationv1.ConditionFalse)
	eventually(t, "it is not handed on", func() bool {
		code, _ := do(t, s, "GET", "/apis/skiffs.example.com/v1/skiffs", "")
		return code == http.StatusServiceUnavailable
	})
	if n := series(t, s, `apiserver_request_terminations_total{code="503",component="aggregator"`); n != 1 {
		t.Errorf("requests that are not forwarded: %d series", n)
	}
}
