package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// poke is the hub of the kind that clients send to the subresource poke of a widget. The answer has
// the same kind.
type poke struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Force           int64  `json:"force,omitempty" pb:"2" default:"1" check:"min=0"`
	Answer          string `json:"answer,omitempty" pb:"3"`
}

// oldPoke is poke in the version that clients send.
type oldPoke struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Strength        int64  `json:"strength,omitempty" pb:"2" default:"1"`
	Answer          string `json:"answer,omitempty" pb:"3"`
}

var (
	pokeV1      = meta.GroupVersionKind{Group: "act.example.com", Version: "v1", Kind: "Poke"}
	pokeV1beta1 = meta.GroupVersionKind{Group: "act.example.com", Version: "v1beta1", Kind: "Poke"}
)

func addPokes(s *scheme.Scheme) {
	s.AddKnownType(pokeV1, &poke{})
	s.AddKnownType(pokeV1beta1, &oldPoke{})
	scheme.AddConversion(s, func(in *oldPoke, out *poke) error {
		out.Force = in.Strength
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *poke, out *oldPoke) error {
		out.Strength = in.Force
		return scheme.ConvertFields(s, in, out)
	})
}

// sent returns the create of an object through v1 of the resource.
func (k *kit) sent(namespace, name string, obj meta.Typed) *request.Write {
	return &request.Write{
		Namespace: namespace, Name: name, Version: "v1", User: k.info.User, Options: &meta.CreateOptions{FieldManager: "m"},
		Warn: k.info.Warn, Annotate: k.info.Annotate,
		Change: func(context.Context, request.Current) (meta.Typed, error) { return obj, nil },
	}
}

func oldPokeOf(strength int64) *oldPoke {
	p := &oldPoke{Strength: strength}
	p.SetGroupVersionKind(pokeV1beta1)
	return p
}

