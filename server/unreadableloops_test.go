package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// damaged is a server on a store in which the test damages objects.
type damaged struct {
	*servertest.Server
	t     *testing.T
	store storage.Store
	logs  *observer.ObservedLogs
}

func startOn(t *testing.T, store storage.Store) *damaged {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	return &damaged{servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: sharedStore{store}}, Log: zap.New(core)}), t, store, logs}
}

func (d *damaged) do(method, path, body string) (int, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.URL+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := d.Client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// want repeats a request until the answer has the code and the text.
func (d *damaged) want(method, path, body string, code int, text string) string {
	d.t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got, answer := d.do(method, path, body)
		if got == code && strings.Contains(answer, text) {
			return answer
		}
		if time.Now().After(end) {
			d.t.Fatalf("%s %s: got %d %.600s, want %d with %q", method, path, got, answer, code, text)
		}
	}
}

func (d *damaged) put(key, value string) {
	d.t.Helper()
	if _, err := d.store.Put(d.t.Context(), key, []byte(value), storage.Pre{}, 0); err != nil {
		d.t.Fatal(err)
	}
}

// resources returns an object of each built-in resource, by the prefix of its keys. The objects are
// in a version that does not exist.
func (d *damaged) resources() map[string]string {
	d.t.Helper()
	strange := map[string]string{}
	var groups struct {
		Groups []struct {
			PreferredVersion struct{ GroupVersion string }
		}
	}
	_, answer := d.do("GET", "/apis", "")
	if err := json.Unmarshal([]byte(answer), &groups); err != nil {
		d.t.Fatal(err)
	}
	paths := []string{"/api/v1"}
	for _, g := range groups.Groups {
		paths = append(paths, "/apis/"+g.PreferredVersion.GroupVersion)
	}
	for _, path := range paths {
		var list struct {
			GroupVersion string
			Resources    []struct {
				Name, Kind string
				Namespaced bool
			}
		}
		_, answer := d.do("GET", path, "")
		if err := json.Unmarshal([]byte(answer), &list); err != nil {
			d.t.Fatal(path, err)
		}
		gv, _ := meta.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.Resources {
			store := d.Server.Server.Store(meta.GroupResource{Group: gv.Group, Resource: r.Name})
			if store == nil || strings.Contains(r.Name, "/") {
				continue
			}
			key, namespace := store.Objects().Prefix()+"bad", ""
			if r.Namespaced {
				key, namespace = store.Objects().Prefix()+"default/bad", `"namespace":"default",`
			}
			strange[key] = fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{%s"name":"bad","uid":"u"}}`,
				r.Kind, meta.GroupVersion{Group: gv.Group, Version: "v99"}.String(), namespace)
		}
	}
	return strange
}

// TestEveryKindUnreadable starts a server on a store that has an object of each resource which
// cannot be read. It gets ready. While policies and configurations of webhooks are among these
// objects, it refuses writes, because it does not know what they would refuse; the objects
// themselves can be deleted. Then controllers work on the other objects, and the log names each
// object once.
func TestEveryKindUnreadable(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	defer store.Close()
	d := startOn(t, store)
	strange := d.resources()
	if len(strange) < 50 {
		t.Fatalf("only %d resources", len(strange))
	}
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	for key, value := range strange {
		d.put(key, value)
	}
	d = startOn(t, store) // returns when the server is ready
	d.want("GET", "/readyz", "", 200, "")
	d.want("POST", "/api/v1/namespaces", `{"metadata":{"name":"bystander"}}`, 500, "admissionregistration.k8s.io")
	for _, resource := range []string{
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
	} {
		d.want("DELETE", "/apis/admissionregistration.k8s.io/v1/"+resource+"/bad"+unread, "", 200, "")
	}
	for _, name := range []string{"bystander", "doomed"} {
		d.want("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+name+`"}}`, 201, "")
	}
	d.want("GET", "/api/v1/namespaces/bystander/serviceaccounts/default", "", 200, "")
	d.want("GET", "/api/v1/namespaces/bystander/configmaps/kube-root-ca.crt", "", 200, "")

	// The garbage collector works.
	_, owner := d.do("POST", "/api/v1/namespaces/bystander/configmaps", `{"metadata":{"name":"owner"}}`)
	var made meta.PartialObjectMetadata
	if err := json.Unmarshal([]byte(owner), &made); err != nil {
		t.Fatal(err)
	}
	d.want("POST", "/api/v1/namespaces/bystander/configmaps", fmt.Sprintf(
		`{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q}]}}`, made.UID), 201, "")
	d.want("DELETE", "/api/v1/namespaces/bystander/configmaps/owner", "", 200, "")
	d.want("GET", "/api/v1/namespaces/bystander/configmaps/owned", "", 404, "")

	// A pod gets an endpoint of its service.
	d.want("POST", "/api/v1/nodes", `{"metadata":{"name":"n"}}`, 201, "")
	d.want("POST", "/api/v1/namespaces/bystander/services", `{"metadata":{"name":"s"},"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}}`, 201, "")
	d.want("POST", "/api/v1/namespaces/bystander/pods", `{"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}],"nodeName":"n"}}`, 201, "")
	d.want("PATCH", "/api/v1/namespaces/bystander/pods/p/status", `{"status":{"phase":"Running","podIP":"10.1.2.3","podIPs":[{"ip":"10.1.2.3"}]}}`, 200, "")
	d.want("GET", "/api/v1/namespaces/bystander/endpoints/s", "", 200, "10.1.2.3")

	// Namespaces without unreadable objects are deleted.
	d.want("DELETE", "/api/v1/namespaces/doomed", "", 200, "")
	d.want("GET", "/api/v1/namespaces/doomed", "", 404, "")
	_, metrics := d.do("GET", "/metrics", "")
	for key := range strange {
		lines := d.logs.FilterMessage("a stored object cannot be read").FilterField(zap.String("key", key)).Len()
		if lines > 1 {
			t.Errorf("the log names %s %d times, want once", key, lines)
		}
		if strings.Contains(key, "/pods/") && (lines != 1 || !strings.Contains(metrics, `apiserver_storage_decode_errors_total{group="",resource="pods"}`)) {
			t.Errorf("the log names %s %d times", key, lines)
		}
	}
	for _, line := range d.logs.FilterLevelExact(zapcore.WarnLevel).All() {
		if strings.Contains(line.Message, "reconcile failed") || strings.Contains(line.Message, "watch failed") {
			t.Errorf("a loop fails: %s %v", line.Message, line.ContextMap())
		}
	}
}

