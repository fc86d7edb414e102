package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// van is a schema with everything that a custom resource definition can express.
const van = `{"description":"a van","title":"Van","type":"object","required":["spec"],"properties":{
	"spec":{"type":"object","required":["seats","nul"],"x-kubernetes-map-type":"atomic","minProperties":1,"maxProperties":9,
		"externalDocs":{"description":"more","url":"https://example.com"},"example":{"seats":2},
		"x-kubernetes-validations":[{"rule":"self.seats < 9","message":"too many","fieldPath":".seats","reason":"FieldValueInvalid","optionalOldSelf":true}],
		"properties":{
			"mode":{"type":"string","enum":["a","b"],"default":"a","minLength":1,"maxLength":5,"pattern":"^[ab]<$","format":"password"},
			"seats":{"description":"how many","type":"integer","format":"int32","minimum":1,"maximum":1e9,"exclusiveMaximum":true,"multipleOf":0.5},
			"nul":{"type":"object","nullable":true,"properties":{"x":{"type":"string"}}},
			"list":{"type":"array","minItems":1,"maxItems":3,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
				"items":{"type":"object","properties":{"k":{"type":"string"}}}},
			"names":{"type":"object","additionalProperties":{"type":"boolean"}},
			"any":{"type":"object","additionalProperties":true},
			"none":{"type":"object","additionalProperties":false},
			"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"x":{"type":"string"}}},
			"ios":{"x-kubernetes-int-or-string":true},
			"ios2":{"x-kubernetes-int-or-string":true,"anyOf":[{"minimum":42}]},
			"ios3":{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"maximum":42}]},
			"one":{"type":"string","oneOf":[{"maxLength":3},{"minLength":7}],"not":{"enum":["x"]}},
			"emb":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}},
			"":{"type":"string"}}}}}`

func customDocument(t *testing.T, text string) Document {
	t.Helper()
	s, errs := schema.Parse(nil, []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	gv := meta.GroupVersion{Group: "stable.example.com", Version: "v1"}
	object := Model{Kind: gv.WithKind("Van"), Schema: func() *schema.Schema { return s }}
	return Document{Path: "apis/stable.example.com/v1", GroupVersion: gv, Resources: []Resource{
		{Description: meta.Description{Name: "vans", Namespaced: true, Custom: true}, Verbs: allVerbs, Object: object, List: Model{Kind: gv.WithKind("VanList")}},
		{Description: meta.Description{Name: "vans/status", Namespaced: true, Custom: true}, Verbs: subVerbs, Object: object},
	}}
}

// definitions returns the models of a document.
func definitions(t *testing.T, data []byte, at ...string) map[string]any {
	t.Helper()
	var tree map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&tree); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	for _, name := range at {
		tree = tree[name].(map[string]any)
	}
	return tree
}

func same(t *testing.T, what string, got any, want string) {
	t.Helper()
	var tree any
	if err := json.Unmarshal([]byte(want), &tree); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if !reflect.DeepEqual(got, tree) {
		text, _ := json.Marshal(got)
		t.Errorf("%s:\n got %s\nwant %s", what, text, want)
	}
}

func TestCustomV3(t *testing.T) {
	models := definitions(t, AppendV3JSON(nil, Info{}, customDocument(t, van)), "components", "schemas")
	model := models["com.example.stable.v1.Van"].(map[string]any)
	same(t, "kinds", model["x-kubernetes-group-version-kind"], `[{"group":"stable.example.com","kind":"Van","version":"v1"}]`)
	same(t, "required", model["required"], `["spec"]`)
	for key, want := range map[string]string{"title": "Van", "description": "a van", "type": "object"} {
		if model[key] != want {
			t.Errorf("%s: got %v, want %s", key, model[key], want)
		}
	}
	if len(model["properties"].(map[string]any)) != 4 || model["x-kubernetes-embedded-resource"] != nil {
		t.Errorf("got %v", model)
	}
	spec := definitions(t, AppendV3JSON(nil, Info{}, customDocument(t, van)), "components", "schemas", "com.example.stable.v1.Van", "properties", "spec")
	properties := spec["properties"].(map[string]any)
	var want map[string]any
	if err := json.Unmarshal([]byte(van), &want); err != nil {
		t.Fatal(err)
	}
	want = want["properties"].(map[string]any)["spec"].(map[string]any)
	for name, p := range want["properties"].(map[string]any) {
		switch name {
		case "ios", "ios2", "emb":
		default:
			text, _ := json.Marshal(p)
			same(t, name, properties[name], string(text))
		}
	}
	same(t, "ios", properties["ios"], `{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`)
	same(t, "ios2", properties["ios2"], `{"x-kubernetes-int-or-string":true,"anyOf":[{"minimum":42}],"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]}]}`)
	emb := properties["emb"].(map[string]any)
	same(t, "emb.required", emb["required"], `["kind","apiVersion"]`)
	same(t, "emb.metadata", emb["properties"].(map[string]any)["metadata"],
		`{"description":"Standard object's metadata.","allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}`)
	delete(want, "properties")
	delete(spec, "properties")
	text, _ := json.Marshal(want)
	same(t, "spec", spec, string(text))

	list := models["com.example.stable.v1.VanList"].(map[string]any)
	same(t, "list.items", list["properties"].(map[string]any)["items"],
		`{"description":"List of vans.","type":"array","items":{"$ref":"#/components/schemas/com.example.stable.v1.Van"}}`)
	same(t, "list.required", list["required"], `["items"]`)
	if models["io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"] == nil {
		t.Error("ListMeta is referred to and missing")
	}
}

