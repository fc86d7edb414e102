package server_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// encrypted is a server, its store, and the file of its encryption configuration, which tests
// change.
type encrypted struct {
	*servertest.Server
	t     *testing.T
	file  string
	store storage.Store
}

// writeEncryption writes a configuration that encrypts secrets with providers.
func writeEncryption(t testing.TB, file string, providers ...string) {
	t.Helper()
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n"
	for _, p := range providers {
		text += "  - " + p + "\n"
	}
	next := file + ".next" // replaces the file atomically, as a volume of a config map does
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}

// gcmKey returns an aesgcm provider with one key.
func gcmKey(name string) string {
	return fmt.Sprintf("aesgcm: {keys: [{name: %s, secret: %s}]}", name, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name[:1], 32))))
}

func kmsProvider(name, socket string) string {
	return fmt.Sprintf("kms: {apiVersion: v2, name: %s, endpoint: 'unix://%s', timeout: 1s}", name, socket)
}

func startEncrypted(t *testing.T, change func(*server.Config), providers ...string) *encrypted {
	t.Helper()
	e := &encrypted{t: t, file: filepath.Join(t.TempDir(), "encryption.yaml")}
	writeEncryption(t, e.file, providers...)
	cfg := server.Config{Storage: server.StorageConfig{EncryptionConfigFile: e.file, EncryptionReload: true}}
	if change != nil {
		change(&cfg)
	}
	if cfg.Storage.Store == nil {
		cfg.Storage.Store = memory.New(memory.Config{})
	}
	e.store, e.Server = cfg.Storage.Store, servertest.Start(t, cfg)
	return e
}

const secretsPath = "/api/v1/namespaces/default/secrets"

func (e *encrypted) create(name string) {
	e.t.Helper()
	if code, body := do(e.t, e.Server, "POST", secretsPath, `{"metadata":{"name":"`+name+`"},"stringData":{"k":"v"}}`); code != 201 {
		e.t.Fatalf("create %s: %d %s", name, code, body)
	}
}

// stored reports whether the value of a secret in the store has a prefix.
func (e *encrypted) stored(name, prefix string) bool {
	e.t.Helper()
	entry, err := e.store.Get(e.t.Context(), "/registry/secrets/default/"+name)
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.HasPrefix(string(entry.Value), prefix)
}

// rewrite updates a secret without a change.
func (e *encrypted) rewrite(name string) {
	e.t.Helper()
	_, body := do(e.t, e.Server, "GET", secretsPath+"/"+name, "")
	if code, body := do(e.t, e.Server, "PUT", secretsPath+"/"+name, body); code != 200 {
		e.t.Fatalf("update %s: %d %s", name, code, body)
	}
}

