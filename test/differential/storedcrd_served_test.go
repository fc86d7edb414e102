package differential

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"sigs.k8s.io/yaml"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// servedDefinitions asks a whole kube-apiserver and Coracle about definitions in their stores, and
// about instances of these.
type servedDefinitions struct {
	t       *testing.T
	ours    *ours
	theirs  *kubeAPIServer
	plurals []string
	asked   int
}

const storedDefinitionsURL = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// TestStoredDefinitionsServed puts the definitions of testdata/storeddefinitions.yaml, and objects
// of them, into the stores of both sides. Then it compares their answers about definitions,
// discovery, models and objects, and to writes of definitions and objects.
func TestStoredDefinitionsServed(t *testing.T) {
	etcd := etcdproc.Start(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	d := &servedDefinitions{t: t, ours: newOurs(t), theirs: startKubernetes(t, etcd)}
	for key, data := range d.entries() {
		if _, err := client.Put(t.Context(), key, string(data)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ours.store.Put(t.Context(), key, data, storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, plural := range d.plurals {
		d.await(plural)
	}
	d.read()
	d.write()
	t.Logf("%d requests", d.asked)
}

// entries are the stored values by key: definitions, all with the same status, and one object of
// each.
func (d *servedDefinitions) entries() map[string][]byte {
	text, err := os.ReadFile(filepath.Join("testdata", "storeddefinitions.yaml"))
	if err != nil {
		d.t.Fatal(err)
	}
	entries := map[string][]byte{}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var obj jsonObject
		if err := yaml.Unmarshal([]byte(document), &obj); err != nil {
			d.t.Fatal(err)
		}
		if obj["kind"] != "CustomResourceDefinition" {
			obj["metadata"] = jsonObject{"name": "a", "namespace": "default", "uid": fmt.Sprint(obj["kind"]), "creationTimestamp": "2019-01-02T03:04:05Z", "generation": 1}
			plural := strings.ToLower(fmt.Sprint(obj["kind"])) + "s"
			entries["/registry/example.com/"+plural+"/default/a"] = encode(obj)
			continue
		}
		spec, head := obj["spec"].(jsonObject), obj["metadata"].(jsonObject)
		obj["apiVersion"], spec["group"] = "apiextensions.k8s.io/v1beta1", "example.com"
		head["uid"], head["creationTimestamp"], head["generation"] = head["name"], "2019-01-02T03:04:05Z", 1
		names := spec["names"].(jsonObject)
		obj["status"] = jsonObject{
			"conditions": []any{
				jsonObject{"type": "NamesAccepted", "status": "True", "lastTransitionTime": "2019-01-02T03:04:05Z", "reason": "NoConflicts", "message": "no conflicts found"},
				jsonObject{"type": "Established", "status": "True", "lastTransitionTime": "2019-01-02T03:04:05Z", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"},
			},
			"acceptedNames": names, "storedVersions": []any{"v1"},
		}
		d.plurals = append(d.plurals, fmt.Sprint(names["plural"]))
		entries["/registry/apiextensions.k8s.io/customresourcedefinitions/"+fmt.Sprint(head["name"])] = encode(obj)
	}
	return entries
}

// await waits until both sides serve a resource and report in the status whether its schema is
// structural.
func (d *servedDefinitions) await(plural string) {
	ready := func(h http.Handler) bool {
		def := ask(h, http.MethodGet, storedDefinitionsURL+"/"+plural+".example.com", nil)
		spec, _ := def.Body["spec"].(map[string]any)
		return ask(h, http.MethodGet, d.url("v1", plural)+"/a", nil).accepted() &&
			strings.Contains(string(encode(def.Body["status"])), "NonStructuralSchema") == (spec["preserveUnknownFields"] == true)
	}
	for end := time.Now().Add(time.Minute); !ready(d.theirs) || !ready(d.ours); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%s: kube-apiserver serves it: %v, Coracle: %v", plural, ready(d.theirs), ready(d.ours))
		}
	}
}

func (d *servedDefinitions) url(version, plural string) string {
	return "/apis/example.com/" + version + "/namespaces/default/" + plural
}

func (d *servedDefinitions) get(url string) {
	d.t.Helper()
	d.send(http.MethodGet, url, "", "", "application/json")
}

// send sends a request to both sides and compares the answers.
func (d *servedDefinitions) send(method, url, body, form, accept string) {
	d.t.Helper()
	d.asked++
	theirs := send(d.theirs, method, url, []byte(body), form, accept)
	ours := send(d.ours, method, url, []byte(body), form, accept)
	if theirs.Code != ours.Code || strings.Join(theirs.Warnings, "\n") != strings.Join(ours.Warnings, "\n") {
		d.t.Errorf("%s %s %s: kube-apiserver says %d %q %s, Coracle %d %q %s", method, url, body, theirs.Code, theirs.Warnings, encode(theirs.Body),
			ours.Code, ours.Warnings, encode(ours.Body))
		return
	}
	untimed(theirs.Body)
	untimed(ours.Body)
	difference("", theirs.Body, ours.Body, func(path string, theirs, ours any) {
		d.t.Errorf("%s %s %s: %s: kube-apiserver says %s, Coracle %s", method, url, body, path, encode(theirs), encode(ours))
	})
}

// untimed removes from an answer the values that come from its server, store or clock.
func untimed(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"resourceVersion", "uid", "creationTimestamp", "time", "lastTransitionTime", "storageVersionHash"} {
			if _, ok := v[name].(string); ok {
				delete(v, name)
			}
		}
		if v["manager"] == filepath.Base(os.Args[0]) { // kube-apiserver's manager is the name of its binary
			v["manager"] = "kube-apiserver"
		}
		for _, held := range v {
			untimed(held)
		}
	case []any:
		for _, held := range v {
			untimed(held)
		}
	}
}

