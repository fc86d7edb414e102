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
)

const hold = "test.example.com/hold"

// TestDelete deletes objects with each combination of finalizers, grace periods and propagation
// policies.
func TestDelete(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	yes, no := true, false
	orphan, foreground, background := meta.DeletePropagationOrphan, meta.DeletePropagationForeground, meta.DeletePropagationBackground
	for _, tt := range []struct {
		name       string
		w          *widget
		opts       meta.DeleteOptions
		gone       bool
		grace      int64 // the grace period that the object shows; -1 for none
		after      time.Duration
		finalizers string
		generation int64
	}{
		{name: "plain", w: named("a"), gone: true},
		{name: "finalizer", w: named("a", finalized(hold)), finalizers: "[" + hold + "]", generation: 2},
		{name: "finalizer, negative grace", w: named("a", finalized(hold)), opts: meta.DeleteOptions{GracePeriodSeconds: seconds(-5)},
			finalizers: "[" + hold + "]", generation: 2},
		{name: "graceful", w: named("a", graceful(30)), grace: 30, after: 30 * time.Second, finalizers: "[]", generation: 2},
		{name: "graceful, shorter", w: named("a", graceful(30)), opts: meta.DeleteOptions{GracePeriodSeconds: seconds(10)},
			grace: 10, after: 10 * time.Second, finalizers: "[]", generation: 2},
		{name: "graceful, at once", w: named("a", graceful(30)), opts: meta.DeleteOptions{GracePeriodSeconds: seconds(0)}, gone: true},
		{name: "graceful, negative", w: named("a", graceful(30)), opts: meta.DeleteOptions{GracePeriodSeconds: seconds(-7)},
			grace: 1, after: time.Second, finalizers: "[]", generation: 2},
		{name: "graceful, at once, finalizer", w: named("a", graceful(30), finalized(hold)),
			opts: meta.DeleteOptions{GracePeriodSeconds: seconds(0)}, finalizers: "[" + hold + "]", generation: 2},
		{name: "orphan", w: named("a"), opts: meta.DeleteOptions{PropagationPolicy: &orphan}, finalizers: "[orphan]", generation: 2},
		{name: "foreground", w: named("a"), opts: meta.DeleteOptions{PropagationPolicy: &foreground}, finalizers: "[foregroundDeletion]", generation: 2},
		{name: "background", w: named("a"), opts: meta.DeleteOptions{PropagationPolicy: &background}, gone: true},
		{name: "background instead of foreground", w: named("a", finalized("foregroundDeletion")),
			opts: meta.DeleteOptions{PropagationPolicy: &background}, gone: true},
		{name: "orphan instead of foreground", w: named("a", finalized("foregroundDeletion", hold)),
			opts: meta.DeleteOptions{PropagationPolicy: &orphan}, finalizers: "[" + hold + " orphan]", generation: 2},
		{name: "own finalizer counts", w: named("a", finalized("orphan")), finalizers: "[orphan]", generation: 2},
		{name: "orphanDependents", w: named("a"), opts: meta.DeleteOptions{OrphanDependents: &yes}, finalizers: "[orphan]", generation: 2},
		{name: "no orphanDependents", w: named("a", finalized("orphan")), opts: meta.DeleteOptions{OrphanDependents: &no}, gone: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, options{})
			w := k.create(tt.w)
			res, err := k.delete("a", tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			got := k.get("a")
			if (got == nil) != tt.gone || res.Done != tt.gone {
				t.Fatalf("gone: %v, Done %v, want %v: %s", got == nil, res.Done, tt.gone, text(got))
			}
			if tt.gone {
				if res.Status == nil || res.Status.Details.UID != w.UID || res.Status.Details.Name != "a" || res.Status.Details.Kind != "widgets" {
					t.Errorf("answer: %s", text(res.Status))
				}
				return
			}
			if text(got) != text(k.decode(res.Encoded)) {
				t.Errorf("answer %s differs from the state %s", text(k.decode(res.Encoded)), text(got))
			}
			if got.DeletionTimestamp == nil || !got.DeletionTimestamp.Time.Equal(now.Add(tt.after)) || *got.DeletionGracePeriodSeconds != tt.grace ||
				fmt.Sprint(got.Finalizers) != tt.finalizers || got.Generation != tt.generation {
				t.Errorf("got %s, want grace %d, %v from now, finalizers %s, generation %d", text(got), tt.grace, tt.after, tt.finalizers, tt.generation)
			}
			again, err := k.delete("a", meta.DeleteOptions{})
			if err != nil || again.Done || text(k.get("a")) != text(got) {
				t.Errorf("deleting again: %v, from %s to %s, want no change", err, text(got), text(k.get("a")))
			}
		})
	}
}

