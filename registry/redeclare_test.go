package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// changedGizmos returns another declaration of gizmos: they are stored in v1beta1, can be selected
// by shade and not by color, have no size, and their converter sets a label.
func changedGizmos(t *testing.T) *registry.Resource {
	t.Helper()
	res := gizmos(gizmoKind(t, func(d *kind.Dynamic) {
		d.Versions[0].Schema = parseSchema(t, strings.Replace(gizmoV1, `,"size":{"type":"integer","minimum":0}`, `,"shade":{"type":"string","default":"dark"}`, 1))
		d.Versions[0].Selectable = []string{"spec.shade"}
		d.Versions[1].Schema = parseSchema(t, strings.Replace(gizmoV1beta1, `"size":{"type":"integer"}`, `"shade":{"type":"string"}`, 1))
		d.Versions[1].Selectable = nil
		d.Convert = kind.Each(func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			if u.Labels == nil {
				u.Labels = map[string]string{}
			}
			u.Labels["converted"] = "anew"
			return convertGizmo(ctx, u, version)
		})
	}))
	res.StorageVersion = "v1beta1"
	res.Fields = []registry.FieldValue{{Label: "spec.shade", Path: "spec.shade"}}
	return res
}

func (k *kit) storedGizmo(name string) string {
	k.tb.Helper()
	e, err := k.store.Get(k.ctx, "/registry/run.example.com/gizmos/ns/"+name)
	if err != nil {
		k.tb.Fatal(err)
	}
	return string(e.Value)
}

