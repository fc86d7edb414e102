package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestAdmissionReplaces: if a plugin replaces the object, the new object is prepared, validated and
// stored, in whatever version the plugin gives it. Fields that the door may not set are reset in
// it, too.
func TestAdmissionReplaces(t *testing.T) {
	p := &plugin{}
	k := newKit(t, options{chain: admission.Chain{p}, resource: owned})
	with := func(change func(w *oldWidget)) {
		p.mutate = func(a *admission.Attributes) error {
			if a.Reinvoked || a.Operation == admission.Delete {
				return nil
			}
			obj, err := a.ObjectIn(t.Context(), "v1beta1")
			if err != nil {
				return err
			}
			own := scheme.Copy(obj).(*oldWidget)
			change(own)
			return a.Replace(t.Context(), own)
		}
	}
	with(func(w *oldWidget) { w.Colour, w.Generation, w.Status.Phase = "painted", 77, "mine" })
	w := k.create(named("a", colored("red")))
	if w.Spec.Color != "painted" || w.Generation != 1 || w.Status.Phase != "" || w.Kind != "Widget" || w.APIVersion != v1.String() {
		t.Errorf("create: got %s", text(w))
	}
	if got := p.seen[len(p.seen)-1].Object.(*widget); !p.seen[len(p.seen)-1].Reinvoked || got.Spec.Color != "painted" {
		t.Errorf("the last call saw %s", text(got))
	}
	w, err := k.change("a", colored("blue"))
	if err != nil || w.Spec.Color != "painted" || w.Status.Phase != "" || w.Generation != 1 {
		t.Errorf("update: got %s, %v", text(w), err)
	}
	w.Status.Phase = "sent"
	w, _, err = k.put(k.Subresource("status"), w)
	if err != nil || w.Status.Phase != "mine" || w.Spec.Color != "painted" {
		t.Errorf("status: got %s, %v", text(w), err)
	}
	enc, created, err := k.Update(k.ctx, forced(k.write("b", func(context.Context, request.Current) (meta.Typed, error) { return named("b"), nil })))
	if err != nil || !created || k.decode(enc).Spec.Color != "painted" {
		t.Errorf("update that creates: %v", err)
	}

	with(func(w *oldWidget) { w.Labels = map[string]string{"x y": ""} })
	_, err = k.Create(k.ctx, k.creation(named("c"), &meta.CreateOptions{}))
	wantReason(t, "create of what is replaced by something invalid", err, meta.StatusReasonInvalid)
	_, err = k.change("a", colored("blue"))
	wantReason(t, "update to what is replaced by something invalid", err, meta.StatusReasonInvalid)
}

func forced(req *request.Write) *request.Write {
	req.ForceCreate = true
	return req
}

// TestAdmissionCannotMove: plugins cannot change the name or namespace of an object, because these
// were authorized.
func TestAdmissionCannotMove(t *testing.T) {
	for name, tt := range map[string]struct {
		move func(w *widget)
		want meta.StatusReason // of creates
		put  meta.StatusReason // of updates that create
	}{
		"to another namespace": {func(w *widget) { w.Namespace = "else" }, meta.StatusReasonBadRequest, meta.StatusReasonBadRequest},
		"to another name":      {func(w *widget) { w.Name = "else" }, "", meta.StatusReasonBadRequest},
		"to no namespace":      {func(w *widget) { w.Namespace = "" }, "", ""},
	} {
		p := &plugin{mutate: func(a *admission.Attributes) error {
			if a.Operation == admission.Create {
				tt.move(a.Object.(*widget))
			}
			return nil
		}}
		k := newKit(t, options{chain: admission.Chain{p}})
		check := func(what string, err error, want meta.StatusReason) {
			t.Helper()
			if want != "" {
				wantReason(t, name+", "+what, err, want)
			} else if err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		_, err := k.Create(k.ctx, k.creation(named("a"), &meta.CreateOptions{}))
		check("create", err, tt.want)
		_, _, err = k.Update(k.ctx, forced(k.write("b", func(context.Context, request.Current) (meta.Typed, error) { return named("b"), nil })))
		check("update that creates", err, tt.put)
		list, err := k.List(k.ctx, &request.ListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for enc := range list.Items {
			if w := k.decode(enc); w.Namespace != "ns" {
				t.Errorf("%s: stored %s", name, text(w))
			}
		}
	}
	p := &plugin{mutate: func(a *admission.Attributes) error { a.Object.(*widget).Namespace = "else"; return nil }}
	k := newKit(t, options{})
	k.create(named("a"))
	k.cfg.Admission = admission.Chain{p}
	_, err := k.change("a", colored("red"))
	wantReason(t, "update", err, meta.StatusReasonBadRequest)
}

// TestAnnotations: warnings and audit annotations of plugins reach the request, for each verb.
func TestAnnotations(t *testing.T) {
	p := &plugin{mutate: func(a *admission.Attributes) error {
		a.Annotate("p/"+strings.ToLower(string(a.Operation)), a.Name)
		a.Warn("careful: " + string(a.Operation))
		return nil
	}}
	k := newKit(t, options{chain: admission.Chain{p}})
	k.create(named("a"))
	if _, err := k.change("a", colored("red")); err != nil {
		t.Fatal(err)
	}
	if _, err := k.delete("a", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"p/create": "a", "p/update": "a", "p/delete": "a"} {
		if got := k.info.Annotations[key].Text; got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	if got := strings.Join(k.info.Warnings, "; "); got != "careful: CREATE; careful: UPDATE; careful: DELETE" {
		t.Errorf("warnings: got %q", got)
	}
	// The server's own writes have nobody to warn.
	req := k.creation(named("b", colored("beige")), &meta.CreateOptions{})
	req.Warn, req.Annotate, req.User, req.Version = nil, nil, nil, ""
	if _, err := k.Create(k.ctx, req); err != nil {
		t.Error(err)
	}
	if a := p.seen[len(p.seen)-1]; a.User != nil || a.Kind != v1.WithKind("Widget") || a.Resource != v1.WithResource("widgets") {
		t.Errorf("attributes of the server's own write: %+v", a)
	}
}

// TestRepeatedOwners: if admission or a patch repeats an owner reference, the object is stored
// without the repetition.
func TestRepeatedOwners(t *testing.T) {
	twice := func(m *meta.ObjectMeta) {
		owner := meta.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"}
		m.OwnerReferences = append(m.OwnerReferences, owner, owner)
	}
	p := &plugin{mutate: func(a *admission.Attributes) error { twice(a.Meta()); return nil }}
	k := newKit(t, options{chain: admission.Chain{p}})
	k.create(named("created"))
	p.mutate = nil
	k.create(named("patched"))
	if _, err := k.change("patched", func(w *widget) { twice(&w.ObjectMeta) }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"created", "patched"} {
		if got := k.get(name).OwnerReferences; len(got) != 1 {
			t.Errorf("%s: got %v, want one owner", name, got)
		}
	}
	want := ".metadata.ownerReferences contains duplicate entries after mutating admission happens;"
	if len(k.info.Warnings) != 1 || !strings.HasPrefix(k.info.Warnings[0], want) {
		t.Errorf("warnings: got %q, want one: %s", k.info.Warnings, want)
	}
}
