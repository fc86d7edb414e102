package registry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// owned declares two doors beside status by the fields that they own: grace owns a part of spec,
// free owns nothing.
func owned(r *registry.ResourceOf[*widget]) {
	r.Subresources = []registry.SubresourceOf[*widget]{
		{Name: "grace", Owns: []string{"spec.grace"}},
		{Name: "free"},
	}
}

// TestOwnedFields writes the same change of all fields through each door.
func TestOwnedFields(t *testing.T) {
	for _, tt := range []struct {
		door       string
		spec       widgetSpec
		phase      string
		generation int64
	}{
		{"", widgetSpec{Color: "blue", Size: 2, Grace: 0}, "", 2},
		{"status", widgetSpec{Color: "red", Size: 1, Grace: 0}, "Ready", 1},
		{"grace", widgetSpec{Color: "red", Size: 1, Grace: 9}, "", 2},
		{"free", widgetSpec{Color: "blue", Size: 2, Grace: 0}, "", 2},
	} {
		t.Run("door="+tt.door, func(t *testing.T) {
			k := newKit(t, options{resource: owned})
			w := k.create(named("a", func(w *widget) { w.Spec = widgetSpec{Color: "red", Size: 1} }))
			w.Spec = widgetSpec{Color: "blue", Size: 2, Grace: 9}
			w.Status.Phase, w.Labels = "Ready", map[string]string{"all": "may"}
			door := k.Store
			if tt.door != "" {
				door = k.Subresource(tt.door)
			}
			got, _, err := k.put(door, w)
			if err != nil {
				t.Fatal(err)
			}
			if got.Spec != tt.spec || got.Status.Phase != tt.phase || got.Labels["all"] != "may" || got.Generation != tt.generation {
				t.Errorf("got %s, want spec %+v, phase %q, generation %d and the label", text(got), tt.spec, tt.phase, tt.generation)
			}
		})
	}
}

// TestRefusedChangesAreNotCounted updates a field that only a subresource may change. The update
// leaves the field as it is, so nothing is stored and the generation stays.
func TestRefusedChangesAreNotCounted(t *testing.T) {
	k := newKit(t, options{resource: owned})
	w := k.create(named("a"))
	w.Spec.Grace = 9
	before := k.revision()
	got, _, err := k.put(k.Store, w)
	if err != nil || got.Generation != 1 || k.revision() != before {
		t.Errorf("got generation %d, %v, revision %d to %d, want nothing to happen", got.Generation, err, before, k.revision())
	}
}

// TestOwnedFieldsOfGizmos is TestOwnedFields for a kind without a Go type.
func TestOwnedFieldsOfGizmos(t *testing.T) {
	res := gizmos(gizmoKind(t))
	res.Subresources = append(res.Subresources, registry.Subresource{Name: "size", Owns: []string{"spec.size"}})
	for _, tt := range []struct{ door, want string }{
		{"", `"metadata":{"generation":2,"labels":{"all":"may"},"name":"a"},"spec":{"color":"blue"},"status":{"phase":"Old"}}`},
		{"status", `"metadata":{"generation":1,"labels":{"all":"may"},"name":"a"},"spec":{"color":"red"},"status":{"phase":"Ready"}}`},
		{"size", `"metadata":{"generation":2,"labels":{"all":"may"},"name":"a"},"spec":{"color":"red","size":9},"status":{"phase":"Old"}}`},
	} {
		k := newKit(t, options{instead: res})
		k.post(`{"metadata":{"name":"a"},"spec":{"color":"red"}}`)
		if _, err := k.replace(k.Subresource("status"), `{"metadata":{"name":"a"},"status":{"phase":"Old"}}`); err != nil {
			t.Fatal(err)
		}
		door := k.Store
		if tt.door != "" {
			door = k.Subresource(tt.door)
		}
		enc, err := k.replace(door, `{"metadata":{"name":"a","labels":{"all":"may"}},"spec":{"color":"blue","size":9},"status":{"phase":"Ready"}}`)
		if err != nil {
			t.Fatal(err)
		}
		k.wantShown("through the door "+tt.door, enc, "v1", `{"apiVersion":"run.example.com/v1","kind":"Gizmo",`+tt.want)
	}
}

