package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/server/servertest"
)

// kites declares custom resources with these versions, which are the JSON of the versions in a
// definition.
func kites(t testing.TB, versions string) registry.Resource {
	t.Helper()
	var def apiextensionsv1.CustomResourceDefinition
	err := json.Unmarshal(fmt.Appendf(nil, `{"spec":{"group":"toys.example.com","scope":"Namespaced","versions":[%s],
		"names":{"plural":"kites","singular":"kite","kind":"Kite","listKind":"Kites"}}}`, versions), &def)
	if err != nil {
		t.Fatal(err)
	}
	res, err := extensions.Declare(&def, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// kiteVersion returns a version whose objects have these fields. more is further JSON of the
// version.
func kiteVersion(name, fields string, storage bool, more string) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","properties":{%s}}}%s}`,
		name, storage, fields, more)
}

const (
	kitesV1   = "/apis/toys.example.com/v1/namespaces/default/kites"
	kitesBeta = "/apis/toys.example.com/v1beta1/namespaces/default/kites"
	merge     = "application/merge-patch+json"
)

// TestCustomDefaultsOnRead: every read adds the defaults of the current schema to an object that
// was stored with an earlier schema. The read does not write the object.
func TestCustomDefaultsOnRead(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	install(t, h.Server.Server, kites(t, kiteVersion("v1", `"spec":{"type":"object","properties":{"tail":{"type":"string"},"old":{"type":"integer"}}}`, true, "")))
	code, before := h.do("POST", kitesV1, `{"apiVersion":"toys.example.com/v1","kind":"Kite","metadata":{"name":"a"},"spec":{"old":1}}`)
	if code != http.StatusCreated {
		t.Fatalf("got %d %v", code, before)
	}
	if err := h.Server.Server.Replace(kites(t, kiteVersion("v1", `"spec":{"type":"object","properties":{"tail":{"type":"string","default":"long"}}}`, true,
		`,"selectableFields":[{"jsonPath":".spec.tail"}],"additionalPrinterColumns":[{"name":"Tail","type":"string","jsonPath":".spec.tail"}]`))); err != nil {
		t.Fatal(err)
	}
	shown := map[string]any{"spec.tail": "long", "spec.old": nil, "metadata.resourceVersion": value(before, "metadata.resourceVersion"), "metadata.generation": 1}
	inList, inEvent := map[string]any{"kind": "Kites"}, map[string]any{}
	for path, want := range shown {
		inList["items.0."+path], inEvent["object."+path] = want, want
	}
	for range 2 { // the first read makes the form, the second one finds it in the cache
		h.want(200, "GET", kitesV1+"/a", "", shown)
		h.want(200, "GET", kitesV1, "", inList)
	}
	h.want(200, "GET", kitesV1+"?fieldSelector=spec.tail%3Dlong", "", inList)
	h.want(200, "GET", kitesV1+"?fieldSelector=spec.tail%3Dshort", "", map[string]any{"items.0": nil})
	h.want(200, "GET", kitesV1, "", map[string]any{"rows.0.cells.1": "long"}, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	event := h.watch(kitesV1)()
	for path, want := range inEvent {
		if got := value(event, path); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("event: %s: got %v, want %v", path, got, want)
		}
	}
	// A write that changes another field stores the defaults, too. That is no change of the
	// content, so that the generation stays.
	h.want(200, "PATCH", kitesV1+"/a", `{"metadata":{"labels":{"x":"y"}}}`, map[string]any{"spec.tail": "long", "metadata.generation": 1}, "Content-Type", merge)
	h.want(200, "GET", kitesV1+"?fieldSelector=spec.tail%3Dlong", "", map[string]any{"items.0.metadata.labels.x": "y"})
}

