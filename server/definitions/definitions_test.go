package definitions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage"
)

// TestDefinition creates, uses and deletes a definition and its instances.
func TestDefinition(t *testing.T) {
	q := quaytest.New(t)
	q.Want(201, "POST", quaytest.Definitions, q.Definition("ships", "Ship", `,"shortNames":["sh"],"categories":["all"]`, quaytest.Version("v1", true), quaytest.Version("v1beta1", false)), map[string]any{
		"status.storedVersions": "[v1]", "status.conditions": nil, "metadata.generation": 1})
	q.Until("ships", "Established", "True InitialNamesAccepted the initial names have been accepted")
	q.Want(200, "GET", quaytest.Definitions+"/ships."+q.Group, "", map[string]any{
		"status.conditions.0.type": "NamesAccepted", "status.conditions.0.reason": "NoConflicts", "status.conditions.1.type": "Established",
		"status.acceptedNames.listKind": "ShipList", "status.acceptedNames.shortNames": "[sh]", "metadata.generation": 1,
		"metadata.managedFields.1.manager": "kube-apiserver", "metadata.managedFields.1.subresource": "status",
	})
	q.Want(201, "POST", q.Path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"a"},"spec":{"sails":2}}`, map[string]any{"kind": "Ship", "spec.sails": 2})
	q.Want(200, "GET", q.Path("ships", "v1beta1")+"/a", "", map[string]any{"apiVersion": q.Group + "/v1beta1"})
	q.Want(200, "GET", "/apis/"+q.Group, "", map[string]any{"preferredVersion.version": "v1", "versions.1.version": "v1beta1"})
	q.Want(200, "GET", "/apis/"+q.Group+"/v1", "", map[string]any{"resources.0.name": "ships", "resources.0.shortNames": "[sh]"})
	for _, path := range []string{"/boats", "/v2/ships", "/v1/boats"} {
		if code, data := q.Raw("GET", "/apis/"+q.Group+path, ""); code != 404 || string(data) != "404 page not found\n" {
			t.Errorf("GET %s: got %d %s, want a plain 404", path, code, data)
		}
	}

	events := q.Watch(q.Path("ships", "v1"))
	events()
	q.Want(200, "DELETE", quaytest.Definitions+"/ships."+q.Group, "", map[string]any{
		"metadata.finalizers": "[customresourcecleanup.apiextensions.k8s.io]", "status.conditions.2.type": "Terminating",
	})
	if e := events(); e["type"] != "DELETED" {
		t.Errorf("the watch of instances: got %v, want DELETED", e)
	}
	if e := events(); e != nil {
		t.Errorf("the watch of instances: got %v, want its end", e)
	}
	q.Gone(quaytest.Definitions + "/ships." + q.Group)
	q.Gone(q.Path("ships", "v1"))
	if _, data := q.Raw("GET", "/apis", ""); strings.Contains(string(data), q.Group) {
		t.Error("/apis still has the group")
	}
	q.Define("ships", "Ship", quaytest.Version("v1", true))
	q.Want(200, "GET", q.Path("ships", "v1"), "", map[string]any{"items": "[]"})
}

// TestDefinitionNames creates definitions that want the same names.
func TestDefinitionNames(t *testing.T) {
	q := quaytest.New(t)
	q.Want(201, "POST", quaytest.Definitions, q.Definition("limes", "Lime", `,"shortNames":["lm"]`, quaytest.Version("v1", true)), nil)
	q.Until("limes", "Established", "True")
	q.Want(201, "POST", quaytest.Definitions, q.Definition("limes2", "Lime", `,"shortNames":["lm"],"singular":"lime2"`, quaytest.Version("v1", true)), nil)
	q.Until("limes2", "NamesAccepted", `False ListKindConflict "LimeList" is already in use`)
	if got := q.Condition("limes2", "Established"); got != "False NotAccepted not all names are accepted" {
		t.Errorf("Established without accepted names: got %q", got)
	}
	q.Want(200, "GET", quaytest.Definitions+"/limes2."+q.Group, "", map[string]any{"status.acceptedNames.plural": "limes2", "status.acceptedNames.kind": ""})
	if code, _ := q.Raw("GET", q.Path("limes2", "v1"), ""); code != 404 {
		t.Errorf("a definition without accepted names is served: %d", code)
	}

	// A served definition asks for a short name that another one has. It keeps its old names.
	q.Define("pears", "Pear", quaytest.Version("v1", true))
	q.Want(200, "PATCH", quaytest.Definitions+"/pears."+q.Group, `{"spec":{"names":{"shortNames":["lm","lime"]}}}`, nil, "Content-Type", "application/merge-patch+json")
	q.Until("pears", "NamesAccepted", `False ShortNamesConflict ["lm" is already in use`)
	q.Want(200, "GET", q.Path("pears", "v1"), "", nil)

	// The first definition is deleted, and the others get its names.
	q.Want(200, "DELETE", quaytest.Definitions+"/limes."+q.Group, "", nil)
	q.Until("limes2", "Established", "True")
	q.Want(200, "GET", q.Path("limes2", "v1"), "", map[string]any{"kind": "LimeList"})
}

// TestDefinitionEmptied deletes a definition whose instances have finalizers.
func TestDefinitionEmptied(t *testing.T) {
	q := quaytest.New(t)
	q.Define("ships", "Ship", quaytest.Version("v1", true))
	for i := range 30 {
		q.Want(201, "POST", q.Path("ships", "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"s%d"}}`, i), nil)
	}
	q.Want(201, "POST", q.Path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"held","finalizers":["example.com/hold"]}}`, nil)
	q.Want(200, "DELETE", quaytest.Definitions+"/ships."+q.Group, "", nil)
	q.Until("ships", "Terminating", "True InstanceDeletionInProgress CustomResource deletion is in progress")
	for range 2 { // a second delete changes nothing
		q.Want(200, "DELETE", quaytest.Definitions+"/ships."+q.Group, "", map[string]any{
			"metadata.generation": 1, "metadata.deletionGracePeriodSeconds": 0, "status.conditions.2.reason": "InstanceDeletionInProgress"})
	}
	q.Want(409, "DELETE", quaytest.Definitions+"/ships."+q.Group, `{"preconditions":{"resourceVersion":"1"}}`, nil)
	q.Gone(q.Path("ships", "v1") + "/s29")
	q.Want(403, "POST", q.Path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"late"}}`, map[string]any{
		"message": `ships.` + q.Group + ` "late" is forbidden: create not allowed while custom resource definition is terminating`})
	q.Want(200, "GET", "/apis/"+q.Group+"/v1", "", map[string]any{"resources.0.verbs": "[delete deletecollection get list watch]"})
	q.Want(200, "PATCH", q.Path("ships", "v1")+"/held", `{"metadata":{"finalizers":null}}`, nil, "Content-Type", "application/merge-patch+json")
	q.Gone(quaytest.Definitions + "/ships." + q.Group)
	q.Gone(q.Path("ships", "v1"))
}

