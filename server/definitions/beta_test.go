package definitions_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage"
)

// betaDefinition returns a definition in v1beta1, the version in which kube-apiserver stores
// definitions. It has no status.
func betaDefinition(plural, kind, spec string) string {
	return fmt.Sprintf(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"%[1]s.quay.example.com","uid":"u-%[1]s",
		"generation":1},"spec":{"group":"quay.example.com","scope":"Cluster","version":"v1","names":{"plural":%[1]q,"kind":%[2]q},%[3]s}}`, plural, kind, spec)
}

const seats = `"validation":{"openAPIV3Schema":{"type":"object","properties":{"seats":{"type":"integer","default":%d}}}}`

// betaQuay starts a server on a store with definitions and instances as kube-apiserver stores them.
func betaQuay(t *testing.T) (*quaytest.Quay, storage.Store) {
	store := quaytest.NewStore(t)
	for plural, text := range map[string]string{
		"ships": betaDefinition("ships", "Ship", `"preserveUnknownFields":false,"versions":[{"name":"v1","served":true,"storage":true},
			{"name":"v2","served":true,"storage":false}],"subresources":{"status":{}},"additionalPrinterColumns":[{"name":"S","type":"integer","JSONPath":".seats"}],`+
			fmt.Sprintf(seats, 2)),
		"rafts": betaDefinition("rafts", "Raft", `"conversion":{"strategy":"None"}`),
		"boats": betaDefinition("boats", "Boat", `"validation":{"openAPIV3Schema":{"required":["oars"],"properties":{"oars":{"anyOf":[{"type":"integer"},
			{"type":"string","pattern":"^x"}]}}}}`),
	} {
		kind := strings.ToUpper(plural[:1]) + plural[1:4]
		object := fmt.Sprintf(`{"kind":%q,"apiVersion":"quay.example.com/v1","metadata":{"name":"a"},"oars":1,"more":{"x":null}}`, kind)
		for key, value := range map[string]string{definitionKeys + plural + ".quay.example.com": text, "/registry/quay.example.com/" + plural + "/a": object} {
			if _, err := store.Put(t.Context(), key, []byte(value), storage.Pre{}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	q := quaytest.New(t, server.Config{Storage: server.StorageConfig{Store: store}})
	for _, plural := range []string{"ships", "rafts", "boats"} {
		q.Until(plural, "Established", "True")
	}
	return q, store
}

// TestBetaDefinitions reads definitions that are stored in v1beta1, and serves their resources.
func TestBetaDefinitions(t *testing.T) {
	t.Parallel() // it waits
	q, _ := betaQuay(t)
	q.Want(200, "GET", quaytest.Definitions, "", map[string]any{"kind": "CustomResourceDefinitionList", "items.0.apiVersion": nil, "items.2.metadata.name": "ships.quay.example.com",
		"items.2.spec.versions.1.additionalPrinterColumns": "[map[jsonPath:.seats name:S type:integer]]"})
	q.Want(200, "GET", quaytest.Definitions+"/rafts."+q.Group, "", map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "spec.preserveUnknownFields": true,
		"spec.version": nil, "spec.versions": "[map[name:v1 served:true storage:true]]", "status.storedVersions": "[v1]"})
	q.Until("rafts", "NonStructuralSchema", "True Violations spec.preserveUnknownFields: Invalid value: true: must be false")
	q.Until("boats", "NonStructuralSchema", "True Violations [spec.preserveUnknownFields: Invalid value: true: must be false, spec.versions[0]")
	if got := q.Condition("ships", "NonStructuralSchema"); got != "" {
		t.Errorf("ships: got %s", got)
	}

	q.Want(200, "GET", q.Path("ships", "v2")+"/a", "", map[string]any{"seats": 2, "oars": nil, "more": nil})
	q.Want(200, "GET", q.Path("rafts", "v1")+"/a", "", map[string]any{"oars": 1, "more": "map[x:<nil>]"})
	q.Want(200, "GET", q.Path("boats", "v1")+"/a", "", map[string]any{"oars": 1, "more": "map[x:<nil>]"})
	q.Want(201, "POST", q.Path("rafts", "v1"), `{"kind":"Raft","apiVersion":"quay.example.com/v1","metadata":{"name":"b"},"any":[1]}`, map[string]any{"any": "[1]"})
	const boat = `{"kind":"Boat","apiVersion":"quay.example.com/v1","metadata":{"name":"b"},"any":[1],"oars":%s}`
	q.Want(201, "POST", q.Path("boats", "v1")+"?fieldValidation=Strict", fmt.Sprintf(boat, `"xy"`), map[string]any{"any": "[1]"})
	q.Want(422, "POST", q.Path("boats", "v1"), fmt.Sprintf(boat, `"y"`), nil)

	// The OpenAPI document has no properties of a kind whose schema is not structural.
	_, doc := q.Do("GET", "/openapi/v3/apis/"+q.Group+"/v1", "")
	models := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for kind, described := range map[string]bool{"Ship": true, "Raft": false, "Boat": false} {
		model := models["com.example.quay.v1."+kind].(map[string]any)
		if (model["properties"] != nil) != described || model["type"] != "object" || model["x-kubernetes-preserve-unknown-fields"] != nil {
			t.Errorf("the model of %s: got %v", kind, model)
		}
	}
}

// TestBetaDefinitionsShared changes a definition first through this server, and then in the store,
// as a kube-apiserver that shares the store does. Both changes take effect.
func TestBetaDefinitionsShared(t *testing.T) {
	t.Parallel() // it waits
	q, store := betaQuay(t)
	const ships = quaytest.Definitions + "/ships.quay.example.com"
	_, before := q.Do("GET", ships, "")
	q.Change(`{"metadata":{"labels":{"a":"b"}}}`)
	_, after := q.Do("GET", ships, "")
	if !reflect.DeepEqual(before["spec"], after["spec"]) || quaytest.Value(after, "metadata.labels.a") != "b" {
		t.Errorf("before a label: got %v, after it: %v", before["spec"], after)
	}
	key := definitionKeys + "ships.quay.example.com"
	res, err := store.Get(t.Context(), key)
	if err != nil || !strings.HasPrefix(string(res.Value), `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",`) {
		t.Fatalf("got %s, %v, want it stored in v1", res.Value, err)
	}

	// Another server removes a version and changes the schema.
	changed := betaDefinition("ships", "Ship", `"preserveUnknownFields":false,`+fmt.Sprintf(seats, 3))
	changed = strings.Replace(strings.TrimSuffix(changed, "}"), `"generation":1`, `"generation":2`, 1) + `,"status":{"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}],
		"acceptedNames":{"plural":"ships","singular":"ship","kind":"Ship","listKind":"ShipList"},"storedVersions":["v1"]}}`
	if _, err := store.Put(t.Context(), key, []byte(changed), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	q.Gone(q.Path("ships", "v2") + "/a")
	q.Eventually(q.Path("ships", "v1")+"/a", map[string]any{"seats": 3})
	q.Want(200, "DELETE", ships, "", nil)
	q.Gone(ships)
	if res, err := store.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/quay.example.com/ships/"}); err != nil || len(res.Entries) > 0 {
		t.Errorf("after the definition: got %d instances, %v", len(res.Entries), err)
	}
}