func TestOwnsWhatIsNotThere(t *testing.T) {
	k := newKit(t, options{})
	for _, path := range []string{"spec.colour", "nothing"} {
		res := declaration()
		res.Subresources = []registry.SubresourceOf[*widget]{{Name: "part", Owns: []string{path}}}
		if _, err := registry.New(k.cfg, registry.Typed(res)); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a door that owns %s: got %v, want an error that names it", path, err)
		}
	}
}

// TestDoorsDoNotCreate: a write through a door never creates an object, because only the resource's
// own strategy says what a new object may have.
func TestDoorsDoNotCreate(t *testing.T) {
	p := &plugin{}
	k := newKit(t, options{types: addMeters, chain: admission.Chain{p}, resource: func(r *registry.ResourceOf[*widget]) {
		metered(r)
		r.Strategy.AllowCreateOnUpdate = true
	}})
	for _, force := range []bool{false, true} {
		_, _, err := k.put(k.Subresource("status"), named("none"), func(r *request.Write) { r.ForceCreate = force })
		wantReason(t, "PUT of the status of nothing", err, meta.StatusReasonNotFound)
		req := k.meter("none", func(*meter) {})
		req.ForceCreate = force
		_, _, err = k.Subresource("meter").Update(k.ctx, req)
		wantReason(t, "PUT of the meter of nothing", err, meta.StatusReasonNotFound)
	}
	if len(p.seen) != 0 || k.get("none") != nil {
		t.Errorf("admission was asked about %d writes to nothing", len(p.seen))
	}
}

// meter is the hub of the kind that the door meter shows of a widget.
type meter struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            meterSpec `json:"spec,omitempty" pb:"2"`
}

type meterSpec struct {
	Size int64  `json:"size,omitempty" pb:"1" check:"min=0"`
	Unit string `json:"unit,omitempty" pb:"2" default:"m"`
}

// oldMeter is a meter in the version that the door shows.
type oldMeter struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Length          int64  `json:"length,omitempty" pb:"2"`
	Unit            string `json:"unit,omitempty" pb:"3" default:"m"`
}

var (
	meterV1      = meta.GroupVersionKind{Group: "scale.example.com", Version: "v1", Kind: "Meter"}
	meterV1beta1 = meta.GroupVersionKind{Group: "scale.example.com", Version: "v1beta1", Kind: "Meter"}
)

func addMeters(s *scheme.Scheme) {
	s.AddKnownType(meterV1, &meter{})
	s.AddKnownType(meterV1beta1, &oldMeter{})
	scheme.AddConversion(s, func(in *oldMeter, out *meter) error {
		out.ObjectMeta, out.Spec = scheme.DeepCopy(in.ObjectMeta), meterSpec{Size: in.Length, Unit: in.Unit}
		return nil
	})
	scheme.AddConversion(s, func(in *meter, out *oldMeter) error {
		out.ObjectMeta, out.Length, out.Unit = scheme.DeepCopy(in.ObjectMeta), in.Spec.Size, in.Spec.Unit
		return nil
	})
}

// metered declares the doors meter and status of widgets.
func metered(r *registry.ResourceOf[*widget]) {
	owned(r)
	r.Subresources = append(r.Subresources, registry.SubresourceOf[*widget]{
		Name: "meter", Kind: meterV1beta1,
		Project: &registry.ProjectionOf[*widget]{
			Show: func(w *widget, _ registry.ProjectionPurpose) (meta.Object, error) {
				return &meter{Spec: meterSpec{Size: w.Spec.Size, Unit: "m"}}, nil
			},
			Apply: func(w *widget, shown meta.Object) error {
				w.Spec.Size = shown.(*meter).Spec.Size
				w.Status.Phase = "Applied" // only the door status may set it
				return nil
			},
			Validate: func(shown meta.Object) field.ErrorList {
				if unit := shown.(*meter).Spec.Unit; unit != "m" {
					return field.ErrorList{field.NotSupported(field.NewPath("spec", "unit"), unit, []string{"m"})}
				}
				return nil
			},
			Table: &registry.Table{
				Columns: []meta.TableColumnDefinition{registry.IntegerColumn("Size", "", 0)},
				Cells:   func(shown meta.Object, _ time.Time) []any { return []any{shown.(*meter).Spec.Size} },
			},
		},
	})
	r.Strategy.Validate = func(w, _ *widget) field.ErrorList {
		if w.Spec.Size > 100 {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "size"), w.Spec.Size, "is too large")}
		}
		return nil
	}
}