// TestDefinitionChanged changes the versions of a definition while clients watch its instances.
func TestDefinitionChanged(t *testing.T) {
	t.Parallel() // it waits
	q := quaytest.New(t)
	q.Define("ships", "Ship", quaytest.Version("v1", true), quaytest.Version("v2", false))
	q.Want(201, "POST", q.Path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"a"}}`, nil)
	first, second := q.Watch(q.Path("ships", "v1")), q.Watch(q.Path("ships", "v2"))
	first()
	second()
	change := func(versions ...string) {
		t.Helper()
		q.Want(200, "PATCH", quaytest.Definitions+"/ships."+q.Group, `{"spec":{"versions":[`+strings.Join(versions, ",")+`]}}`, nil, "Content-Type", "application/merge-patch+json")
	}
	change(quaytest.Version("v1", false), quaytest.Version("v2", true))
	q.Want(200, "GET", quaytest.Definitions+"/ships."+q.Group, "", map[string]any{"status.storedVersions": "[v1 v2]", "metadata.generation": 2})
	q.Want(200, "PATCH", q.Path("ships", "v1")+"/a", `{"metadata":{"labels":{"x":"y"}}}`, nil, "Content-Type", "application/merge-patch+json")
	if one, two := first(), second(); one["type"] != "MODIFIED" || two["type"] != "MODIFIED" {
		t.Fatalf("events after the change of the storage version: got %v and %v", one, two)
	}
	change(strings.Replace(quaytest.Version("v1", false), `"served":true`, `"served":false`, 1), quaytest.Version("v2", true))
	if e := first(); e != nil {
		t.Errorf("a watch of a version that is no longer served: got %v, want its end", e)
	}
	q.Gone(q.Path("ships", "v1"))
	q.Want(200, "PATCH", q.Path("ships", "v2")+"/a", `{"metadata":{"labels":{"x":"z"}}}`, nil, "Content-Type", "application/merge-patch+json")
	if e := second(); e["type"] != "MODIFIED" {
		t.Errorf("a watch of the version that is served: got %v", e)
	}
}

// TestDefinitionUnreadable stores definitions that cannot be read, before the start and while the
// server runs. They do not disturb other definitions, and the resource of an unreadable definition
// is not served with its old schema.
func TestDefinitionUnreadable(t *testing.T) {
	store := quaytest.NewStore(t)
	broken := func(name, value string) {
		t.Helper()
		if _, err := store.Put(t.Context(), "/registry/apiextensions.k8s.io/customresourcedefinitions/"+name, []byte(value), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	broken("a.quay.example.com", "\x00}{")
	q := quaytest.New(t, server.Config{Storage: server.StorageConfig{Store: store}})
	q.Define("ships", "Ship", quaytest.Version("v1", true))
	broken("b.quay.example.com", `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"b.quay.example.com"},"spec":5}`)
	broken("ships."+q.Group, "}")
	q.Define("kites", "Kite", quaytest.Version("v1", true))
	q.Want(201, "POST", q.Path("kites", "v1"), fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Kite","metadata":{"name":"a"}}`, q.Group), nil)
	q.Want(500, "POST", q.Path("ships", "v1"), fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Ship","metadata":{"name":"a"}}`, q.Group), nil)
	if code, data := q.Raw("GET", quaytest.Definitions+"/ships."+q.Group, ""); code != 500 || !strings.Contains(string(data), "corrupt object") {
		t.Errorf("a definition that cannot be read: got %d %s, want 500", code, data)
	}
}
