package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// clocked returns a kit and its clock, which the test moves.
func clocked(t *testing.T, o options) (*kit, *time.Time) {
	at := now
	o.config = func(c *registry.Config) { c.Now = func() time.Time { return at } }
	return newKit(t, o), &at
}

// by sets the field manager of a write.
func by(manager string) func(*request.Write) { return func(r *request.Write) { r.Manager = manager } }

func (k *kit) createBy(manager string, w *widget) *widget {
	k.tb.Helper()
	req := k.creation(w, &meta.CreateOptions{})
	req.Manager = manager
	enc, err := k.Create(k.ctx, req)
	if err != nil {
		k.tb.Fatalf("Create(%s): %v", w.Name, err)
	}
	return k.decode(enc)
}

// applyBy applies a configuration to the widget with a name, in a version.
func (k *kit) applyBy(manager, version, name string, config map[string]any, force bool) (*widget, bool, error) {
	k.tb.Helper()
	config["apiVersion"], config["kind"] = v1.Group+"/"+version, "Widget"
	config["metadata"] = map[string]any{"name": name}
	enc, created, err := k.Update(k.ctx, &request.Write{
		Namespace: "ns", Name: name, Version: version, User: k.info.User, Options: &meta.UpdateOptions{}, Manager: manager, ForceCreate: true,
		Apply: &request.Apply{Config: config, Force: force, Check: func(*meta.ObjectMeta, bool) error { return nil }},
	})
	if err != nil {
		return nil, false, err
	}
	return k.decode(enc), created, nil
}

