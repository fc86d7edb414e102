package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/encryption"
)

// entry returns a stored widget.
func entry(name, value string) storage.Entry {
	return storage.Entry{Key: "/registry/test.example.com/widgets/ns/" + name, Value: []byte(value), Rev: 5}
}

const meta1 = `"metadata":{"name":"a","namespace":"ns","uid":"u","creationTimestamp":"2030-01-01T00:00:00Z","labels":{"b":"2","a":"1"}}`

// protobuf returns the widget of meta1 as a server stores it in protobuf.
func protobuf(t *testing.T) string {
	t.Helper()
	w := named("a", colored("red"), func(w *widget) {
		w.Namespace, w.UID, w.Labels = "ns", "u", map[string]string{"a": "1", "b": "2"}
		w.CreationTimestamp = &meta.Time{Time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
		w.SetGroupVersionKind(v1.WithKind("Widget"))
	})
	data, err := codec.AppendProto(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestStoredForms reads objects in each form in which they can be stored. A write stores each in
// the configured form, even if it changes nothing else.
func TestStoredForms(t *testing.T) {
	forms := map[string]string{
		"json":            `{"kind":"Widget","apiVersion":"test.example.com/v1",` + meta1 + `,"spec":{"color":"red"},"status":{}}` + "\n",
		"apiVersion 1st":  `{"apiVersion":"test.example.com/v1","kind":"Widget",` + meta1 + `,"spec":{"color":"red"},"status":{}}`,
		"kind last":       `{` + meta1 + `,"spec":{"color":"red"},"kind":"Widget","apiVersion":"test.example.com/v1"}`,
		"spaced":          "{\n \"kind\": \"Widget\", \"apiVersion\": \"test.example.com/v1\",\n " + meta1 + `, "spec": {"color": "red"}}`,
		"older version":   `{"kind":"Widget","apiVersion":"test.example.com/v1beta1",` + meta1 + `,"colour":"red"}`,
		"with a version":  `{"kind":"Widget","apiVersion":"test.example.com/v1",` + strings.Replace(meta1, `"uid"`, `"resourceVersion":"3","uid"`, 1) + `,"spec":{"color":"red"}}`,
		"protobuf":        protobuf(t),
		"unknown members": `{"kind":"Widget","apiVersion":"test.example.com/v1",` + meta1 + `,"spec":{"color":"red","shade":[1,{"x":"y"}]}}`,
	}
	for _, asProtobuf := range []bool{false, true} {
		for name, value := range forms {
			t.Run(fmt.Sprintf("%s/protobuf=%v", name, asProtobuf), func(t *testing.T) {
				k := newKit(t, options{entries: []storage.Entry{entry("a", value)},
					config: func(c *registry.Config) { c.Protobuf = asProtobuf }})
				for _, req := range []request.ListRequest{
					selectors(t, "ns", "a=1,b=2", ""), selectors(t, "", "", "spec.color=red,metadata.name=a"),
				} {
					wantNames(t, "selected", k.names(req), "a")
				}
				w := k.get("a")
				if w.Spec.Color != "red" || w.ResourceVersion != "5" || w.Labels["b"] != "2" {
					t.Fatalf("got %s", text(w))
				}
				if _, _, err := k.put(k.Store, w); err != nil {
					t.Fatal(err)
				}
				stored := k.stored("a")
				if isProto := codec.IsProtobuf([]byte(stored)); isProto != asProtobuf {
					t.Errorf("after a write: stored as protobuf %v, want %v", isProto, asProtobuf)
				}
				if !asProtobuf && !strings.HasPrefix(stored, `{"kind":"Widget","apiVersion":"test.example.com/v1",`) && name != "apiVersion 1st" && name != "kind last" && name != "spaced" {
					t.Errorf("after a write without a change: stored %s, want the storage version", stored)
				}
				if got := k.get("a"); got.Spec != w.Spec || got.UID != w.UID {
					t.Errorf("after a write: got %s, want %s", text(got), text(w))
				}
			})
		}
	}
}

// TestStoredVersion reads objects whose bytes contain a resourceVersion, as a file does that was
// copied from an answer. Clients see only the revision of the entry.
func TestStoredVersion(t *testing.T) {
	for _, metadata := range []string{
		`{"resourceVersion":"3","name":"a","namespace":"ns","uid":"u"}`,
		`{"name":"a","namespace":"ns","resourceVersion":"3","uid":"u"}`,
		`{"name":"a","namespace":"ns","uid":"u" , "resourceVersion" : "3" }`,
		`{"name":"a","namespace":"ns","resourceVersion":"3","uid":"u","resourceVersion":"4"}`,
		`{"name":"a","namespace":"ns","resourceVersion":null,"uid":"u","resourceVersion":"","labels":{"resourceVersion":"7"}}`,
	} {
		k := newKit(t, options{entries: []storage.Entry{
			entry("a", `{"kind":"Widget","apiVersion":"test.example.com/v1","metadata":`+metadata+`,"spec":{"color":"red"}}`)}})
		for range 2 {
			enc, err := k.Get(k.ctx, "ns", "a", "")
			if err != nil {
				t.Fatalf("%s: %v", metadata, err)
			}
			data, _ := enc.Stored()
			_, shown, _ := strings.Cut(string(data), `"metadata":`)
			shown, _, _ = strings.Cut(shown, `"labels"`)
			if strings.Count(shown, `"resourceVersion"`) != 1 || !json.Valid(data) {
				t.Errorf("%s: got %s, want one resourceVersion", metadata, data)
			}
			if w := k.get("a"); w.ResourceVersion != fmt.Sprint(enc.Revision()) {
				t.Errorf("%s: got resourceVersion %s, want %d", metadata, w.ResourceVersion, enc.Revision())
			}
			if _, err := k.change("a", func(w *widget) { w.Spec.Color = "blue" }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestUnreadable(t *testing.T) {
	k := newKit(t, options{entries: []storage.Entry{
		entry("broken", `{"kind":"Widget",`),
		entry("stranger", `{"kind":"Gadget","apiVersion":"else/v1","metadata":{"name":"stranger"}}`),
		entry("garbage", "k8s\x00\xff\xff\xff"),
		entry("nameless", "k8s\x00\n\x00\x12\x00"),
	}})
	for _, name := range []string{"broken", "stranger", "garbage", "nameless"} {
		if _, err := k.Get(k.ctx, "ns", name, ""); !meta.IsInternalError(err) {
			t.Errorf("Get(%s): got %v, want an internal error", name, err)
		}
	}
	_, err := k.List(k.ctx, &request.ListRequest{})
	wantReason(t, "List", err, meta.StatusReasonStoreReadError)
}

func TestEncrypted(t *testing.T) {
	config, err := encryption.Parse([]byte(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [widgets.test.example.com]
  providers:
  - aesgcm: {keys: [{name: k, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	set, err := config.Open(encryption.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	chain := set.For(widgets.Group, widgets.Resource)
	k := newKit(t, options{wrap: func(s storage.Store) storage.Store {
		return encryption.Wrap(s, func(string) encryption.Chain { return chain })
	}})
	k.create(named("a", colored("crimson")))
	raw, err := k.engine.Get(k.ctx, "/registry/test.example.com/widgets/ns/a")
	if err != nil || strings.Contains(string(raw.Value), "crimson") {
		t.Errorf("stored %q, %v, want no plain text", raw.Value, err)
	}
	if w := k.get("a"); w.Spec.Color != "crimson" {
		t.Errorf("got %s", text(w))
	}
}

func TestView(t *testing.T) {
	k := newKit(t, options{})
	k.fill(2, "ns", "other")
	if _, err := registry.ViewOf[*oldWidget](k.Store); err == nil {
		t.Error("a view of another type: got no error")
	}
	if _, err := registry.ViewOf[*widget](nil); err == nil {
		t.Error("a view of nothing: got no error")
	}
	view, err := registry.ViewOf[*widget](k.Store)
	if err != nil {
		t.Fatal(err)
	}
	w, err := view.Read(k.ctx, "ns", "w01", request.Consistent)
	if err != nil || w.Name != "w01" {
		t.Errorf("Get: %s, %v", text(w), err)
	}
	w.Spec.Color = "mine" // the caller may change it
	if again, err := view.Read(k.ctx, "ns", "w01", request.Consistent); err != nil || again.Spec.Color == "mine" {
		t.Errorf("a change of what Get returned shows: %s, %v", text(again), err)
	}
	if _, err := view.Read(k.ctx, "ns", "none", request.Consistent); !meta.IsNotFound(err) {
		t.Errorf("Get of nothing: %v", err)
	}
	for ns, want := range map[string]int{"": 4, "ns": 2, "none": 0} {
		if list, err := view.List(k.ctx, ns); err != nil || len(list) != want {
			t.Errorf("List(%q): %d, %v, want %d", ns, len(list), err, want)
		}
	}
}

// TestViewWrites: the server's own writes do not pass admission.
func TestViewWrites(t *testing.T) {
	refusal := meta.NewForbidden(meta.GroupResource{Resource: "widgets"}, "a", errors.New("no"))
	k := newKit(t, options{chain: admission.Chain{&plugin{validate: func(*admission.Attributes) error { return refusal }}}})
	view, err := registry.ViewOf[*widget](k.Store)
	if err != nil {
		t.Fatal(err)
	}
	w := named("a", colored("red"), func(w *widget) { w.Namespace = "ns" })
	if err := view.Create(k.ctx, w); err != nil || w.UID != "" {
		t.Errorf("Create: %v; the caller's object became %s", err, text(w))
	}
	if err := view.Create(k.ctx, w); !meta.IsAlreadyExists(err) {
		t.Errorf("a second Create: %v", err)
	}
	paint := func(color string) func(*widget) error {
		return func(w *widget) error { w.Spec.Color = color; return nil }
	}
	if w, err := view.Update(k.ctx, "ns", "a", true, paint("blue")); err != nil || w.Spec.Color != "blue" || k.get("a").Spec.Color != "red" {
		t.Errorf("dry Update: %s, %v; stored: %s", text(w), err, text(k.get("a")))
	}
	if w, err := view.Update(k.ctx, "ns", "a", false, paint("blue")); err != nil || w.Spec.Color != "blue" || k.get("a").Spec.Color != "blue" {
		t.Errorf("Update: %s, %v; stored: %s", text(w), err, text(k.get("a")))
	}
	if _, err := view.Update(k.ctx, "ns", "a", false, func(*widget) error { return refusal }); !errors.Is(err, refusal) {
		t.Errorf("Update that the change refuses: %v", err)
	}
	if _, err := view.Update(k.ctx, "ns", "b", false, paint("blue")); !meta.IsNotFound(err) {
		t.Errorf("Update of nothing: %v", err)
	}
	other := meta.UID("other")
	if err := view.Delete(k.ctx, "ns", "a", false, &meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &other}}); !meta.IsConflict(err) {
		t.Errorf("Delete of another: %v", err)
	}
	if err := view.Delete(k.ctx, "ns", "a", true, &meta.DeleteOptions{}); err != nil || k.get("a") == nil {
		t.Errorf("dry Delete: %v", err)
	}
	if err := view.Delete(k.ctx, "ns", "a", false, &meta.DeleteOptions{}); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if _, err := view.Read(k.ctx, "ns", "a", request.Consistent); !meta.IsNotFound(err) {
		t.Errorf("Get of what was deleted: %v", err)
	}
}

// TestSelectable: labels and fields are read without decoding the object.
func TestSelectable(t *testing.T) {
	k := newKit(t, options{})
	labelled := named("a", colored("red"))
	labelled.Labels = map[string]string{"shape": "round"}
	k.create(labelled)
	for _, fresh := range []request.Freshness{request.Consistent, request.Cached} {
		got, err := k.Selectable(k.ctx, "ns", "a", fresh)
		if err != nil {
			t.Fatal(err)
		}
		for label, want := range map[string]string{"spec.color": "red", "metadata.name": "a", "other": ""} {
			if field := got.Field(label); field != want {
				t.Errorf("the field %s: got %q, want %q", label, field, want)
			}
		}
		for key, want := range map[string]string{"shape": "round", "size": ""} {
			if label, ok := got.Labels().Get(key); label != want || ok != (want != "") {
				t.Errorf("the label %s: got %q, %t, want %q", key, label, ok, want)
			}
		}
		if n := testing.AllocsPerRun(100, func() { got.Labels().Get("shape") }); n > 0 {
			t.Errorf("a look at a label allocates %v times", n)
		}
		if _, err := k.Selectable(k.ctx, "ns", "b", fresh); !meta.IsNotFound(err) {
			t.Errorf("of nothing: %v", err)
		}
	}
}

// TestDeclaredTable: the columns of a table are those of the declaration. A row has conditions if
// the declaration has a function for them.
func TestDeclaredTable(t *testing.T) {
	ended := []meta.TableRowCondition{{Type: "Completed", Status: "True"}}
	for _, conditions := range []func(*widget) []meta.TableRowCondition{nil, func(*widget) []meta.TableRowCondition { return ended }} {
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
			r.Table = &registry.TableOf[*widget]{Columns: []meta.TableColumnDefinition{registry.NameColumn, registry.AgeColumn}, Conditions: conditions,
				Cells: func(w *widget, now time.Time) []any { return []any{w.Spec.Color, registry.Age(&w.ObjectMeta, now)} }}
		}})
		k.create(named("a", colored("red")))
		enc, err := k.Get(k.ctx, "ns", "a", "")
		if err != nil {
			t.Fatal(err)
		}
		cells, got, err := k.Row(k.ctx, enc, now.Add(time.Minute))
		if err != nil || fmt.Sprint(cells) != "[red 60s]" || k.Columns()[1].Name != "Age" || (len(got) > 0) != (conditions != nil) {
			t.Errorf("got %v, %v, %v", cells, got, err)
		}
		if cells, _, err := k.Row(k.ctx, nil, now); err != nil || fmt.Sprint(cells) != "[ <unknown>]" {
			t.Errorf("the row of no object: got %v, %v", cells, err)
		}
	}
}

func TestDefaultTable(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("a"))
	enc, err := k.Get(k.ctx, "ns", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	cells, _, err := k.Row(k.ctx, enc, now)
	if err != nil || fmt.Sprint(cells) != "[a 2030-05-06T07:08:09Z]" || len(k.Columns()) != len(cells) {
		t.Errorf("got %v, %v", cells, err)
	}
}
