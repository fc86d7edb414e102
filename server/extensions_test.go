package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// quay is a group with definitions, on one of the servers of a store.
type quay struct {
	*harbor
	group string
}

// version is a version of a definition: served, and stored if that is said.
func version(name string, stored bool) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, name, stored)
}

// definition is a definition of plural with some names beside, such as `,"shortNames":["x"]`.
func (q *quay) definition(plural, kind, names string, versions ...string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%[1]s.%[2]s"},"spec":{"group":%[2]q,"scope":"Cluster","names":{"plural":%[1]q,"kind":%[3]q%[4]s},"versions":[%[5]s]}}`,
		plural, q.group, kind, names, strings.Join(versions, ","))
}

func (q *quay) path(plural, version string) string {
	return "/apis/" + q.group + "/" + version + "/" + plural
}

// condition returns a condition of a definition, as "status reason message".
func (q *quay) condition(plural, typ string) string {
	q.t.Helper()
	_, tree := q.do("GET", definitions+"/"+plural+"."+q.group, "")
	return conditionOf(tree, typ)
}

func conditionOf(tree map[string]any, typ string) string {
	list, _ := value(tree, "status.conditions").([]any)
	for _, c := range list {
		if value(c, "type") == typ {
			return fmt.Sprint(value(c, "status"), " ", value(c, "reason"), " ", value(c, "message"))
		}
	}
	return ""
}

// until waits for a condition.
func (q *quay) until(plural, typ, want string) {
	q.t.Helper()
	var got string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = q.condition(plural, typ); strings.HasPrefix(got, want) {
			return
		}
	}
	q.t.Fatalf("%s: %s: got %q, want %q", plural, typ, got, want)
}

// define creates a definition and waits until it is established.
func (q *quay) define(plural, kind string, versions ...string) {
	q.t.Helper()
	q.want(201, "POST", definitions, q.definition(plural, kind, "", versions...), nil)
	q.until(plural, "Established", "True")
}

// gone waits until there is nothing at a path.
func (q *quay) gone(path string) {
	q.t.Helper()
	code := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if code, _ = q.raw("GET", path, ""); code == 404 {
			return
		}
	}
	q.t.Fatalf("GET %s: got %d, want 404 in the end", path, code)
}

func newQuay(t testing.TB, config ...server.Config) *quay {
	return &quay{&harbor{servertest.Start(t, config...), t}, "quay.example.com"}
}