// TestEncryptionReload: the server takes up each valid configuration. It ignores invalid ones, and
// can read a secret again when its key comes back.
func TestEncryptionReload(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.ErrorLevel)
	e := startEncrypted(t, func(c *server.Config) { c.Log = zap.New(core) }, gcmKey("a"))
	e.create("x")
	if !e.stored("x", "k8s:enc:aesgcm:v1:a:") {
		t.Error("x is not stored with the key a")
	}
	n := 0
	takesUp := func(key string) {
		t.Helper()
		eventually(t, "secrets are written with "+key, func() bool {
			n++
			name := fmt.Sprint("n", n)
			e.create(name)
			return e.stored(name, "k8s:enc:aesgcm:v1:"+key+":")
		})
	}
	writeEncryption(t, e.file, gcmKey("b"), gcmKey("a"))
	takesUp("b")
	if code, body := do(t, e.Server, "GET", secretsPath+"/x", ""); code != 200 || !strings.Contains(body, `"k":"dg=="`) {
		t.Errorf("a secret of the key before: %d %s", code, body)
	}
	e.rewrite("x")
	if !e.stored("x", "k8s:enc:aesgcm:v1:b:") {
		t.Error("x is not stored with the key b")
	}
	failures := func() int { return logged.FilterMessageSnippet("the configuration before stays in force").Len() }
	for i, bad := range []string{"identity: {}, aesgcm: {}", "kms: {name: old, endpoint: 'unix:///x'}", "aesgcm: {keys: [{name: c, secret: YWJj}]}"} {
		writeEncryption(t, e.file, bad)
		eventually(t, "the log says what is wrong", func() bool { return failures() == i+1 })
	}
	if e.create("y"); !e.stored("y", "k8s:enc:aesgcm:v1:b:") {
		t.Error("a bad configuration has changed something")
	}
	writeEncryption(t, e.file, gcmKey("c"))
	takesUp("c")
	writeEncryption(t, e.file, gcmKey("d"), gcmKey("c"), gcmKey("b"))
	takesUp("d")
	e.rewrite("x")
	if code, body := do(t, e.Server, "GET", secretsPath, ""); code != 200 {
		t.Errorf("the list, with all keys: %d %s", code, body)
	}
	_, metrics := do(t, e.Server, "GET", "/metrics", "")
	for _, want := range []string{
		`apiserver_encryption_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:`, `",status="failure"} 3`, `",status="success"} 3`,
		`apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds{apiserver_id_hash="sha256:`,
		`apiserver_encryption_config_controller_last_config_info{apiserver_id_hash="sha256:`,
		`apiserver_storage_transformation_operations_total{resource="secrets",status="OK",transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} `,
		`apiserver_storage_transformation_operations_total{resource="secrets",status="OK",transformation_type="to_storage",transformer_prefix="b:"} `,
		`apiserver_storage_transformation_operations_total{resource="secrets",status="OK",transformation_type="from_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} `,
		`apiserver_storage_transformation_duration_seconds_count{transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} `,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if _, report := do(t, e.Server, "GET", "/readyz?verbose", ""); !strings.Contains(report, "[+]kms-providers ok") ||
		!strings.Contains(report, "[+]poststarthook/start-encryption-provider-config-automatic-reload ok") {
		t.Errorf("readiness says %s", report)
	}
}

