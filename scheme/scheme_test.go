package scheme_test

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The group of these tests: Widget has two versions that differ in a nested struct, and v1 is its
// hub.

var (
	v1      = meta.GroupVersion{Group: "test.example.com", Version: "v1"}
	v1beta1 = meta.GroupVersion{Group: "test.example.com", Version: "v1beta1"}
	hubOf   = meta.GroupVersion{Group: "test.example.com", Version: scheme.InternalVersion}
)

type Widget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            WidgetSpec `json:"spec,omitempty" pb:"2"`
}

type WidgetSpec struct {
	Size   int32             `json:"size" pb:"1" default:"1" check:"min=1,max=100"`
	Mode   Mode              `json:"mode,omitempty" pb:"2" default:"Fast" enum:"Fast,Slow" check:"enum"`
	Parts  []Part            `json:"parts,omitempty" pb:"3" list:"map,key=name" patch:"merge,key=name" check:"maxItems=2"`
	ByName map[string]Part   `json:"byName,omitempty" pb:"4"`
	Extra  map[string][]byte `json:"extra,omitempty" pb:"5"`
	Next   *WidgetSpec       `json:"next,omitempty" pb:"6"`
	Labels *map1             `json:"labels,omitempty" pb:"7"`
	Ptrs   map[string]*Part  `json:"ptrs,omitempty" pb:"8"`
	Lists  []meta.Condition  `json:"lists,omitempty" pb:"9" list:"atomic"`
	Codes  []Mode            `json:"codes,omitempty" pb:"10" list:"set" itemEnum:"Fast,Slow" check:"enum"`
	Names  map[Mode]Mode     `json:"names,omitempty" pb:"11"`
	Secret string            `json:"secret,omitempty" pb:"12" check:"immutable,maxLength=5"`
}

type map1 struct {
	Match map[string]string `json:"match,omitempty" pb:"1"`
}

type Mode string

type Part struct {
	Name   string `json:"name" pb:"1" check:"required,format=dns1123Label"`
	Weight int64  `json:"weight,omitempty" pb:"2" default:"7"`
	Fixed  string `json:"fixed,omitempty" pb:"3" check:"immutable"`
}

type WidgetList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Widget `json:"items" pb:"2"`
}

// betaWidget is registered under the kind Widget.
type betaWidget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            betaSpec `json:"spec,omitempty" pb:"2"`
}

type betaSpec struct {
	SizeText string               `json:"sizeText,omitempty" pb:"1"` // Size as text
	Mode     string               `json:"mode,omitempty" pb:"2"`
	Parts    []betaPart           `json:"parts,omitempty" pb:"3"`
	ByName   map[string]betaPart  `json:"byName,omitempty" pb:"4"`
	Extra    map[string][]byte    `json:"extra,omitempty" pb:"5"`
	Next     *betaSpec            `json:"next,omitempty" pb:"6"`
	Labels   *map1                `json:"labels,omitempty" pb:"7"`
	Ptrs     map[string]*betaPart `json:"ptrs,omitempty" pb:"8"`
	Lists    []meta.Condition     `json:"lists,omitempty" pb:"9"`
	Codes    []string             `json:"codes,omitempty" pb:"10"`
	Names    map[string]string    `json:"names,omitempty" pb:"11"`
	Secret   string               `json:"secret,omitempty" pb:"12"`
}

type betaPart struct {
	Name   string `json:"name" pb:"1"`
	Weight int64  `json:"weight,omitempty" pb:"2"`
	Fixed  string `json:"fixed,omitempty" pb:"3"`
}

type betaWidgetList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []betaWidget `json:"items" pb:"2"`
}

