package registry_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestDeclaredNames: a declaration may leave out names that follow from the kind. The status is
// listed as a subresource.
func TestDeclaredNames(t *testing.T) {
	for singular, want := range map[string]string{"": "widget", "gear": "gear"} {
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
			r.Singular = singular
			r.Subresources = []registry.SubresourceOf[*widget]{{Name: "part"}}
		}})
		again, err := k.Redeclare(*k.Resource())
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range []*registry.Resource{k.Resource(), again.Resource()} {
			var subs []string
			for _, sub := range res.Subresources {
				subs = append(subs, sub.Name)
			}
			if res.Singular != want || !slices.Equal(subs, []string{"status", "part"}) {
				t.Errorf("got singular %q and subresources %v, want %q and status, part", res.Singular, subs, want)
			}
		}
	}
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Status = nil }})
	if k.Subresource("status") != nil {
		t.Error("a kind without a status has a door to it")
	}
}

// TestStatusOnCreate: a client sets the status of a new object only if the declaration allows that.
func TestStatusOnCreate(t *testing.T) {
	for _, brought := range []bool{false, true} {
		want := map[bool]string{true: "Mine"}[brought]
		seen := ""
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
			r.Status.OnCreate = brought
			r.Strategy.Prepare = func(_ *registry.Request, w, _ *widget) { seen = w.Status.Phase }
		}})
		w := k.create(named("a", func(w *widget) { w.Status.Phase = "Mine" }))
		if w.Status.Phase != want || seen != want {
			t.Errorf("OnCreate %v: got phase %q, and %q when it was prepared, want %q", brought, w.Status.Phase, seen, want)
		}
		w.Status.Phase = "Other"
		if w, _, err := k.put(k.Store, w); err != nil || w.Status.Phase != want {
			t.Errorf("OnCreate %v: an update: got %s, %v, want phase %q", brought, text(w), err, want)
		}

		res := gizmos(gizmoKind(t))
		res.Status.OnCreate = brought
		g := newKit(t, options{instead: res})
		enc := g.post(`{"metadata":{"name":"a"},"status":{"phase":"Mine"}}`)
		if got := strings.Contains(g.shows(g.Store, enc, "v1"), `"phase":"Mine"`); got != brought {
			t.Errorf("OnCreate %v: got a gizmo with status: %v", brought, got)
		}
	}
}

// TestStatusRules: the functions of StatusOf run only for writes through the door status. They see
// the object after the fields that the door may not set have been reset.
func TestStatusRules(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Status = &registry.StatusOf[*widget]{
			Prepare: func(r *registry.Request, w, old *widget) {
				if w.Status.Phase == "" {
					w.Status.Phase = old.Status.Phase + "+" + w.Spec.Color + r.Now.Format("2006")
				}
			},
			Validate: func(w, old *widget) field.ErrorList {
				if w.Status.Phase == "Bad" && old.Status.Phase != "Bad" {
					return field.ErrorList{field.Invalid(field.NewPath("status", "phase"), w.Status.Phase, "is bad")}
				}
				return nil
			},
			Warnings: func(w, _ *widget) []string { return []string{"now " + w.Status.Phase} },
		}
	}})
	status := k.Subresource("status")
	w := k.create(named("a", colored("red"), func(w *widget) { w.Status.Phase = "Bad" }))
	w.Spec.Color = "beige"
	if w, _, err := k.put(status, w); err != nil || w.Status.Phase != "+red2030" {
		t.Errorf("PUT of an empty status: got %s, %v, want what Prepare makes of it", text(w), err)
	}
	if got := k.info.Warnings; !slices.Equal(got, []string{"now +red2030"}) {
		t.Errorf("warnings: got %q, want the status's alone", got)
	}
	w = k.get("a")
	w.Status.Phase = "Bad"
	_, _, err := k.put(status, w)
	wantReason(t, "a bad status", err, meta.StatusReasonInvalid)
	if _, _, err := k.put(k.Store, w); err != nil {
		t.Errorf("PUT of the object with a bad status, which is kept: %v", err)
	}
}

// TestGeneration counts the changes of the fields that are declared, and no others.
func TestGeneration(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields []string
		change func(w *widget)
		want   int64 // after creation with 7
	}{
		{"a field that counts", []string{"spec.size", "spec.color"}, colored("blue"), 2},
		{"another", []string{"spec.size", "spec.color"}, func(w *widget) { w.Spec.Size = 3 }, 2},
		{"one that does not", []string{"spec.size", "spec.color"}, graceful(3), 1},
		{"a label", []string{"spec"}, func(w *widget) { w.Labels = map[string]string{"a": "b"} }, 1},
		{"metadata that counts", []string{"spec", "metadata.labels"}, func(w *widget) { w.Labels = map[string]string{"a": "b"} }, 2},
		{"the status", []string{"spec"}, func(w *widget) { w.Status.Phase = "New" }, 1},
		{"nothing", []string{"spec"}, func(w *widget) { w.Labels = map[string]string{} }, 1},
		{"what the client says", []string{"spec"}, func(w *widget) { w.Generation = 9 }, 1},
		{"nothing counts", nil, colored("blue"), 7},
	} {
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Generation = tt.fields }})
		w := k.create(named("a", colored("red"), func(w *widget) { w.Generation = 7 }))
		tt.change(w)
		if got, _, err := k.put(k.Store, w); err != nil || got.Generation != tt.want {
			t.Errorf("%s: got %s, %v, want generation %d", tt.name, text(got), err, tt.want)
		}
	}
}