// TestHeadDescriptions: the descriptions of apiVersion, kind and metadata begin as Kubernetes' e2e
// tests expect them in kubectl explain.
func TestHeadDescriptions(t *testing.T) {
	doc := customDocument(t, van)
	for version, models := range map[string]map[string]any{
		"v2": definitions(t, V2JSON(Info{}, []Document{doc}), "definitions"),
		"v3": definitions(t, AppendV3JSON(nil, Info{}, doc), "components", "schemas"),
	} {
		for model, descriptions := range map[string]map[string]string{
			"com.example.stable.v1.Van": {
				"apiVersion": "APIVersion defines", "kind": "Kind is a string value", "metadata": "Standard object's metadata",
			},
			"com.example.stable.v1.VanList": {
				"apiVersion": "APIVersion defines", "kind": "Kind is a string value", "metadata": "Standard list metadata", "items": "List of vans",
			},
			"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"creationTimestamp": "CreationTimestamp is a timestamp"},
		} {
			for name, want := range descriptions {
				property := models[model].(map[string]any)["properties"].(map[string]any)[name].(map[string]any)
				if got, _ := property["description"].(string); !strings.HasPrefix(got, want) {
					t.Errorf("%s, %s.%s: got %q, want a description that begins with %q", version, model, name, got, want)
				}
			}
		}
	}
}

// TestCustomV2: the schema in version 2 lacks what this version cannot express, and what kubectl
// would misread.
func TestCustomV2(t *testing.T) {
	doc := customDocument(t, van)
	spec := definitions(t, V2JSON(Info{}, []Document{doc}), "definitions", "com.example.stable.v1.Van", "properties", "spec")
	same(t, "required", spec["required"], `["seats"]`)
	properties := spec["properties"].(map[string]any)
	for name, want := range map[string]string{
		"mode":  `{"type":"string","enum":["a","b"],"minLength":1,"maxLength":5,"pattern":"^[ab]<$","format":"password"}`,
		"seats": `{"description":"how many","type":"integer","format":"int32","minimum":1,"maximum":1e9,"exclusiveMaximum":true,"multipleOf":0.5}`,
		"nul":   `{}`,
		"open":  `{"x-kubernetes-preserve-unknown-fields":true}`,
		"ios2":  `{"x-kubernetes-int-or-string":true}`,
		"one":   `{"type":"string"}`,
	} {
		same(t, name, properties[name], want)
	}
	open := customDocument(t, `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}`)
	model := definitions(t, V2JSON(Info{}, []Document{open}), "definitions")["com.example.stable.v1.Van"]
	same(t, "open", model, `{"type":"object","x-kubernetes-group-version-kind":[{"group":"stable.example.com","kind":"Van","version":"v1"}]}`)
	// The schema itself is unchanged: it serves version 3, too.
	same(t, "after", definitions(t, AppendV3JSON(nil, Info{}, doc), "components", "schemas", "com.example.stable.v1.Van", "properties", "spec")["required"], `["seats","nul"]`)
}

func TestCustomName(t *testing.T) {
	for kind, want := range map[meta.GroupVersionKind]string{
		{Group: "example.com", Version: "v1", Kind: "Widget"}:              "com.example.v1.Widget",
		{Group: "stable.example.com", Version: "v1beta1", Kind: "CronTab"}: "com.example.stable.v1beta1.CronTab",
		{Group: "apps", Version: "v1", Kind: "Thing"}:                      "apps.v1.Thing",
	} {
		if got := customName(kind); got != want {
			t.Errorf("%v: got %s, want %s", kind, got, want)
		}
	}
}