// TestDefinition takes a definition and what it defines through a life.
func TestDefinition(t *testing.T) {
	q := newQuay(t)
	q.want(201, "POST", definitions, q.definition("ships", "Ship", `,"shortNames":["sh"],"categories":["all"]`, version("v1", true), version("v1beta1", false)), map[string]any{
		"status.storedVersions": "[v1]", "status.conditions": nil, "metadata.generation": 1})
	q.until("ships", "Established", "True InitialNamesAccepted the initial names have been accepted")
	q.want(200, "GET", definitions+"/ships."+q.group, "", map[string]any{
		"status.conditions.0.type": "NamesAccepted", "status.conditions.0.reason": "NoConflicts", "status.conditions.1.type": "Established",
		"status.acceptedNames.listKind": "ShipList", "status.acceptedNames.shortNames": "[sh]", "metadata.generation": 1,
		"metadata.managedFields.1.manager": "kube-apiserver", "metadata.managedFields.1.subresource": "status",
	})
	q.want(201, "POST", q.path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"a"},"spec":{"sails":2}}`, map[string]any{"kind": "Ship", "spec.sails": 2})
	q.want(200, "GET", q.path("ships", "v1beta1")+"/a", "", map[string]any{"apiVersion": q.group + "/v1beta1"})
	q.want(200, "GET", "/apis/"+q.group, "", map[string]any{"preferredVersion.version": "v1", "versions.1.version": "v1beta1"})
	q.want(200, "GET", "/apis/"+q.group+"/v1", "", map[string]any{"resources.0.name": "ships", "resources.0.shortNames": "[sh]"})
	for _, path := range []string{"/boats", "/v2/ships", "/v1/boats"} {
		if code, data := q.raw("GET", "/apis/"+q.group+path, ""); code != 404 || string(data) != "404 page not found\n" {
			t.Errorf("GET %s: got %d %s, want a plain 404", path, code, data)
		}
	}

	events := q.watch(q.path("ships", "v1"))
	events()
	q.want(200, "DELETE", definitions+"/ships."+q.group, "", map[string]any{
		"metadata.finalizers": "[customresourcecleanup.apiextensions.k8s.io]", "status.conditions.2.type": "Terminating",
	})
	if e := events(); e["type"] != "DELETED" {
		t.Errorf("the watch of instances: got %v, want DELETED", e)
	}
	if e := events(); e != nil {
		t.Errorf("the watch of instances: got %v, want its end", e)
	}
	q.gone(definitions + "/ships." + q.group)
	q.gone(q.path("ships", "v1"))
	if _, data := q.raw("GET", "/apis", ""); strings.Contains(string(data), q.group) {
		t.Error("/apis still has the group")
	}
	q.define("ships", "Ship", version("v1", true))
	q.want(200, "GET", q.path("ships", "v1"), "", map[string]any{"items": "[]"})
}

// TestDefinitionNames lets definitions want the same names.
func TestDefinitionNames(t *testing.T) {
	q := newQuay(t)
	q.want(201, "POST", definitions, q.definition("limes", "Lime", `,"shortNames":["lm"]`, version("v1", true)), nil)
	q.until("limes", "Established", "True")
	q.want(201, "POST", definitions, q.definition("limes2", "Lime", `,"shortNames":["lm"],"singular":"lime2"`, version("v1", true)), nil)
	q.until("limes2", "NamesAccepted", `False ListKindConflict "LimeList" is already in use`)
	if got := q.condition("limes2", "Established"); got != "False NotAccepted not all names are accepted" {
		t.Errorf("Established of what has not its names: got %q", got)
	}
	q.want(200, "GET", definitions+"/limes2."+q.group, "", map[string]any{"status.acceptedNames.plural": "limes2", "status.acceptedNames.kind": ""})
	if code, _ := q.raw("GET", q.path("limes2", "v1"), ""); code != 404 {
		t.Errorf("what has not its names is served: %d", code)
	}

	// Short names of what is served already are another's: it goes on with those it has.
	q.define("pears", "Pear", version("v1", true))
	q.want(200, "PATCH", definitions+"/pears."+q.group, `{"spec":{"names":{"shortNames":["lm","lime"]}}}`, nil, "Content-Type", "application/merge-patch+json")
	q.until("pears", "NamesAccepted", `False ShortNamesConflict ["lm" is already in use`)
	q.want(200, "GET", q.path("pears", "v1"), "", nil)

	// The first goes, and the others get what they want.
	q.want(200, "DELETE", definitions+"/limes."+q.group, "", nil)
	q.until("limes2", "Established", "True")
	q.want(200, "GET", q.path("limes2", "v1"), "", map[string]any{"kind": "LimeList"})
}

// TestDefinitionEmptied deletes a definition whose instances are held.
func TestDefinitionEmptied(t *testing.T) {
	q := newQuay(t)
	q.define("ships", "Ship", version("v1", true))
	for i := range 30 {
		q.want(201, "POST", q.path("ships", "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"s%d"}}`, i), nil)
	}
	q.want(201, "POST", q.path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"held","finalizers":["example.com/hold"]}}`, nil)
	q.want(200, "DELETE", definitions+"/ships."+q.group, "", nil)
	q.until("ships", "Terminating", "True InstanceDeletionInProgress CustomResource deletion is in progress")
	for range 2 { // once more says nothing new
		q.want(200, "DELETE", definitions+"/ships."+q.group, "", map[string]any{
			"metadata.generation": 1, "metadata.deletionGracePeriodSeconds": 0, "status.conditions.2.reason": "InstanceDeletionInProgress"})
	}
	q.want(409, "DELETE", definitions+"/ships."+q.group, `{"preconditions":{"resourceVersion":"1"}}`, nil)
	q.gone(q.path("ships", "v1") + "/s29")
	q.want(403, "POST", q.path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"late"}}`, map[string]any{
		"message": `ships.` + q.group + ` "late" is forbidden: create not allowed while custom resource definition is terminating`})
	q.want(200, "GET", "/apis/"+q.group+"/v1", "", map[string]any{"resources.0.verbs": "[delete deletecollection get list watch]"})
	q.want(200, "PATCH", q.path("ships", "v1")+"/held", `{"metadata":{"finalizers":null}}`, nil, "Content-Type", "application/merge-patch+json")
	q.gone(definitions + "/ships." + q.group)
	q.gone(q.path("ships", "v1"))
}