// wantOwners compares managedFields. An entry is written as its manager, operation, version,
// subresource, time in seconds after the start of the test, and fields.
func wantOwners(t *testing.T, what string, w *widget, want ...string) {
	t.Helper()
	var got []string
	for _, e := range w.ManagedFields {
		at := "never"
		if e.Time != nil {
			at = fmt.Sprint(e.Time.Unix() - now.Unix())
		}
		got = append(got, fmt.Sprintf("%s %s %s %s@%s %s", e.Manager, e.Operation, strings.TrimPrefix(e.APIVersion, v1.Group+"/"), e.Subresource,
			at, e.FieldsV1.Raw))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOwners(t *testing.T) {
	k, at := clocked(t, options{})
	w := k.createBy("a", named("w", colored("red"), func(w *widget) { w.Status.Phase = "mine" }))
	created := `a Update v1 @0 {"f:spec":{"f:color":{}}}`
	wantOwners(t, "created", w, created)

	*at = now.Add(5 * time.Second)
	w.Spec.Size = 3
	w, _, err := k.put(k.Store, w, by("b"))
	if err != nil {
		t.Fatal(err)
	}
	updated := `b Update v1 @5 {"f:spec":{"f:size":{}}}`
	wantOwners(t, "updated", w, created, updated)

	w.Status.Phase, w.Spec.Color = "Ready", "ignored"
	w, _, err = k.put(k.Subresource("status"), w, by("c"))
	if err != nil {
		t.Fatal(err)
	}
	status := `c Update v1 status@5 {"f:status":{"f:phase":{}}}`
	wantOwners(t, "status", w, created, updated, status)

	w, err = k.change("w", colored("blue"))
	if err != nil {
		t.Fatal(err)
	}
	wantOwners(t, "changed by nobody in particular", w, created, updated, status)

	view, err := registry.ViewOf[*widget](k.Store)
	if err != nil {
		t.Fatal(err)
	}
	w, err = view.Update(k.ctx, "ns", "w", false, func(w *widget) error { w.Spec.Color = "green"; return nil })
	if err != nil {
		t.Fatal(err)
	}
	wantOwners(t, "changed by the server", w, created, updated, status)
}

// TestOwnersInAnotherVersion: fields are recorded in the version in which they were written. Fields
// of different versions are compared by conversion.
func TestOwnersInAnotherVersion(t *testing.T) {
	k, _ := clocked(t, options{})
	k.createBy("a", named("w", colored("red")))
	w, _, err := k.applyBy("a", "v1beta1", "w", map[string]any{"colour": "blue"}, true)
	if err != nil {
		t.Fatal(err)
	}
	wantOwners(t, "applied in another version", w, `a Apply v1beta1 @0 {"f:colour":{}}`)
	_, _, err = k.applyBy("b", "v1", "w", map[string]any{"spec": map[string]any{"color": "green"}}, false)
	wantReason(t, "apply of what is owned in another version", err, meta.StatusReasonConflict)
}

// TestNothingButTimes: if an update would change only the times in managedFields, nothing is
// stored.
func TestNothingButTimes(t *testing.T) {
	reverts := func(r *registry.ResourceOf[*widget]) {
		r.Strategy.Prepare = func(_ *registry.Request, w, old *widget) {
			if old != nil {
				w.Spec.Color = old.Spec.Color
			}
		}
	}
	k, at := clocked(t, options{resource: reverts})
	k.createBy("a", named("w", colored("red")))
	*at = now.Add(time.Minute)
	before := k.revision()
	w, _, err := k.put(k.Store, named("w", colored("blue"), func(w *widget) { w.ResourceVersion = fmt.Sprint(before) }), by("a"))
	if err != nil || k.revision() != before {
		t.Fatalf("got %v, revision %d to %d, want nothing to happen", err, before, k.revision())
	}
	wantOwners(t, "unchanged", w, `a Update v1 @0 {"f:spec":{"f:color":{}}}`)
}

func TestApply(t *testing.T) {
	k, at := clocked(t, options{})
	color := func(c string) map[string]any { return map[string]any{"spec": map[string]any{"color": c}} }
	w, created, err := k.applyBy("a", "v1", "w", color("red"), false)
	if err != nil || !created || w.Spec.Color != "red" || w.Generation != 1 {
		t.Fatalf("apply of what does not exist: got %s, created %t, %v", text(w), created, err)
	}
	first := `a Apply v1 @0 {"f:spec":{"f:color":{}}}`
	wantOwners(t, "created", w, first)

	*at = now.Add(time.Minute)
	before := k.revision()
	if w, created, err = k.applyBy("a", "v1", "w", color("red"), false); err != nil || created || k.revision() != before {
		t.Errorf("the same again: got created %t, %v, revision %d to %d", created, err, before, k.revision())
	}
	wantOwners(t, "the same again", w, first)

	_, _, err = k.applyBy("b", "v1", "w", color("blue"), false)
	wantReason(t, "apply of another value", err, meta.StatusReasonConflict)
	if w, _, err = k.applyBy("b", "v1", "w", color("blue"), true); err != nil || w.Spec.Color != "blue" || w.Generation != 2 {
		t.Errorf("by force: got %s, %v", text(w), err)
	}
	wantOwners(t, "by force", w, `b Apply v1 @60 {"f:spec":{"f:color":{}}}`)

	if w, _, err = k.applyBy("c", "v1", "w", color("blue"), false); err != nil || k.revision() != before+2 {
		t.Errorf("the same by another: got %v, revision %d after %d", err, k.revision(), before)
	}
	wantOwners(t, "the same by another", w, `c Apply v1 @never {"f:spec":{"f:color":{}}}`, `b Apply v1 @60 {"f:spec":{"f:color":{}}}`)
}

// TestBrokenOwners: if a plugin leaves managedFields invalid, those from before admission are
// stored, with a warning.
func TestBrokenOwners(t *testing.T) {
	broken := []meta.ManagedFieldsEntry{{Manager: "plugin", Operation: "Dance"}}
	k, _ := clocked(t, options{chain: admission.Chain{&plugin{mutate: func(a *admission.Attributes) error {
		a.Meta().ManagedFields = broken
		return nil
	}}}})
	w := k.createBy("a", named("w", colored("red")))
	wantOwners(t, "created", w, `a Update v1 @0 {"f:spec":{"f:color":{}}}`)
	if len(k.info.Warnings) != 1 || !strings.HasPrefix(k.info.Warnings[0], ".metadata.managedFields was in an invalid state after admission") {
		t.Errorf("warnings: got %q", k.info.Warnings)
	}
}

// TestTooLargeForOwners: if an object would be too large with its managedFields, it is stored
// without them. An apply of such an object is refused.
func TestTooLargeForOwners(t *testing.T) {
	k, _ := clocked(t, options{wrap: func(storage.Store) storage.Store { return memory.New(memory.Config{MaxValue: 700}) }})
	long := strings.Repeat("x", 350)
	label := func(value string) func(*widget) {
		return func(w *widget) { w.Annotations = map[string]string{"long": value} }
	}
	wantOwners(t, "created", k.createBy("a", named("w", label(long))))
	wantOwners(t, "created with a name that is made", k.createBy("a", &widget{ObjectMeta: meta.ObjectMeta{GenerateName: "w-",
		Annotations: map[string]string{"long": long}}}))
	if w := k.createBy("a", named("small", label("x"))); len(w.ManagedFields) != 1 {
		t.Errorf("a small object: got %d entries", len(w.ManagedFields))
	}
	req := k.write("small", func(_ context.Context, cur request.Current) (meta.Typed, error) {
		obj, err := cur.Object()
		if err == nil {
			label(long)(obj.(*widget))
		}
		return obj, err
	})
	req.Manager = "b"
	enc, _, err := k.Update(k.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	wantOwners(t, "updated", k.decode(enc))
	_, _, err = k.applyBy("c", "v1", "other", map[string]any{"spec": map[string]any{"color": strings.Repeat("x", 400)}}, false)
	wantReason(t, "apply of what is too large", err, meta.StatusReasonBadRequest)
}

// rights are the rights of a user who may not do anything. They note each question.
type rights struct{ asked []string }

func (r *rights) May(_ context.Context, verb string) error {
	r.asked = append(r.asked, verb)
	return meta.NewForbidden(widgets, "", fmt.Errorf("may not %s", verb))
}

// TestUpdateThatCreates: an update that creates its object also needs the right to create.
func TestUpdateThatCreates(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.AllowCreateOnUpdate, r.Strategy.AllowUnconditionalUpdate = true, true
	}})
	r := &rights{}
	with := func(req *request.Write) { req.Rights = r }
	_, _, err := k.put(k.Store, named("w"), with)
	wantReason(t, "PUT of what does not exist", err, meta.StatusReasonForbidden)
	k.create(named("w"))
	if _, _, err := k.put(k.Store, named("w", colored("red")), with); err != nil || len(r.asked) != 1 || r.asked[0] != "create" {
		t.Errorf("PUT of what exists: got %v, asked %q", err, r.asked)
	}
}

