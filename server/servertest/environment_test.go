package servertest_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// started starts an environment, which runs until the end of the test.
func started(t testing.TB, e servertest.Environment) *servertest.Server {
	t.Helper()
	s, err := e.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pool returns a pool with the certificates in pem.
func pool(t *testing.T, pem []byte) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("this is no certificate: %s", pem)
	}
	return roots
}

// sails returns one of several definitions as Go values.
func sails(n int) map[string]any {
	object := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return map[string]any{
		"metadata": map[string]any{"name": fmt.Sprintf("sails%d.sea.example.com", n), "creationTimestamp": nil},
		"spec": map[string]any{
			"group": "sea.example.com", "scope": "Cluster",
			"names": map[string]any{"plural": fmt.Sprintf("sails%d", n), "kind": fmt.Sprintf("Sail%d", n)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": object},
			}},
		},
		"status": map[string]any{"conditions": nil, "storedVersions": nil, "acceptedNames": map[string]any{"plural": "", "kind": ""}},
	}
}

// TestDefinitions installs definitions from a folder, a file and Go values. Their objects can be
// written when Start returns.
func TestDefinitions(t *testing.T) {
	typed := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: meta.ObjectMeta{Name: "sails3.sea.example.com"}}
	text, err := json.Marshal(sails(3)["spec"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &typed.Spec); err != nil {
		t.Fatal(err)
	}
	replaced := sails(1)
	replaced["spec"].(map[string]any)["scope"] = "Namespaced"
	file := filepath.Join(t.TempDir(), "sails.json")
	text, err = json.Marshal([]any{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := started(t, servertest.Environment{
		Paths: []string{"testdata/definitions", file}, Definitions: []any{replaced, sails(1), sails(2), typed},
	})
	for path, want := range map[string]int{
		"/apis/river.example.com/v1/oars": 200, "/apis/river.example.com/v1/namespaces/default/oars": 200, "/apis/sea.example.com/v1/sails1": 200,
		"/apis/sea.example.com/v1/namespaces/default/sails1": 404, // the last definition counts
		"/apis/sea.example.com/v1/sails2":                    200, "/apis/sea.example.com/v1/sails3": 200,
		"/api/v1/namespaces/default/services/passed-over": 404, "/api/v1/namespaces/default": 200,
	} {
		if code, body := get(t, s.Client, s.URL+path, ""); code != want {
			t.Errorf("GET %s: got %d %s, want %d", path, code, body, want)
		}
	}
	if _, body := get(t, s.Client, s.URL+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/oars.river.example.com", ""); !strings.Contains(body, `"webhook-service"`) {
		t.Errorf("without webhooks of its own the environment changed the definition: %s", body)
	}
}

func TestMistakes(t *testing.T) {
	bad := sails(1)
	bad["spec"].(map[string]any)["scope"] = "Ship"
	other := sails(1)
	other["kind"] = "Sail"
	for name, tt := range map[string]struct {
		environment servertest.Environment
		want        string
	}{
		"no path":               {servertest.Environment{Paths: []string{"testdata/none"}}, "no such file"},
		"a definition refused":  {servertest.Environment{Definitions: []any{sails(0), bad}}, `Definitions: document 2: CustomResourceDefinition "sails1.sea.example.com"`},
		"another kind":          {servertest.Environment{Definitions: []any{other}}, `its kind is "Sail"`},
		"no JSON":               {servertest.Environment{Definitions: []any{func() {}}}, "Definitions: document 1: json: unsupported type"},
		"no object":             {servertest.Environment{Definitions: []any{"sails"}}, "Definitions: document 1: json: cannot unmarshal"},
		"a Config":              {servertest.Environment{Config: server.Config{Serving: server.ServingConfig{BindAddress: "here"}}}, "--bind-address"},
		"a group that forgets":  {servertest.Environment{Config: server.Config{API: server.APIConfig{Groups: []server.Group{rafts(true)}}}}, "rope is lost"},
		"a port that is taken":  {servertest.Environment{Config: server.Config{Serving: server.ServingConfig{SecurePort: taken(t)}}}, "address already in use"},
		"webhooks elsewhere":    {servertest.Environment{Webhooks: &servertest.Webhooks{Host: "192.0.2.1"}}, "a port for webhooks: "},
		"webhooks in no folder": {servertest.Environment{Config: server.Config{DataDir: "testdata/webhooks.yaml"}, Webhooks: &servertest.Webhooks{}}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			s, err := tt.environment.Start()
			if err == nil || s != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want an error with %q", s, err, tt.want)
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// taken returns a port on which another listener listens.
func taken(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// TestUsers creates users: the server recognizes their certificates, and gives them the rights of
// their roles only.
func TestUsers(t *testing.T) {
	s := started(t, servertest.Environment{})
	me, err := s.AddUser("me", "rowers", "painters")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		who    *identity.Credentials
		groups string
		code   int
	}{
		{s.Admin, `"groups":["system:masters","system:authenticated"]`, 200},
		{me, `"groups":["rowers","painters","system:authenticated"]`, 403},
	} {
		pair, err := tls.X509KeyPair(tt.who.CertData, tt.who.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, tt.who.CAData), Certificates: []tls.Certificate{pair}}}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		resp, err := client.Post(tt.who.Host+"/apis/authentication.k8s.io/v1/selfsubjectreviews", "application/json",
			strings.NewReader(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`))
		if err != nil {
			t.Fatal(err)
		}
		var body strings.Builder
		if err := resp.Write(&body); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(body.String(), tt.groups) {
			t.Errorf("who am I: got %s, want %s", body.String(), tt.groups)
		}
		if code, _ := get(t, client, tt.who.Host+"/api/v1/secrets", ""); code != tt.code {
			t.Errorf("GET secrets: got %d, want %d", code, tt.code)
		}
		text := string(tt.who.Kubeconfig())
		for _, data := range [][]byte{tt.who.CAData, tt.who.CertData, tt.who.KeyData} {
			if !strings.Contains(text, base64.StdEncoding.EncodeToString(data)) {
				t.Errorf("the kubeconfig lacks %s: %s", data, text)
			}
		}
	}
	if _, err := s.AddUser(""); err == nil {
		t.Error("a user without a name: got no error")
	}
	plain := started(t, servertest.Environment{Config: server.Config{Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort}}})
	if _, err := plain.AddUser("me"); err == nil || plain.Admin != nil {
		t.Errorf("without a secure port: got %v, %v; want no admin and an error", plain.Admin, err)
	}
}

// TestStop stops a server twice. Stop leaves a DataDir that the test gave, and does not wait for a
// client that keeps its connection open: net/http alone would wait for a second.
func TestStop(t *testing.T) {
	dir := t.TempDir()
	s, err := servertest.Environment{Config: server.Config{DataDir: dir}}.Start()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool(t, s.CAPEM)}}
	defer transport.CloseIdleConnections()
	if code, body := get(t, &http.Client{Transport: transport}, s.URL+"/readyz", ""); code != 200 {
		t.Errorf("GET /readyz: got %d %s", code, body)
	}
	begin := time.Now()
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begin); took >= time.Second {
		t.Errorf("stopping took %v", took)
	}
	if _, err := os.Stat(filepath.Join(dir, "admin.kubeconfig")); err != nil {
		t.Errorf("the DataDir given: %v", err)
	}
}

// TestSideBySide runs several environments at the same time. They share no objects.
func TestSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s, err := servertest.Environment{Definitions: []any{sails(i)}, Webhooks: &servertest.Webhooks{}}.Start()
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 20 {
				want := 404
				if j == i {
					want = 200
				}
				resp, err := s.Client.Get(fmt.Sprintf("%s/apis/sea.example.com/v1/sails%d", s.URL, j))
				if err != nil {
					t.Error(err)
				} else if resp.Body.Close(); resp.StatusCode != want {
					t.Errorf("sails%d on environment %d: got %d, want %d", j, i, resp.StatusCode, want)
				}
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// BenchmarkEnvironment measures the time from Start until 20 definitions are served, and the time
// of Stop.
func BenchmarkEnvironment(b *testing.B) {
	var definitions []any
	for i := range 20 {
		definitions = append(definitions, sails(i))
	}
	for name, e := range map[string]servertest.Environment{"Bare": {}, "Definitions": {Definitions: definitions, Webhooks: &servertest.Webhooks{}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := e.Start()
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Stop(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
