package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestRestartChangesNothing restarts servers with each durable engine. An update that changes
// nothing makes no revision and no event. Lists show items as before the restart: without kind and
// apiVersion.
func TestRestartChangesNothing(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString(make([]byte, 32))
	encrypt := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(encrypt, fmt.Appendf(nil, "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"+
		"- resources: [configmaps]\n  providers:\n  - aesgcm:\n      keys: [{name: a, secret: %s}]\n", secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{server.StorageFile, server.StorageEmbedded} {
		for name, change := range map[string]func(*server.Config){
			"JSON": func(*server.Config) {}, "protobuf": func(c *server.Config) { c.Storage.Protobuf = true },
			"encrypted": func(c *server.Config) { c.Storage.EncryptionConfigFile = encrypt },
		} {
			t.Run(engine+" "+name, func(t *testing.T) { restartChangesNothing(t, engine, change) })
		}
	}
}

func restartChangesNothing(t *testing.T, engine string, change func(*server.Config)) {
	dir := t.TempDir()
	start := func() *server.Server {
		t.Helper()
		cfg := server.Config{
			DataDir: dir, Controllers: []string{},
			Storage:       server.StorageConfig{Engine: engine},
			Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
		}
		change(&cfg)
		s, err := servertest.New(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := start()
	const ns, maps = "/api/v1/namespaces", "/api/v1/namespaces/ns/configmaps"
	p := &inProcess{&handled{Server: s, TB: t}}
	for _, create := range [][2]string{{ns, `{"metadata":{"name":"ns"}}`}, {maps,
		`{"metadata":{"name":"x","labels":{"z":"1","a":"2"}},"data":{"run":"a && b\nc < d\n","b":"1e3","a":"é\u2028"}}`}} {
		if code, answer := p.do("POST", create[0], create[1]); code != http.StatusCreated {
			t.Fatalf("%d %s", code, answer)
		}
	}
	_, before := p.do("GET", maps+"/x", "")
	_, list := p.do("GET", maps, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p = &inProcess{&handled{Server: start(), TB: t}}
	if _, got := p.do("GET", maps, ""); got != list || strings.Contains(got, `"kind":"ConfigMap"`) {
		t.Errorf("after a restart a list is\n%s, want\n%s", got, list)
	}
	for _, write := range [][2]string{{"PATCH", `{}`}, {"PUT", before}, {"PATCH", `{"data":{"b":"1e3"}}`}} {
		if code, got := p.do(write[0], maps+"/x", write[1]); code != http.StatusOK || got != before {
			t.Errorf("%s %s: got %d %s, want %s", write[0], write[1], code, got, before)
		}
	}
	if _, got := p.do("GET", maps, ""); got != list {
		t.Errorf("after updates that change nothing a list is\n%s, want\n%s", got, list)
	}
}
