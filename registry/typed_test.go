package registry

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

var testGV = meta.GroupVersion{Group: "test.example.com", Version: "v1"}

type Gadget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Size            int32 `json:"size,omitempty" pb:"2"`
}

type Gizmo struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
}

// gadgets returns a declaration that sets every field.
func gadgets() ResourceOf[*Gadget] {
	return ResourceOf[*Gadget]{
		GroupResource: meta.GroupResource{Group: testGV.Group, Resource: "gadgets"},
		Kind:          "Gadget", Singular: "gadget", ShortNames: []string{"gg"}, Categories: []string{"all"},
		Namespaced: true, StorageVersion: "v1",
		Strategy: StrategyOf[*Gadget]{
			ValidateName: func(string, bool) []string { return nil },
			Prepare:      func(_ *Request, g, old *Gadget) { g.Size = sum(g, old) + 1 },
			Validate:     func(g, old *Gadget) field.ErrorList { return make(field.ErrorList, sum(g, old)) },
			ValidateIn: func(_ meta.GroupVersion, g, old *Gadget) field.ErrorList {
				return make(field.ErrorList, sum(g, old))
			},
			Warnings:                 func(g, old *Gadget) []string { return make([]string, sum(g, old)) },
			Canonicalize:             func(g *Gadget) { g.Size++ },
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
			Graceful:                 func(g *Gadget, _ *meta.DeleteOptions) bool { return g.Size > 0 },
			Held:                     func(g *Gadget) bool { return g.Size > 0 },
			Terminate:                func(g *Gadget) { g.Size++ },
			Permanent:                func(name string) string { return name },
			OrphanByDefault:          true,
			OrphanWarning:            "left alone",
			NoGarbageCollection:      true,
		},
		Generation: []string{"size"},
		Status: &StatusOf[*Gadget]{
			OnCreate: true,
			Prepare:  func(_ *Request, g, old *Gadget) { g.Size = old.Size },
			Validate: func(g, old *Gadget) field.ErrorList { return make(field.ErrorList, sum(g, old)) },
			Warnings: func(g, old *Gadget) []string { return make([]string, sum(g, old)) },
		},
		Subresources: []SubresourceOf[*Gadget]{{
			Name: "part", Verbs: []string{"get"},
			Prepare:  func(_ *Request, g, old *Gadget) { g.Size = old.Size },
			Validate: func(g, old *Gadget) field.ErrorList { return make(field.ErrorList, sum(g, old)) },
			Warnings: func(g, old *Gadget) []string { return make([]string, sum(g, old)) },
		}},
		Fields: []FieldValue{{Label: "size", Path: "size"}},
		Table: &TableOf[*Gadget]{
			Columns:    []meta.TableColumnDefinition{NameColumn},
			Cells:      func(g *Gadget, _ time.Time) []any { return []any{g.Size} },
			Conditions: func(g *Gadget) []meta.TableRowCondition { return make([]meta.TableRowCondition, g.Size) },
		},
		TTL:            func(g *Gadget) time.Duration { return time.Duration(g.Size) },
		ReturnsDeleted: true,
		Verbs:          []string{"get"},
	}
}

// sum adds the size of the old gadget, if there is one, to that of the new.
func sum(g, old *Gadget) int32 {
	if old == nil {
		return g.Size
	}
	return g.Size + old.Size
}

// fillNumbers sets the fields of a struct that are numbers.
func fillNumbers(v any) {
	rv := reflect.ValueOf(v).Elem()
	for i := range rv.NumField() {
		switch f := rv.Field(i); {
		case f.CanInt():
			f.SetInt(1)
		case f.CanUint():
			f.SetUint(1)
		}
	}
}