func TestDeleteShortensGrace(t *testing.T) {
	seconds := func(n int64) meta.DeleteOptions { return meta.DeleteOptions{GracePeriodSeconds: &n} }
	k := newKit(t, options{})
	k.create(named("a", graceful(30)))
	for _, step := range []struct {
		ask, want int64
	}{{30, 30}, {60, 30}, {10, 10}, {20, 10}} {
		if _, err := k.delete("a", seconds(step.ask)); err != nil {
			t.Fatal(err)
		}
		w := k.get("a")
		if *w.DeletionGracePeriodSeconds != step.want || !w.DeletionTimestamp.Time.Equal(now.Add(time.Duration(step.want)*time.Second)) || w.Generation != 2 {
			t.Errorf("after asking for %d s: got %s, want %d s", step.ask, text(w), step.want)
		}
	}
	before := k.revision()
	if _, err := k.delete("a", seconds(10)); err != nil || k.revision() != before {
		t.Errorf("after asking for the same time: %v, want nothing written", err)
	}
	if _, err := k.delete("a", seconds(0)); err != nil || k.get("a") != nil {
		t.Errorf("after asking for 0 s: %v, %s, want it gone", err, text(k.get("a")))
	}
}

// failingDeletes is a store whose deletions fail while fail is set.
type failingDeletes struct {
	storage.Store
	fail bool
}

func (f *failingDeletes) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	if f.fail {
		return 0, &storage.Error{Op: "delete", Key: key, Kind: storage.Unavailable}
	}
	return f.Store.Delete(ctx, key, pre)
}

// TestInterruptedDeletion: a deletion with a grace period of zero breaks off after it has marked
// the object and before it removes it. The next deletion removes the object.
func TestInterruptedDeletion(t *testing.T) {
	store := &failingDeletes{fail: true}
	k := newKit(t, options{wrap: func(s storage.Store) storage.Store { store.Store = s; return store }})
	k.create(named("a", graceful(30)))
	zero := int64(0)
	_, err := k.delete("a", meta.DeleteOptions{GracePeriodSeconds: &zero})
	wantReason(t, "Delete with a store that breaks off", err, meta.StatusReasonServiceUnavailable)
	if w := k.get("a"); w == nil || w.DeletionTimestamp == nil {
		t.Fatalf("got %s, want it marked", text(w))
	}
	store.fail = false
	res, err := k.delete("a", meta.DeleteOptions{})
	if err != nil || !res.Done || k.get("a") != nil {
		t.Errorf("deleting again: %v, %s, want it gone", err, text(k.get("a")))
	}
}

// TestDeleteDecidesOnFreshState changes the object between the first decision and the write. The
// grace period that the strategy chose for the old state must not apply to the new state.
func TestDeleteDecidesOnFreshState(t *testing.T) {
	p := &plugin{}
	k := newKit(t, options{chain: admission.Chain{p}})
	k.create(named("a", graceful(5)))
	p.validate = func(a *admission.Attributes) error {
		if a.Operation == admission.Delete {
			p.validate = nil
			if _, err := k.change("a", graceful(50)); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if w := k.get("a"); w == nil || *w.DeletionGracePeriodSeconds != 50 {
		t.Errorf("got %s, want the 50 s of the present state", text(w))
	}
}

func TestDeletePreconditions(t *testing.T) {
	k := newKit(t, options{})
	w := k.create(named("a"))
	other, rv, stale := meta.UID("other"), w.ResourceVersion, "1"
	for _, tt := range []struct {
		name string
		pre  meta.Preconditions
		says string // "" for success
	}{
		{"other uid", meta.Preconditions{UID: &other}, "The object might have been deleted and then recreated"},
		{"stale version", meta.Preconditions{ResourceVersion: &stale}, "The object might have been modified"},
		{"both right", meta.Preconditions{UID: &w.UID, ResourceVersion: &rv}, ""},
	} {
		_, err := k.delete("a", meta.DeleteOptions{Preconditions: &tt.pre})
		if tt.says == "" {
			if err != nil || k.get("a") != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		wantReason(t, tt.name, err, meta.StatusReasonConflict)
		if err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
	_, err := k.delete("a", meta.DeleteOptions{})
	wantReason(t, "Delete of what is gone", err, meta.StatusReasonNotFound)
}

// TestDeletePreconditionsFirst: admission is asked only if the preconditions of the deletion hold.
// A conflict comes before a refusal.
func TestDeletePreconditionsFirst(t *testing.T) {
	asked := 0
	refuse := &plugin{validate: func(a *admission.Attributes) error {
		if a.Operation != admission.Delete {
			return nil
		}
		asked++
		return a.Forbidden("nobody deletes this")
	}}
	k := newKit(t, options{chain: admission.Chain{refuse}})
	w := k.create(named("a"))
	other, stale := meta.UID("other"), "1"
	for _, pre := range []meta.Preconditions{{UID: &other}, {ResourceVersion: &stale}} {
		_, err := k.delete("a", meta.DeleteOptions{Preconditions: &pre})
		wantReason(t, "a precondition that does not hold", err, meta.StatusReasonConflict)
	}
	if asked != 0 {
		t.Errorf("admission was asked %d times about what does not happen", asked)
	}
	_, err := k.delete("a", meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &w.UID}})
	wantReason(t, "a precondition that holds", err, meta.StatusReasonForbidden)
}

func TestDeleteDryRun(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("plain"))
	k.create(named("held", finalized(hold)))
	k.create(named("slow", graceful(30)))
	before := k.revision()
	for name, done := range map[string]bool{"plain": true, "held": false, "slow": false} {
		res, err := k.delete(name, meta.DeleteOptions{DryRun: []string{"All"}})
		if err != nil || res.Done != done {
			t.Errorf("dry delete of %s: got %+v, %v, want Done %v", name, res, err, done)
		}
	}
	if k.revision() != before || k.get("plain") == nil || k.get("held").DeletionTimestamp != nil {
		t.Error("a dry deletion wrote")
	}
}

func TestDeleteAnswersWithTheObject(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.ReturnsDeleted = true }})
	w := k.create(named("a", colored("red")))
	res, err := k.delete("a", meta.DeleteOptions{})
	if err != nil || res.Encoded == nil || !res.Done {
		t.Fatalf("got %+v, %v", res, err)
	}
	if got := k.decode(res.Encoded); got.Spec.Color != "red" || got.ResourceVersion == w.ResourceVersion {
		t.Errorf("got %s, want the last state at the revision of the deletion", text(got))
	}
}

