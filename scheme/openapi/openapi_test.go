package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

var (
	core         = meta.GroupVersion{Version: "v1"}
	coordination = meta.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
	rbac         = meta.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
)

var (
	allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	subVerbs = []string{"get", "patch", "update"}
	methods  = []string{"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH"}
)

func typed[T any](gv meta.GroupVersion) Model {
	t := reflect.TypeFor[T]()
	return Model{Kind: gv.WithKind(t.Name()), Type: typeinfo.Of(t)}
}

// named is a model with only a name and some string fields.
func named(name string, fields ...string) Model {
	parts := strings.Split(name, ".")
	kind := meta.GroupVersionKind{Group: parts[len(parts)-3], Version: "v1", Kind: parts[len(parts)-1]}
	full := map[string]string{"core": "", "rbac": "rbac.authorization.k8s.io", "authentication": "authentication.k8s.io"}
	if group, ok := full[kind.Group]; ok {
		kind.Group = group
	}
	s := &schema.Schema{Name: name, Type: schema.Object, Kinds: []meta.GroupVersionKind{kind}, Properties: map[string]*schema.Schema{}}
	for _, f := range fields {
		s.Properties[f] = &schema.Schema{Type: schema.String}
	}
	return Model{Kind: kind, Schema: func() *schema.Schema { return s }}
}

func object[T, L any](gv meta.GroupVersion, name string, namespaced bool) Resource {
	return Resource{Description: meta.Description{Name: name, Namespaced: namespaced}, Verbs: allVerbs, Object: typed[T](gv), List: typed[L](gv)}
}

// documents are parts of the core, coordination and RBAC groups.
func documents() []Document {
	pod := typed[corev1.Pod](core)
	namespace := object[corev1.Namespace, corev1.NamespaceList](core, "namespaces", false)
	namespace.Verbs = slices.DeleteFunc(slices.Clone(allVerbs), func(v string) bool { return v == "deletecollection" })
	pods := object[corev1.Pod, corev1.PodList](core, "pods", true)
	pods.ReturnsDeleted = true
	streams := []string{"GET", "POST"}
	exec := []string{"container", "stderr", "stdin", "stdout", "tty"}
	return []Document{
		{Path: "api/v1", GroupVersion: core, Resources: []Resource{
			object[corev1.ConfigMap, corev1.ConfigMapList](core, "configmaps", true),
			namespace,
			{Description: meta.Description{Name: "namespaces/finalize"}, Verbs: []string{"update"}, Object: namespace.Object},
			{Description: meta.Description{Name: "namespaces/status"}, Verbs: subVerbs, Object: namespace.Object},
			object[corev1.Node, corev1.NodeList](core, "nodes", false),
			{Description: meta.Description{Name: "nodes/status"}, Verbs: subVerbs, Object: typed[corev1.Node](core)},
			{Description: meta.Description{Name: "nodes/proxy"}, Connect: methods, Options: named("io.k8s.api.core.v1.NodeProxyOptions", "path"), Subpath: true},
			pods,
			{Description: meta.Description{Name: "pods/status", Namespaced: true}, Verbs: subVerbs, Object: pod},
			{Description: meta.Description{Name: "pods/resize", Namespaced: true}, Verbs: subVerbs, Object: pod},
			{Description: meta.Description{Name: "pods/ephemeralcontainers", Namespaced: true}, Verbs: subVerbs, Object: pod},
			{Description: meta.Description{Name: "pods/binding", Namespaced: true}, Verbs: []string{"create"}, Object: named("io.k8s.api.core.v1.Binding")},
			{Description: meta.Description{Name: "pods/eviction", Namespaced: true}, Verbs: []string{"create"}, Object: named("io.k8s.api.policy.v1.Eviction")},
			{Description: meta.Description{Name: "pods/log", Namespaced: true}, Verbs: []string{"get"}, Object: pod, Text: true, Options: named("io.k8s.api.core.v1.PodLogOptions",
				"container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds", "stream", "tailLines", "timestamps")},
			{Description: meta.Description{Name: "pods/attach", Namespaced: true}, Connect: streams, Options: named("io.k8s.api.core.v1.PodAttachOptions", exec...)},
			{Description: meta.Description{Name: "pods/exec", Namespaced: true}, Connect: streams, Options: named("io.k8s.api.core.v1.PodExecOptions", append(exec, "command")...)},
			{Description: meta.Description{Name: "pods/portforward", Namespaced: true}, Connect: streams, Options: named("io.k8s.api.core.v1.PodPortForwardOptions", "ports")},
			{Description: meta.Description{Name: "pods/proxy", Namespaced: true}, Connect: methods, Options: named("io.k8s.api.core.v1.PodProxyOptions", "path"), Subpath: true},
			object[corev1.Secret, corev1.SecretList](core, "secrets", true),
			object[corev1.ServiceAccount, corev1.ServiceAccountList](core, "serviceaccounts", true),
			{Description: meta.Description{Name: "serviceaccounts/token", Namespaced: true}, Verbs: []string{"create"}, Object: named("io.k8s.api.authentication.v1.TokenRequest")},
			object[corev1.Service, corev1.ServiceList](core, "services", true),
			object[corev1.Event, corev1.EventList](core, "events", true),
		}},
		{Path: "apis/coordination.k8s.io/v1", GroupVersion: coordination, Resources: []Resource{
			object[coordinationv1.Lease, coordinationv1.LeaseList](coordination, "leases", true),
		}},
		{Path: "apis/rbac.authorization.k8s.io/v1", GroupVersion: rbac, Resources: []Resource{
			{Description: meta.Description{Name: "clusterroles"}, Verbs: allVerbs, Object: named("io.k8s.api.rbac.v1.ClusterRole"), List: named("io.k8s.api.rbac.v1.ClusterRoleList")},
		}},
		GroupDocument("api"), GroupDocument("apis"), GroupDocument("apis/coordination.k8s.io"),
	}
}

