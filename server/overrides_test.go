package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/health"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// silentStore is a store whose Revision does not return while silent is set.
type silentStore struct {
	storage.Store
	silent atomic.Bool
}

func (m *silentStore) Revision(ctx context.Context) (storage.Revision, error) {
	if m.silent.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return m.Store.Revision(ctx)
}

// TestStorageOverrides stores config maps and events in one store, and secrets, which are
// encrypted, in another one.
func TestStorageOverrides(t *testing.T) {
	t.Parallel()
	main, maps, secret := memory.New(memory.Config{}), &silentStore{Store: memory.New(memory.Config{})}, memory.New(memory.Config{})
	const mapKey = "/registry/configmaps/default/"
	// A config map that was left in the main store is ignored, also by the garbage collector.
	left := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"left","namespace":"default","uid":"l",` +
		`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"n"}]}}`
	if _, err := main.Put(t.Context(), mapKey+"left", []byte(left), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	writeEncryption(t, file, gcmKey("a"))
	s := servertest.Start(t, server.Config{Storage: server.StorageConfig{
		Store: main, EncryptionConfigFile: file, Timeouts: health.Timeouts{HealthTimeout: 50 * time.Millisecond, ReadyTimeout: time.Hour},
		Overrides: []server.StorageOverride{
			{Resource: meta.GroupResource{Resource: "configmaps"}, Store: maps},
			{Resource: meta.GroupResource{Resource: "secrets"}, Store: maps}, // the last override of a resource applies
			{Resource: meta.GroupResource{Resource: "secrets"}, Store: secret},
			{Resource: meta.GroupResource{Resource: "events"}, Store: maps},
			{Resource: meta.GroupResource{Group: "none", Resource: "none"}, Store: maps},
		},
	}})
	must := func(method, path, body string, want int) string {
		t.Helper()
		code, answer := do(t, s, method, path, body)
		if code != want {
			t.Errorf("%s %s: got %d %s, want %d", method, path, code, answer, want)
		}
		return answer
	}
	in := func(store storage.Store, key string) (storage.Entry, bool) {
		t.Helper()
		e, err := store.Get(t.Context(), key)
		if err != nil && !errors.Is(err, storage.NotFound) {
			t.Fatal(err)
		}
		return e, err == nil
	}
	const core = "/api/v1/namespaces/default"
	for range 50 { // the revisions of one store grow, those of the other do not
		must("PATCH", core, fmt.Sprintf(`{"metadata":{"labels":{"a":"%d"}}}`, time.Now().UnixNano()), 200)
	}
	answer := must("POST", core+"/configmaps", `{"metadata":{"name":"x"},"data":{"a":"b"}}`, 201)
	var made struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal([]byte(answer), &made); err != nil {
		t.Fatal(err)
	}
	if e, ok := in(maps, mapKey+"x"); !ok || fmt.Sprint(e.Rev) != made.Metadata.ResourceVersion {
		t.Errorf("x is stored at %d there (%v), and answered with %s", e.Rev, ok, made.Metadata.ResourceVersion)
	}
	if _, ok := in(main, mapKey+"x"); ok {
		t.Error("x is where all others are")
	}
	must("POST", core+"/secrets", `{"metadata":{"name":"x"}}`, 201)
	if e, _ := in(secret, "/registry/secrets/default/x"); !strings.HasPrefix(string(e.Value), "k8s:enc:aesgcm:v1:a:") {
		t.Errorf("the secret is stored as %q", e.Value)
	}
	must("POST", "/apis/events.k8s.io/v1/namespaces/default/events", `{"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","action":"a","reason":"r","type":"Normal",`+
		`"reportingController":"c","reportingInstance":"i","regarding":{"namespace":"default"}}`, 201)
	if _, ok := in(maps, "/registry/events/default/e"); !ok {
		t.Error("the event is not with the config maps")
	}
	must("GET", core+"/configmaps/left", "", 404)
	if list := must("GET", core+"/configmaps?resourceVersion="+made.Metadata.ResourceVersion+"&resourceVersionMatch=NotOlderThan", "", 200); !strings.Contains(list, `"name":"x"`) ||
		strings.Contains(list, "left") {
		t.Errorf("the list: %s", list)
	}
	must("PATCH", core+"/configmaps/x", `{"data":{"a":"c"}}`, 200)
	if events := must("GET", core+"/configmaps?watch=1&timeoutSeconds=1&resourceVersion="+made.Metadata.ResourceVersion, "", 200); !strings.Contains(events, `"type":"MODIFIED"`) ||
		!strings.Contains(events, `"a":"c"`) {
		t.Errorf("the watch: %s", events)
	}

	// Owners and dependents may be in different stores. The deletion of a namespace deletes objects
	// in all stores.
	var owner struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal([]byte(must("POST", core+"/serviceaccounts", `{"metadata":{"name":"owner"}}`, 201)), &owner); err != nil {
		t.Fatal(err)
	}
	must("POST", core+"/configmaps", `{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1","kind":"ServiceAccount","name":"owner","uid":"`+owner.Metadata.UID+`"}]}}`, 201)
	must("DELETE", core+"/serviceaccounts/owner", "", 200)
	eventually(t, "what was owned is gone", func() bool { _, there := in(maps, mapKey+"owned"); return !there })
	must("POST", "/api/v1/namespaces", `{"metadata":{"name":"team"}}`, 201)
	must("POST", "/api/v1/namespaces/team/configmaps", `{"metadata":{"name":"x","finalizers":["example.com/hold"]}}`, 201)
	must("DELETE", "/api/v1/namespaces/team", "", 200)
	must("PATCH", "/api/v1/namespaces/team/configmaps/x", `{"metadata":{"finalizers":null}}`, 200)
	eventually(t, "the namespace is gone", func() bool { code, _ := do(t, s, "GET", "/api/v1/namespaces/team", ""); return code == 404 })
	if _, ok := in(main, mapKey+"left"); !ok {
		t.Error("the object left in the main store was collected")
	}

	shown := must("GET", "/metrics", "", 200)
	for i := range 3 {
		if want := fmt.Sprintf("coracle_cache_revision{storage_cluster_id=\"etcd-%d\"} ", i); !strings.Contains(shown, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	must("GET", "/readyz/etcd-override-readiness-1", "", 200)
	if report := must("GET", "/readyz?verbose", "", 200); !strings.Contains(report, "[+]etcd ok\n[+]etcd-override-0 ok\n[+]etcd-override-1 ok\n[+]etcd-readiness ok\n[+]etcd-override-readiness-0 ok") {
		t.Errorf("readiness says %s", report)
	}
	maps.silent.Store(true)
	began := time.Now()
	must("GET", "/livez/etcd-override-0", "", 500)
	if took := time.Since(began); took > time.Second {
		t.Errorf("the check took %v", took)
	}
	must("GET", "/healthz/etcd", "", 200)
	maps.silent.Store(false)
}

func TestStorageOverridesRefused(t *testing.T) {
	roles := meta.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "roles"}
	for want, override := range map[string]server.StorageOverride{
		"must be in one store":                {Resource: roles, Servers: []string{"http://127.0.0.1:1"}},
		"needs either servers or a store":     {Resource: meta.GroupResource{Resource: "pods"}},
		"no answer from [http://127.0.0.1:1]": {Resource: meta.GroupResource{Resource: "pods"}, Servers: []string{"http://127.0.0.1:1"}},
	} {
		began := time.Now()
		_, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{
			Engine: server.StorageMemory, Overrides: []server.StorageOverride{override}, InitTimeout: 100 * time.Millisecond}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %v to say %s", took, want)
		}
	}
}

func TestParseStorageOverrides(t *testing.T) {
	got, err := server.ParseStorageOverrides([]string{"/events#http://a:1;http://b:2", "apps/deployments#c"})
	want := []server.StorageOverride{
		{Resource: meta.GroupResource{Resource: "events"}, Servers: []string{"http://a:1", "http://b:2"}},
		{Resource: meta.GroupResource{Group: "apps", Resource: "deployments"}, Servers: []string{"c"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "events#a", "/events", "/events#", "/events#a;", "/events#a#b", "a/b/c#d"} {
		if _, err := server.ParseStorageOverrides([]string{bad}); err == nil || !strings.HasPrefix(err.Error(), "--etcd-servers-overrides invalid, must be of format:") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
