package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// alsoWidget is a widget in the version of another group.
type alsoWidget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Hue             string       `json:"hue,omitempty" pb:"2"`
	Size            int64        `json:"size,omitempty" pb:"3"`
	Status          widgetStatus `json:"status,omitempty" pb:"4"`
}

var (
	also        = meta.GroupVersion{Group: "also.example.com", Version: "v2"}
	alsoWidgets = meta.GroupResource{Group: also.Group, Resource: "widgets"}
)

// addAlso adds the kind of the other group. Its field hue is the field spec.color of the hub.
func addAlso(s *scheme.Scheme) {
	s.AddKnownType(also.WithKind("Widget"), &alsoWidget{})
	s.AddHub(meta.GroupKind{Group: also.Group, Kind: "Widget"}, &widget{})
	s.AddKnownType(also.WithKind("Gadget"), &meter{}) // has a hub of its own
	scheme.AddConversion(s, func(in *alsoWidget, out *widget) error {
		out.Spec.Color, out.Spec.Size = in.Hue, in.Size
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *widget, out *alsoWidget) error {
		out.Hue, out.Size = in.Spec.Color, in.Spec.Size
		return scheme.ConvertFields(s, in, out)
	})
	s.AddFieldLabels(also.WithKind("Widget"), func(label, value string) (string, string, error) {
		switch label {
		case "hue":
			return "spec.color", value, nil
		case "metadata.name", "metadata.namespace":
			return label, value, nil
		}
		return "", "", errors.New("field label not supported: " + label)
	})
}

// inTwoGroups returns a kit of widgets that two groups serve, and the Store of the second group.
func inTwoGroups(t *testing.T, o options) (*kit, *registry.Store) {
	t.Helper()
	o.types = func(s *scheme.Scheme) { addMeters(s); addAlso(s) }
	k := newKit(t, o)
	s, err := k.Under(also.Group)
	if err != nil {
		t.Fatal(err)
	}
	return k, s
}

// alsoNamed returns a widget as a client of the other group sends it.
func alsoNamed(name, hue string) *alsoWidget {
	w := &alsoWidget{ObjectMeta: meta.ObjectMeta{Name: name}, Hue: hue}
	w.SetGroupVersionKind(also.WithKind("Widget"))
	return w
}

// inVersion sets the version of a write.
func inVersion(req *request.Write, version string) *request.Write {
	req.Version = version
	return req
}

// shown returns an object as a client of a group version gets it.
func shown(t *testing.T, k *kit, s *registry.Store, enc request.Encoded, version string) string {
	t.Helper()
	data, form := enc.Stored()
	if form != s.FormOf(version, codec.Media{}) {
		var err error
		if data, err = s.Encode(k.ctx, enc, version, codec.Media{}); err != nil {
			t.Fatal(err)
		}
	}
	return string(data)
}