// TestActionOfAnObject sends pokes to a widget: an action on an existing object, with a kind of its
// own.
func TestActionOfAnObject(t *testing.T) {
	var asked []registry.Action
	sub := registry.SubresourceOf[*widget]{Name: "poke", Kind: pokeV1beta1,
		Create: func(_ context.Context, a *registry.Action) (meta.Typed, error) {
			asked = append(asked, *a)
			p := a.Object.(*poke)
			switch p.Force {
			case 7:
				return nil, meta.NewConflict(widgets, a.Name, errors.New("it moved"))
			case 8:
				return nil, errors.New("plain")
			case 9:
				return &meta.Status{Status: "Success", Message: "ouch"}, nil
			}
			p.Answer = fmt.Sprintf("%s/%s poked with %d", a.Namespace, a.Name, p.Force)
			return p, nil
		}}
	p := &plugin{}
	k := newKit(t, options{types: addPokes, chain: admission.Chain{p}, resource: func(r *registry.ResourceOf[*widget]) {
		r.Subresources = append(r.Subresources, sub)
	}})
	if k.Subresource("poke") != nil {
		t.Error("an action is no door")
	}
	actor, err := k.Actor(&k.Resource().Subresources[1])
	if err != nil {
		t.Fatal(err)
	}
	if actor.Kind().GroupKind() != pokeV1.GroupKind() {
		t.Errorf("Kind: got %v", actor.Kind().GroupKind())
	}
	before := k.revision()

	enc, err := actor.Create(k.ctx, k.sent("ns", "a", oldPokeOf(0)))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Poke","apiVersion":"act.example.com/v1beta1","metadata":{"namespace":"ns"},"strength":1,"answer":"ns/a poked with 1"}`
	if got := body(enc); got != want {
		t.Errorf("got  %s\nwant %s: defaulted, and in the version that was sent", got, want)
	}
	if len(k.info.Warnings) > 0 {
		t.Errorf("warnings: got %q, want none", k.info.Warnings)
	}
	owned := oldPokeOf(1)
	owner := meta.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "o", UID: "1"}
	owned.OwnerReferences = []meta.OwnerReference{owner, owner}
	if _, err := actor.Create(k.ctx, k.sent("ns", "a", owned)); err != nil || len(k.info.Warnings) != 1 || !strings.Contains(k.info.Warnings[0], "duplicate UID(s) observed: 1") {
		t.Errorf("repeated owners: got %v, warnings %q, want one", err, k.info.Warnings)
	}
	asked = asked[:1]
	for _, version := range []string{"v1", "v1beta1"} { // of the widgets: the version of a poke does not depend on it
		if _, form := enc.Stored(); form != actor.FormOf(version, codec.Media{}) {
			t.Errorf("asked for in %s of the widgets, the answer has another form", version)
		}
	}
	if a := asked[0]; a.Namespace != "ns" || a.Name != "a" || a.User.Name != "tester" || a.DryRun || a.Options.FieldManager != "m" {
		t.Errorf("the action was told %+v", a)
	}
	a := p.seen[0]
	if a.Operation != admission.Create || a.Subresource != "poke" || a.Name != "a" || a.Resource != v1.WithResource("widgets") ||
		a.Kind != pokeV1beta1 || a.Old != nil {
		t.Errorf("attributes: %+v", a)
	}

	// Dry runs, Status objects and errors of the action.
	dry := k.sent("ns", "a", oldPokeOf(2))
	dry.DryRun = true
	if _, err := actor.Create(k.ctx, dry); err != nil || !asked[len(asked)-1].DryRun || !p.seen[len(p.seen)-1].DryRun {
		t.Errorf("a dry run is not told: %v", err)
	}
	enc, err = actor.Create(k.ctx, k.sent("ns", "a", oldPokeOf(9)))
	if err != nil || !strings.Contains(body(enc), `"kind":"Status","apiVersion":"v1"`) || !strings.Contains(body(enc), "ouch") {
		t.Errorf("a Status: got %v, %v", enc, err)
	}
	_, err = actor.Create(k.ctx, k.sent("ns", "a", oldPokeOf(7)))
	wantReason(t, "an action that fails", err, meta.StatusReasonConflict)
	_, err = actor.Create(k.ctx, k.sent("ns", "a", oldPokeOf(8)))
	wantReason(t, "an action that fails with a plain error", err, meta.StatusReasonInternalError)

	// Requests that are refused before the action runs.
	n := len(asked)
	_, err = actor.Create(k.ctx, k.sent("ns", "a", oldPokeOf(-1)))
	wantReason(t, "what the declaration forbids", err, meta.StatusReasonInvalid)
	if err != nil && !strings.Contains(err.Error(), `Poke.act.example.com "a" is invalid`) {
		t.Errorf("got %v", err)
	}
	elsewhere := oldPokeOf(1)
	elsewhere.Namespace = "else"
	_, err = actor.Create(k.ctx, k.sent("ns", "a", elsewhere))
	wantReason(t, "another namespace", err, meta.StatusReasonBadRequest)
	p.mutate = func(a *admission.Attributes) error { return a.Forbidden("hands off") }
	_, err = actor.Create(k.ctx, k.sent("ns", "a", oldPokeOf(1)))
	wantReason(t, "a mutator that refuses", err, meta.StatusReasonForbidden)
	p.mutate, p.validate = nil, func(a *admission.Attributes) error { return a.Forbidden("hands off") }
	_, err = actor.Create(k.ctx, k.sent("ns", "a", oldPokeOf(1)))
	wantReason(t, "a validator that refuses", err, meta.StatusReasonForbidden)
	if len(asked) != n {
		t.Error("a refused request reached the action")
	}
	if k.revision() != before {
		t.Error("something was stored")
	}
}