// meter returns a write through the door meter, which changes the meter that is shown.
func (k *kit) meter(name string, change func(*meter)) *request.Write {
	return k.write(name, func(_ context.Context, cur request.Current) (meta.Typed, error) {
		obj, err := cur.Object()
		if err != nil {
			return nil, err
		}
		m := obj.(*meter)
		change(m)
		return m, nil
	})
}

// body is an object as an Encoded has it, in JSON.
func body(enc request.Encoded) string {
	data, _ := enc.Stored()
	return string(data)
}

func TestProjectionIsShown(t *testing.T) {
	k := newKit(t, options{types: addMeters, resource: metered})
	w := k.create(named("a", func(w *widget) { w.Spec.Size, w.Labels = 3, map[string]string{"a": "b"} }))
	door := k.Subresource("meter")
	enc, err := door.Get(k.ctx, "ns", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"Meter","apiVersion":"scale.example.com/v1beta1","metadata":{"name":"a","namespace":"ns","uid":"` + string(w.UID) +
		`","resourceVersion":"` + w.ResourceVersion + `","creationTimestamp":"2030-05-06T07:08:09Z"},"length":3,"unit":"m"}`
	if got := body(enc); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if formatted(enc) != w.ResourceVersion {
		t.Errorf("revision: got %d, want %s", enc.Revision(), w.ResourceVersion)
	}
	// The version of the widget in the request does not change the version of the meter.
	for _, version := range []string{"v1", "v1beta1"} {
		if _, form := enc.Stored(); form != door.FormOf(version, codec.Media{}) {
			t.Errorf("in %s of the widgets the meter has another form", version)
		}
		data, err := door.Encode(k.ctx, enc, version, codec.Media{Type: codec.Protobuf})
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := door.Kind().Decode(codec.DecodeRequest{Data: data, Type: codec.Protobuf})
		if err != nil || decoded.GVK != meterV1beta1 || decoded.Object.(*oldMeter).Length != 3 {
			t.Errorf("protobuf: got %+v, %v", decoded, err)
		}
	}
	yaml, err := door.Encode(k.ctx, enc, "v1", codec.Media{Type: codec.YAML})
	if err != nil || !strings.Contains(string(yaml), "length: 3\n") {
		t.Errorf("YAML: got %s, %v", yaml, err)
	}
	if cells, _, err := door.Row(k.ctx, enc, now); err != nil || len(cells) != 1 || cells[0] != int64(3) || door.Columns()[0].Name != "Size" {
		t.Errorf("as a row: got %v, %v", cells, err)
	}
	_, err = door.Get(k.ctx, "ns", "none", "")
	wantReason(t, "the meter of nothing", err, meta.StatusReasonNotFound)
	if err != nil && err.Error() != `widgets.test.example.com "none" not found` {
		t.Errorf("got %q", err)
	}
}

func TestProjectionIsApplied(t *testing.T) {
	k := newKit(t, options{types: addMeters, resource: metered})
	first := k.create(named("a", colored("red"), func(w *widget) { w.Spec.Size, w.Labels = 3, map[string]string{"a": "b"} }))
	door := k.Subresource("meter")
	enc, created, err := door.Update(k.ctx, k.meter("a", func(m *meter) {
		m.Spec.Size, m.Labels, m.Generation = 4, map[string]string{"not": "shown"}, 77
	}))
	if err != nil || created {
		t.Fatalf("got created %v, %v", created, err)
	}
	w := k.get("a")
	if w.Spec.Size != 4 || w.Spec.Color != "red" || w.Labels["a"] != "b" || len(w.Labels) != 1 || w.Generation != 2 || w.Status.Phase != "" {
		t.Errorf("the widget: got %s, want another size, which counts, and nothing else", text(w))
	}
	if got := body(enc); !strings.Contains(got, `"length":4`) || !strings.Contains(got, `"resourceVersion":"`+w.ResourceVersion+`"`) {
		t.Errorf("the answer: got %s, want the meter as it is now", got)
	}

	// A PUT in the version that the door shows: its defaults apply, and its resourceVersion is a
	// precondition.
	sent := &oldMeter{ObjectMeta: meta.ObjectMeta{Name: "a", Namespace: "ns", ResourceVersion: w.ResourceVersion, UID: w.UID}, Length: 5}
	sent.SetGroupVersionKind(meterV1beta1)
	put := k.write("a", func(context.Context, request.Current) (meta.Typed, error) { return scheme.DeepCopy(sent), nil })
	put.UID = sent.UID
	if _, _, err := door.Update(k.ctx, put); err != nil || k.get("a").Spec.Size != 5 {
		t.Errorf("PUT: got %s, %v", text(k.get("a")), err)
	}
	sent.ResourceVersion, sent.Length = "", 6 // a PUT may come without a resourceVersion
	if _, _, err := door.Update(k.ctx, put); err != nil || k.get("a").Spec.Size != 6 {
		t.Errorf("PUT without a version: got %s, %v", text(k.get("a")), err)
	}
	before := k.revision()
	for _, tt := range []struct {
		name   string
		change func(m *oldMeter)
		want   meta.StatusReason
		says   string
	}{
		{"stale", func(m *oldMeter) { m.ResourceVersion = first.ResourceVersion }, meta.StatusReasonConflict, `widgets.test.example.com "a"`},
		{"the version that is none", func(m *oldMeter) { m.ResourceVersion = "0" }, meta.StatusReasonInvalid, "must be specified for an update"},
		{"other uid", func(m *oldMeter) { m.UID = "other" }, meta.StatusReasonConflict, ""},
		{"declared check", func(m *oldMeter) { m.Length = -1 }, meta.StatusReasonInvalid, `Meter.scale.example.com "a" is invalid: spec.size`},
		{"the door's check", func(m *oldMeter) { m.Unit = "ft" }, meta.StatusReasonInvalid, `Meter.scale.example.com "a" is invalid: spec.unit`},
		{"stale, and the door's check", func(m *oldMeter) { m.Unit, m.ResourceVersion = "ft", first.ResourceVersion }, meta.StatusReasonInvalid, "spec.unit"},
		{"the object's check", func(m *oldMeter) { m.Length = 101 }, meta.StatusReasonInvalid, `Widget.test.example.com "a" is invalid: spec.size`},
	} {
		m := scheme.DeepCopy(sent)
		m.Length, m.ResourceVersion = 7, k.get("a").ResourceVersion
		tt.change(m)
		put := k.write("a", func(context.Context, request.Current) (meta.Typed, error) { return m, nil })
		put.UID = m.UID
		_, _, err := door.Update(k.ctx, put)
		wantReason(t, tt.name, err, tt.want)
		if err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %q, want it to say %q", tt.name, err, tt.says)
		}
	}
	dry := k.meter("a", func(m *meter) { m.Spec.Size = 7 })
	dry.DryRun = true
	if enc, _, err := door.Update(k.ctx, dry); err != nil || !strings.Contains(body(enc), `"length":7`) {
		t.Errorf("dry run: got %v, %v", enc, err)
	}
	if k.revision() != before {
		t.Errorf("refused and dry writes moved the revision from %d to %d", before, k.revision())
	}
}

// TestProjectionOfAnotherObject: only the result of a patch says which UID it is for, and a wrong
// one is a conflict.
func TestProjectionOfAnotherObject(t *testing.T) {
	k := newKit(t, options{types: addMeters, resource: metered})
	k.create(named("a"))
	_, _, err := k.Subresource("meter").Update(k.ctx, k.meter("a", func(m *meter) { m.UID, m.ResourceVersion = "other", "none" }))
	wantReason(t, "other uid", err, meta.StatusReasonConflict)
	if want := `widgets/meter.test.example.com "a": Precondition failed: UID in precondition: other`; err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it to say %s", err, want)
	}
}

