package servertest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get sends a GET, and returns the status code and the body.
func get(t *testing.T, client *http.Client, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(r)
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

func TestClient(t *testing.T) {
	s := servertest.Start(t)
	code, body := get(t, s.Client, s.URL+"/api/v1/namespaces/default", "")
	if code != 200 || !strings.Contains(body, `"name":"default"`) {
		t.Errorf("GET the namespace default: got %d %s", code, body)
	}
	if code, body := get(t, s.Client, s.URL+"/readyz", ""); code != 200 {
		t.Errorf("GET /readyz: got %d %s, want a server that is ready", code, body)
	}
	if code, _ := get(t, s.Client, s.URL+"/api/v1/namespaces", "unknown"); code != 401 {
		t.Errorf("GET with a token of one's own: got %d, want 401", code)
	}
	if code, _ := get(t, s.Anonymous(), s.URL+"/api/v1/namespaces", ""); code != 403 {
		t.Errorf("GET as anonymous: got %d, want 403", code)
	}
}

// TestCredentials uses the credentials of a Server with clients of its own.
func TestCredentials(t *testing.T) {
	s := servertest.Start(t)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CAPEM) {
		t.Fatalf("CAPEM is no certificate: %s", s.CAPEM)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	if code, _ := get(t, client, s.URL+"/api/v1/secrets", s.Token); code != 200 {
		t.Errorf("GET with the token: got %d, want 200", code)
	}
	if code, _ := get(t, client, s.URL+"/api/v1/secrets", ""); code != 403 {
		t.Errorf("GET without: got %d, want 403", code)
	}
}

func TestKubeconfig(t *testing.T) {
	s := servertest.Start(t)
	data, err := os.ReadFile(s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var cfg struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `yaml:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Cert string `yaml:"client-certificate-data"`
				Key  string `yaml:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal(data, &cfg); err != nil {
		t.Fatal(err)
	}
	if got := cfg.Clusters[0].Cluster.Server; got != s.URL {
		t.Errorf("server in the kubeconfig: got %s, want %s", got, s.URL)
	}
	decode := func(text string) []byte {
		out, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := string(decode(cfg.Clusters[0].Cluster.CA)); got != string(s.CAPEM) {
		t.Errorf("CA in the kubeconfig: got %s, want %s", got, s.CAPEM)
	}
	pair, err := tls.X509KeyPair(decode(cfg.Users[0].User.Cert), decode(cfg.Users[0].User.Key))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CAPEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	if code, _ := get(t, &http.Client{Transport: transport}, s.URL+"/api/v1/secrets", ""); code != 200 {
		t.Errorf("GET with the client certificate: got %d, want 200", code)
	}
}

// TestOpenWatch ends a test whose watch is still open: the server does not wait for the watch.
func TestOpenWatch(t *testing.T) {
	begin := time.Now()
	t.Run("watching", func(t *testing.T) {
		s := servertest.Start(t)
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.URL+"/api/v1/namespaces?watch=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		var event struct{ Type string }
		if err := json.NewDecoder(resp.Body).Decode(&event); err != nil || event.Type != "ADDED" {
			t.Errorf("first event: got %+v, %v", event, err)
		}
	})
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name   string
		config server.Config
		https  bool
	}{
		{"embedded", server.Config{Storage: server.StorageConfig{Engine: server.StorageEmbedded}, DataDir: dir}, true},
		{"plain", server.Config{Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort}}, false},
		{"everywhere", server.Config{Serving: server.ServingConfig{BindAddress: "0.0.0.0"}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, tt.config)
			if https := strings.HasPrefix(s.URL, "https://127.0.0.1:"); https != tt.https {
				t.Errorf("URL: got %s", s.URL)
			}
			if (s.CAPEM != nil) != tt.https || (s.Kubeconfig != "") != tt.https {
				t.Errorf("CAPEM is %q and Kubeconfig %q", s.CAPEM, s.Kubeconfig)
			}
			if code, body := get(t, s.Client, s.URL+"/api/v1/namespaces/default", ""); code != 200 {
				t.Errorf("GET the namespace default: got %d %s", code, body)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "admin.kubeconfig")); err != nil {
		t.Errorf("the DataDir given was not used: %v", err)
	}
}