func addWidgets(s *scheme.Scheme) {
	s.AddKnownTypes(v1, &Widget{}, &WidgetList{})
	s.AddKnownType(v1beta1.WithKind("Widget"), &betaWidget{})
	s.AddKnownType(v1beta1.WithKind("WidgetList"), &betaWidgetList{})
	scheme.AddConversion(s, func(in *WidgetSpec, out *betaSpec) error {
		out.SizeText = strconv.Itoa(int(in.Size))
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *betaSpec, out *WidgetSpec) error {
		size, err := strconv.ParseInt(in.SizeText, 10, 32)
		if err != nil {
			return errors.New("sizeText is no number")
		}
		out.Size = int32(size)
		return scheme.ConvertFields(s, in, out)
	})
}

func newScheme(t testing.TB, add ...func(*scheme.Scheme)) *scheme.Scheme {
	t.Helper()
	s := scheme.New()
	for _, fn := range append(add, addWidgets) {
		fn(s)
	}
	if err := s.Complete(); err != nil {
		t.Fatalf("Complete: %v", err)
	}
	return s
}

func sampleBeta() *betaWidget {
	return &betaWidget{
		TypeMeta:   meta.TypeMeta{APIVersion: v1beta1.String(), Kind: "Widget"},
		ObjectMeta: meta.ObjectMeta{Name: "w", Labels: map[string]string{"a": "b"}},
		Spec: betaSpec{
			SizeText: "5", Mode: "Slow", Parts: []betaPart{{Name: "p", Weight: 1}},
			ByName: map[string]betaPart{"x": {Name: "x"}}, Extra: map[string][]byte{"e": []byte("bytes"), "nil": nil},
			Next: &betaSpec{SizeText: "6", Parts: []betaPart{}}, Labels: &map1{Match: map[string]string{"m": "n"}},
			Ptrs:  map[string]*betaPart{"p": {Name: "q"}, "nil": nil},
			Lists: []meta.Condition{{Type: "Ready"}}, Codes: []string{"Fast"}, Names: map[string]string{"Fast": "Slow"},
		},
	}
}

func TestConvertThroughTheHub(t *testing.T) {
	s := newScheme(t)
	beta := sampleBeta()
	before := scheme.DeepCopy(beta)
	hub, err := s.ToHub(beta)
	if err != nil {
		t.Fatalf("ToHub: %v", err)
	}
	w, ok := hub.(*Widget)
	if !ok {
		t.Fatalf("ToHub: got %T, want *Widget", hub)
	}
	if w.APIVersion != v1.String() || w.Kind != "Widget" || w.Spec.Size != 5 || w.Spec.Next.Size != 6 ||
		w.Spec.Mode != "Slow" || w.Spec.ByName["x"].Name != "x" || w.Spec.Ptrs["p"].Name != "q" || w.Spec.Names["Fast"] != "Slow" {
		t.Errorf("ToHub: got %+v", w)
	}
	if w.Spec.Next.Parts == nil {
		t.Error("ToHub: an empty list became nil")
	}
	if !reflect.DeepEqual(beta, before) {
		t.Error("ToHub changed its input")
	}
	back, err := s.FromHub(w, v1beta1)
	if err != nil {
		t.Fatalf("FromHub: %v", err)
	}
	if !reflect.DeepEqual(back, meta.Typed(beta)) {
		t.Errorf("FromHub: got %+v, want %+v", back, beta)
	}
	w.Labels["a"], w.Spec.Extra["e"][0], w.Spec.Labels.Match["m"], w.Spec.Lists[0].Type = "x", 'X', "x", "x"
	if !reflect.DeepEqual(beta, before) || !reflect.DeepEqual(back, meta.Typed(beta)) {
		t.Error("a converted object shares memory with its source")
	}
}

func TestConvertLists(t *testing.T) {
	s := newScheme(t)
	list := &betaWidgetList{ListMeta: meta.ListMeta{ResourceVersion: "7"}, Items: []betaWidget{*sampleBeta()}}
	got, err := s.ConvertTo(list, hubOf)
	if err != nil {
		t.Fatalf("ConvertTo: %v", err)
	}
	hub, ok := got.(*WidgetList)
	if !ok || len(hub.Items) != 1 || hub.Items[0].Spec.Size != 5 || hub.ResourceVersion != "7" {
		t.Errorf("ConvertTo: got %+v", got)
	}
}

