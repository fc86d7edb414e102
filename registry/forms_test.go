package registry_test

import (
	"context"
	"errors"
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

// written is a red widget as servers have written it: in both versions, as JSON and as protobuf.
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

// TestEntriesAsWritten reads objects in each form in which they can be stored, in each form in which they can be asked
// for: by name, in lists and in watches.
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

// TestStaleEntriesAreRewritten: an update brings an entry into the form that is configured, even if it changes nothing,
// and one that is in it already stays.
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

// TestSelectorsOfVersions selects by fields that versions have at different places, and by one that all have at the same,
// from objects that are stored in either version.
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
		d.Convert = func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			converted.Add(1)
			return convertGizmo(ctx, u, version)
		}
	}))})
	if _, err := k.List(k.ctx, &request.ListRequest{}); err != nil || converted.Load() != 0 {
		t.Errorf("%d objects were converted to be read (%v)", converted.Load(), err)
	}
	for _, tt := range []struct {
		version, fields string
		want            string // "" for an error
		converts        int64  // at most so many
	}{
		{"v1", "spec.size=1", "new-red old-red", 0},
		{"v1beta1", "spec.size=1", "new-red old-red", 0},
		{"v1", "spec.color=red", "new-red old-red", 2},
		{"v1beta1", "colour=blue", "new-blue old-blue", 2},
		{"v1", "spec.color!=red,spec.size=2", "new-blue old-blue", 0}, // what is made stays
		{"v1", "metadata.name=old-red", "old-red", 0},
		{"v1", "metadata.name=old-red,spec.color=red", "old-red", 0},
		{"", "spec.color=red", "new-red old-red", 0}, // the version stored
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

// selected are the names of what a list, or the beginning of a watch, selects.
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

// unwilling is a kind of gizmos whose converter fails for those called bad.
func unwilling(t *testing.T) kind.Kind {
	return gizmoKind(t, func(d *kind.Dynamic) {
		d.Convert = func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			if strings.HasPrefix(u.Name, "bad") {
				return nil, errors.New("cannot be converted")
			}
			return convertGizmo(ctx, u, version)
		}
	})
}

