package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestUpdateVersions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		allow  bool                       // AllowUnconditionalUpdate
		change func(w, overtaken *widget) // sets fields of w, which is sent; overtaken is the current object
		want   meta.StatusReason          // "" for success
	}{
		{"current version", false, func(w, is *widget) { w.ResourceVersion = is.ResourceVersion }, ""},
		{"stale version", true, func(*widget, *widget) {}, meta.StatusReasonConflict},
		{"no version", false, func(w, _ *widget) { w.ResourceVersion = "" }, meta.StatusReasonInvalid},
		{"version 0", false, func(w, _ *widget) { w.ResourceVersion = "0" }, meta.StatusReasonInvalid},
		{"no version, allowed", true, func(w, _ *widget) { w.ResourceVersion = "" }, ""},
		{"malformed version", true, func(w, _ *widget) { w.ResourceVersion = "x" }, meta.StatusReasonBadRequest},
		{"version of the future", true, func(w, _ *widget) { w.ResourceVersion = "99999" }, meta.StatusReasonConflict},
		{"other uid", true, func(w, is *widget) { w.ResourceVersion, w.UID = is.ResourceVersion, "other" }, meta.StatusReasonConflict},
		{"other uid, no version", true, func(w, _ *widget) { w.ResourceVersion, w.UID = "", "other" }, meta.StatusReasonConflict},
		{"other namespace", true, func(w, is *widget) { w.ResourceVersion, w.Namespace = is.ResourceVersion, "else" }, meta.StatusReasonBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Strategy.AllowUnconditionalUpdate = tt.allow }})
			w := k.create(named("a", colored("red")))
			is, err := k.change("a", colored("green"))
			if err != nil {
				t.Fatal(err)
			}
			before := k.revision()
			w.Spec.Color = "blue"
			tt.change(w, is)
			got, _, err := k.put(k.Store, w)
			if tt.want != "" {
				wantReason(t, "Update", err, tt.want)
				if k.revision() != before || k.get("a").Spec.Color != "green" {
					t.Error("a refused update wrote")
				}
				return
			}
			if err != nil || got.Spec.Color != "blue" || got.ResourceVersion == is.ResourceVersion {
				t.Errorf("Update: got %s, %v", text(got), err)
			}
		})
	}
}

func TestUpdateKeepsWhatTheServerOwns(t *testing.T) {
	k := newKit(t, options{})
	w := k.create(named("a", colored("red")))
	changed := scheme.DeepCopy(w)
	changed.UID, changed.CreationTimestamp, changed.Generation, changed.SelfLink = "", nil, 99, "/x"
	changed.Spec.Color, changed.Status.Phase = "blue", "mine"
	got, created, err := k.put(k.Store, changed)
	if err != nil || created {
		t.Fatalf("Update: %v, created %v", err, created)
	}
	if got.UID != w.UID || !got.CreationTimestamp.Equal(w.CreationTimestamp) || got.Generation != 2 || got.SelfLink != "" || got.Status.Phase != "" {
		t.Errorf("Update: got %s", text(got))
	}
	changed = scheme.DeepCopy(got)
	changed.Labels = map[string]string{"a": "b"}
	if got, _, err = k.put(k.Store, changed); err != nil || got.Generation != 2 {
		t.Errorf("a change of labels: got generation %d (%v), want 2 as before", got.Generation, err)
	}
}

func TestUpdateWithoutChange(t *testing.T) {
	k := newKit(t, options{})
	w := k.create(named("a", colored("red")))
	before := k.revision()
	got, _, err := k.put(k.Store, w)
	if err != nil || got.ResourceVersion != w.ResourceVersion || k.revision() != before {
		t.Errorf("an update without change: got version %s (%v), revision %d to %d", got.ResourceVersion, err, before, k.revision())
	}
}

func TestUpdateInvalid(t *testing.T) {
	k := newKit(t, options{})
	w := k.create(named("a", colored("fixed")))
	for name, change := range map[string]func(*widget){
		"declarative": func(w *widget) { w.Spec.Size = -1 },
		"strategy":    func(w *widget) { w.Spec.Color = "blue" },
		"metadata":    func(w *widget) { w.Labels = map[string]string{"x y": ""} },
		"deletion":    func(w *widget) { w.DeletionTimestamp = &meta.Time{Time: now} },
	} {
		c := scheme.DeepCopy(w)
		change(c)
		_, _, err := k.put(k.Store, c)
		wantReason(t, name, err, meta.StatusReasonInvalid)
	}
}