func TestSameTypeIsNotConverted(t *testing.T) {
	s := newScheme(t)
	w := &Widget{}
	for _, gv := range []meta.GroupVersion{v1, hubOf} {
		got, err := s.ConvertTo(w, gv)
		if err != nil || got != meta.Typed(w) {
			t.Errorf("ConvertTo(%s): got %p, %v, want the object itself", gv, got, err)
		}
	}
	if w.APIVersion != v1.String() || w.Kind != "Widget" {
		t.Errorf("ConvertTo: got %q %q, want the version asked for", w.APIVersion, w.Kind)
	}
	if got := testing.AllocsPerRun(100, func() { _, _ = s.ConvertTo(w, v1) }); got > 3 {
		t.Errorf("ConvertTo the same version: got %v allocs", got)
	}
}

type coreWidget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            WidgetSpec `json:"spec,omitempty"`
}

func TestHubOfItsOwn(t *testing.T) {
	s := newScheme(t, func(s *scheme.Scheme) {
		s.AddHub(meta.GroupKind{Group: v1.Group, Kind: "Widget"}, &coreWidget{})
	})
	got, err := s.ConvertTo(sampleBeta(), v1)
	if err != nil {
		t.Fatalf("ConvertTo: %v", err)
	}
	if w, ok := got.(*Widget); !ok || w.Spec.Size != 5 || w.APIVersion != v1.String() {
		t.Errorf("ConvertTo: got %+v", got)
	}
	hub, err := s.ToHub(got)
	if err != nil {
		t.Fatalf("ToHub: %v", err)
	}
	if c, ok := hub.(*coreWidget); !ok || c.APIVersion != "" || c.Kind != "" {
		t.Errorf("ToHub: got %+v, want a coreWidget without version", hub)
	}
	kinds, err := s.Kinds(hub)
	if err != nil || len(kinds) != 1 || kinds[0] != hubOf.WithKind("Widget") {
		t.Errorf("Kinds of the hub: got %v, %v", kinds, err)
	}
	made, err := s.NewObject(hubOf.WithKind("Widget"))
	if _, ok := made.(*coreWidget); err != nil || !ok {
		t.Errorf("NewObject of the hub: got %T, %v", made, err)
	}
	if gvk, ok := s.HubKind(meta.GroupKind{Group: v1.Group, Kind: "Widget"}); !ok || gvk != hubOf.WithKind("Widget") {
		t.Errorf("HubKind: got %v, %v", gvk, ok)
	}
	if gvk, _ := s.HubKind(meta.GroupKind{Group: v1.Group, Kind: "WidgetList"}); gvk != v1.WithKind("WidgetList") {
		t.Errorf("HubKind of the list: got %v", gvk)
	}
	// The list has no hub of its own and needs none: its elements convert by way of theirs.
	list, err := s.ConvertTo(&betaWidgetList{Items: []betaWidget{*sampleBeta()}}, v1)
	if l, ok := list.(*WidgetList); err != nil || !ok || len(l.Items) != 1 || l.Items[0].Spec.Size != 5 {
		t.Errorf("ConvertTo of a list: got %+v, %v", list, err)
	}
}

// flatWidget differs so much from the other versions that only functions to and from the hub can
// convert it.
type flatWidget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Size            int32 `json:"size"`
}

type flatWidgetList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty"`
	Items         []flatWidget `json:"items"`
}