// TestTypedKeepsAll: Typed copies every field of a declaration, including fields that are added
// later.
func TestTypedKeepsAll(t *testing.T) {
	given := gadgets()
	fillNumbers(&given.Strategy)
	given.Type, given.Custom = newConfig(t).Kinds.Kind(meta.GroupKind{Group: testGV.Group, Kind: "Gadget"}), true
	given.ListKind, given.Served, given.Since = "GadgetList", []string{"v1"}, 1
	given.StoredAsJSON, given.NoCreate = true, "closed"
	given.Tables, given.ResetFieldsIn = map[string]*TreeTable{"v1": {}}, map[string][]string{"v1": {"a"}}
	given.Deprecated = []Deprecation{{Since: "1.36"}}
	given.Reserve = func(context.Context, *Request, *Gadget, *Gadget) (admission.Settle, error) {
		return nil, nil
	}
	given.Complete, given.CompleteNeeds = func(*Gadget) {}, []string{"spec.size"}
	given.Guard = func(context.Context, *Request, *Gadget, *Gadget) error { return nil }
	sub := &given.Subresources[0]
	sub.Kind, sub.Owns, sub.Project = testGV.WithKind("Gizmo"), []string{"size"}, &ProjectionOf[*Gadget]{}
	sub.Metadata, given.Status.Metadata = MetaWhole, MetaWhole
	given.ResetFields, given.Status.ResetFields, sub.ResetFields = []string{"a"}, []string{"b"}, []string{"c"}
	sub.Versions = []string{"v1"}
	judge := func(*Request, field.ErrorList, *Gadget, *Gadget) field.ErrorList { return nil }
	given.Strategy.ValidateRequest, sub.ValidateRequest = judge, judge
	sub.Also, sub.Check = []string{"v2"}, func(*Action) error { return nil }
	sub.Complete = func(context.Context, *Action) error { return nil }
	sub.Create, sub.Returned = func(context.Context, *Action) (meta.Typed, error) { return nil, nil }, true
	sub.Connect = func(context.Context, *Connection) (http.Handler, error) { return nil, nil }
	res := Typed(given)
	for _, v := range []any{given, given.Strategy, *given.Status, *given.Table, given.Subresources[0],
		res, res.Strategy, *res.Status, *res.Table, res.Subresources[0]} {
		rv := reflect.ValueOf(v)
		for i := range rv.NumField() {
			if f := rv.Type().Field(i); f.IsExported() && rv.Field(i).IsZero() {
				t.Errorf("%T: %s is empty", v, f.Name)
			}
		}
	}
	none := reflect.ValueOf(Typed(ResourceOf[*Gadget]{}).Strategy)
	for i := range none.NumField() {
		if !none.Field(i).IsZero() {
			t.Errorf("the empty strategy has got a %s", none.Type().Field(i).Name)
		}
	}
}

func TestTypedFunctions(t *testing.T) {
	res := Typed(gadgets())
	g, old := &Gadget{}, &Gadget{Size: 4}
	res.Strategy.Prepare(nil, g, nil) // without an old object, the typed function must get a nil pointer
	res.Strategy.Canonicalize(g)
	res.Strategy.Terminate(g)
	if g.Size != 3 {
		t.Errorf("Prepare, Canonicalize and Terminate: got size %d, want 3", g.Size)
	}
	for name, got := range map[string]int{
		"Validate":           len(res.Strategy.Validate(g, nil)) - 3,
		"Validate a change":  len(res.Strategy.Validate(g, old)) - 7,
		"Warnings":           len(res.Strategy.Warnings(g, nil)) - 3,
		"Validate a status":  len(res.Status.Validate(g, old)) - 7,
		"Warnings of status": len(res.Status.Warnings(g, old)) - 7,
		"Validate a part":    len(res.Subresources[0].Validate(g, old)) - 7,
		"Warnings of a part": len(res.Subresources[0].Warnings(g, old)) - 7,
		"Conditions":         len(res.Table.Conditions(g)) - 3,
		"TTL":                int(res.TTL(g)) - 3,
		"Cells":              int(res.Table.Cells(g, time.Time{})[0].(int32)) - 3,
	} {
		if got != 0 {
			t.Errorf("%s: got %d more than wanted", name, got)
		}
	}
	if !res.Strategy.Held(g) || !res.Strategy.Graceful(g, nil) {
		t.Error("Held, Graceful: got false")
	}
	for _, tt := range []struct {
		name    string
		prepare func(r *Request, obj, old meta.Object)
		want    int32
	}{
		{"the resource", res.Strategy.Prepare, 8}, {"status", res.Status.Prepare, 4}, {"a part", res.Subresources[0].Prepare, 4},
	} {
		g := &Gadget{Size: 3}
		if tt.prepare(nil, g, old); g.Size != tt.want {
			t.Errorf("Prepare of %s: got size %d, want %d", tt.name, g.Size, tt.want)
		}
	}
}

// newConfig returns a Config over a memory store, with the group of these tests.
func newConfig(t *testing.T) *Config { return newConfigOver(t, memory.New(memory.Config{})) }