// TestGenerationOfWhatIsPrepared: a change that the strategy's Prepare undoes does not raise the
// generation.
func TestGenerationOfWhatIsPrepared(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.Prepare = func(_ *registry.Request, w, old *widget) {
			if old != nil {
				w.Spec.Size = old.Spec.Size
			}
		}
	}})
	w := k.create(named("a"))
	w.Spec.Size = 9
	if got, _, err := k.put(k.Store, w); err != nil || got.Generation != 1 {
		t.Errorf("got %s, %v, want generation 1", text(got), err)
	}
}

// TestDoorsCompareMetadata: like kube-apiserver, most doors compare the metadata with the old ones
// twice, so that errors come twice.
func TestDoorsCompareMetadata(t *testing.T) {
	five := int64(5)
	for what, tt := range map[string]struct {
		checks registry.MetaChecks
		door   string
		want   int
	}{
		"the resource": {registry.MetaCommon, "", 1}, "status": {registry.MetaCommon, "status", 1},
		"the resource, compared": {registry.MetaCompare, "", 2}, "status, compared": {registry.MetaWhole, "status", 2},
		"a door without checks":            {registry.MetaWhole, "bare", 1},
		"a door with checks of its own":    {registry.MetaCommon, "strict", 2},
		"status that is checked by itself": {registry.MetaCommon, "status, strict", 2},
	} {
		name, strict, _ := strings.Cut(tt.door, ", ")
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) {
			r.Strategy.Metadata = tt.checks
			r.Status.Validate = func(_, _ *widget) field.ErrorList { return nil }
			if strict != "" {
				r.Status.Metadata = registry.MetaChange
			}
			r.Subresources = append(r.Subresources, registry.SubresourceOf[*widget]{Name: "bare", Owns: []string{"status"}},
				registry.SubresourceOf[*widget]{Name: "strict", Owns: []string{"status"}, Metadata: registry.MetaChange})
		}})
		w := k.create(named("a"))
		w.DeletionGracePeriodSeconds = &five
		door := k.Store
		if name != "" {
			door = k.Subresource(name)
		}
		_, _, err := k.put(door, w)
		var invalid *meta.StatusError
		if !errors.As(err, &invalid) || len(invalid.Status.Details.Causes) != tt.want {
			t.Errorf("through %s: got %s, want the grace period %d times", what, text(invalid), tt.want)
		}
	}
}

// TestMetaRepeat: MetaRepeat checks metadata one more time when the object is updated, but not at
// its doors.
func TestMetaRepeat(t *testing.T) {
	k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Strategy.Metadata = registry.MetaRepeat }})
	w := k.create(named("a"))
	five := int64(5)
	for what, tt := range map[string]struct {
		door   *registry.Store
		labels map[string]string
		grace  *int64
		want   int
	}{
		"label":                  {k.Store, map[string]string{"a": "-"}, nil, 3},
		"label at a door":        {k.Subresource("status"), map[string]string{"a": "-"}, nil, 2},
		"grace period":           {k.Store, nil, &five, 1},
		"grace period at a door": {k.Subresource("status"), nil, &five, 1},
	} {
		w.Labels, w.DeletionGracePeriodSeconds = tt.labels, tt.grace
		_, _, err := k.put(tt.door, w)
		var invalid *meta.StatusError
		if !errors.As(err, &invalid) || len(invalid.Status.Details.Causes) != tt.want {
			t.Errorf("%s: got %s, want it refused %d times", what, text(invalid), tt.want)
		}
	}
}

// TestKeepMeta: a client that writes through a door to the status cannot change labels,
// annotations, owner references, finalizers or the deletion timestamp.
func TestKeepMeta(t *testing.T) {
	old := &widget{}
	old.Labels, old.Finalizers = map[string]string{"a": "b"}, []string{hold}
	sent := &widget{}
	sent.Name, sent.ResourceVersion = "a", "7"
	sent.Labels, sent.Annotations = map[string]string{"x": "y"}, map[string]string{"x": "y"}
	sent.OwnerReferences, sent.DeletionTimestamp = []meta.OwnerReference{{Name: "o"}}, &meta.Time{}
	registry.KeepMeta(nil, sent, old)
	want := old.ObjectMeta
	want.Name, want.ResourceVersion = "a", "7"
	if got := sent.ObjectMeta; !scheme.Equal(&got, &want) {
		t.Errorf("got %+v, want the new name and version, and the old rest: %+v", got, want)
	}
}