// Versions that have only the hub in common need only functions to and from the hub, and so do
// their lists.
func TestListsOfUnlikeVersions(t *testing.T) {
	v2 := meta.GroupVersion{Group: v1.Group, Version: "v2alpha1"}
	s := newScheme(t, func(s *scheme.Scheme) {
		s.AddHub(meta.GroupKind{Group: v1.Group, Kind: "Widget"}, &coreWidget{})
		s.AddKnownType(v2.WithKind("Widget"), &flatWidget{})
		s.AddKnownType(v2.WithKind("WidgetList"), &flatWidgetList{})
		scheme.AddConversion(s, func(in *flatWidget, out *coreWidget) error { out.Spec.Size = in.Size; return nil })
		scheme.AddConversion(s, func(in *coreWidget, out *flatWidget) error { out.Size = in.Spec.Size; return nil })
	})
	list, err := s.ConvertTo(&flatWidgetList{Items: []flatWidget{{Size: 3}, {Size: 4}}}, v1)
	if l, ok := list.(*WidgetList); err != nil || !ok || len(l.Items) != 2 || l.Items[1].Spec.Size != 4 {
		t.Errorf("ConvertTo: got %+v, %v", list, err)
	}
}

type Gadget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
}

// Events are served by two groups; one hub type joins them.
func TestOneHubForTwoGroups(t *testing.T) {
	other := meta.GroupVersion{Group: "other.example.com", Version: "v1"}
	s := newScheme(t, func(s *scheme.Scheme) {
		s.AddKnownType(other.WithKind("Widget"), &betaWidget{})
		s.AddHub(meta.GroupKind{Group: v1.Group, Kind: "Widget"}, &Widget{})
		s.AddHub(meta.GroupKind{Group: other.Group, Kind: "Widget"}, &Widget{})
	})
	w := &Widget{TypeMeta: meta.TypeMeta{APIVersion: v1.String(), Kind: "Widget"}, Spec: WidgetSpec{Size: 3}}
	got, err := s.ConvertTo(w, other)
	if err != nil {
		t.Fatalf("ConvertTo: %v", err)
	}
	if b, ok := got.(*betaWidget); !ok || b.Spec.SizeText != "3" || b.APIVersion != other.String() {
		t.Errorf("ConvertTo: got %+v", got)
	}
	hub, err := s.ToHubKind(got, meta.GroupKind{Group: v1.Group, Kind: "Widget"})
	if err != nil || hub.(*Widget).Spec.Size != 3 {
		t.Errorf("ToHubKind: got %+v, %v", hub, err)
	}
}

func TestConversionErrors(t *testing.T) {
	s := newScheme(t, func(s *scheme.Scheme) { s.AddKnownTypes(v1, &Gadget{}) })
	bad := sampleBeta()
	bad.Spec.SizeText = "many"
	_, failed := s.ToHub(bad)
	_, wrongKind := s.ToHubKind(&Widget{}, meta.GroupKind{Group: v1.Group, Kind: "Gadget"})
	_, wrongVersion := s.ConvertTo(&Gadget{}, v1beta1)
	_, unknownType := s.ToHub(&meta.PartialObjectMetadata{TypeMeta: meta.TypeMeta{Kind: "Other"}})
	_, unregistered := s.ToHub(&coreWidget{})
	_, unknownKind := s.NewObject(meta.GroupVersionKind{Version: "v1", Kind: "Nope"})
	_, nilObject := s.ToHub(nil)
	if unknownType != nil {
		t.Errorf("ToHub of a registered meta kind: %v", unknownType)
	}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"conversion fails", failed, "sizeText is no number"},
		{"wrong kind", wrongKind, "converting (v1.Widget) to (test.Gadget): unknown conversion"},
		{"wrong version", wrongVersion,
			`no kind "Gadget" is registered for version "test.example.com/v1beta1" in scheme "coracle"`},
		{"unregistered type", unregistered, `no kind is registered for the type scheme_test.coreWidget in scheme "coracle"`},
		{"unknown kind", unknownKind, `no kind "Nope" is registered for version "v1" in scheme "coracle"`},
		{"nil", nilObject, `no kind is registered for the type <nil> in scheme "coracle"`},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, tt.err, tt.want)
		}
	}
	if !scheme.IsNotRegistered(unregistered) || scheme.IsNotRegistered(wrongKind) {
		t.Error("IsNotRegistered: got the wrong answers")
	}
	core := scheme.ConversionError{From: meta.GroupVersionKind{Version: "v1", Kind: "Secret"},
		To: meta.GroupVersionKind{Version: scheme.InternalVersion, Kind: "ConfigMap"}}
	if got, want := core.Error(), "converting (v1.Secret) to (core.ConfigMap): unknown conversion"; got != want {
		t.Errorf("ConversionError: got %q, want %q", got, want)
	}
}