// TestKMS: a KMS plugin encrypts secrets. Its key changes, it stops and starts again, and another
// plugin replaces it.
func TestKMS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	plugin := &kmsPlugin{key: "one", healthz: "ok"}
	stop := plugin.serve(t, first)
	e := startEncrypted(t, nil, kmsProvider("first", first))
	e.create("x")
	if !e.stored("x", "k8s:enc:kms:v2:first:") {
		t.Error("x is not encrypted by the plugin")
	}
	health := func(path string) int {
		code, _ := do(t, e.Server, "GET", path, "")
		return code
	}
	for path, want := range map[string]int{"/healthz/kms-providers": 200, "/readyz/kms-providers": 200, "/livez/kms-providers": 404} {
		if got := health(path); got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
	if _, report := do(t, e.Server, "GET", "/livez?verbose", ""); strings.Contains(report, "kms") {
		t.Errorf("liveness says %s", report)
	}

	// Another server on the same store has another seed. It has the plugin decrypt the seed of the
	// first server.
	other := startEncrypted(t, func(c *server.Config) { c.Storage.Store = sharedStore{e.store} }, kmsProvider("first", first))
	if code, body := do(t, other.Server, "GET", secretsPath+"/x", ""); code != 200 || !strings.Contains(body, `"k":"dg=="`) {
		t.Errorf("x on another server: %d %s", code, body)
	}

	// While the plugin is stopped, a server that starts cannot read the secret. It can when the
	// plugin runs again.
	stop()
	late := startEncrypted(t, func(c *server.Config) { c.Storage.Store = sharedStore{e.store}; c.Controllers = []string{} }, kmsProvider("first", first))
	if code, body := do(t, late.Server, "GET", secretsPath+"/x", ""); code < 500 {
		t.Errorf("x without the plugin: %d %s", code, body)
	}
	if code, _ := do(t, late.Server, "GET", "/readyz/kms-providers", ""); code != 500 {
		t.Errorf("readiness without the plugin: %d", code)
	}
	if code, body := do(t, e.Server, "GET", secretsPath+"/x", ""); code != 200 {
		t.Errorf("a secret that the server can read: %d %s", code, body)
	}
	plugin.set("two", "ok")
	plugin.serve(t, first)
	eventually(t, "x is there when the plugin is", func() bool {
		_, _ = do(t, late.Server, "GET", "/readyz/kms-providers", "") // makes the server check the plugin again
		code, _ := do(t, late.Server, "GET", secretsPath+"/x", "")
		return code == 200
	})
	late.rewrite("x") // the secret was encrypted with the key "one"
	entry, err := e.store.Get(t.Context(), "/registry/secrets/default/x")
	if err != nil || !strings.Contains(string(entry.Value), "\x12\x03two") {
		t.Errorf("x is not encrypted with the plugin's new key: %q, %v", entry.Value, err)
	}

	// A replacement is not used before it is healthy.
	replacement := &kmsPlugin{key: "three", healthz: "not yet"}
	replacement.serve(t, second)
	writeEncryption(t, late.file, kmsProvider("second", second), kmsProvider("first", first))
	eventually(t, "the new plugin is asked", func() bool {
		_, metrics := do(t, late.Server, "GET", "/metrics", "")
		return strings.Contains(metrics, `apiserver_envelope_encryption_kms_operations_latency_seconds_count{grpc_status_code="OK",method_name="/v2.KeyManagementService/Status",provider_name="second"}`)
	})
	if late.create("y"); !late.stored("y", "k8s:enc:kms:v2:first:") {
		t.Error("a plugin that is not healthy is in use")
	}
	replacement.set("three", "ok")
	n := 0
	eventually(t, "the new plugin is in use", func() bool {
		n++
		name := fmt.Sprint("z", n)
		late.create(name)
		return late.stored(name, "k8s:enc:kms:v2:second:")
	})
	if code, body := do(t, late.Server, "GET", secretsPath, ""); code != 200 || !strings.Contains(body, `"name":"x"`) {
		t.Errorf("the list: %d %s", code, body)
	}
	_, metrics := do(t, late.Server, "GET", "/metrics", "")
	for _, want := range []string{
		`apiserver_envelope_encryption_key_id_hash_total{apiserver_id_hash="sha256:`, `transformation_type="to_storage"`, `transformation_type="from_storage"`,
		`apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds{`, `apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds{`,
		`apiserver_envelope_encryption_dek_source_cache_size{provider_name="first"} `, `apiserver_storage_envelope_transformation_cache_misses_total `,
		`apiserver_storage_transformation_operations_total{resource="secrets",status="OK",transformation_type="to_storage",transformer_prefix="k8s:enc:kms:v2:second:"} `,
		"apiserver_storage_data_key_generation_duration_seconds_count ", "apiserver_storage_data_key_generation_failures_total 0\n",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(metrics, "apiserver_storage_data_key_generation_duration_seconds_count 0\n") {
		t.Error("no seed has been counted")
	}
}

func TestEncryptionRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	writeEncryption(t, file, "kms: {name: old, endpoint: 'unix:///x'}")
	away := filepath.Join(t.TempDir(), "away.yaml")
	writeEncryption(t, away, kmsProvider("away", filepath.Join(t.TempDir(), "nobody")))
	for want, c := range map[string]server.StorageConfig{
		"--encryption-provider-config-automatic-reload must be set with --encryption-provider-config": {EncryptionReload: true},
		"KMSv1 is deprecated": {EncryptionConfigFile: file},
		// If the plugin cannot be reached, the server starts nevertheless. Everything that was
		// started for it ends when the construction fails for another reason.
		"no answer from [http://127.0.0.1:1]": {EncryptionConfigFile: away, InitTimeout: 100 * time.Millisecond,
			Overrides: []server.StorageOverride{{Resource: meta.GroupResource{Resource: "pods"}, Servers: []string{"http://127.0.0.1:1"}}}},
		"error reading encryption provider configuration file": {EncryptionConfigFile: file + "2"},
	} {
		c.Engine = server.StorageMemory
		if _, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Storage: c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