func TestCreateOnUpdate(t *testing.T) {
	k := newKit(t, options{})
	_, _, err := k.put(k.Store, named("a"))
	wantReason(t, "PUT of what is not there", err, meta.StatusReasonNotFound)
	got, created, err := k.put(k.Store, named("b"), func(r *request.Write) { r.ForceCreate = true })
	if err != nil || !created || got.UID == "" || got.Generation != 1 {
		t.Errorf("PUT with ForceCreate: got %s, created %v, %v", text(got), created, err)
	}
	k = newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Strategy.AllowCreateOnUpdate = true }})
	if _, created, err := k.put(k.Store, named("a")); err != nil || !created {
		t.Errorf("PUT where the strategy allows it: created %v, %v", created, err)
	}
	_, _, err = k.put(k.Store, named("c", func(w *widget) { w.UID = "some" }))
	wantReason(t, "PUT with a uid of what is not there", err, meta.StatusReasonConflict)
	_, _, err = k.put(k.Store, named("c", func(w *widget) { w.ResourceVersion = "new" }))
	wantReason(t, "PUT at a version that is none of what is not there", err, meta.StatusReasonBadRequest)
	if _, err := k.change("nothing", colored("red")); !meta.IsNotFound(err) {
		t.Errorf("PATCH of what is not there: got %v, want NotFound", err)
	}
	if k.get("c") != nil {
		t.Error("a refused PUT created")
	}
}

func TestUpdateDryRun(t *testing.T) {
	k := newKit(t, options{})
	w := k.create(named("a", colored("red")))
	before := k.revision()
	w.Spec.Color = "blue"
	dry := func(r *request.Write) { r.DryRun = true }
	got, _, err := k.put(k.Store, w, dry)
	if err != nil || got.Spec.Color != "blue" || got.Generation != 2 || got.ResourceVersion != w.ResourceVersion {
		t.Errorf("dry update: got %s, %v", text(got), err)
	}
	if k.revision() != before || k.get("a").Spec.Color != "red" {
		t.Error("a dry update wrote")
	}
	_, _, err = k.put(k.Store, named("new"), dry, func(r *request.Write) { r.ForceCreate = true })
	if err != nil || k.get("new") != nil {
		t.Errorf("dry create on update: %v, stored %v", err, k.get("new"))
	}
}

func TestStatusDoor(t *testing.T) {
	k := newKit(t, options{})
	status := k.Subresource("status")
	if k.Subresource("scale") != nil || status == nil {
		t.Fatal("Subresource: want status and no scale")
	}
	w := k.create(named("a", colored("red")))
	w.Spec.Color, w.Status.Phase, w.Labels = "blue", "Ready", map[string]string{"a": "b"}
	got, _, err := k.put(status, w)
	if err != nil || got.Spec.Color != "red" || got.Status.Phase != "Ready" || got.Generation != 1 {
		t.Errorf("PUT of status: got %s, %v", text(got), err)
	}
	got.Spec.Color, got.Status.Phase = "blue", "Lost"
	got, _, err = k.put(k.Store, got)
	if err != nil || got.Spec.Color != "blue" || got.Status.Phase != "Ready" || got.Generation != 2 {
		t.Errorf("PUT of the object: got %s, %v", text(got), err)
	}
}

