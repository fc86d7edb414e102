package server_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

const (
	nsMaps   = "/api/v1/namespaces/ns/configmaps"
	unread   = "?ignoreStoreReadErrorWithClusterBreakingPotential=true"
	asTable  = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asBinary = "application/vnd.kubernetes.protobuf"
)

// masters makes a server authenticate requests with the header asMaster as a member of
// system:masters.
func masters(t *testing.T) func(*server.Config) {
	tokens, err := authn.ReadTokens(strings.NewReader("root,root,root,system:masters\n"))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *server.Config) {
		c.Authentication.Authenticators = []request.Authenticator{authn.Bearer(tokens)}
	}
}

var asMaster = []string{"Authorization", "Bearer root"}

// TestUnreadableObjects writes garbage into the store of a running server, with each engine.
// Requests that need the object fail and name it, others succeed. The log names it once, the
// metrics count it, and it can be deleted.
func TestUnreadableObjects(t *testing.T) {
	for engine, open := range map[string]func(dir string) (storage.Store, error){
		"memory":   func(string) (storage.Store, error) { return memory.New(memory.Config{}), nil },
		"file":     func(dir string) (storage.Store, error) { return file.Open(file.Config{Dir: dir, NoSync: true}) },
		"embedded": func(dir string) (storage.Store, error) { return embedded.Open(t.Context(), embedded.Config{Dir: dir}) },
	} {
		t.Run(engine, func(t *testing.T) {
			store, err := open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			core, logs := observer.New(zapcore.WarnLevel)
			p := newInProcess(t, func(c *server.Config) { c.Storage, c.Log = server.StorageConfig{Store: store}, zap.New(core) }, masters(t))
			want := func(method, target string, code int, text string, header ...string) string {
				t.Helper()
				got, body := p.do(method, target, "", header...)
				if got != code || !strings.Contains(body, text) {
					t.Errorf("%s %s: got %d %s, want %d with %q", method, target, got, body, code, text)
				}
				return body
			}
			if code, body := p.do("POST", nsMaps, `{"metadata":{"name":"good"}}`); code != 201 {
				t.Fatal(code, body)
			}
			for name, value := range map[string]string{
				"garbage": "\x00\x01}{",
				"typed":   `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"typed","namespace":"ns","finalizers":["a.b/c"]},"data":5}`,
			} {
				if _, err := store.Put(t.Context(), "/registry/configmaps/ns/"+name, []byte(value), storage.Pre{}, 0); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				want("GET", nsMaps+"/garbage", 500, "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /registry/configmaps/ns/garbage, ")
				want("DELETE", nsMaps+"/typed", 500, "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /registry/configmaps/ns/typed, ")
				body := want("GET", nsMaps, 500, `"message":"failed to read one or more configmaps from the storage","reason":"StorageReadError","details":{"name":"list","kind":"configmaps",`)
				if !strings.Contains(body, `"reason":"UnexpectedServerResponse"`) || !strings.Contains(body, `"field":"/registry/configmaps/ns/garbage"`) {
					t.Errorf("the list: got %s", body)
				}
			}
			want("GET", nsMaps+"/good", 200, `"name":"good"`)
			want("GET", "/api/v1/namespaces/default/configmaps", 200, `"items":[]`)
			want("GET", "/readyz/etcd", 200, "ok")
			metrics := want("GET", "/metrics", 200, `coracle_storage_unreadable_objects{resource="configmaps"} 1`)
			if !strings.Contains(metrics, `apiserver_storage_decode_errors_total{group="",resource="configmaps"}`) {
				t.Error("the decoding errors are not counted")
			}
			for _, name := range []string{"garbage", "typed"} {
				key := "/registry/configmaps/ns/" + name
				if lines := logs.FilterMessage("a stored object cannot be read").FilterField(zap.String("key", key)).Len(); lines != 1 {
					t.Errorf("the log names %s %d times, want once", key, lines)
				}
			}
			want("DELETE", nsMaps+unread, 422, "is not allowed with DELETECOLLECTION")
			want("DELETE", nsMaps+"/garbage"+unread, 403, `configmaps \"garbage\" is forbidden: not permitted to do \"unsafe-delete-ignore-read-errors\"`)
			want("DELETE", nsMaps+"/good"+unread, 422, "is exclusively used to delete corrupt object(s)", asMaster...)
			want("DELETE", nsMaps+"/garbage"+unread, 200, `"status":"Success","details":{"name":"garbage","kind":"ConfigMap"}`, asMaster...)
			for _, accept := range []string{asTable, asBinary} {
				want("GET", nsMaps, 500, "/registry/configmaps/ns/typed", "Accept", accept)
			}
			want("DELETE", nsMaps+"/typed"+unread, 200, `"status":"Success"`, asMaster...)
			want("GET", nsMaps, 200, `"name":"good"`, "Accept", asTable)
			want("GET", "/metrics", 200, `coracle_storage_unreadable_objects{resource="configmaps"} 0`)
		})
	}
}

// TestLostKey removes the key of a secret from the encryption configuration, and adds it again.
func TestLostKey(t *testing.T) {
	for _, engine := range []string{server.StorageFile, server.StorageEmbedded} {
		t.Run(engine, func(t *testing.T) {
			dir, config := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
			start := func(keys ...string) *inProcess {
				t.Helper()
				text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - aesgcm:\n      keys:\n"
				for _, key := range keys {
					secret := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(key, 32)))
					text += fmt.Sprintf("      - {name: %s, secret: %s}\n", key, secret)
				}
				if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				cfg := server.Config{DataDir: dir, Storage: server.StorageConfig{Engine: engine, EncryptionConfigFile: config},
					Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
					Authorization: access.Config{Modes: []string{access.AlwaysAllow}}}
				masters(t)(&cfg)
				s, err := servertest.New(t, cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return &inProcess{&handled{Server: s, TB: t}}
			}
			const secrets = "/api/v1/namespaces/ns/secrets"
			p := start("a")
			p.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
			for _, name := range []string{"x", "y"} {
				if code, body := p.do("POST", secrets, `{"metadata":{"name":"`+name+`"},"stringData":{"k":"v"}}`); code != 201 {
					t.Fatal(code, body)
				}
			}
			p.Close()

			p = start("b")
			code, body := p.do("GET", secrets, "")
			if code != 500 || !strings.Contains(body, "failed to read one or more secrets from the storage") ||
				!strings.Contains(body, "/registry/secrets/ns/x") || !strings.Contains(body, "/registry/secrets/ns/y") ||
				!strings.Contains(body, "data from the storage is not transformable") || !strings.Contains(body, "no provider has the key") {
				t.Errorf("the list: got %d %s", code, body)
			}
			if code, body := p.do("DELETE", secrets+"/x", ""); code != 500 || !strings.Contains(body, "corrupt object") {
				t.Errorf("delete: got %d %s", code, body)
			}
			if code, body := p.do("DELETE", secrets+"/x"+unread, "", asMaster...); code != 200 {
				t.Errorf("delete unread: got %d %s", code, body)
			}
			p.Close()

			p = start("b", "a")
			if code, body := p.do("GET", secrets, ""); code != 200 || strings.Contains(body, `"x"`) || !strings.Contains(body, `"k":"dg=="`) {
				t.Errorf("the list with the key: got %d %s", code, body)
			}
			p.Close()
		})
	}
}
