package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Gizmos are a kind without a Go type. The hub is v1; v1beta1 has the field colour in place of
// spec.color.

var gizmoResource = meta.GroupResource{Group: "run.example.com", Resource: "gizmos"}

const (
	gizmoV1 = `{"type":"object","properties":{` +
		`"spec":{"type":"object","properties":{"color":{"type":"string","default":"grey"},"size":{"type":"integer","minimum":0}}},` +
		`"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}`
	gizmoV1beta1 = `{"type":"object","properties":{"colour":{"type":"string"},` +
		`"spec":{"type":"object","properties":{"size":{"type":"integer"}}},` +
		`"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}`
)

func parseSchema(tb testing.TB, text string) *schema.Schema {
	tb.Helper()
	s, errs := schema.Parse(field.NewPath("schema"), []byte(text))
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	return s
}

// gizmoKind returns the kind of gizmos, after changes to its declaration.
func gizmoKind(tb testing.TB, change ...func(*kind.Dynamic)) kind.Kind {
	tb.Helper()
	d := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: gizmoResource.Group, Kind: "Gizmo"},
		Versions: []kind.DynamicVersion{
			{Name: "v1", Schema: parseSchema(tb, gizmoV1), Selectable: []string{"spec.color", "spec.size"}},
			{Name: "v1beta1", Schema: parseSchema(tb, gizmoV1beta1), Selectable: []string{"colour", "spec.size"}},
		},
		Convert: kind.Each(convertGizmo),
	}
	for _, f := range change {
		f(&d)
	}
	k, err := d.New()
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// convertGizmo moves the color to its place in a version.
func convertGizmo(_ context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
	from, to := []string{"spec", "color"}, []string{"colour"}
	if version == "v1" {
		from, to = to, from
	}
	if color, ok := scheme.At[string](u, from...); ok {
		u.Remove(from...)
		if err := u.Set(color, to...); err != nil {
			return nil, err
		}
	}
	u.APIVersion = gizmoResource.Group + "/" + version
	return u, nil
}

// gizmos returns the resource of a kind of gizmos.
func gizmos(k kind.Kind) *registry.Resource {
	return &registry.Resource{
		GroupResource: gizmoResource, Kind: "Gizmo", Namespaced: true, Type: k, Custom: true,
		Fields: []registry.FieldValue{
			{Label: "spec.color", Path: "spec.color", Version: "v1"},
			{Label: "colour", Path: "colour", Version: "v1beta1"},
			{Label: "spec.size", Path: "spec.size"},
		},
		Strategy:   registry.Strategy{AllowUnconditionalUpdate: true},
		Generation: []string{"spec"},
		Status:     &registry.Status{},
	}
}

// gizmo decodes a gizmo. A text without an apiVersion is of v1.
func (k *kit) gizmo(text string) *scheme.Unstructured {
	k.tb.Helper()
	out, err := k.Kind().Decode(codec.DecodeRequest{Data: []byte(text), Default: meta.GroupVersionKind{Group: gizmoResource.Group, Version: "v1", Kind: "Gizmo"}})
	if err != nil {
		k.tb.Fatalf("%v in %s", err, text)
	}
	return out.Object.(*scheme.Unstructured)
}

// post creates a gizmo.
func (k *kit) post(text string) request.Encoded {
	k.tb.Helper()
	enc, err := k.Create(k.ctx, k.creation(k.gizmo(text), &meta.CreateOptions{}))
	if err != nil {
		k.tb.Fatalf("Create(%s): %v", text, err)
	}
	return enc
}

// replace puts a gizmo through a door.
func (k *kit) replace(door *registry.Store, text string) (request.Encoded, error) {
	k.tb.Helper()
	enc, _, err := door.Update(k.ctx, k.write(k.gizmo(text).Name, func(context.Context, request.Current) (meta.Typed, error) {
		return k.gizmo(text), nil
	}))
	return enc, err
}

// shows returns an object in a version as JSON, without the metadata that differ between runs.
func (k *kit) shows(s *registry.Store, enc request.Encoded, version string) string {
	k.tb.Helper()
	data, err := s.Encode(k.ctx, enc, version, codec.Media{})
	if err != nil {
		k.tb.Fatalf("Encode(%s): %v", version, err)
	}
	v, _, err := codec.DecodeTree(data, false, nil)
	if err != nil {
		k.tb.Fatalf("%v in %s", err, data)
	}
	tree := v.(map[string]any)
	m := tree["metadata"].(map[string]any)
	for _, name := range []string{"uid", "creationTimestamp", "resourceVersion", "namespace"} {
		delete(m, name)
	}
	return text(tree)
}

func (k *kit) wantShown(what string, enc request.Encoded, version, want string) {
	k.tb.Helper()
	if got := k.shows(k.Store, enc, version); got != want {
		k.tb.Errorf("%s, in %s: got %s, want %s", what, version, got, want)
	}
}

// TestGizmos takes a kind without a Go type through all verbs, in both of its versions.
func TestGizmos(t *testing.T) {
	k := newKit(t, options{instead: gizmos(gizmoKind(t))})
	enc := k.post(`{"metadata":{"name":"a"},"spec":{"size":3,"shade":1},"status":{"phase":"Mine"}}`)
	k.wantShown("the created object", enc, "v1",
		`{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":1,"name":"a"},"spec":{"color":"grey","size":3}}`)
	k.wantShown("the created object", enc, "v1beta1",
		`{"apiVersion":"run.example.com/v1beta1","colour":"grey","kind":"Gizmo","metadata":{"generation":1,"name":"a"},"spec":{"size":3}}`)

	cursor, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: formatted(enc)})
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	enc, err = k.replace(k.Store, `{"apiVersion":"run.example.com/v1beta1","metadata":{"name":"a"},"colour":"red","spec":{"size":4}}`)
	if err != nil {
		t.Fatal(err)
	}
	const red = `{"apiVersion":"run.example.com/v1","kind":"Gizmo","metadata":{"generation":2,"name":"a"},"spec":{"color":"red","size":4}}`
	k.wantShown("the object that was put in v1beta1", enc, "v1", red)
	events, err := cursor.Next(k.ctx)
	if err != nil || len(events) != 1 || events[0].Type != request.Modified {
		t.Fatalf("watch: got %v, %v, want one change", events, err)
	}
	k.wantShown("the event", events[0].Object, "v1", red)

	_, err = k.replace(k.Store, `{"metadata":{"name":"a"},"spec":{"size":-1}}`)
	wantReason(t, "a size that the schema does not allow", err, meta.StatusReasonInvalid)
	if err != nil && !strings.Contains(err.Error(), `Gizmo.run.example.com "a" is invalid: spec.size`) {
		t.Errorf("got %v, want it to name the kind, the object and the field", err)
	}
	enc, err = k.Get(k.ctx, "ns", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	k.wantShown("the object", enc, "v1", red)
	if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = k.Get(k.ctx, "ns", "a", "")
	wantReason(t, "the deleted object", err, meta.StatusReasonNotFound)
}

// formatted returns the resourceVersion of an object.
func formatted(enc request.Encoded) string { return text(enc.Revision()) }