// TestRetrySeesFreshObject: another write comes between the decision and the write. The change is
// made again on the new state, and admission gets that state as the old object.
func TestRetrySeesFreshObject(t *testing.T) {
	p := &plugin{}
	k := newKit(t, options{chain: admission.Chain{p}})
	k.create(named("a", colored("red")))
	calls := 0
	p.validate = func(a *admission.Attributes) error {
		if calls++; calls == 1 {
			p.validate = nil // the write in between passes
			if _, err := k.change("a", func(w *widget) { w.Labels = map[string]string{"between": "yes"} }); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	p.seen = nil
	w, err := k.change("a", colored("blue"))
	if err != nil || w.Spec.Color != "blue" || w.Labels["between"] != "yes" {
		t.Fatalf("got %s, %v, want both changes", text(w), err)
	}
	if last := p.seen[len(p.seen)-1]; last.Old.GetObjectMeta().Labels["between"] != "yes" {
		t.Errorf("the last try saw %s as the old object, want the state it overwrote", text(last.Old))
	}
}

func TestAdmissionKeepsOld(t *testing.T) {
	p := &plugin{mutate: func(a *admission.Attributes) error {
		if a.Operation == admission.Update {
			a.Object.(*widget).Spec.Color += "!"
		}
		return nil
	}}
	k := newKit(t, options{chain: admission.Chain{p}})
	k.create(named("a", colored("red")))
	if w, err := k.change("a", colored("blue")); err != nil || w.Spec.Color != "blue!" {
		t.Errorf("got %s, %v", text(w), err)
	}
	p.validate = func(a *admission.Attributes) error { return a.Forbidden("no %s", a.Old.(*widget).Spec.Color) }
	_, err := k.change("a", colored("green"))
	wantReason(t, "update that a plugin rejects", err, meta.StatusReasonForbidden)
	if err != nil && !strings.Contains(err.Error(), "no blue!") {
		t.Errorf("the plugin saw another old object: %v", err)
	}
}

func TestConcurrentUpdates(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("a"))
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := k.change("a", func(w *widget) { w.Spec.Size++ }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if w := k.get("a"); w.Spec.Size != writers*each || w.Generation != 1+writers*each {
		t.Errorf("after %d increments: size %d, generation %d", writers*each, w.Spec.Size, w.Generation)
	}
}

func TestUpdateOfTheLastFinalizer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		grace int64
		drop  []string // the finalizers after the update
		gone  bool
	}{
		{"last one", 0, nil, true},
		{"one of two", 0, []string{"test.example.com/b"}, false},
		{"last one within the grace period", 30, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, options{})
			k.create(named("a", finalized("test.example.com/a", "test.example.com/b"), graceful(tt.grace)))
			if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			cursor, err := k.Watch(k.ctx, &request.ListRequest{Namespace: "ns", ResourceVersion: k.get("a").ResourceVersion})
			if err != nil {
				t.Fatal(err)
			}
			defer cursor.Close()
			w, err := k.change("a", func(w *widget) { w.Finalizers = tt.drop })
			if err != nil || fmt.Sprint(w.Finalizers) != fmt.Sprint(tt.drop) {
				t.Fatalf("got %s, %v", text(w), err)
			}
			if gone := k.get("a") == nil; gone != tt.gone {
				t.Fatalf("gone: %v, want %v", gone, tt.gone)
			}
			events, err := cursor.Next(k.ctx)
			if err != nil || len(events) != 1 {
				t.Fatalf("got %d events, %v, want one", len(events), err)
			}
			want := request.Modified
			if tt.gone {
				want = request.Deleted
			}
			if events[0].Type != want {
				t.Errorf("got %s, want %s", events[0].Type, want)
			}
		})
	}
}

func TestUpdateOfTheLastFinalizerDry(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("a", finalized("test.example.com/a")))
	if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w := k.get("a")
	w.Finalizers = nil
	if _, _, err := k.put(k.Store, w, func(r *request.Write) { r.DryRun = true }); err != nil {
		t.Fatal(err)
	}
	if k.get("a") == nil {
		t.Error("a dry update deleted")
	}
}

func TestUpdateOfWhatIsDeleted(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.Prepare = func(_ *registry.Request, w, _ *widget) { w.DeletionTimestamp = nil } // as pods/status does
	}})
	k.create(named("a", finalized("test.example.com/a")))
	if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w := k.get("a")
	w.DeletionTimestamp, w.DeletionGracePeriodSeconds = nil, nil
	w.Labels = map[string]string{"a": "b"}
	got, _, err := k.put(k.Store, w)
	if err != nil || got.DeletionTimestamp == nil || got.DeletionGracePeriodSeconds == nil {
		t.Errorf("an update that leaves out the deletion: got %s, %v", text(got), err)
	}
	got.DeletionTimestamp = &meta.Time{Time: now.AddDate(1, 0, 0)}
	got.Labels = nil
	if got, _, err = k.put(k.Store, got); err != nil || !got.DeletionTimestamp.Time.Equal(now) {
		t.Errorf("an update that moves the deletion: got %s, %v, want it where it was", text(got), err)
	}
	got.Finalizers = append(got.Finalizers, "test.example.com/late")
	_, _, err = k.put(k.Store, got)
	wantReason(t, "a new finalizer", err, meta.StatusReasonInvalid)
}

func TestUpdateEndsWithItsContext(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("a"))
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	_, _, err := k.Update(ctx, &request.Write{Namespace: "ns", Name: "a", Options: &meta.UpdateOptions{},
		Change: func(_ context.Context, cur request.Current) (meta.Typed, error) {
			return named("a", colored("red"), func(w *widget) { w.ResourceVersion = k.decode(cur.Encoded).ResourceVersion }), nil
		}})
	if !errors.Is(err, context.Canceled) && !meta.IsServerTimeout(err) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