// TestUnreadableDefinition makes a stored definition unreadable, while the server runs and before
// it starts. The resource is not served with an older schema, the APIService stays, and a namespace
// with instances stays and names the reason. When the definition is repaired, all of this
// continues.
func TestUnreadableDefinition(t *testing.T) {
	t.Parallel()
	const (
		definition = "/registry/apiextensions.k8s.io/customresourcedefinitions/sails.loft.example.com"
		sails      = "/apis/loft.example.com/v1/namespaces/n/sails"
		strange    = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v99","metadata":{"name":"sails.loft.example.com"}}`
		why        = `the definition sails.loft.example.com cannot be read: `
		service    = "/apis/apiregistration.k8s.io/v1/apiservices/v1.loft.example.com"
	)
	store := memory.New(memory.Config{})
	defer store.Close()
	d := startOn(t, store)
	d.want("POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`, 201, "")
	d.want("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"sails.loft.example.com"},"spec":{
		"group":"loft.example.com","scope":"Namespaced","names":{"plural":"sails","kind":"Sail"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, 201, "")
	d.want("POST", sails, `{"apiVersion":"loft.example.com/v1","kind":"Sail","metadata":{"name":"s"}}`, 201, "")
	d.want("GET", service, "", 200, `"Available"`)
	good, err := store.Get(t.Context(), definition)
	if err != nil {
		t.Fatal(err)
	}

	d.put(definition, strange)
	d.want("GET", sails+"/s", "", 500, why)
	d.want("POST", sails, `{"apiVersion":"loft.example.com/v1","kind":"Sail","metadata":{"name":"t"}}`, 500, why)
	d.put(definition, string(good.Value))
	d.want("GET", sails+"/s", "", 200, `"name":"s"`)

	d.put(definition, strange)
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	d = startOn(t, store)
	d.want("GET", sails+"/s", "", 500, why)
	d.want("DELETE", "/api/v1/namespaces/n", "", 200, "")
	d.want("GET", "/api/v1/namespaces/n", "", 200, why)
	d.want("GET", "/api/v1/namespaces/n", "", 200, "Some resources are remaining: sails.loft.example.com has 1 resource instances")
	time.Sleep(3 * time.Second) // longer than the server takes to delete the APIService of a removed version
	d.want("GET", service, "", 200, `"Available"`)
	d.want("GET", "/api/v1/namespaces/n", "", 200, `"phase":"Terminating"`)

	d.put(definition, string(good.Value))
	d.want("GET", service, "", 200, "")
	d.want("GET", "/api/v1/namespaces/n", "", 404, "")
	if left, err := store.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/loft.example.com/sails/"}); err != nil || len(left.Entries) > 0 {
		t.Errorf("left in the store: %v, %v", left.Entries, err)
	}
}

// TestUnreadableContent: in a namespace that is being deleted, all objects are deleted except those
// that cannot be read. The status names these.
func TestUnreadableContent(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Config{})
	defer store.Close()
	d := startOn(t, store)
	d.want("POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`, 201, "")
	d.want("POST", "/api/v1/namespaces/n/configmaps", `{"metadata":{"name":"good"}}`, 201, "")
	d.put("/registry/configmaps/n/bad", `{"kind":"ConfigMap","apiVersion":"v7","metadata":{"name":"bad","namespace":"n"}}`)
	d.want("GET", "/api/v1/namespaces/n/configmaps", "", 500, `stored in version \"v7\", which is not known`)
	d.want("DELETE", "/api/v1/namespaces/n", "", 200, "")
	d.want("GET", "/api/v1/namespaces/n", "", 200, `stored in version \"v7\", which is not known`)
	d.want("GET", "/api/v1/namespaces/n", "", 200, "configmaps. has 1 resource instances")
	d.want("GET", "/api/v1/namespaces/n/configmaps/good", "", 404, "")
	d.want("DELETE", "/api/v1/namespaces/n/configmaps/bad"+unread, "", 200, "")
	d.want("GET", "/api/v1/namespaces/n", "", 404, "")
}