type lossy struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            lossySpec `json:"spec,omitempty"`
}

type lossySpec struct {
	Size  string `json:"size"`
	Only  bool   `json:"only"`
	Parts *int32 `json:"parts"`
}

type badTags struct {
	meta.TypeMeta `json:",inline"`
	Field         string `json:"field" check:"nonsense"`
}

func TestCompleteReportsEverythingAtOnce(t *testing.T) {
	s := scheme.New()
	s.AddKnownTypes(v1, &Widget{})
	s.AddKnownType(v1.WithKind("Widget"), &Gadget{})
	s.AddKnownType(v1beta1.WithKind("Widget"), &lossy{})
	s.AddKnownType(v1.WithKind("Bad"), &badTags{})
	s.AddKnownTypes(hubOf, &Gadget{})
	s.AddKnownTypes(v1, nil)
	s.SetVersionPriority(v1, meta.GroupVersion{Group: v1.Group, Version: "v9"})
	s.SetVersionPriority(v1)
	nop := func(*Gadget, *Widget) error { return nil }
	scheme.AddConversion(s, nop)
	scheme.AddConversion(s, nop)
	err := s.Complete()
	if err == nil {
		t.Fatal("Complete: got no error")
	}
	for _, want := range []string{
		"two types for test.example.com/v1, Kind=Widget: scheme_test.Widget and scheme_test.Gadget",
		"conversion of scheme_test.lossySpec to scheme_test.WidgetSpec: field Size (string) does not convert to field Size (int32): register a conversion function",
		"conversion of scheme_test.lossySpec to scheme_test.WidgetSpec: field Only (bool) has no counterpart",
		"conversion of scheme_test.WidgetSpec to scheme_test.lossySpec: field Mode (scheme_test.Mode) has no counterpart",
		"field Parts (*int32) does not convert to field Parts ([]scheme_test.Part)",
		`badTags.Field: check "nonsense" is unknown`,
		"hub types are added with AddHub",
		"test.example.com/v1: <nil> is not a pointer to a struct",
		`version "v9" of group "test.example.com" has no types`,
		`the versions of group "test.example.com" have an order already`,
		"two conversions from scheme_test.Gadget to scheme_test.Widget",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Complete: got no %q in\n%v", want, err)
		}
	}
}

func TestRegistrationEndsWithComplete(t *testing.T) {
	s := newScheme(t)
	s.AddKnownTypes(v1, &Gadget{})
	if s.Recognizes(v1.WithKind("Gadget")) {
		t.Error("a type was added after Complete")
	}
	if err := s.Complete(); err == nil || !strings.Contains(err.Error(), "after Complete") {
		t.Errorf("Complete again: got %v, want a complaint", err)
	}
}

