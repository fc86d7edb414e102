package registry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// written returns a red widget in each form in which servers have stored it, by name: in both
// versions, as JSON and as protobuf.
func written(t *testing.T) map[string]string {
	t.Helper()
	m := meta.ObjectMeta{Namespace: "ns", UID: "u", Labels: map[string]string{"a": "1"}}
	is, was := &widget{ObjectMeta: m, Spec: widgetSpec{Color: "red"}}, &oldWidget{ObjectMeta: m, Colour: "red"}
	is.SetGroupVersionKind(v1.WithKind("Widget"))
	was.SetGroupVersionKind(v1beta1.WithKind("Widget"))
	out := map[string]string{}
	for name, obj := range map[string]meta.Object{"v1": is, "v1beta1": was} {
		obj.GetObjectMeta().Name = name + "-json"
		data, err := codec.AppendJSON(nil, obj)
		if err != nil {
			t.Fatal(err)
		}
		out[name+"-json"] = string(data)
		obj.GetObjectMeta().Name = name + "-proto"
		if data, err = codec.AppendProto(nil, obj); err != nil {
			t.Fatal(err)
		}
		out[name+"-proto"] = string(data)
	}
	return out
}

// TestEntriesAsWritten reads objects that are stored in each form, and asks for each form: by name,
// in lists and in watches.
func TestEntriesAsWritten(t *testing.T) {
	all := written(t)
	var entries []storage.Entry
	for name, value := range all {
		entries = append(entries, entry(name, value))
	}
	for _, protobuf := range []bool{false, true} {
		k := newKit(t, options{entries: entries, config: func(c *registry.Config) { c.Protobuf = protobuf }})
		check := func(how string, enc request.Encoded) string {
			t.Helper()
			name := k.decode(enc).Name
			for version, want := range map[string]string{
				"v1": `{"kind":"Widget","apiVersion":"test.example.com/v1","metadata":{"name":"` + name +
					`","namespace":"ns","uid":"u","resourceVersion":"5","labels":{"a":"1"}},"spec":{"color":"red"},"status":{}}`,
				"v1beta1": `{"kind":"Widget","apiVersion":"test.example.com/v1beta1","metadata":{"name":"` + name +
					`","namespace":"ns","uid":"u","resourceVersion":"5","labels":{"a":"1"}},"colour":"red","status":{}}`,
			} {
				if got := shown(t, k, k.Store, enc, version); got != want {
					t.Errorf("%s of %s in %s: got  %s\nwant %s", how, name, version, got, want)
				}
				data, err := k.Encode(k.ctx, enc, version, codec.Media{Type: codec.Protobuf})
				if err != nil {
					t.Fatal(err)
				}
				decoded, err := k.Kind().Decode(codec.DecodeRequest{Data: data, Type: codec.Protobuf})
				if err != nil || text(decoded.Object) != want {
					t.Errorf("%s of %s as protobuf in %s: got %s, %v", how, name, version, text(decoded.Object), err)
				}
				for _, typ := range []codec.Type{codec.JSON, codec.Protobuf} {
					data, err := k.Encode(k.ctx, enc, version, codec.Media{Type: typ, As: codec.AsPartial, Group: "meta.k8s.io", Version: "v1"})
					if err != nil || !strings.Contains(string(data), "PartialObjectMetadata") || !strings.Contains(string(data), name) ||
						strings.Contains(string(data), "red") || codec.IsProtobuf(data) != (typ == codec.Protobuf) {
						t.Errorf("%s of the metadata of %s: got %s, %v", how, name, data, err)
					}
				}
				yaml, err := k.Encode(k.ctx, enc, version, codec.Media{Type: codec.YAML})
				if err != nil || !strings.Contains(string(yaml), "apiVersion: test.example.com/"+version+"\n") {
					t.Errorf("%s of %s as YAML: got %s, %v", how, name, yaml, err)
				}
			}
			return name
		}
		for name := range all {
			enc, err := k.Get(k.ctx, "ns", name, "")
			if err != nil {
				t.Fatal(err)
			}
			check("get", enc)
		}
		list, err := k.List(k.ctx, &request.ListRequest{Labels: selectors(t, "", "a=1", "").Labels})
		if err != nil || list.Len != len(all) {
			t.Fatalf("list: got %+v, %v", list, err)
		}
		for enc := range list.Items {
			check("list", enc)
		}
		cursor, err := k.Watch(k.ctx, &request.ListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for seen < len(all) {
			events, err := cursor.Next(k.ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				check("watch", e.Object)
			}
			seen += len(events)
		}
		cursor.Close()
	}
}

// TestFormOfList: a list knows its form if all its objects are stored in the same one.
func TestFormOfList(t *testing.T) {
	var entries []storage.Entry
	for name, value := range written(t) {
		entries = append(entries, entry(name, value))
	}
	k := newKit(t, options{entries: entries})
	for fields, version := range map[string]string{"": "", "metadata.name=v1-json": "v1", "metadata.name=v1beta1-json": "v1beta1", "metadata.name=none": ""} {
		req := selectors(t, "ns", "", fields)
		list, err := k.List(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		var want uint32
		if version != "" {
			want = k.FormOf(version, codec.Media{})
		}
		if got := list.Form(); got != want {
			t.Errorf("%q: got form %d of %d objects, want %d", fields, got, list.Len, want)
		}
	}
}

// TestStaleEntriesAreRewritten: an update without a change still writes an entry that is not in the
// configured form. It writes nothing if the entry is in that form.
func TestStaleEntriesAreRewritten(t *testing.T) {
	for name, value := range written(t) {
		for _, protobuf := range []bool{false, true} {
			k := newKit(t, options{entries: []storage.Entry{entry(name, value)}, config: func(c *registry.Config) { c.Protobuf = protobuf }})
			before := k.revision()
			w, err := k.change(name, func(*widget) {})
			if err != nil {
				t.Fatal(err)
			}
			right := map[bool]string{false: "v1-json", true: "v1-proto"}[protobuf]
			if wrote := k.revision() != before; wrote != (name != right) {
				t.Errorf("%s where %s is wanted: written %v", name, right, wrote)
			}
			if got := k.stored(name); codec.IsProtobuf([]byte(got)) != protobuf || strings.Contains(got, "v1beta1\x12") || w.Spec.Color != "red" {
				t.Errorf("%s where %s is wanted: got %q", name, right, got)
			}
		}
	}
}

// TestSelectorsOfVersions selects objects that are stored in either version: by fields that stand
// at different places in the versions, and by one that stands at the same place.
func TestSelectorsOfVersions(t *testing.T) {
	gizmo := func(version, name, rest string) storage.Entry {
		return storage.Entry{Key: "/registry/run.example.com/gizmos/ns/" + name, Rev: 5, Value: []byte(
			`{"apiVersion":"run.example.com/` + version + `","kind":"Gizmo","metadata":{"name":"` + name + `","namespace":"ns"},` + rest + `}`)}
	}
	entries := []storage.Entry{
		gizmo("v1", "new-red", `"spec":{"color":"red","size":1}`),
		gizmo("v1", "new-blue", `"spec":{"color":"blue","size":2}`),
		gizmo("v1beta1", "old-red", `"colour":"red","spec":{"size":1}`),
		gizmo("v1beta1", "old-blue", `"colour":"blue","spec":{"size":2}`),
	}
	var converted atomic.Int64
	k := newKit(t, options{entries: entries, instead: gizmos(gizmoKind(t, func(d *kind.Dynamic) {
		d.Convert = kind.Each(func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			converted.Add(1)
			return convertGizmo(ctx, u, version)
		})
	}))})
	if _, err := k.List(k.ctx, &request.ListRequest{}); err != nil || converted.Load() != 0 {
		t.Errorf("%d objects were converted to be read (%v)", converted.Load(), err)
	}
	for _, tt := range []struct {
		version, fields string
		want            string // "" for an error
		converts        int64  // the largest number of conversions
	}{
		{"v1", "spec.size=1", "new-red old-red", 1}, // the selector needs no conversion; the result does
		{"v1beta1", "spec.size=1", "new-red old-red", 1},
		{"v1", "spec.color=red", "new-red old-red", 2},
		{"v1beta1", "colour=blue", "new-blue old-blue", 2},
		{"v1", "spec.color!=red,spec.size=2", "new-blue old-blue", 0}, // all conversions are cached
		{"v1", "metadata.name=old-red", "old-red", 0},
		{"v1", "metadata.name=old-red,spec.color=red", "old-red", 0},
		{"", "spec.color=red", "new-red old-red", 0}, // in the version in which it is stored
		{"v1", "colour=red", "", 0},
		{"v1beta1", "spec.color=red", "", 0},
		{"v9", "spec.size=1", "", 0},
	} {
		for _, how := range []string{"list", "watch"} {
			what := fmt.Sprintf("%s in %q of %s", how, tt.version, tt.fields)
			before := converted.Load()
			req := selectors(t, "ns", "", tt.fields)
			req.Version = tt.version
			got, err := k.selected(how, &req)
			if tt.want == "" {
				wantReason(t, what, err, meta.StatusReasonBadRequest)
				continue
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%s: got %v, %v, want %s", what, got, err, tt.want)
			}
			if n := converted.Load() - before; n > tt.converts {
				t.Errorf("%s: converted %d objects, want %d", what, n, tt.converts)
			}
		}
	}
}

// selected returns the names of the objects that a list or the beginning of a watch selects.
func (k *kit) selected(how string, req *request.ListRequest) (names []string, err error) {
	k.tb.Helper()
	name := func(enc request.Encoded) {
		data, _ := enc.Stored()
		var peek codec.Peek
		if err := codec.NewPeeker().Peek(data, &peek); err != nil {
			k.tb.Fatal(err)
		}
		names = append(names, peek.Name)
	}
	if how == "list" {
		list, err := k.List(k.ctx, req)
		if err != nil {
			return nil, err
		}
		for enc := range list.Items {
			name(enc)
		}
		return names, nil
	}
	all := true
	initial := *req
	initial.SendInitialEvents, initial.Bookmarks = &all, true
	cursor, err := k.Watch(k.ctx, &initial)
	if err != nil {
		return nil, err
	}
	defer cursor.Close()
	for {
		events, err := cursor.Next(k.ctx)
		if err != nil {
			return names, err
		}
		for _, e := range events {
			if e.InitialEnd {
				slices.Sort(names)
				return names, nil
			}
			name(e.Object)
		}
	}
}

// TestSettledOnce: whether a stored object must be completed is determined once, however often the
// object is read.
func TestSettledOnce(t *testing.T) {
	gk := gizmoKind(t, func(d *kind.Dynamic) {
		for i := range d.Versions {
			d.Versions[i].Evolves = true
		}
	})
	asked, v := 0, kind.In(gk, "v1")
	settled := v.Settled
	v.Settled = func(data []byte) bool { asked++; return settled(data) }
	entry := func(name, spec string) storage.Entry {
		return storage.Entry{Key: "/registry/run.example.com/gizmos/ns/" + name, Value: fmt.Appendf(nil,
			`{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"name":%q,"namespace":"ns"},"spec":%s}`, name, spec)}
	}
	k := newKit(t, options{instead: gizmos(gk), entries: []storage.Entry{entry("complete", `{"color":"red"}`), entry("old", `{}`)}})
	form := k.FormOf("v1", codec.Media{})
	for range 3 {
		list, err := k.List(k.ctx, &request.ListRequest{Version: "v1"})
		if err != nil {
			t.Fatal(err)
		}
		for enc := range list.Items {
			data, err := enc.Form(form, func() ([]byte, error) { return k.Encode(k.ctx, enc, "v1", codec.Media{}) })
			if err != nil || !strings.Contains(string(data), `"spec":{"color":"`) || !strings.Contains(string(data), `"generation":1`) {
				t.Errorf("got %s, %v, want a color and a generation", data, err)
			}
		}
	}
	if asked != 2 {
		t.Errorf("2 objects were looked into %d times", asked)
	}
}

// TestEmptiedStatusHasDefaults: the status of a new object is removed before the object is stored.
// The default of the status is not stored, but answers and selectors have it from the create on.
func TestEmptiedStatusHasDefaults(t *testing.T) {
	text := strings.Replace(gizmoV1, `"status":{`, `"status":{"default":{"phase":"Pending"},`, 1)
	res := gizmos(gizmoKind(t, func(d *kind.Dynamic) {
		d.Convert, d.Hubless = nil, true
		d.Versions = []kind.DynamicVersion{{Name: "v1", Schema: parseSchema(t, text), Evolves: true, Selectable: []string{"status.phase"}}}
	}))
	res.Fields = []registry.FieldValue{{Label: "status.phase", Path: "status.phase", Version: "v1"}}
	k := newKit(t, options{instead: res})
	head := `{"apiVersion":"run.example.com/v1","kind":"Gizmo",`
	shows := func(what, want string, enc request.Encoded) {
		t.Helper()
		data, err := k.Encode(k.ctx, enc, "v1", codec.Media{})
		if err != nil || !strings.Contains(string(data), `"status":{"phase":"`+want+`"}`) {
			t.Errorf("%s: got %s, %v, want the phase %s", what, data, err, want)
		}
	}
	created := k.post(head + `"metadata":{"name":"a"},"status":{"phase":"Sent"}}`)
	shows("create", "Pending", created)
	if data, _ := created.Stored(); strings.Contains(string(data), "status") {
		t.Errorf("the store has %s", data)
	}
	for _, how := range []string{"list", "watch"} {
		for fields, want := range map[string]string{"status.phase=Pending": "a", "status.phase!=Pending": "", "status.phase=": ""} {
			req := selectors(t, "ns", "", fields)
			req.Version = "v1"
			got, err := k.selected(how, &req)
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s of %s: got %v, %v, want %q", how, fields, got, err, want)
			}
		}
	}
	enc, err := k.replace(k.Store, head+`"metadata":{"name":"a"},"spec":{"size":2},"status":{"phase":"Sent"}}`)
	if err != nil {
		t.Fatal(err)
	}
	shows("update", "Pending", enc)
	if data, _ := enc.Stored(); !strings.Contains(string(data), "Pending") {
		t.Errorf("an update stores %s, without the status that it started from", data)
	}
	if enc, err = k.replace(k.Subresource("status"), head+`"metadata":{"name":"a"},"status":{"phase":"Ready"}}`); err != nil {
		t.Fatal(err)
	}
	shows("status", "Ready", enc)
}