// v3 holds the parts of a document that tests read.
type v3 struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Components struct{ Schemas map[string]v3Schema }
	Paths      map[string]map[string]json.RawMessage
}

type v3Schema struct {
	Ref                  string `json:"$ref"`
	AllOf                []v3Schema
	OneOf                []v3Schema
	Type, Format         string
	Description          string
	Default              json.RawMessage
	Enum                 []string
	Required             []string
	Properties           map[string]v3Schema
	Items                *v3Schema
	AdditionalProperties *v3Schema
	ListType             string                  `json:"x-kubernetes-list-type"`
	ListKeys             []string                `json:"x-kubernetes-list-map-keys"`
	MapType              string                  `json:"x-kubernetes-map-type"`
	Strategy             string                  `json:"x-kubernetes-patch-strategy"`
	MergeKey             string                  `json:"x-kubernetes-patch-merge-key"`
	Kinds                []meta.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	Unions               any                     `json:"x-kubernetes-unions"`
}

type v3Operation struct {
	OperationID string
	Tags        []string
	Action      string                `json:"x-kubernetes-action"`
	Kind        meta.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	Parameters  []struct{ Name, In string }
	RequestBody *struct {
		Content  map[string]struct{ Schema v3Schema }
		Required bool
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema v3Schema }
	}
}