// TestCustomVersions: each version has its own schema, subresources and warnings.
func TestCustomVersions(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	const spec = `"spec":{"type":"object","required":["size"],"properties":{"size":{"type":"integer"}}},"status":{"type":"object","properties":{"up":{"type":"boolean"}}}`
	const beta = `"spec":{"type":"object","required":["wind"],"properties":{"size":{"type":"integer","maximum":5},"wind":{"type":"string"}}},"status":{"type":"object","properties":{"up":{"type":"boolean"}}}`
	install(t, h.Server.Server, kites(t,
		kiteVersion("v1beta1", beta, false, `,"deprecated":true,"subresources":{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.count"}}`)+","+kiteVersion("v1", spec, true, `,"subresources":{"status":{}}`)+
			`,{"name":"v1alpha1","served":false,"storage":false}`))
	h.want(422, "POST", kitesBeta, `{"apiVersion":"toys.example.com/v1beta1","kind":"Kite","metadata":{"name":"a"},"spec":{"size":6}}`, map[string]any{"details.causes.0.field": "spec.size", "details.causes.1.field": "spec.wind"})
	h.want(201, "POST", kitesBeta, `{"apiVersion":"toys.example.com/v1beta1","kind":"Kite","metadata":{"name":"a"},"spec":{"size":5,"wind":"n"},"status":{"up":true}}`,
		map[string]any{"apiVersion": "toys.example.com/v1beta1", "spec.wind": nil, "status.up": true})
	h.want(200, "GET", kitesV1+"/a", "", map[string]any{"apiVersion": "toys.example.com/v1", "spec.size": 5, "spec.wind": nil})
	h.want(200, "PATCH", kitesV1+"/a", `{"spec":{"size":7},"status":{"up":false}}`, map[string]any{"status.up": true, "metadata.generation": 2}, "Content-Type", merge)
	h.want(200, "PATCH", kitesV1+"/a/status", `{"metadata":{"labels":{"x":"y"}},"status":{"up":false}}`,
		map[string]any{"status.up": false, "metadata.labels": nil, "metadata.generation": 2}, "Content-Type", merge)
	if code, _ := h.raw("GET", kitesBeta+"/a/status", ""); code != 404 {
		t.Errorf("the status of a version without: got %d, want 404", code)
	}
	if code, _ := h.raw("GET", "/apis/toys.example.com/v1alpha1/namespaces/default/kites/a", ""); code != 404 {
		t.Errorf("a version that is not served: got %d, want 404", code)
	}
	for path, code := range map[string]int{"": 200, "/a": 200, "/a/scale": 200, "/a/scale/more": 200, "/a/status": 404, "/b": 404} {
		resp, err := h.Client.Get(h.URL + kitesBeta + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		const want = `299 - "toys.example.com/v1beta1 Kite is deprecated; use toys.example.com/v1 Kite"`
		if got := resp.Header.Get("Warning"); got != want || resp.StatusCode != code {
			t.Errorf("%s: got %d with the warning %q, want %d with %q", path, resp.StatusCode, got, code, want)
		}
	}
	h.want(422, "PUT", kitesV1+"/a", `{"apiVersion":"toys.example.com/v1","kind":"Kite","metadata":{"name":"a"},"spec":{"size":1}}`, map[string]any{"details.causes.0.field": "metadata.resourceVersion"})
}

// TestCustomScale: the subresource scale uses the paths in the definition. A GET fails if the
// object lacks the field for the replicas.
func TestCustomScale(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	const fields = `"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}`
	install(t, h.Server.Server, kites(t, kiteVersion("v1", fields, true,
		`,"subresources":{"scale":{"specReplicasPath":".spec.tails","statusReplicasPath":".status.tails","labelSelectorPath":".status.sel"}}`)))
	h.want(201, "POST", kitesV1, `{"apiVersion":"toys.example.com/v1","kind":"Kite","metadata":{"name":"a"},"spec":{}}`, nil)
	h.want(500, "GET", kitesV1+"/a/scale", "", map[string]any{"message": `Internal error occurred: the spec replicas field ".spec.tails" does not exist`})
	h.want(400, "PATCH", kitesV1+"/a/scale", `{"metadata":{"labels":{"x":"y"}}}`, map[string]any{"message": `the spec replicas field ".spec.tails" cannot be empty`}, "Content-Type", merge)
	h.want(200, "PUT", kitesV1+"/a/scale", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":3}}`, map[string]any{"spec.replicas": 3})
	h.want(200, "PATCH", kitesV1+"/a", `{"status":{"tails":2,"sel":"a=b"}}`, map[string]any{"spec.tails": 3, "metadata.generation": 3}, "Content-Type", merge)
	h.want(200, "GET", kitesV1+"/a/scale", "", map[string]any{"spec.replicas": 3, "status.replicas": 2, "status.selector": "a=b", "metadata.name": "a"})
	h.want(200, "GET", kitesV1+"/a/scale", "", map[string]any{"rows.0.cells.1": 3, "rows.0.cells.2": 2, "columnDefinitions.3.type": "date"},
		"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	h.want(422, "PATCH", kitesV1+"/a", `{"status":{"tails":"many","sel":5}}`, map[string]any{
		"details.causes.0.message": "Invalid value: 0: .status.tails accessor error: many is of the type string, expected int64",
		"details.causes.1.message": `Invalid value: "": .status.sel accessor error: 5 is of the type int64, expected string`}, "Content-Type", merge)
	h.want(200, "PATCH", kitesV1+"/a/scale", `{"apiVersion":""}`, map[string]any{"spec.replicas": 3}, "Content-Type", merge)
	h.want(200, "GET", kitesV1+"/a/scale/more", "", map[string]any{"spec.replicas": 3})
	h.want(405, "DELETE", kitesV1+"/a/scale/more", "", nil)
}

// TestCustomOwnersForgotten: as in kube-apiserver, managedFields are dropped if the object cannot
// be compared with the old one by its schema or its versions. The write itself succeeds.
func TestCustomOwnersForgotten(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	status := `"spec":{"type":"object","properties":{"a":{"type":"integer"}}},"status":{"type":"object","properties":{"on":{"type":"boolean"}}}`
	install(t, h.Server.Server, kites(t, kiteVersion("v1", status, true, `,"subresources":{"status":{}}`)+","+
		kiteVersion("v1beta1", `"spec":{"type":"object","properties":{"b":{"type":"integer"}}}`, false, "")))
	create := func(name string) {
		code, v := h.do("POST", kitesV1+"?fieldManager=a", fmt.Sprintf(
			`{"apiVersion":"toys.example.com/v1","kind":"Kite","metadata":{"name":%q},"spec":{"a":1}}`, name))
		if code != http.StatusCreated || value(v, "metadata.managedFields.0.manager") != "a" {
			t.Fatalf("%s: got %d %v", name, code, v)
		}
	}
	entry := func(version string) string {
		return fmt.Sprintf(`{"metadata":{"managedFields":[{"manager":"x","operation":"Apply","apiVersion":%q,"fieldsType":"FieldsV1",
			"fieldsV1":{"f:spec":{"f:a":{}}}}]}}`, version)
	}
	for _, tt := range []struct{ name, path, patch string }{
		{"status-of-another-type", kitesV1 + "/status-of-another-type", `{"status":2}`},
		{"in-the-status", kitesV1 + "/in-the-status", `{"status":{"on":"yes"}}`},
		{"beside-the-status", kitesV1 + "/beside-the-status/status", `{"spec":{"a":"x"},"status":{"on":true}}`},
		{"unknown-group", kitesV1 + "/unknown-group", entry("gone.example.com/v9")},
		{"unknown-version", kitesV1 + "/unknown-version", entry("toys.example.com/v7")},
		{"unknown-there", kitesBeta + "/unknown-there", `{"spec":{"b":1}}`},
	} {
		create(tt.name)
		h.want(200, "PATCH", tt.path+"?fieldManager=b", tt.patch, map[string]any{"metadata.managedFields": nil, "metadata.name": tt.name}, "Content-Type", merge)
	}
	create("kept")
	h.want(200, "PATCH", kitesV1+"/kept?fieldManager=b", `{"status":{"on":true},"spec":{"a":2}}`,
		map[string]any{"metadata.managedFields.0.manager": "a"}, "Content-Type", merge)
}

// TestCustomStorageHash: discovery has the hash of the storage version only if that version is
// served.
func TestCustomStorageHash(t *testing.T) {
	for _, served := range []bool{true, false} {
		h := &harbor{servertest.Start(t), t}
		install(t, h.Server.Server, kites(t, kiteVersion("v1", "", false, "")+fmt.Sprintf(`,{"name":"v2","served":%t,"storage":true}`, served)))
		_, list := h.do("GET", "/apis/toys.example.com/v1", "")
		if hash := value(list, "resources.0.storageVersionHash"); (hash != nil) != served || value(list, "resources.0.name") != "kites" {
			t.Errorf("the stored version is served: %t; got the hash %v", served, hash)
		}
	}
}

// TestCustomOwnersElsewhere: version v1beta1 has no subresource status, the others have it. An
// apply in v1, at the resource or at its status, conflicts with the fields that a manager owns
// through v1beta1, also with fields that the apply cannot write there. An apply at the status in v2
// does not conflict with a label that a manager owns through v1.
func TestCustomOwnersElsewhere(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	const fields = `"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}`
	const door = `,"subresources":{"status":{}}`
	const applied = "application/apply-patch+yaml"
	install(t, h.Server.Server, kites(t, kiteVersion("v1", fields, true, door)+","+kiteVersion("v1beta1", fields, false, "")+","+kiteVersion("v2", fields, false, door)))
	labelled := func(version, value, more string) string {
		return fmt.Sprintf(`{"apiVersion":"toys.example.com/%s","kind":"Kite","metadata":{"name":"a","labels":{"l":%q}}%s}`, version, value, more)
	}
	h.want(201, "POST", kitesBeta+"?fieldManager=beta", labelled("v1beta1", "1", `,"status":{"a":1}`), nil)
	h.want(409, "PATCH", kitesV1+"/a/status?fieldManager=door", labelled("v1", "2", ""),
		map[string]any{"details.causes.0.field": ".metadata.labels.l"}, "Content-Type", applied)
	h.want(409, "PATCH", kitesV1+"/a?fieldManager=main", labelled("v1", "1", `,"status":{"a":2}`),
		map[string]any{"details.causes.0.field": ".status.a", "details.causes.1": nil}, "Content-Type", applied)
	h.want(200, "PATCH", kitesV1+"/a?fieldManager=v1", `{"metadata":{"labels":{"l":"3"}}}`, nil, "Content-Type", merge)
	h.want(200, "PATCH", strings.Replace(kitesV1, "/v1/", "/v2/", 1)+"/a/status?fieldManager=door", labelled("v2", "2", ""),
		map[string]any{"metadata.labels.l": "3"}, "Content-Type", applied)
}

// TestCustomMethods: as in kube-apiserver, the handler of custom resources differs from that of
// built-in resources. It looks only at the verb, and accepts names and path segments that others
// refuse.
func TestCustomMethods(t *testing.T) {
	h := &harbor{servertest.Start(t), t}
	install(t, h.Server.Server, kites(t, kiteVersion("v1", `"spec":{"type":"object"},"status":{"type":"object","properties":{"up":{"type":"boolean"}}}`, true,
		`,"subresources":{"status":{}}`)))
	kite := func(kind, name, more string) string {
		return fmt.Sprintf(`{"apiVersion":"toys.example.com/v1","kind":%q,"metadata":{"name":%q%s}}`, kind, name, more)
	}
	is := func(text string) map[string]any { return map[string]any{"message": text} }
	h.want(404, "PUT", kitesV1+"/a", kite("Other", "a", ""), is(`kites.toys.example.com "a" not found`))
	h.want(201, "POST", kitesV1+"/b", kite("Kite", "a", ""), map[string]any{"metadata.name": "a"})
	h.want(409, "POST", kitesV1+"/b", kite("Kite", "a", ""), nil)
	h.want(400, "PUT", kitesV1, kite("Kite", "a", ""), is("name must be provided"))
	h.want(400, "PATCH", kitesV1, `{}`, is("name must be provided"), "Content-Type", merge)
	h.want(400, "PUT", kitesV1+"/b", kite("Other", "a", ""), is("the name of the object (a) does not match the name on the URL (b)"))
	h.want(409, "PUT", kitesV1+"/a", kite("Other", "a", `,"resourceVersion":"1"`), nil)
	_, now := h.do("GET", kitesV1+"/a", "")
	h.want(422, "PUT", kitesV1+"/a", kite("Other", "a", fmt.Sprintf(`,"resourceVersion":%q`, value(now, "metadata.resourceVersion"))),
		is(`Other.toys.example.com "a" is invalid: kind: Invalid value: "Other": must be Kite`))
	h.want(404, "POST", strings.Replace(kitesV1, "default", "nowhere", 1), kite("Other", "a", ""), is(`namespaces "nowhere" not found`))
	for patch, wrong := range map[string]string{
		`{"kind":"Other"}`:        `Other.toys.example.com "a" is invalid: kind: Invalid value: "Other": must be Kite`,
		`{"apiVersion":"odd/v1"}`: `Kite.odd "a" is invalid: apiVersion: Invalid value: "odd/v1": must be toys.example.com/v1`,
		`{"apiVersion":"v1","kind":"Other"}`: `Other "a" is invalid: [kind: Invalid value: "Other": must be Kite, ` +
			`apiVersion: Invalid value: "v1": must be toys.example.com/v1]`,
	} {
		h.want(422, "PATCH", kitesV1+"/a", patch, is(wrong), "Content-Type", merge)
		h.want(200, "PATCH", kitesV1+"/a/status", patch, map[string]any{"kind": "Kite", "apiVersion": "toys.example.com/v1"}, "Content-Type", merge)
	}
	h.want(200, "PUT", kitesV1+"/a/status", fmt.Sprintf(
		`{"apiVersion":"toys.example.com/v1","kind":"Other","metadata":{"name":"a","resourceVersion":%q},"status":{"up":true,"x":1}}`, value(now, "metadata.resourceVersion")),
		map[string]any{"kind": "Kite", "status": map[string]any{"up": true}})
	h.want(200, "GET", kitesV1+"/a/status/more", "", map[string]any{"metadata.name": "a"})
	h.want(405, "DELETE", kitesV1+"/a/status/more", "", is(`delete is not supported on resources of kind "kites.toys.example.com"`))
	h.want(404, "GET", kitesV1+"/a/other/more", "", is(`kites.toys.example.com "a" not found`))
	h.want(415, "PATCH", kitesV1, `{}`, nil)
	h.want(400, "POST", kitesV1, "a: b", is("the object provided is unrecognized (must be of type Kite): Object 'Kind' is missing in 'a: b' (613a2062)"),
		"Content-Type", "application/yaml")
}