// Custom resources are described as kube-apiserver describes them, which differs from how it
// describes its own kinds.
func TestCustomOperations(t *testing.T) {
	doc := customDocument(t, van)
	for i := range doc.Resources {
		doc.Resources[i].Object.Selectable = []string{"spec.mode"}
	}
	gv := doc.GroupVersion
	scale := Model{Kind: meta.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Type: typeinfo.For[meta.Status]()}
	doc.Resources = append(doc.Resources, Resource{Description: meta.Description{Name: "vans/scale", Namespaced: true, Custom: true}, Verbs: subVerbs, Object: scale})
	for _, v2 := range []bool{false, true} {
		data, models := AppendV3JSON(nil, Info{}, doc), []string{"components", "schemas"}
		if v2 {
			data, models = V2JSON(Info{}, []Document{doc}), []string{"definitions"}
		}
		for _, name := range []string{"com.example.stable.v1.Van", "com.example.stable.v1.VanList"} {
			same(t, name, definitions(t, data, append(models, name)...)["x-kubernetes-selectable-fields"], `[{"fieldPath":"spec.mode"}]`)
		}
		paths := definitions(t, data, "paths")
		at := "/apis/stable.example.com/v1"
		if len(paths) != 5 || paths[at+"/vans"] == nil { // without the paths of discovery and of the old watch verbs
			t.Errorf("got the paths %v", slices.Sorted(maps.Keys(paths)))
		}
		item := at + "/namespaces/{namespace}/vans/{name}"
		same(t, "kind", definitions(t, data, "paths", item+"/scale", "get")["x-kubernetes-group-version-kind"],
			`{"group":"`+gv.Group+`","kind":"Van","version":"v1"}`)
		if answers := definitions(t, data, "paths", item, "patch", "responses"); answers["201"] != nil || answers["200"] == nil {
			t.Errorf("patch answers %v", answers)
		}
		clear := definitions(t, data, "paths", at+"/namespaces/{namespace}/vans", "delete")
		if text, _ := json.Marshal(clear); bytes.Contains(text, []byte("DeleteOptions")) || bytes.Contains(text, []byte("dryRun")) ||
			!bytes.Contains(text, []byte("allowWatchBookmarks")) {
			t.Errorf("deletecollection: %s", text)
		}
		if text, _ := json.Marshal(definitions(t, data, "paths", item, "get")["parameters"]); !bytes.Contains(text, []byte("resourceVersion")) {
			t.Errorf("get takes %s", text)
		}
		if bytes.Contains(data, []byte("*/*")) || bytes.Contains(data, []byte("stream=watch")) {
			t.Errorf("bodies of any type, or streams: %s", data)
		}
	}
	whole := definitions(t, AppendV3JSON(nil, Info{}, doc))
	same(t, "info", whole["info"], `{"title":"Kubernetes CRD Swagger","version":"v0.1.0"}`)
	info := Info{Kinds: func(string) []meta.GroupVersionKind { // client-go does not have apiextensions.k8s.io
		return []meta.GroupVersionKind{{Version: "v1", Kind: "DeleteOptions"}, {Group: "apiextensions.k8s.io", Version: "v1", Kind: "DeleteOptions"}}
	}}
	shared := definitions(t, AppendV3JSON(nil, info, doc), "components", "schemas", "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
	same(t, "kinds", shared["x-kubernetes-group-version-kind"], `[{"group":"","kind":"DeleteOptions","version":"v1"}]`)
	if whole["components"].(map[string]any)["securitySchemes"] != nil {
		t.Error("the document names a security scheme")
	}
}

// TestCustomKinds makes the models of many kinds at once; documents are the same each time.
func TestCustomKinds(t *testing.T) {
	doc := customDocument(t, van)
	vans := doc.Resources
	for i := range 40 {
		for _, r := range vans {
			r.Name = strings.Replace(r.Name, "vans", fmt.Sprintf("vans%d", i), 1)
			r.Object.Kind.Kind = fmt.Sprintf("Van%d", i)
			r.List.Kind.Kind = fmt.Sprintf("Van%dList", i)
			doc.Resources = append(doc.Resources, r)
		}
	}
	v2, v3 := V2JSON(Info{}, []Document{doc}), AppendV3JSON(nil, Info{}, doc)
	if !bytes.Equal(v2, V2JSON(Info{}, []Document{doc})) || !bytes.Equal(v3, AppendV3JSON(nil, Info{}, doc)) {
		t.Error("the documents are others when they are made again")
	}
	for what, models := range map[string]map[string]any{"v2": definitions(t, v2, "definitions"), "v3": definitions(t, v3, "components", "schemas")} {
		want := models["com.example.stable.v1.Van"].(map[string]any)["properties"]
		for i := range 40 {
			model, _ := models[fmt.Sprintf("com.example.stable.v1.Van%d", i)].(map[string]any)
			if !reflect.DeepEqual(model["properties"], want) {
				t.Errorf("%s: kind %d is described as %v", what, i, model)
			}
		}
		if models["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"] == nil {
			t.Errorf("%s: the metadata of the kinds is not described", what)
		}
	}
}