// TestDefinitionChanged changes a definition under its watchers.
func TestDefinitionChanged(t *testing.T) {
	t.Parallel() // it waits
	q := newQuay(t)
	q.define("ships", "Ship", version("v1", true), version("v2", false))
	q.want(201, "POST", q.path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"a"}}`, nil)
	first, second := q.watch(q.path("ships", "v1")), q.watch(q.path("ships", "v2"))
	first()
	second()
	change := func(versions ...string) {
		t.Helper()
		q.want(200, "PATCH", definitions+"/ships."+q.group, `{"spec":{"versions":[`+strings.Join(versions, ",")+`]}}`, nil, "Content-Type", "application/merge-patch+json")
	}
	change(version("v1", false), version("v2", true))
	q.want(200, "GET", definitions+"/ships."+q.group, "", map[string]any{"status.storedVersions": "[v1 v2]", "metadata.generation": 2})
	q.want(200, "PATCH", q.path("ships", "v1")+"/a", `{"metadata":{"labels":{"x":"y"}}}`, nil, "Content-Type", "application/merge-patch+json")
	if one, two := first(), second(); one["type"] != "MODIFIED" || two["type"] != "MODIFIED" {
		t.Fatalf("events after the change of the storage version: got %v and %v", one, two)
	}
	change(strings.Replace(version("v1", false), `"served":true`, `"served":false`, 1), version("v2", true))
	if e := first(); e != nil {
		t.Errorf("a watch of a version that is not served any more: got %v, want its end", e)
	}
	q.gone(q.path("ships", "v1"))
	q.want(200, "PATCH", q.path("ships", "v2")+"/a", `{"metadata":{"labels":{"x":"z"}}}`, nil, "Content-Type", "application/merge-patch+json")
	if e := second(); e["type"] != "MODIFIED" {
		t.Errorf("a watch of the version that is served: got %v", e)
	}
}

// TestDefinitionUnreadable has definitions that cannot be read, stored before the start or while the server runs: they stand in
// nobody's way, and what one defined is not served by its old schema.
func TestDefinitionUnreadable(t *testing.T) {
	store := newSharedStore(t)
	broken := func(name, value string) {
		t.Helper()
		if _, err := store.Put(t.Context(), "/registry/apiextensions.k8s.io/customresourcedefinitions/"+name, []byte(value), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	broken("a.quay.example.com", "\x00}{")
	q := newQuay(t, server.Config{Storage: server.StorageConfig{Store: store}})
	q.define("ships", "Ship", version("v1", true))
	broken("b.quay.example.com", `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"b.quay.example.com"},"spec":5}`)
	broken("ships."+q.group, "}")
	q.define("kites", "Kite", version("v1", true))
	q.want(201, "POST", q.path("kites", "v1"), fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Kite","metadata":{"name":"a"}}`, q.group), nil)
	q.want(500, "POST", q.path("ships", "v1"), fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Ship","metadata":{"name":"a"}}`, q.group), nil)
	if code, data := q.raw("GET", definitions+"/ships."+q.group, ""); code != 500 || !strings.Contains(string(data), "corrupt object") {
		t.Errorf("a definition that cannot be read: got %d %s, want 500", code, data)
	}
}