func TestAdmissionOfDelete(t *testing.T) {
	p := &plugin{}
	k := newKit(t, options{chain: admission.Chain{p}})
	k.create(named("a", colored("red")))
	p.seen = nil
	p.validate = func(a *admission.Attributes) error { return a.Forbidden("stays") }
	_, err := k.delete("a", meta.DeleteOptions{})
	wantReason(t, "Delete that a plugin rejects", err, meta.StatusReasonForbidden)
	if a := p.seen[0]; a.Object != nil || a.Old.(*widget).Spec.Color != "red" || a.Name != "a" || a.Operation != admission.Delete {
		t.Errorf("attributes: %+v", a)
	}
	if k.get("a") == nil {
		t.Error("a rejected deletion deleted")
	}
}

func TestHeldBySpec(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.Held = func(w *widget) bool { return w.Spec.Color == "sticky" }
		r.Strategy.Terminate = func(w *widget) { w.Status.Phase = "Terminating" }
	}})
	k.create(named("a", colored("sticky")))
	res, err := k.delete("a", meta.DeleteOptions{})
	if err != nil || res.Done {
		t.Fatalf("got %+v, %v, want it held", res, err)
	}
	if w := k.get("a"); w.Status.Phase != "Terminating" || w.DeletionTimestamp == nil || w.DeletionGracePeriodSeconds != nil {
		t.Errorf("got %s", text(w))
	}
	if _, err := k.change("a", colored("loose")); err != nil || k.get("a") != nil {
		t.Errorf("letting go: %v, %s, want it gone", err, text(k.get("a")))
	}
}

// TestEmptiedFirst: if a kind has contents that must be deleted first, the first deletion only
// marks the object as terminating, even if it has no finalizers.
func TestEmptiedFirst(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.Terminate = func(w *widget) { w.Status.Phase = "Terminating" }
	}})
	k.create(named("a"))
	if res, err := k.delete("a", meta.DeleteOptions{}); err != nil || res.Done || k.get("a").Status.Phase != "Terminating" {
		t.Fatalf("the first deletion: got %+v, %v, %s, want it terminating", res, err, text(k.get("a")))
	}
	if res, err := k.delete("a", meta.DeleteOptions{}); err != nil || !res.Done || res.Encoded == nil || k.get("a") != nil {
		t.Errorf("the second deletion: got %+v, %v, %s, want it gone, and returned", res, err, text(k.get("a")))
	}
}

// TestNoGeneration: objects of a kind without generations get none from a deletion.
func TestNoGeneration(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Generation = nil }})
	for name, w := range map[string]*widget{"held": named("held", finalized(hold)), "graceful": named("graceful", graceful(30))} {
		k.create(w)
		if _, err := k.delete(name, meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if w := k.get(name); w.Generation != 0 || w.DeletionTimestamp == nil {
			t.Errorf("%s: got %s, want it to be going, without a generation", name, text(w))
		}
	}
}