// TestOwnersOfGizmos: the fields of an object without a Go type are owned in the version in which
// they were sent, whatever a converter makes of them.
func TestOwnersOfGizmos(t *testing.T) {
	k := newKit(t, options{instead: gizmos(gizmoKind(t))})
	req := k.creation(k.gizmo(`{"apiVersion":"run.example.com/v1beta1","metadata":{"name":"a"},"colour":"red"}`), &meta.CreateOptions{})
	req.Version, req.Manager = "v1beta1", "old"
	if _, err := k.Create(k.ctx, req); err != nil {
		t.Fatal(err)
	}
	config := map[string]any{"apiVersion": "run.example.com/v1", "kind": "Gizmo", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"color": "blue", "size": int64(2)}}
	apply := &request.Write{
		Namespace: "ns", Name: "a", Version: "v1", User: k.info.User, Options: &meta.UpdateOptions{}, Manager: "new",
		Apply: &request.Apply{Config: config, Check: func(*meta.ObjectMeta, bool) error { return nil }},
	}
	_, _, err := k.Update(k.ctx, apply)
	wantReason(t, "apply of what is owned in another version", err, meta.StatusReasonConflict)
	apply.Apply.Force = true
	enc, _, err := k.Update(k.ctx, apply)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := k.Decode(k.ctx, enc)
	if err != nil {
		t.Fatal(err)
	}
	entries := obj.GetObjectMeta().ManagedFields
	if len(entries) != 1 || entries[0].Manager != "new" || string(entries[0].FieldsV1.Raw) != `{"f:spec":{"f:color":{},"f:size":{}}}` {
		t.Errorf("got %+v, want what was applied", entries)
	}
}