func TestVersions(t *testing.T) {
	gv := func(v string) meta.GroupVersion { return meta.GroupVersion{Group: "g", Version: v} }
	add := func(s *scheme.Scheme) {
		for _, v := range []string{"odd", "v1alpha1", "v1", "v2beta1", "v10", "v2", "v1beta2"} {
			s.AddKnownTypes(gv(v), &Gadget{})
		}
	}
	order := func(s *scheme.Scheme) string {
		var list []string
		for _, gv := range s.VersionsOf("g") {
			list = append(list, gv.Version)
		}
		return strings.Join(list, " ")
	}
	if got, want := order(newScheme(t, add)), "v10 v2 v1 v2beta1 v1beta2 v1alpha1 odd"; got != want {
		t.Errorf("VersionsOf: got %q, want %q", got, want)
	}
	s := newScheme(t, add, func(s *scheme.Scheme) { s.SetVersionPriority(gv("v1"), gv("odd")) })
	if got, want := order(s), "v1 odd v10 v2 v2beta1 v1beta2 v1alpha1"; got != want {
		t.Errorf("VersionsOf with priorities: got %q, want %q", got, want)
	}
	if got := strings.Join(s.Groups(), " "); got != "g test.example.com" {
		t.Errorf("Groups: got %q", got)
	}
	kinds, _ := s.Kinds(&Gadget{})
	if len(kinds) != 7 || kinds[0].Version != "v1" {
		t.Errorf("Kinds: got %v, want 7 with v1 first", kinds)
	}
	if got, _ := s.Kind(&Gadget{TypeMeta: meta.TypeMeta{APIVersion: "g/v2", Kind: "Gadget"}}); got.Version != "v2" {
		t.Errorf("Kind: got %v, want the version that the object names", got)
	}
}