func newConfigOver(t *testing.T, store storage.Store) *Config {
	t.Helper()
	s := scheme.New()
	s.AddKnownTypes(testGV, &Gadget{}, &Gizmo{})
	s.AddKnownTypes(meta.GroupVersion{Group: testGV.Group, Version: "v2"}, &Gizmo{})
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	c := cache.New(store, cache.Config{Prefix: "/registry/"})
	t.Cleanup(func() {
		c.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	codecs := codec.NewFactory(s)
	return &Config{Kinds: kind.NewTypes(s, codecs), Codecs: codecs, Cache: c}
}

func TestNewOfAnotherType(t *testing.T) {
	res := gadgets()
	res.Kind = "Gizmo"
	_, err := New(newConfig(t), Typed(res))
	if err == nil || !strings.Contains(err.Error(), "*registry.Gizmo") {
		t.Errorf("New: got %v, want an error that names the hub type", err)
	}
	res.Kind, res.StorageVersion = "Other", ""
	if _, err := New(newConfig(t), Typed(res)); err == nil || !strings.Contains(err.Error(), "Other.test.example.com") {
		t.Errorf("New: got %v, want an error that names the kind", err)
	}
}

// TestNewPlace: a kind that the preferred version of its group lacks is stored in the best version
// that has it. Its key has the name of the group.
func TestNewPlace(t *testing.T) {
	s, err := New(newConfig(t), Resource{GroupResource: meta.GroupResource{Group: testGV.Group, Resource: "gadgets"}, Kind: "Gadget"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.root, "/registry/test.example.com/gadgets/"; got != want {
		t.Errorf("root: got %s, want %s", got, want)
	}
	if got := s.StorageVersion(); got.GroupVersion() != testGV {
		t.Errorf("storage version: got %s, want %s", got, testGV)
	}
}

func TestView(t *testing.T) {
	s, err := New(newConfig(t), Typed(ResourceOf[*Gadget]{
		GroupResource: meta.GroupResource{Group: testGV.Group, Resource: "gadgets"}, Kind: "Gadget", Namespaced: true,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ViewOf[*Gizmo](s); err == nil {
		t.Error("ViewOf another type: got no error")
	}
	if _, err := ViewOf[*Gadget](nil); err == nil {
		t.Error("ViewOf no store: got no error")
	}
	v, err := ViewOf[*Gadget](s)
	if err != nil {
		t.Fatal(err)
	}
	ctx := request.NewContext(t.Context(), &request.Info{})
	for _, at := range [][2]string{{"b", "one"}, {"a", "two"}, {"a", "one"}} {
		g := &Gadget{ObjectMeta: meta.ObjectMeta{Name: at[1]}, Size: 3}
		_, err := s.Create(ctx, &request.Write{Namespace: at[0], Options: &meta.CreateOptions{},
			Change: func(context.Context, request.Current) (meta.Typed, error) { return g, nil }})
		if err != nil {
			t.Fatal(err)
		}
	}
	g, err := v.Read(t.Context(), "a", "two", request.Consistent)
	if err != nil || g.Name != "two" || g.Size != 3 || g.ResourceVersion == "" {
		t.Errorf("Consistent: got %+v, %v", g, err)
	}
	if _, err := v.Read(t.Context(), "b", "two", request.Consistent); !meta.IsNotFound(err) {
		t.Errorf("Consistent of none: got %v, want not found", err)
	}
	if g, err := v.Read(t.Context(), "a", "two", request.ReadYourWrites); err != nil || g.Size != 3 {
		t.Errorf("ReadYourWrites: got %+v, %v", g, err)
	}
	if _, err := v.Read(t.Context(), "b", "two", request.ReadYourWrites); !meta.IsNotFound(err) {
		t.Errorf("ReadYourWrites of none: got %v, want not found", err)
	}
	for namespace, want := range map[string]string{"": "a/one a/two b/one", "a": "a/one a/two", "c": ""} {
		list, err := v.List(t.Context(), namespace)
		var got []string
		for _, g := range list {
			got = append(got, g.Namespace+"/"+g.Name)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("List(%q): got %q, %v, want %s", namespace, got, err, want)
		}
	}
}

// silentStore is a store whose Revision fails once now is set.
type silentStore struct {
	storage.Store
	now atomic.Bool
}

func (s *silentStore) Revision(ctx context.Context) (storage.Revision, error) {
	if s.now.Load() {
		return 0, errors.New("silent")
	}
	return s.Store.Revision(ctx)
}

// TestReadYourWrites reads from the cache while the store does not answer.
func TestReadYourWrites(t *testing.T) {
	store := &silentStore{Store: memory.New(memory.Config{})}
	s, err := New(newConfigOver(t, store), Typed(ResourceOf[*Gadget]{
		GroupResource: meta.GroupResource{Group: testGV.Group, Resource: "gadgets"}, Kind: "Gadget", Namespaced: true,
	}))
	if err != nil {
		t.Fatal(err)
	}
	v, err := ViewOf[*Gadget](s)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Create(t.Context(), &Gadget{ObjectMeta: meta.ObjectMeta{Namespace: "a", Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.List(t.Context(), ""); err != nil { // loads the cache
		t.Fatal(err)
	}
	store.now.Store(true)
	if _, err := v.Read(t.Context(), "a", "one", request.ReadYourWrites); err != nil {
		t.Error(err)
	}
	if _, err := v.Read(t.Context(), "a", "one", request.Consistent); err == nil {
		t.Error("Consistent: got no error")
	}
	if _, err := v.Read(t.Context(), "a", "two", request.ReadYourWrites); err == nil || meta.IsNotFound(err) {
		t.Errorf("ReadYourWrites of what may be new: got %v", err)
	}
}