func TestOrphanByDefault(t *testing.T) {
	for name, want := range map[string]bool{"collected": false, "not collected": true} {
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
			r.Strategy.OrphanByDefault, r.Strategy.NoGarbageCollection = true, want
		}})
		k.create(named("a"))
		res, err := k.delete("a", meta.DeleteOptions{})
		if err != nil || res.Done != want {
			t.Errorf("%s: got Done %v, %v, want %v", name, res.Done, err, want)
		}
	}
}

// TestOrphanWarning: a warning tells what happens to the dependents, once, and only if the client
// does not choose a propagation policy.
func TestOrphanWarning(t *testing.T) {
	yes, background := true, meta.DeletePropagationBackground
	for _, tt := range []struct {
		opts meta.DeleteOptions
		want int
	}{{meta.DeleteOptions{OrphanDependents: &yes}, 0}, {meta.DeleteOptions{PropagationPolicy: &background}, 0}, {meta.DeleteOptions{}, 1}} {
		for _, collection := range []bool{false, true} {
			k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Strategy.OrphanWarning = "left alone" }})
			k.create(named("a"))
			var err error
			if k.info.Warnings = nil; collection {
				_, err = k.deleteCollection(k.ctx, &request.ListRequest{Namespace: "ns"}, &tt.opts)
			} else {
				_, err = k.delete("a", tt.opts)
			}
			if err != nil || len(k.info.Warnings) != tt.want {
				t.Errorf("collection %v, %+v: got %v, warnings %q, want %d", collection, tt.opts, err, k.info.Warnings, tt.want)
			}
		}
	}
}

// TestPermanent: the deletion of a permanent object is refused, whether the object exists or not.
// The deletion of a collection deletes it.
func TestPermanent(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.Permanent = func(name string) string {
			if name == "rock" {
				return "it is here to stay"
			}
			return ""
		}
	}})
	k.create(named("rock"))
	k.create(named("sand"))
	_, err := k.delete("rock", meta.DeleteOptions{})
	wantReason(t, "a permanent object", err, meta.StatusReasonForbidden)
	if _, err := k.delete("sand", meta.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := k.deleteCollection(k.ctx, &request.ListRequest{Namespace: "ns"}, &meta.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// TestDeletionTimeStays: while one deletion runs, a second one overtakes it. The first one is
// written last, with an earlier time, perhaps of a clock that is behind. The deletion time that
// clients have seen stays.
func TestDeletionTimeStays(t *testing.T) {
	const later = 5 * time.Second
	for name, behind := range map[string]time.Duration{"one clock": 0, "clocks apart": time.Minute} {
		t.Run(name, func(t *testing.T) {
			p, clock := &plugin{}, now
			k := newKit(t, options{chain: admission.Chain{p}})
			k.cfg.Now = func() time.Time { return clock }
			k.create(named("a", finalized(hold)))
			policy := meta.DeletePropagationForeground // changes the object, so that there is something to write
			p.validate = func(a *admission.Attributes) error {
				p.validate = nil
				clock = now.Add(later)
				if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				clock = clock.Add(-behind)
				return nil
			}
			if _, err := k.delete("a", meta.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			w := k.get("a")
			if len(w.Finalizers) != 2 || !w.DeletionTimestamp.Time.Equal(now.Add(later)) || w.Generation != 2 {
				t.Errorf("got %s, want it in deletion since %v", text(w), now.Add(later))
			}
		})
	}
}

// TestTimesOfTheTry: another write overtakes a write. The overtaken write sets the times of the try
// that is stored.
func TestTimesOfTheTry(t *testing.T) {
	p, clock := &plugin{}, now
	k := newKit(t, options{chain: admission.Chain{p}, resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.AllowCreateOnUpdate, r.Strategy.AllowUnconditionalUpdate = true, true
	}})
	k.cfg.Now = func() time.Time { return clock }
	later := now.Add(5 * time.Second)
	overtake := func(by func()) {
		clock = now
		p.validate = func(*admission.Attributes) error {
			p.validate = nil
			by()
			clock = later
			return nil
		}
	}

	k.create(named("slow", graceful(30)))
	overtake(func() {
		if _, err := k.change("slow", colored("red")); err != nil {
			t.Error(err)
		}
	})
	if _, err := k.delete("slow", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if w := k.get("slow"); !w.DeletionTimestamp.Time.Equal(later.Add(30 * time.Second)) {
		t.Errorf("got %s, want it to have 30 s from %v", text(w), later)
	}

	k.create(named("a"))
	overtake(func() {
		if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	w, created, err := k.put(k.Store, named("a", colored("red")))
	if err != nil || !created || !w.CreationTimestamp.Time.Equal(later) {
		t.Errorf("PUT of a deleted object: %s, created %v, %v, want it created at %v", text(w), created, err, later)
	}
}