func TestCommonKinds(t *testing.T) {
	s := newScheme(t)
	for _, kind := range []string{"ListOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions",
		"GetOptions", "WatchEvent", "Status"} {
		if !s.Recognizes(v1beta1.WithKind(kind)) {
			t.Errorf("Recognizes(%s): got false", kind)
		}
	}
	for _, gv := range []meta.GroupVersion{{Version: "v1"}, {Group: "meta.k8s.io", Version: "v1"}} {
		if !s.Recognizes(gv.WithKind("DeleteOptions")) {
			t.Errorf("Recognizes(%s DeleteOptions): got false", gv)
		}
	}
	kinds := s.ModelKinds()["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
	ofMeta := func(k meta.GroupVersionKind) bool { return k.Group == "meta.k8s.io" }
	if !slices.Contains(kinds, v1beta1.WithKind("DeleteOptions")) || slices.ContainsFunc(kinds, ofMeta) {
		t.Errorf("ModelKinds: got %v for DeleteOptions", kinds)
	}
	if !s.IsUnversioned(&meta.Status{}) || s.IsUnversioned(&Widget{}) {
		t.Error("IsUnversioned: want true for Status only")
	}
	status := &meta.Status{}
	if got, err := s.ConvertTo(status, v1beta1); err != nil || got != meta.Typed(status) {
		t.Errorf("ConvertTo of a Status: got %v, %v", got, err)
	}
	if got := s.Type(v1.WithKind("Widget")); got != typeinfo.For[Widget]() {
		t.Errorf("Type: got %v", got)
	}
	if _, err := s.NewObject(v1.WithKind("WatchEvent")); err == nil {
		t.Error("NewObject of a watch event: got no error")
	}
}

func TestDefaultRunsTagsThenFunctions(t *testing.T) {
	s := newScheme(t, func(s *scheme.Scheme) {
		scheme.AddDefaulting(s, func(p *Part) { p.Fixed += "1" })
		scheme.AddDefaulting(s, func(p *Part) { p.Fixed += "2" })
		scheme.AddDefaulting(s, func(w *Widget) {
			if len(w.Spec.Parts) == 0 {
				w.Spec.Parts = []Part{{Name: w.Name}}
			}
		})
	})
	w := &Widget{ObjectMeta: meta.ObjectMeta{Name: "n"}, Spec: WidgetSpec{Ptrs: map[string]*Part{"p": {}}}}
	s.Default(w)
	want := Part{Name: "n", Weight: 7, Fixed: "12"}
	if len(w.Spec.Parts) != 1 || w.Spec.Parts[0] != want {
		t.Errorf("Default: got parts %+v, want %+v", w.Spec.Parts, want)
	}
	if w.Spec.Size != 1 || w.Spec.Mode != "Fast" || w.Spec.Ptrs["p"].Weight != 7 {
		t.Errorf("Default: got %+v", w.Spec)
	}
	s.Default(nil)
}

func TestFieldLabels(t *testing.T) {
	s := newScheme(t, func(s *scheme.Scheme) {
		s.AddFieldLabels(v1.WithKind("Widget"), func(label, value string) (string, string, error) {
			if label == "spec.size" {
				return label, value, nil
			}
			return scheme.MetadataLabels(label, value)
		})
	})
	for _, tt := range []struct {
		gv    meta.GroupVersion
		label string
		want  string
	}{
		{v1, "spec.size", ""}, {v1, "metadata.name", ""}, {v1beta1, "metadata.namespace", ""},
		{v1beta1, "spec.size", `"spec.size" is not a known field selector: only "metadata.name", "metadata.namespace"`},
	} {
		label, _, err := s.FieldLabel(tt.gv.WithKind("Widget"), tt.label, "x")
		if got := errText(err); got != tt.want || got == "" && label != tt.label {
			t.Errorf("FieldLabel(%s, %s): got %q, %q, want %q", tt.gv, tt.label, label, got, tt.want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheck(t *testing.T) {
	s := newScheme(t)
	old := &Widget{Spec: WidgetSpec{Size: 1, Secret: "a", Parts: []Part{{Name: "b", Fixed: "x"}, {Name: "a", Fixed: "y"}}}}
	w := &Widget{Spec: WidgetSpec{
		Size: 0, Mode: "Other", Secret: "abcdef",
		Parts: []Part{{Name: "a", Fixed: "z"}, {Name: ""}, {Name: "Not_OK"}},
		Next:  &WidgetSpec{Size: 101}, ByName: map[string]Part{"k": {}}, Codes: []Mode{"Fast", "x"},
	}}
	var got []string
	for _, e := range s.Check(w, old) {
		got = append(got, e.Error())
	}
	want := []string{
		`spec.size: Invalid value: 0: must be greater than or equal to 1`,
		`spec.mode: Unsupported value: "Other": supported values: "Fast", "Slow"`,
		`spec.parts: Too many: 3: must have at most 2 items`,
		`spec.parts[0].fixed: Invalid value: "z": field is immutable`,
		`spec.parts[1].name: Required value`,
		`spec.parts[2].name: Invalid value: "Not_OK": `,
		`spec.byName[k].name: Required value`,
		`spec.next.size: Invalid value: 101: must be less than or equal to 100`,
		`spec.codes[1]: Unsupported value: "x": supported values: "Fast", "Slow"`,
		`spec.secret: Invalid value: "abcdef": field is immutable`,
		`spec.secret: Too long: may not be more than 5 bytes`,
	}
	if len(got) != len(want) {
		t.Errorf("Check: got %d errors, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range min(len(got), len(want)) {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("Check: got %s, want %s", got[i], want[i])
		}
	}
	if errs := s.Check(old, old); len(errs) != 0 {
		t.Errorf("Check of a good object: got %v", errs)
	}
	if errs := s.Check(old, nil); len(errs) != 0 {
		t.Errorf("Check without an old object: got %v", errs)
	}
}

func TestBuilder(t *testing.T) {
	b := scheme.NewBuilder(func(s *scheme.Scheme) { s.AddKnownTypes(v1, &Gadget{}) })
	b.Register(addWidgets)
	s := scheme.New()
	b.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.KindsOf(v1), " "); !strings.Contains(got, "Gadget") || !strings.Contains(got, "WidgetList") {
		t.Errorf("KindsOf: got %s", got)
	}
}

func BenchmarkConvert(b *testing.B) {
	s := newScheme(b)
	beta := sampleBeta()
	hub, err := s.ToHub(beta)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("from=spoke", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.ToHub(beta); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("from=hub", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.FromHub(hub, v1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