// TestProjectionIsRetried: if another write comes between, the change is made again on the new
// state.
func TestProjectionIsRetried(t *testing.T) {
	k := newKit(t, options{types: addMeters, resource: metered})
	k.create(named("a"))
	tries := 0
	_, _, err := k.Subresource("meter").Update(k.ctx, k.meter("a", func(m *meter) {
		if tries++; tries == 1 {
			if _, err := k.change("a", func(w *widget) { w.Spec.Size = 10 }); err != nil {
				t.Error(err)
			}
		}
		m.Spec.Size++
	}))
	if w := k.get("a"); err != nil || tries != 2 || w.Spec.Size != 11 {
		t.Errorf("got %s after %d tries, %v, want size 11 after 2", text(w), tries, err)
	}
}

// TestAdmissionSeesProjection: plugins see the projection, as the client does, under the names of
// the resource.
func TestAdmissionSeesProjection(t *testing.T) {
	p := &plugin{}
	k := newKit(t, options{types: addMeters, resource: metered, chain: admission.Chain{p}})
	k.create(named("a", func(w *widget) { w.Spec.Size = 3 }))
	p.seen = nil
	p.mutate = func(a *admission.Attributes) error {
		a.Object.(*meter).Spec.Size *= 2
		return nil
	}
	validated := 0
	p.validate = func(a *admission.Attributes) error {
		validated++
		old, err := a.OldIn(t.Context(), "v1beta1")
		if err != nil {
			return err
		}
		if is, was := a.Object.(*meter).Spec.Size, old.(*oldMeter).Length; is != 8 || was != 3 {
			t.Errorf("validators see %d after %d, want 8 after 3", is, was)
		}
		return nil
	}
	if _, _, err := k.Subresource("meter").Update(k.ctx, k.meter("a", func(m *meter) { m.Spec.Size = 4 })); err != nil {
		t.Fatal(err)
	}
	if w := k.get("a"); w.Spec.Size != 8 || validated != 1 || len(p.seen) != 1 {
		t.Fatalf("got %s, %d plugins asked, %d validated", text(w), len(p.seen), validated)
	}
	a := p.seen[0]
	if a.Operation != admission.Update || a.Subresource != "meter" || a.Name != "a" || a.Namespace != "ns" ||
		a.Resource != v1.WithResource("widgets") || a.Kind != meterV1beta1 || a.Type.GroupKind() != meterV1.GroupKind() {
		t.Errorf("attributes: %+v", a)
	}
	if old := a.Old.(*meter); old.Name != "a" || old.ResourceVersion == "" {
		t.Errorf("the old object: got %s", text(old))
	}
}

func TestProjectionRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		types  func(*scheme.Scheme)
		change func(sub *registry.SubresourceOf[*widget])
		says   string
	}{
		"an unknown kind":    {nil, func(*registry.SubresourceOf[*widget]) {}, "Meter"},
		"an unknown version": {addMeters, func(sub *registry.SubresourceOf[*widget]) { sub.Kind.Version = "v9" }, "v9"},
		"no kind":            {addMeters, func(sub *registry.SubresourceOf[*widget]) { sub.Kind = meta.GroupVersionKind{} }, "meter"},
		"no projection":      {addMeters, func(sub *registry.SubresourceOf[*widget]) { sub.Project = nil }, "meter"},
		"rules of its own": {addMeters, func(sub *registry.SubresourceOf[*widget]) {
			sub.Validate = func(_, _ *widget) field.ErrorList { return nil }
		}, "rules of the resource"},
	} {
		k := newKit(t, options{types: tt.types})
		res := declaration()
		metered(&res)
		tt.change(&res.Subresources[len(res.Subresources)-1])
		if s, err := registry.New(k.cfg, registry.Typed(res)); err == nil || s != nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error that says %s", name, err, tt.says)
		}
	}
}