func TestUnder(t *testing.T) {
	k, s := inTwoGroups(t, options{})
	if gk := s.Kind().GroupKind(); gk.Group != also.Group || s.Resource().GroupResource != alsoWidgets {
		t.Errorf("got kind %v of %v", gk, s.Resource().GroupResource)
	}
	cursor, err := s.Watch(k.ctx, &request.ListRequest{Version: "v2", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	k.create(named("a", colored("red")))
	if _, err := s.Create(k.ctx, inVersion(k.creation(alsoNamed("b", "blue"), &meta.CreateOptions{}), "v2")); err != nil {
		t.Fatal(err)
	}
	if got := k.stored("b"); !strings.HasPrefix(got, `{"kind":"Widget","apiVersion":"test.example.com/v1",`) || !strings.Contains(got, `"color":"blue"`) {
		t.Errorf("stored %s, want the kind of the first group", got)
	}

	for name, color := range map[string]string{"a": "red", "b": "blue"} {
		for group, want := range map[*registry.Store]string{
			k.Store: `{"kind":"Widget","apiVersion":"test.example.com/v1",` + "#" + `"spec":{"color":"` + color + `"}`,
			s:       `{"kind":"Widget","apiVersion":"also.example.com/v2",` + "#" + `"hue":"` + color + `"`,
		} {
			version := map[*registry.Store]string{k.Store: "v1", s: "v2"}[group]
			head, tail, _ := strings.Cut(want, "#")
			enc, err := group.Get(k.ctx, "ns", name, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(t, k, group, enc, version); !strings.HasPrefix(got, head) || !strings.Contains(got, tail) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	enc, err := s.Get(k.ctx, "ns", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.Encode(k.ctx, enc, "v2", codec.Media{Type: codec.Protobuf})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := s.Kind().Decode(codec.DecodeRequest{Data: data, Type: codec.Protobuf})
	if err != nil || decoded.GVK != also.WithKind("Widget") || decoded.Object.(*alsoWidget).Hue != "red" || decoded.Object.(*alsoWidget).ResourceVersion == "" {
		t.Errorf("protobuf: got %s, %v", text(decoded.Object), err)
	}

	var seen []string
	for len(seen) < 2 {
		events, err := cursor.Next(k.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			seen = append(seen, string(e.Type)+" "+shown(t, k, s, e.Object, "v2")[:58])
		}
	}
	const head = `ADDED {"kind":"Widget","apiVersion":"also.example.com/v2","metadata`
	if len(seen) != 2 || !strings.HasPrefix(seen[0], head[:64]) || !strings.HasPrefix(seen[1], head[:64]) {
		t.Errorf("watch: got %q", seen)
	}

	// A change through the other group keeps the fields that the other group does not show.
	w, err := k.change("a", graceful(30))
	if err != nil {
		t.Fatal(err)
	}
	enc, _, err = s.Update(k.ctx, inVersion(k.write("a", func(_ context.Context, cur request.Current) (meta.Typed, error) {
		obj, err := cur.Object()
		if err != nil {
			return nil, err
		}
		obj.(*widget).Spec.Color = "green"
		return obj, nil
	}), "v2"))
	if err != nil {
		t.Fatal(err)
	}
	if got := k.decode(enc); got.Spec.Color != "green" || got.Spec.Grace != w.Spec.Grace || got.Generation != w.Generation+1 {
		t.Errorf("got %s", text(got))
	}
	if got := k.stored("a"); !strings.HasPrefix(got, `{"kind":"Widget","apiVersion":"test.example.com/v1",`) {
		t.Errorf("stored %s, want the kind of the first group", got)
	}
}

func TestUnderSelects(t *testing.T) {
	k, s := inTwoGroups(t, options{})
	k.create(named("a", colored("red")))
	k.create(named("b", colored("blue")))
	for fields, want := range map[string]string{"hue=blue": "b", "hue!=blue": "a", "metadata.name=a,hue=red": "a", "metadata.name=a,hue=blue": ""} {
		req := selectors(t, "ns", "", fields)
		req.Version = "v2"
		list, err := s.List(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(k.namesOf(list), " "); got != want {
			t.Errorf("%s: got %q, want %q", fields, got, want)
		}
	}
	req := selectors(t, "ns", "", "spec.color=red")
	req.Version = "v2"
	_, err := s.List(k.ctx, &req)
	wantReason(t, "a label of the first group", err, meta.StatusReasonBadRequest)
}

// TestUnderErrors: errors name the group of the request. Only the error for an invalid object names
// the group of the hub, whose rules it breaks.
func TestUnderErrors(t *testing.T) {
	k, s := inTwoGroups(t, options{})
	w := k.create(named("a", colored("fixed")))
	other := meta.UID("other")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"get": {second(s.Get(k.ctx, "ns", "none", "")), `widgets.also.example.com "none" not found`},
		"create": {second(s.Create(k.ctx, inVersion(k.creation(alsoNamed("a", "x"), &meta.CreateOptions{}), "v2"))),
			`widgets.also.example.com "a" already exists`},
		"invalid create": {second(s.Create(k.ctx, inVersion(k.creation(alsoNamed("A B", "x"), &meta.CreateOptions{}), "v2"))),
			`Widget.test.example.com "A B" is invalid`},
		"invalid update": {third(s.Update(k.ctx, inVersion(k.write("a", func(context.Context, request.Current) (meta.Typed, error) {
			c := alsoNamed("a", "other")
			c.ResourceVersion = w.ResourceVersion
			return c, nil
		}), "v2"))), `Widget.test.example.com "a" is invalid: spec.color`},
		"conflict": {third(s.Update(k.ctx, inVersion(k.write("a", func(context.Context, request.Current) (meta.Typed, error) {
			c := alsoNamed("a", "fixed")
			c.ResourceVersion = "1"
			return c, nil
		}), "v2"))), `Operation cannot be fulfilled on widgets.also.example.com "a"`},
		"delete": {second(s.Delete(k.ctx, k.deletion("none", &meta.DeleteOptions{}), &meta.DeleteOptions{})),
			`widgets.also.example.com "none" not found`},
		"precondition": {second(s.Delete(k.ctx, k.deletion("a", &meta.DeleteOptions{}), &meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &other}})),
			`Operation cannot be fulfilled on Widget.also.example.com "a"`},
		"status": {third(s.Subresource("status").Update(k.ctx, k.write("none", nil))), `widgets.also.example.com "none" not found`},
	} {
		if tt.err == nil || !strings.HasPrefix(tt.err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, tt.err, tt.want)
		}
	}
	res, err := s.Delete(k.ctx, k.deletion("a", &meta.DeleteOptions{}), &meta.DeleteOptions{})
	if err != nil || res.Status.Details.Group != also.Group {
		t.Errorf("delete: got %+v, %v", res, err)
	}
}

func second[T any](_ T, err error) error        { return err }
func third[T, U any](_ T, _ U, err error) error { return err }

// TestAdmissionUnder: plugins see the group of the request, and can get the objects in its version.
func TestAdmissionUnder(t *testing.T) {
	var seen []string
	views := func(a *admission.Attributes) error {
		var objects []string
		for _, view := range []func(context.Context, string) (meta.Typed, error){a.ObjectIn, a.OldIn} {
			obj, err := view(t.Context(), "v2")
			if err != nil {
				return err
			}
			if w, ok := obj.(*alsoWidget); ok {
				objects = append(objects, w.APIVersion+" "+w.Hue)
			}
		}
		seen = append(seen, fmt.Sprint(a.Operation, " ", a.Resource, " ", a.Kind, " ", a.Subresource, objects))
		return nil
	}
	p := &plugin{}
	k, s := inTwoGroups(t, options{chain: admission.Chain{p}})
	k.create(named("a", colored("red")))
	if _, err := k.change("a", colored("blue")); err != nil {
		t.Fatal(err)
	}
	p.validate = views
	change := func(_ context.Context, cur request.Current) (meta.Typed, error) { return cur.Object() }
	for _, door := range []*registry.Store{s, s.Subresource("status")} {
		seen = nil
		if _, _, err := door.Update(k.ctx, inVersion(k.write("a", change), "v2")); err != nil {
			t.Fatal(err)
		}
		sub := ""
		if door != s {
			sub = "status"
		}
		want := fmt.Sprint(admission.Update, " ", also.WithResource("widgets"), " ", also.WithKind("Widget"), " ", sub,
			[]string{"also.example.com/v2 blue", "also.example.com/v2 blue"})
		if len(seen) != 1 || seen[0] != want {
			t.Errorf("got %q, want %q", seen, want)
		}
	}
}

// TestDoorsUnder: a door with a kind of its own shows that kind in every group.
func TestDoorsUnder(t *testing.T) {
	k, s := inTwoGroups(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		metered(r)
	}})
	k.create(named("a", func(w *widget) { w.Spec.Size = 3 }))
	door := s.Subresource("meter")
	if _, _, err := door.Update(k.ctx, inVersion(k.meter("a", func(m *meter) { m.Spec.Size = 4 }), "v2")); err != nil {
		t.Fatal(err)
	}
	enc, err := door.Get(k.ctx, "ns", "a", "")
	if err != nil || !strings.HasPrefix(body(enc), `{"kind":"Meter","apiVersion":"scale.example.com/v1beta1"`) || !strings.Contains(body(enc), `"length":4`) {
		t.Errorf("got %s, %v", body(enc), err)
	}
	_, _, err = door.Update(k.ctx, inVersion(k.meter("a", func(m *meter) { m.Spec.Size = 101 }), "v2"))
	if err == nil || !strings.HasPrefix(err.Error(), `Widget.test.example.com "a" is invalid`) {
		t.Errorf("what the object forbids: got %v", err)
	}
}

func TestUnderRefuses(t *testing.T) {
	k, _ := inTwoGroups(t, options{})
	for _, group := range []string{"none.example.com", "scale.example.com"} {
		if s, err := k.Under(group); err == nil || s != nil {
			t.Errorf("Under(%s): got no error", group)
		}
	}
	// The kind of the second group has another hub.
	k = newKit(t, options{types: func(s *scheme.Scheme) {
		addMeters(s)
		addAlso(s)
		s.AddKnownType(v1.WithKind("Gadget"), &poke{})
	}})
	store, err := registry.New(k.cfg, registry.Resource{GroupResource: widgets, Kind: "Gadget"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Under(also.Group); err == nil || !strings.Contains(err.Error(), "hub") {
		t.Errorf("another hub: got %v", err)
	}
}
