package server_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage"
)

// betaDefinition is a definition as kube-apiserver stores it, without a status.
func betaDefinition(plural, kind, spec string) string {
	return fmt.Sprintf(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"%[1]s.quay.example.com","uid":"u-%[1]s",
		"generation":1},"spec":{"group":"quay.example.com","scope":"Cluster","version":"v1","names":{"plural":%[1]q,"kind":%[2]q},%[3]s}}`, plural, kind, spec)
}

const seats = `"validation":{"openAPIV3Schema":{"type":"object","properties":{"seats":{"type":"integer","default":%d}}}}`

// betaQuay is a quay on a store that kube-apiserver has filled.
func betaQuay(t *testing.T) (*quay, storage.Store) {
	store := newSharedStore(t)
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
	q := newQuay(t, server.Config{Storage: server.StorageConfig{Store: store}})
	for _, plural := range []string{"ships", "rafts", "boats"} {
		q.until(plural, "Established", "True")
	}
	return q, store
}

// TestBetaDefinitions serves what kube-apiserver's definitions define.
func TestBetaDefinitions(t *testing.T) {
	t.Parallel() // it waits
	q, _ := betaQuay(t)
	q.want(200, "GET", definitions, "", map[string]any{"kind": "CustomResourceDefinitionList", "items.0.apiVersion": nil, "items.2.metadata.name": "ships.quay.example.com",
		"items.2.spec.versions.1.additionalPrinterColumns": "[map[jsonPath:.seats name:S type:integer]]"})
	q.want(200, "GET", definitions+"/rafts."+q.group, "", map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "spec.preserveUnknownFields": true,
		"spec.version": nil, "spec.versions": "[map[name:v1 served:true storage:true]]", "status.storedVersions": "[v1]"})
	q.until("rafts", "NonStructuralSchema", "True Violations spec.preserveUnknownFields: Invalid value: true: must be false")
	q.until("boats", "NonStructuralSchema", "True Violations [spec.preserveUnknownFields: Invalid value: true: must be false, spec.versions[0]")
	if got := q.condition("ships", "NonStructuralSchema"); got != "" {
		t.Errorf("ships: got %s", got)
	}

	q.want(200, "GET", q.path("ships", "v2")+"/a", "", map[string]any{"seats": 2, "oars": nil, "more": nil})
	q.want(200, "GET", q.path("rafts", "v1")+"/a", "", map[string]any{"oars": 1, "more": "map[x:<nil>]"})
	q.want(200, "GET", q.path("boats", "v1")+"/a", "", map[string]any{"oars": 1, "more": "map[x:<nil>]"})
	q.want(201, "POST", q.path("rafts", "v1"), `{"kind":"Raft","apiVersion":"quay.example.com/v1","metadata":{"name":"b"},"any":[1]}`, map[string]any{"any": "[1]"})
	const boat = `{"kind":"Boat","apiVersion":"quay.example.com/v1","metadata":{"name":"b"},"any":[1],"oars":%s}`
	q.want(201, "POST", q.path("boats", "v1")+"?fieldValidation=Strict", fmt.Sprintf(boat, `"xy"`), map[string]any{"any": "[1]"})
	q.want(422, "POST", q.path("boats", "v1"), fmt.Sprintf(boat, `"y"`), nil)

	// Nothing is said of what is not structural.
	_, doc := q.do("GET", "/openapi/v3/apis/"+q.group+"/v1", "")
	models := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for kind, described := range map[string]bool{"Ship": true, "Raft": false, "Boat": false} {
		model := models["com.example.quay.v1."+kind].(map[string]any)
		if (model["properties"] != nil) != described || model["type"] != "object" || model["x-kubernetes-preserve-unknown-fields"] != nil {
			t.Errorf("the model of %s: got %v", kind, model)
		}
	}
}

// TestBetaDefinitionsShared writes definitions, once here and once as kube-apiserver does: what
// they define is served as they say.
func TestBetaDefinitionsShared(t *testing.T) {
	t.Parallel() // it waits
	q, store := betaQuay(t)
	const ships = definitions + "/ships.quay.example.com"
	_, before := q.do("GET", ships, "")
	q.change(`{"metadata":{"labels":{"a":"b"}}}`)
	_, after := q.do("GET", ships, "")
	if !reflect.DeepEqual(before["spec"], after["spec"]) || value(after, "metadata.labels.a") != "b" {
		t.Errorf("before a label: got %v, after it: %v", before["spec"], after)
	}
	key := definitionKeys + "ships.quay.example.com"
	res, err := store.Get(t.Context(), key)
	if err != nil || !strings.HasPrefix(string(res.Value), `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",`) {
		t.Fatalf("got %s, %v, want it stored in v1", res.Value, err)
	}

	// Another server takes out a version, and changes the schema.
	changed := betaDefinition("ships", "Ship", `"preserveUnknownFields":false,`+fmt.Sprintf(seats, 3))
	changed = strings.Replace(strings.TrimSuffix(changed, "}"), `"generation":1`, `"generation":2`, 1) + `,"status":{"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}],
		"acceptedNames":{"plural":"ships","singular":"ship","kind":"Ship","listKind":"ShipList"},"storedVersions":["v1"]}}`
	if _, err := store.Put(t.Context(), key, []byte(changed), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	q.gone(q.path("ships", "v2") + "/a")
	q.eventually(q.path("ships", "v1")+"/a", map[string]any{"seats": 3})
	q.want(200, "DELETE", ships, "", nil)
	q.gone(ships)
	if res, err := store.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/quay.example.com/ships/"}); err != nil || len(res.Entries) > 0 {
		t.Errorf("after the definition: got %d instances, %v", len(res.Entries), err)
	}
}