// read reads definitions, discovery and objects.
func (d *servedDefinitions) read() {
	d.get(storedDefinitionsURL)
	d.get(storedDefinitionsURL + "?labelSelector=a%3Db")
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, plural := range d.plurals {
		d.get(storedDefinitionsURL + "/" + plural + ".example.com")
		d.get(d.url("v1", plural))
		d.get(d.url("v2", plural))
		d.send(http.MethodGet, d.url("v1", plural), "", "", table)
	}
	d.get(d.url("v1", "singles") + "?fieldSelector=spec.mode%3Dx")
	d.get(d.url("v1", "singles") + "/a/scale")
	d.describe("v1", len(d.plurals))
	d.describe("v2", 2)
}

// describe compares the models of the n kinds in a version. It waits until kube-apiserver has made
// them.
func (d *servedDefinitions) describe(version string, n int) {
	at := "/openapi/v3/apis/example.com/" + version
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		theirs := customModels(schemas(ask(d.theirs, http.MethodGet, at, nil).Body))
		if len(theirs) == 2*n { // the models of the kinds and of their lists
			judgeCustom(d.t, at, theirs, schemas(ask(d.ours, http.MethodGet, at, nil).Body))
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("%s: kube-apiserver has %d models, want %d", at, len(theirs), 2*n)
		}
	}
}

// write creates and changes objects and definitions.
func (d *servedDefinitions) write() {
	const merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
	for _, made := range []struct{ plural, kind, body string }{
		{"singles", "Single", `"spec":{"size":4,"unknown":1},"status":{"replicas":1}`},
		{"singles", "Single", `"spec":{"size":7}`},
		{"singles", "Single", `"spec":{"size":11}`},
		{"singles", "Single", `"spec":{"ports":[{"port":1},{"port":1}]}`},
		{"sames", "Same", `"spec":{"a":null}`},
		{"differs", "Differ", `"a":"b","b":1`},
		{"keeps", "Keep", `"spec":{"count":1,"b":null},"more":1,"status":{"a":1}`},
		{"keeps", "Keep", `"spec":{"count":"1"}`},
		{"keeps", "Keep", `"part":{"apiVersion":"v1","kind":"A","metadata":{"name":"a","unknown":1,"labels":{"a":null},"creationTimestamp":null},"odd":1}`},
		{"keeps", "Keep", `"part":{"apiVersion":"v1","kind":"A","metadata":{"labels":5}},"more":{"metadata":{"labels":5}}`},
		{"keeps", "Keep", `"part":{"apiVersion":"v1","kind":"A","metadata":{"managedFields":[{"time":"x"}]}}`},
		{"keeps", "Keep", `"part":{"apiVersion":5,"metadata":null}`},
		{"keeps", "Keep", `"part":{"metadata":"x"}`},
		{"bares", "Bare", `"more":[1,null],"spec":5`},
		{"looses", "Loose", `"spec":{"size":3,"names":["abc"],"extra":{"z":null}}`},
		{"looses", "Loose", `"spec":{"size":0}`},
		{"looses", "Loose", `"spec":{"size":"y"}`},
		{"looses", "Loose", `"spec":{}`},
		{"looses", "Loose", `"spec":5`},
		{"looses", "Loose", `"spec":{"size":1,"names":{"a":1}}`},
		{"looses", "Loose", `"spec":{"size":1,"names":["abcd"]}`},
		{"looses", "Loose", `"spec":{"size":1,"closed":{"b":1}}`},
		{"looses", "Loose", `"spec":{"size":1,"counts":{"b":"c"}}`},
		{"hooks", "Hook", `"a":1`},
	} {
		for _, validation := range []string{"Strict", "Warn"} {
			d.send(http.MethodPost, d.url("v1", made.plural)+"?dryRun=All&fieldManager=m&fieldValidation="+validation,
				fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":%q,"metadata":{"name":"b"},%s}`, made.kind, made.body), "application/json", "application/json")
		}
	}
	for _, plural := range d.plurals {
		def := storedDefinitionsURL + "/" + plural + ".example.com"
		d.send(http.MethodPatch, d.url("v1", plural)+"/a?fieldManager=m", `{"metadata":{"labels":{"c":"d"}}}`, merge, "application/json")
		d.get(d.url("v1", plural) + "/a")
		d.send(http.MethodPatch, def+"?fieldManager=m&dryRun=All", `{"spec":{"preserveUnknownFields":false}}`, merge, "application/json")
		d.send(http.MethodPatch, def+"?fieldManager=kubectl&force=true&dryRun=All", fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1",
			"kind":"CustomResourceDefinition","metadata":{"name":"%s.example.com"},"spec":{"group":"example.com"}}`, plural), apply, "application/json")
		d.send(http.MethodPatch, def+"?fieldManager=m", `{"metadata":{"labels":{"c":"d"}}}`, merge, "application/json")
		d.get(def)
	}
}