// TestAdmissionOfAction: the action gets the object as the plugins have changed it.
func TestAdmissionOfAction(t *testing.T) {
	p := &plugin{}
	k := newKit(t, options{types: addPokes, chain: admission.Chain{p}})
	actor, err := registry.NewActor(k.cfg, registry.Actions{
		GroupResource: meta.GroupResource{Group: pokeV1.Group, Resource: "pokes"}, Kind: "Poke",
		Check: func(a *registry.Action) error {
			if a.Object.(*poke).Force > 100 {
				return meta.NewUnprocessable("that hurts")
			}
			return nil
		},
		Create: func(_ context.Context, a *registry.Action) (meta.Typed, error) { return a.Object, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	force := int64(5)
	p.mutate = func(a *admission.Attributes) error {
		a.Annotate("p/seen", fmt.Sprint(a.Object.(*poke).Force))
		a.Warn("seen")
		if a.Reinvoked {
			return nil
		}
		return a.Replace(t.Context(), oldPokeOf(force))
	}
	p.validate = func(a *admission.Attributes) error {
		shown, err := a.ObjectIn(t.Context(), "v1beta1")
		if err == nil && shown.(*oldPoke).Strength != force {
			t.Errorf("validators see %s", text(shown))
		}
		return err
	}
	enc, err := actor.Create(k.ctx, k.sent("", "", oldPokeOf(1)))
	if err != nil || !strings.Contains(body(enc), `"strength":5`) {
		t.Errorf("got %v, %v, want what the plugin put in its place", enc, err)
	}
	if k.info.Annotations["p/seen"].Text != "1" || len(k.info.Warnings) != 1 || len(p.seen) != 2 {
		t.Errorf("annotations %v, warnings %q, %d calls", k.info.Annotations, k.info.Warnings, len(p.seen))
	}
	force = 101
	_, err = actor.Create(k.ctx, k.sent("", "", oldPokeOf(1)))
	wantReason(t, "what the resource forbids", err, meta.StatusReasonInvalid)
}

// TestActionReturned sends an object to a resource without a store. The object loses the metadata
// that only stored objects have. If it is itself the answer, its managedFields name the fields that
// were sent, in the version in which they were sent.
func TestActionReturned(t *testing.T) {
	k := newKit(t, options{types: addPokes})
	for _, returned := range []bool{false, true} {
		actor, err := registry.NewActor(k.cfg, registry.Actions{
			GroupResource: meta.GroupResource{Group: pokeV1.Group, Resource: "pokes"}, Kind: "Poke", Returned: returned,
			Create: func(_ context.Context, a *registry.Action) (meta.Typed, error) {
				a.Object.(*poke).Answer = "ouch"
				return a.Object, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for version, want := range map[string]string{
			"v1":      `m Update act.example.com/v1 {"f:force":{}}`,
			"v1beta1": `m Update act.example.com/v1beta1 {"f:strength":{}}`,
		} {
			now := meta.NewTime(time.Now())
			var sent meta.Object = &poke{Force: 3}
			if version == "v1beta1" {
				sent = oldPokeOf(3)
			}
			sent.GetTypeMeta().SetGroupVersionKind(meta.GroupVersionKind{Group: pokeV1.Group, Version: version, Kind: "Poke"})
			*sent.GetObjectMeta() = meta.ObjectMeta{UID: "u", CreationTimestamp: &now, DeletionTimestamp: &now}
			req := k.sent("", "", sent)
			req.Version, req.Manager = version, "m"
			enc, err := actor.Create(k.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ Metadata meta.ObjectMeta }
			if err := json.Unmarshal([]byte(body(enc)), &answer); err != nil {
				t.Fatal(err)
			}
			m := &answer.Metadata
			if m.UID != "" || m.CreationTimestamp != nil || m.DeletionTimestamp != nil {
				t.Errorf("%s: got %s, want nothing that only objects have which there are", version, body(enc))
			}
			got := ""
			for _, e := range m.ManagedFields {
				fields, err := json.Marshal(e.FieldsV1)
				if err != nil {
					t.Fatal(err)
				}
				got += fmt.Sprintf("%s %s %s %s", e.Manager, e.Operation, e.APIVersion, fields)
			}
			if !returned {
				want = ""
			}
			if got != want {
				t.Errorf("%s, returned %v: got %s, want %s", version, returned, got, want)
			}
		}
	}
}

// TestActionWithoutStore creates objects of a resource that stores nothing, in both of its
// versions.
func TestActionWithoutStore(t *testing.T) {
	k := newKit(t, options{types: addPokes})
	for _, namespaced := range []bool{false, true} {
		actor, err := registry.NewActor(k.cfg, registry.Actions{
			GroupResource: meta.GroupResource{Group: pokeV1.Group, Resource: "pokes"}, Kind: "Poke", Namespaced: namespaced,
			Create: func(_ context.Context, a *registry.Action) (meta.Typed, error) {
				a.Object.(*poke).Answer = a.Namespace + "!"
				return a.Object, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		namespace := ""
		if namespaced {
			namespace = "ns"
		}
		v1 := &poke{Force: 3}
		v1.SetGroupVersionKind(pokeV1)
		for version, obj := range map[string]meta.Typed{"v1": v1, "v1beta1": oldPokeOf(3)} {
			req := k.sent(namespace, "", obj)
			req.Version = version
			enc, err := actor.Create(k.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(body(enc), `{"kind":"Poke","apiVersion":"act.example.com/`+version+`",`) || !strings.Contains(body(enc), `"answer":"`+namespace+`!"`) {
				t.Errorf("in %s: got %s", version, body(enc))
			}
			if _, form := enc.Stored(); form != actor.FormOf(version, codec.Media{}) {
				t.Errorf("in %s: the answer has another form", version)
			}
			data, err := actor.Encode(k.ctx, enc, version, codec.Media{Type: codec.Protobuf})
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := actor.Kind().Decode(codec.DecodeRequest{Data: data, Type: codec.Protobuf})
			if err != nil || decoded.GVK.Version != version {
				t.Errorf("protobuf in %s: got %+v, %v", version, decoded, err)
			}
			yaml, err := actor.Encode(k.ctx, enc, version, codec.Media{Type: codec.YAML})
			if err != nil || !strings.Contains(string(yaml), "kind: Poke\n") {
				t.Errorf("YAML in %s: got %s, %v", version, yaml, err)
			}
			part, err := actor.Encode(k.ctx, enc, version, codec.Media{As: codec.AsPartial, Version: "v1"})
			if want := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{`; err != nil || !strings.HasPrefix(string(part), want) {
				t.Errorf("metadata in %s: got %s, %v", version, part, err)
			}
		}
		wrong := &poke{ObjectMeta: meta.ObjectMeta{Namespace: "else"}}
		wrong.SetGroupVersionKind(pokeV1)
		_, err = actor.Create(k.ctx, k.sent(namespace, "", wrong))
		if namespaced {
			wantReason(t, "a namespace that is not the path's", err, meta.StatusReasonBadRequest)
		} else if err != nil {
			t.Errorf("a namespace outside of namespaces: got %v, want it ignored", err)
		}
	}
	if _, err := registry.NewActor(k.cfg, registry.Actions{GroupResource: widgets, Kind: "Nothing"}); err == nil {
		t.Error("an unknown kind: got no error")
	}
}

// TestActionOfGizmos: the kind of an action may have no Go type.
func TestActionOfGizmos(t *testing.T) {
	k := newKit(t, options{instead: gizmos(gizmoKind(t))})
	answer := meta.Typed(nil)
	actor, err := registry.NewActor(k.cfg, registry.Actions{GroupResource: gizmoResource, Kind: "Gizmo", Type: k.Kind(),
		Create: func(_ context.Context, a *registry.Action) (meta.Typed, error) {
			if answer != nil {
				return answer, nil
			}
			return a.Object, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	enc, err := actor.Create(k.ctx, k.sent("", "", k.gizmo(`{"apiVersion":"run.example.com/v1beta1","colour":"red"}`)))
	if err != nil || body(enc) != `{"apiVersion":"run.example.com/v1beta1","colour":"red","kind":"Gizmo","spec":{}}` {
		t.Fatalf("got %s, %v", body(enc), err)
	}
	_, err = actor.Encode(k.ctx, enc, "v1", codec.Media{Type: codec.Protobuf})
	wantReason(t, "a form that the kind does not have", err, meta.StatusReasonNotAcceptable)
	answer = &meta.Status{Status: "Success"}
	enc, err = actor.Create(k.ctx, k.sent("", "", k.gizmo(`{}`)))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := actor.Encode(k.ctx, enc, "v1", codec.Media{Type: codec.Protobuf}); err != nil || !codec.IsProtobuf(data) {
		t.Errorf("a Status as protobuf: got %q, %v", data, err)
	}
	_, err = actor.Create(k.ctx, k.sent("", "", k.gizmo(`{"spec":{"size":-1}}`)))
	wantReason(t, "what the schema forbids", err, meta.StatusReasonInvalid)
}

func TestActorOfUnknownKind(t *testing.T) {
	k := newKit(t, options{})
	if _, err := k.Actor(&registry.Subresource{Name: "poke", Kind: pokeV1}); err == nil || !strings.Contains(err.Error(), "widgets.test.example.com/poke") {
		t.Errorf("got %v, want an error that names the subresource", err)
	}
}

func TestConnect(t *testing.T) {
	var got registry.Connection
	p := &plugin{}
	k := newKit(t, options{chain: admission.Chain{p}, resource: func(r *registry.ResourceOf[*widget]) {
		r.Subresources = append(r.Subresources, registry.SubresourceOf[*widget]{Name: "log", Kind: pokeV1,
			Connect: func(_ context.Context, c *registry.Connection) (http.Handler, error) {
				got = *c
				if c.Name == "silent" {
					return nil, meta.NewBadRequest("it says nothing")
				}
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "line ", r.URL.RawQuery) }), nil
			}})
	}})
	if k.Subresource("log") != nil {
		t.Error("a connecter has a door")
	}
	connecter := k.Connecter(&k.Resource().Subresources[1])
	h, err := connecter.Connect(k.ctx, k.sent("ns", "a", nil), "tail/5")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/?follow=1", nil))
	if w.Body.String() != "line follow=1" {
		t.Errorf("got %q", w.Body)
	}
	if got.Namespace != "ns" || got.Name != "a" || got.Path != "tail/5" || got.User.Name != "tester" || got.Options == nil {
		t.Errorf("the connection: %+v", got)
	}
	a := p.seen[0]
	if a.Operation != admission.Connect || a.Subresource != "log" || a.Name != "a" || a.Namespace != "ns" || a.Options != nil ||
		a.Resource != v1.WithResource("widgets") || a.Kind != pokeV1 || a.Object == nil || a.Object != got.Options {
		t.Errorf("attributes: %+v", a)
	}
	_, err = connecter.Connect(k.ctx, k.sent("ns", "silent", nil), "")
	wantReason(t, "a connection that fails", err, meta.StatusReasonBadRequest)
	got = registry.Connection{}
	p.mutate = func(a *admission.Attributes) error { return a.Forbidden("no") }
	_, err = connecter.Connect(k.ctx, k.sent("ns", "a", nil), "")
	wantReason(t, "a plugin that refuses", err, meta.StatusReasonForbidden)
	p.mutate, p.validate = nil, func(*admission.Attributes) error { return errors.New("plain") }
	_, err = connecter.Connect(k.ctx, k.sent("ns", "a", nil), "")
	wantReason(t, "a plugin that fails", err, meta.StatusReasonInternalError)
	if got.Name != "" {
		t.Error("a refused connection was made")
	}
}