func TestRedeclare(t *testing.T) {
	k := newKit(t, options{instead: gizmos(gizmoKind(t))})
	watching := func(s *registry.Store, version, fields string) request.EventCursor {
		t.Helper()
		req := selectors(t, "ns", "", fields)
		req.Version, req.ResourceVersion = version, text(k.revision())
		cursor, err := s.Watch(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cursor.Close)
		return cursor
	}
	next := func(what string, c request.EventCursor, s *registry.Store, version string, want ...string) {
		t.Helper()
		for len(want) > 0 {
			events, err := c.Next(k.ctx)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for _, e := range events {
				if got := string(e.Type) + " " + k.shows(s, e.Object, version); len(want) == 0 || got != want[0] {
					t.Fatalf("%s: got %s, want %q", what, got, want)
				}
				want = want[1:]
			}
		}
	}
	enc := k.post(`{"metadata":{"name":"a"},"spec":{"color":"red","size":3}}`)
	oldForm := k.FormOf("v1beta1", codec.Media{})
	kept, err := enc.Form(oldForm, func() ([]byte, error) { return k.Encode(k.ctx, enc, "v1beta1", codec.Media{}) })
	if err != nil || !strings.Contains(string(kept), `"colour":"red"`) {
		t.Fatalf("got %s, %v", kept, err)
	}
	all, red := watching(k.Store, "v1", ""), watching(k.Store, "v1", "spec.color=red")

	s, err := k.Redeclare(*changedGizmos(t))
	if err != nil {
		t.Fatal(err)
	}
	s.Adopt()
	if s.StorageVersion().Version != "v1beta1" || k.StorageVersion().Version != "v1" {
		t.Errorf("storage versions: got %v, and of the old store %v", s.StorageVersion(), k.StorageVersion())
	}

	// The new store does not use the forms that the old one has cached, nor those that the old one
	// took for stored forms.
	enc, err = s.Get(k.ctx, "ns", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	_, stored := enc.Stored()
	for _, version := range []string{"v1", "v1beta1"} {
		if form := s.FormOf(version, codec.Media{}); form == stored || form == oldForm {
			t.Errorf("%s: the new store uses forms of the old one", version)
		}
	}
	const old = `{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":1,"name":"a"},"spec":{"color":"red"}}`
	if got := k.shows(s, enc, "v1"); got != old {
		t.Errorf("an old entry: got %s, want %s: without the size", got, old)
	}
	const converted = `{"apiVersion":"run.example.com/v1beta1","colour":"red","kind":"Gizmo","metadata":{"generation":1,"labels":{"converted":"anew"},"name":"a"},"spec":{}}`
	if got := k.shows(s, enc, "v1beta1"); got != converted {
		t.Errorf("an old entry, converted: got %s, want %s", got, converted)
	}

	// Selectors use the fields of the new declaration, for entries of the old one, too.
	for fields, want := range map[string]int{"spec.shade=": 1, "spec.shade=dark": 0} {
		req := selectors(t, "ns", "", fields)
		req.Version = "v1"
		if list, err := s.List(k.ctx, &req); err != nil || list.Len != want {
			t.Errorf("%s: got %+v, %v, want %d", fields, list, err, want)
		}
	}
	req := selectors(t, "ns", "", "spec.color=red")
	req.Version = "v1"
	_, err = s.List(k.ctx, &req)
	wantReason(t, "a field that is not declared any more", err, meta.StatusReasonBadRequest)

	// A write stores the new version, even if it changes nothing else.
	unchanged := func(_ context.Context, cur request.Current) (meta.Typed, error) { return cur.Object() }
	before := k.revision()
	if _, _, err := s.Update(k.ctx, k.write("a", unchanged)); err != nil {
		t.Fatal(err)
	}
	if got := k.storedGizmo("a"); k.revision() == before || !strings.Contains(got, `"apiVersion":"run.example.com/v1beta1"`) {
		t.Errorf("after an update without change: stored %s, want v1beta1", got)
	}
	before = k.revision()
	if _, _, err := s.Update(k.ctx, k.write("a", unchanged)); err != nil || k.revision() != before {
		t.Errorf("a second one: got %v, revision %d to %d, want no write", err, before, k.revision())
	}

	// The watches of the old store continue, with the old declaration.
	next("an open watch", all, k.Store, "v1", `MODIFIED {"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":2,`+
		`"labels":{"converted":"anew"},"name":"a"},"spec":{"color":"red"}}`)
	next("an open watch with a selector", red, k.Store, "v1", `MODIFIED {"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":2,`+
		`"labels":{"converted":"anew"},"name":"a"},"spec":{"color":"red"}}`)
	if _, _, err := s.Update(k.ctx, k.write("a", func(_ context.Context, cur request.Current) (meta.Typed, error) {
		obj, err := cur.Object()
		if err != nil {
			return nil, err
		}
		u := obj.(*scheme.Unstructured)
		return u, u.Set("blue", "spec", "color")
	})); err != nil {
		t.Fatal(err)
	}
	next("the end of a selection", red, k.Store, "v1", `DELETED {"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":2,`+
		`"labels":{"converted":"anew"},"name":"a"},"spec":{"color":"red"}}`)
	if _, err := k.replace(k.Store, `{"metadata":{"name":"a"},"spec":{"color":"red","size":4}}`); err != nil {
		t.Fatalf("a write through the old store: %v", err)
	}
	if got := k.storedGizmo("a"); !strings.Contains(got, `"apiVersion":"run.example.com/v1"`) || !strings.Contains(got, `"size":4`) {
		t.Errorf("a write through the old store: stored %s, want what it was declared as", got)
	}
	next("the selection again", red, k.Store, "v1", `ADDED {"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":4,"name":"a"},"spec":{"color":"red","size":4}}`)
}

// TestRedeclareTyped changes the storage version of a kind with Go types, twice.
func TestRedeclareTyped(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("a", colored("red")))
	k.create(named("b", colored("blue")))
	s := k.Store
	for _, version := range []string{"v1beta1", "v1"} {
		res := declaration()
		res.StorageVersion = version
		next, err := s.Redeclare(registry.Typed(res))
		if err != nil {
			t.Fatal(err)
		}
		s = next
		s.Adopt()
		req := selectors(t, "ns", "", "spec.color=red")
		req.Version = "v1"
		list, err := s.List(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		wantNames(t, "selected", k.namesOf(list), "a")
		if _, _, err := s.Update(k.ctx, k.write("a", func(_ context.Context, cur request.Current) (meta.Typed, error) { return cur.Object() })); err != nil {
			t.Fatal(err)
		}
		if got := k.stored("a"); !strings.HasPrefix(got, `{"kind":"Widget","apiVersion":"test.example.com/`+version+`",`) {
			t.Errorf("stored %s, want %s", got, version)
		}
		enc, err := s.Get(k.ctx, "ns", "a", "")
		if err != nil {
			t.Fatal(err)
		}
		if got := k.decode(enc); got.Spec.Color != "red" {
			t.Errorf("got %s", text(got))
		}
		// The door status follows the new declaration.
		if _, _, err := s.Subresource("status").Update(k.ctx, k.write("a", func(_ context.Context, cur request.Current) (meta.Typed, error) {
			obj, err := cur.Object()
			if err == nil {
				obj.(*widget).Status.Phase = version
			}
			return obj, err
		})); err != nil {
			t.Fatal(err)
		}
	}
	if w := k.get("a"); w.Status.Phase != "v1" {
		t.Errorf("got %s", text(w))
	}
}

// TestRedeclareFindsWhatWasUnreadable: an entry in a version that the kind did not have can be
// read, and rewritten, after the kind is declared with that version.
func TestRedeclareFindsWhatWasUnreadable(t *testing.T) {
	one := gizmoKind(t, func(d *kind.Dynamic) { d.Versions = d.Versions[:1] })
	res := gizmos(one)
	k := newKit(t, options{instead: res, entries: []storage.Entry{{Key: "/registry/run.example.com/gizmos/ns/old", Rev: 5,
		Value: []byte(`{"apiVersion":"run.example.com/v1beta1","kind":"Gizmo","metadata":{"name":"old","namespace":"ns"},"colour":"red"}`)}}})
	if _, err := k.Get(k.ctx, "ns", "old", ""); !meta.IsInternalError(err) {
		t.Fatalf("got %v, want an internal error", err)
	}
	s, err := k.Redeclare(*gizmos(gizmoKind(t)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Get(k.ctx, "ns", "old", ""); !meta.IsInternalError(err) {
		t.Errorf("before Adopt: got %v, want an internal error", err)
	}
	s.Adopt()
	if _, _, err := s.Update(k.ctx, k.write("old", func(_ context.Context, cur request.Current) (meta.Typed, error) { return cur.Object() })); err != nil {
		t.Fatal(err)
	}
	enc, err := s.Get(k.ctx, "ns", "old", "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := k.shows(s, enc, "v1"), `{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"name":"old"},"spec":{"color":"red"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRedeclareRefuses(t *testing.T) {
	k := newKit(t, options{})
	for name, change := range map[string]func(r *registry.ResourceOf[*widget]){
		"another resource":   func(r *registry.ResourceOf[*widget]) { r.GroupResource.Resource = "gadgets" },
		"another scope":      func(r *registry.ResourceOf[*widget]) { r.Namespaced = false },
		"an unknown version": func(r *registry.ResourceOf[*widget]) { r.StorageVersion = "v9" },
		"a door that owns what is not there": func(r *registry.ResourceOf[*widget]) {
			r.Subresources = []registry.SubresourceOf[*widget]{{Name: "part", Owns: []string{"nothing"}}}
		},
		"a generation of what is not there": func(r *registry.ResourceOf[*widget]) { r.Generation = []string{"nothing"} },
	} {
		res := declaration()
		change(&res)
		if s, err := k.Redeclare(registry.Typed(res)); err == nil || s != nil {
			t.Errorf("%s: got no error", name)
		}
	}
	grouped := func(r *registry.ResourceOf[*widget]) { r.Fields[0].Groups = true }
	g := newKit(t, options{resource: grouped})
	if _, err := g.Redeclare(registry.Typed(declaration())); err == nil {
		t.Error("a resource whose watchers are grouped by a field, without it: got no error")
	}
	same := declaration()
	grouped(&same)
	if _, err := g.Redeclare(registry.Typed(same)); err != nil {
		t.Errorf("the same declaration: %v", err)
	}
	// Declarations that are refused have changed nothing.
	k.create(named("a", colored("red")))
	wantNames(t, "selected", k.names(selectors(t, "ns", "", "spec.color=red")), "a")
	if got := k.stored("a"); !strings.Contains(got, `"apiVersion":"test.example.com/v1"`) {
		t.Errorf("stored %s", got)
	}
}