// TestObjectThatCannotBeConverted fails for those who want it converted, names it, and stands in nobody else's way.
func TestObjectThatCannotBeConverted(t *testing.T) {
	k := newKit(t, options{instead: gizmos(unwilling(t))})
	watching := func(version, fields string) request.EventCursor {
		t.Helper()
		req := selectors(t, "ns", "", fields)
		req.Version, req.ResourceVersion = version, fmt.Sprint(k.revision())
		cursor, err := k.Watch(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cursor.Close)
		return cursor
	}
	k.post(`{"metadata":{"name":"good"},"spec":{"color":"red"}}`)
	same, other, unselected := watching("v1", "spec.color=red"), watching("v1beta1", "colour=red"), watching("v1beta1", "")
	k.post(`{"metadata":{"name":"bad"},"spec":{"color":"red"}}`)
	k.post(`{"metadata":{"name":"later"},"spec":{"color":"red"}}`)

	named := func(what string, err error) {
		t.Helper()
		wantReason(t, what, err, meta.StatusReasonInternalError)
		if err != nil && !strings.Contains(err.Error(), `gizmos.run.example.com "ns/bad": conversion from run.example.com/v1 to run.example.com/v1beta1: cannot be converted`) {
			t.Errorf("%s: got %v, want it to name the object and say why", what, err)
		}
	}
	enc, err := k.Get(k.ctx, "ns", "bad", "")
	if err != nil {
		t.Fatal(err)
	}
	k.wantShown("the object in the version stored", enc, "v1",
		`{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":1,"name":"bad"},"spec":{"color":"red"}}`)
	_, err = k.Encode(k.ctx, enc, "v1beta1", codec.Media{})
	named("the object in the other version", err)
	_, err = k.Encode(k.ctx, enc, "v1beta1", codec.Media{As: codec.AsPartial, Version: "v1"})
	named("its metadata in the other version", err)

	for _, how := range []string{"list", "watch"} {
		req := selectors(t, "ns", "", "spec.color=red")
		req.Version = "v1"
		if got, err := k.selected(how, &req); err != nil || strings.Join(got, " ") != "bad good later" {
			t.Errorf("%s in the version stored: got %v, %v", how, got, err)
		}
		req = selectors(t, "ns", "", "colour=red")
		req.Version = "v1beta1"
		_, err = k.selected(how, &req)
		named(how+" in the other version", err)
		req = selectors(t, "ns", "", "colour=red,metadata.name=good")
		req.Version = "v1beta1"
		if got, err := k.selected(how, &req); err != nil || strings.Join(got, " ") != "good" {
			t.Errorf("%s of another object: got %v, %v", how, got, err)
		}
	}

	for name, cursor := range map[string]request.EventCursor{"same": same, "unselected": unselected} {
		n := 0
		for n < 2 {
			events, err := cursor.Next(k.ctx)
			if err != nil {
				t.Fatalf("watch %s: %v", name, err)
			}
			n += len(events)
		}
	}
	_, err = other.Next(k.ctx)
	named("watch in the other version", err)

	// It can be changed and deleted in its own version, and changes of it that arrive in the other are refused.
	if _, err := k.replace(k.Store, `{"apiVersion":"run.example.com/v1beta1","metadata":{"name":"bad"},"colour":"blue"}`); !meta.IsInternalError(err) {
		t.Errorf("update in the other version: got %v, want an internal error", err)
	}
	if _, err := k.replace(k.Store, `{"metadata":{"name":"bad"},"spec":{"color":"blue"}}`); err != nil {
		t.Errorf("update in the version stored: %v", err)
	}
	if _, err := k.delete("bad", meta.DeleteOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// TestStoredObjectThatCannotBeConverted: an entry of a version that does not convert to the hub can still be listed and
// shown as it was written; what needs the hub fails and names it.
func TestStoredObjectThatCannotBeConverted(t *testing.T) {
	k := newKit(t, options{instead: gizmos(unwilling(t)), entries: []storage.Entry{{
		Key: "/registry/run.example.com/gizmos/ns/bad", Rev: 5,
		Value: []byte(`{"apiVersion":"run.example.com/v1beta1","kind":"Gizmo","metadata":{"name":"bad","namespace":"ns"},"colour":"red"}`),
	}}})
	enc, err := k.Get(k.ctx, "ns", "bad", "")
	if err != nil {
		t.Fatal(err)
	}
	k.wantShown("as it was written", enc, "v1beta1", `{"apiVersion":"run.example.com/v1beta1","colour":"red","kind":"Gizmo","metadata":{"name":"bad"}}`)
	for what, try := range map[string]func() error{
		"in the hub": func() error { return second(k.Encode(k.ctx, enc, "v1", codec.Media{})) },
		"decoded":    func() error { return second(k.Decode(k.ctx, enc)) },
		"as a row":   func() error { _, _, err := k.Row(k.ctx, enc, now); return err },
		"update":     func() error { return second(k.replace(k.Store, `{"metadata":{"name":"bad"}}`)) },
		"delete":     func() error { return second(k.delete("bad", meta.DeleteOptions{})) },
		"status":     func() error { return second(k.replace(k.Subresource("status"), `{"metadata":{"name":"bad"}}`)) },
	} {
		err := try()
		wantReason(t, what, err, meta.StatusReasonInternalError)
		if err != nil && !strings.Contains(err.Error(), `gizmos.run.example.com "ns/bad"`) {
			t.Errorf("%s: got %v, want it to name the object", what, err)
		}
	}
}

// TestHangingConverter: a converter that does not answer holds up those who want its objects converted, and nobody else.
func TestHangingConverter(t *testing.T) {
	asked, release := make(chan string, 10), make(chan struct{})
	k := newKit(t, options{instead: gizmos(gizmoKind(t, func(d *kind.Dynamic) {
		d.Convert = func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			if u.Name == "slow" {
				asked <- version
				select {
				case <-release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return convertGizmo(ctx, u, version)
		}
	}))})
	all, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	slow := k.post(`{"metadata":{"name":"slow"},"spec":{"color":"red"}}`)
	done := make(chan string, 2)
	go func() { // a GET in the other version
		data, err := k.Encode(k.ctx, slow, "v1beta1", codec.Media{})
		done <- fmt.Sprint("get ", len(data) > 0, err)
	}()
	go func() { // a list that selects by a field of the other version
		req := selectors(t, "ns", "", "colour=red")
		req.Version = "v1beta1"
		names, err := k.selected("list", &req)
		done <- fmt.Sprint("list ", len(names) > 0, err)
	}()
	for range 2 {
		if version := <-asked; version != "v1beta1" {
			t.Errorf("the converter was asked for %s", version)
		}
	}

	// All of this waits for nothing.
	fast := k.post(`{"metadata":{"name":"fast"},"spec":{"color":"blue"}}`)
	if _, err := k.Encode(k.ctx, fast, "v1beta1", codec.Media{}); err != nil {
		t.Error(err)
	}
	enc, err := k.Get(k.ctx, "ns", "slow", "")
	if err != nil {
		t.Fatal(err)
	}
	k.wantShown("the object in the version stored", enc, "v1",
		`{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":1,"name":"slow"},"spec":{"color":"red"}}`)
	if _, err := k.replace(k.Store, `{"metadata":{"name":"slow"},"spec":{"color":"green"}}`); err != nil {
		t.Error(err)
	}
	req := selectors(t, "ns", "", "spec.color=green")
	req.Version = "v1"
	if names, err := k.selected("list", &req); err != nil || strings.Join(names, " ") != "slow" {
		t.Errorf("list in the version stored: got %v, %v", names, err)
	}
	for n := 0; n < 3; {
		events, err := all.Next(k.ctx)
		if err != nil {
			t.Fatal(err)
		}
		n += len(events)
	}

	// A request that ends says so, and does not blame the object.
	ctx, cancel := context.WithCancel(k.ctx)
	gone := make(chan error)
	go func() {
		_, err := k.Encode(ctx, enc, "v1beta1", codec.Media{})
		gone <- err
	}()
	<-asked
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the request: got %v", err)
	}
	close(release)
	for range 2 {
		if got := <-done; got != "get true <nil>" && got != "list true <nil>" {
			t.Errorf("after the converter has answered: %s", got)
		}
	}
}