func parse(t *testing.T, doc Document) v3 {
	t.Helper()
	var parsed v3
	data := AppendV3JSON(nil, Info{}, doc)
	if err := json.Unmarshal(data, &parsed); err != nil {
		t.Fatalf("AppendV3JSON(%s): %v", doc.Path, err)
	}
	return parsed
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// testdata/fields.txt holds the description of each field that a Kubernetes server publishes for
// the types that the documents reach.
func TestFields(t *testing.T) {
	models := map[string]v3Schema{}
	for _, doc := range documents() {
		for name, s := range parse(t, doc).Components.Schemas {
			models[name] = s
		}
	}
	for _, line := range lines(t, "testdata/fields.txt") {
		name, rest, _ := strings.Cut(line, " ")
		field, want, _ := strings.Cut(rest, " ")
		model, ok := models[name]
		if !ok {
			t.Errorf("%s: no such model", name)
			continue
		}
		var got string
		if field == "." {
			got = "map=" + model.MapType
		} else {
			got = traits(model, field)
		}
		if got != want {
			t.Errorf("%s.%s: got %s, want %s", name, field, got, want)
		}
	}
}

// traits describes a field in the form of testdata/fields.txt.
func traits(model v3Schema, field string) string {
	f, ok := model.Properties[field]
	if !ok {
		return "missing"
	}
	var parts []string
	add := func(key, value string) {
		if value != "" {
			parts = append(parts, key+"="+value)
		}
	}
	add("type", f.Type)
	add("format", f.Format)
	if slices.Contains(model.Required, field) {
		parts = append(parts, "required")
	}
	add("default", string(f.Default))
	add("enum", strings.Join(f.Enum, ","))
	add("list", f.ListType)
	add("keys", strings.Join(f.ListKeys, ","))
	if len(f.AllOf) == 0 {
		add("map", f.MapType)
	}
	add("patch", f.Strategy)
	add("key", f.MergeKey)
	if inner := cmpOr(f.Items, f.AdditionalProperties); inner != nil {
		add("itemdefault", string(inner.Default))
		add("itemenum", strings.Join(inner.Enum, ","))
		add("itemformat", inner.Format)
	}
	return strings.Join(parts, " ")
}

func cmpOr(a, b *v3Schema) *v3Schema {
	if a != nil {
		return a
	}
	return b
}

// testdata/operations.txt holds operations as a Kubernetes server publishes them.
func TestOperations(t *testing.T) {
	got := map[string]string{}
	for _, doc := range documents() {
		for path, item := range parse(t, doc).Paths {
			var shared []struct{ Name string }
			if raw, ok := item["parameters"]; ok {
				if err := json.Unmarshal(raw, &shared); err != nil {
					t.Fatal(err)
				}
				delete(item, "parameters")
			}
			for method, raw := range item {
				var op v3Operation
				if err := json.Unmarshal(raw, &op); err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, p := range shared {
					names = append(names, p.Name)
				}
				for _, p := range op.Parameters {
					names = append(names, p.Name)
				}
				slices.Sort(names)
				got[method+" "+path] = word(op, names)
			}
		}
	}
	for _, line := range lines(t, "testdata/operations.txt") {
		parts := strings.SplitN(line, " ", 3)
		key, want := parts[0]+" "+parts[1], parts[2]
		if got[key] != want {
			t.Errorf("%s:\n got %s\nwant %s", key, got[key], want)
		}
	}
}

// word describes an operation in the form of testdata/operations.txt.
func word(op v3Operation, parameters []string) string {
	model := "string"
	for _, c := range op.Responses["200"].Content {
		if c.Schema.Ref != "" {
			model = c.Schema.Ref[strings.LastIndexByte(c.Schema.Ref, '/')+1:]
		}
	}
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	return fmt.Sprintf("%s %s %s %s/%s/%s %s %s", op.OperationID, op.Tags[0], or(op.Action, "-"), or(op.Kind.Group, "core"), op.Kind.Version,
		or(op.Kind.Kind, "-"), model, strings.Join(parameters, ","))
}

func TestModels(t *testing.T) {
	doc := parse(t, documents()[0])
	if doc.OpenAPI != "3.0.0" || doc.Info.Title != "Kubernetes" || doc.Info.Version != "unversioned" {
		t.Errorf("got %q %+v", doc.OpenAPI, doc.Info)
	}
	models := doc.Components.Schemas
	pod := models["io.k8s.api.core.v1.Pod"]
	if want := []meta.GroupVersionKind{core.WithKind("Pod")}; !slices.Equal(pod.Kinds, want) {
		t.Errorf("Pod: got kinds %v, want %v", pod.Kinds, want)
	}
	known := Info{Kinds: func(model string) []meta.GroupVersionKind {
		return []meta.GroupVersionKind{{Version: "v1", Kind: model}, {Group: "other", Version: "v2", Kind: model}}
	}}
	var told v3
	if err := json.Unmarshal(AppendV3JSON(nil, known, documents()[0]), &told); err != nil {
		t.Fatal(err)
	}
	for name, m := range told.Components.Schemas {
		if want := known.Kinds(name); !slices.Equal(m.Kinds, want) {
			t.Errorf("%s: got kinds %v, want those that the server knows, %v", name, m.Kinds, want)
		}
	}
	spec := pod.Properties["spec"]
	if len(spec.AllOf) != 1 || spec.AllOf[0].Ref != "#/components/schemas/io.k8s.api.core.v1.PodSpec" || string(spec.Default) != "{}" || spec.Ref != "" {
		t.Errorf("Pod.spec: got %+v", spec)
	}
	quantity := models["io.k8s.apimachinery.pkg.api.resource.Quantity"]
	if len(quantity.OneOf) != 2 || quantity.Type != "" {
		t.Errorf("Quantity: got %+v", quantity)
	}
	limits := models["io.k8s.api.core.v1.ResourceRequirements"].Properties["limits"]
	if limits.AdditionalProperties == nil || limits.AdditionalProperties.Ref == "" {
		t.Errorf("limits: got %+v", limits)
	}
	union, _ := json.Marshal(models["io.k8s.api.core.v1.AppArmorProfile"].Unions)
	if want := `[{"discriminator":"type","fields-to-discriminateBy":{"localhostProfile":"LocalhostProfile"}}]`; string(union) != want {
		t.Errorf("AppArmorProfile: got unions %s, want %s", union, want)
	}
	// Every reference leads to something.
	for _, doc := range documents() {
		data := AppendV3JSON(nil, Info{}, doc)
		parsed := parse(t, doc)
		for _, part := range bytes.Split(data, []byte(`"#/components/schemas/`))[1:] {
			name := string(part[:bytes.IndexByte(part, '"')])
			if _, ok := parsed.Components.Schemas[name]; !ok {
				t.Errorf("%s: %s is referred to and missing", doc.Path, name)
			}
		}
	}
}

// kubectl learns from the parameters of PATCH what the server supports.
func TestPatchOperation(t *testing.T) {
	custom := Resource{Description: meta.Description{Name: "vans", Custom: true}, Verbs: allVerbs, Object: named("com.example.v1.Van"), List: named("com.example.v1.VanList")}
	gv := meta.GroupVersion{Group: "example.com", Version: "v1"}
	for _, tt := range []struct {
		doc  Document
		path string
		want []string
	}{
		{documents()[1], "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}",
			[]string{"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"}},
		{Document{Path: "apis/example.com/v1", GroupVersion: gv, Resources: []Resource{custom}}, "/apis/example.com/v1/vans/{name}",
			[]string{"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"}},
	} {
		var op v3Operation
		if err := json.Unmarshal(parse(t, tt.doc).Paths[tt.path]["patch"], &op); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range op.Parameters {
			names = append(names, p.Name)
		}
		if want := []string{"dryRun", "fieldManager", "fieldValidation", "force"}; !slices.Equal(names, want) {
			t.Errorf("%s: got parameters %v, want %v", tt.path, names, want)
		}
		if got := jsontext.Keys(op.RequestBody.Content); !slices.Equal(got, tt.want) || !op.RequestBody.Required {
			t.Errorf("%s: got body %v, want %v", tt.path, got, tt.want)
		}
	}
}

// libraryDocument is a document of the library with which clients read the protobuf forms.
type libraryDocument interface {
	proto.Message
	YAMLValue(comment string) ([]byte, error)
}

// sameForm compares a protobuf form with the form that the library makes of the JSON.
func sameForm(t *testing.T, what string, fromJSON, fromProto libraryDocument, form []byte) {
	t.Helper()
	if err := proto.Unmarshal(form, fromProto); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if n := len(fromProto.ProtoReflect().GetUnknown()); n > 0 {
		t.Errorf("%s: got %d unknown bytes", what, n)
	}
	var values [2]any
	for i, d := range []libraryDocument{fromJSON, fromProto} {
		text, err := d.YAMLValue("")
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(values[0], values[1]) {
		t.Errorf("%s: protobuf and JSON differ", what)
	}
}

func TestV3Proto(t *testing.T) {
	docs := append(documents(), customDocument(t, van))
	// The library is slow, so the large models are left out.
	docs[0].Resources = slices.DeleteFunc(docs[0].Resources, func(r Resource) bool { return r.Object.Type == typeinfo.For[corev1.Pod]() })
	for _, doc := range docs {
		data := AppendV3JSON(nil, Info{}, doc)
		fromJSON, err := openapi_v3.ParseDocument(data)
		if err != nil {
			t.Fatalf("%s: %v", doc.Path, err)
		}
		sameForm(t, doc.Path, fromJSON, &openapi_v3.Document{}, V3Proto(data))
	}
}

func TestV2(t *testing.T) {
	both := V2JSON(Info{}, append(documents(), customDocument(t, van)))
	fromJSON, err := openapi_v2.ParseDocument(both)
	if err != nil {
		t.Fatalf("V2JSON: %v", err)
	}
	sameForm(t, "version 2", fromJSON, &openapi_v2.Document{}, V2Proto(both))
	var swagger struct {
		Swagger     string
		Definitions map[string]v3Schema
	}
	data := V2JSON(Info{}, documents())
	if err := json.Unmarshal(data, &swagger); err != nil {
		t.Fatal(err)
	}
	pod := swagger.Definitions["io.k8s.api.core.v1.Pod"]
	if swagger.Swagger != "2.0" || pod.Properties["spec"].Ref != "#/definitions/io.k8s.api.core.v1.PodSpec" || pod.Properties["spec"].Default != nil {
		t.Errorf("got %q, spec %+v", swagger.Swagger, pod.Properties["spec"])
	}
	if got := swagger.Definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]; got.Type != "string" || got.Format != "int-or-string" {
		t.Errorf("IntOrString: got %+v", got)
	}
}

func TestDeterminism(t *testing.T) {
	docs := documents()
	a, b := AppendV3JSON(nil, Info{}, docs[0]), AppendV3JSON(nil, Info{}, documents()[0])
	if !bytes.Equal(a, b) || Hash(a) != Hash(b) || len(Hash(a)) != 64 {
		t.Error("AppendV3JSON: equal input gave different documents")
	}
}

func TestIndex(t *testing.T) {
	got := string(Index([]Entry{{"apis/apps/v1", "B"}, {"api/v1", "A"}}))
	want := `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=A"},"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=B"}}}`
	if got != want {
		t.Errorf("Index: got %s, want %s", got, want)
	}
}

func TestNames(t *testing.T) {
	for group, want := range map[string][2]string{
		"":                             {"Core", "core"},
		"apps":                         {"Apps", "apps"},
		"rbac.authorization.k8s.io":    {"RbacAuthorization", "rbacAuthorization"},
		"flowcontrol.apiserver.k8s.io": {"FlowcontrolApiserver", "flowcontrolApiserver"},
		"stable.example.com":           {"StableExampleCom", "stableExampleCom"},
		"x.cert-manager.io":            {"XCertManagerIo", "xCertManagerIo"},
	} {
		if got := [2]string{groupName(group), tagName(group)}; got != want {
			t.Errorf("%q: got %v, want %v", group, got, want)
		}
	}
}

func BenchmarkV3(b *testing.B) {
	doc := documents()[0]
	b.ReportAllocs()
	for b.Loop() {
		AppendV3JSON(nil, Info{}, doc)
	}
}

func BenchmarkV2Proto(b *testing.B) {
	data := V2JSON(Info{}, documents())
	b.ReportAllocs()
	for b.Loop() {
		V2Proto(data)
	}
}

// Rules in tags are published at the model or at the field that has them.
func TestRulesInTags(t *testing.T) {
	type inner struct {
		_    struct{} `rule:"self.low < self.high" reason:"FieldValueForbidden" fieldPath:".low"`
		Low  int64    `json:"low"`
		High int64    `json:"high"`
	}
	type outer struct {
		Range inner `json:"range" rule:"self == oldSelf" message:"stays" optionalOldSelf:"true"`
	}
	c := new(schema.Compiler)
	for _, tt := range []struct {
		s    *schema.Schema
		want string
	}{
		{c.Type(typeinfo.For[inner]()), `"x-kubernetes-validations":[{"fieldPath":".low","reason":"FieldValueForbidden","rule":"self.low \u003c self.high"}]`},
		{c.Type(typeinfo.For[outer]()), `"x-kubernetes-validations":[{"message":"stays","optionalOldSelf":true,"rule":"self == oldSelf"}]`},
	} {
		for _, v3 := range []bool{true, false} {
			w := writer{v3: v3}
			w.members(tt.s)
			if n := strings.Count(string(w.b), tt.want); n != 1 || strings.Count(string(w.b), "x-kubernetes-validations") != 1 {
				t.Errorf("got %s, want %s once", w.b, tt.want)
			}
		}
	}
}
