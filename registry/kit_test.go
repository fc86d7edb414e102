package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/registry"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// widget is the kind of these tests. The hub is v1. A widget has a grace period, a status and, if
// it asks for one, a time to live.
type widget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            widgetSpec   `json:"spec,omitempty" pb:"2"`
	Status          widgetStatus `json:"status,omitempty" pb:"3"`
}

type widgetSpec struct {
	Color   string `json:"color,omitempty" pb:"1"`
	Size    int64  `json:"size,omitempty" pb:"2" check:"min=0"`
	Grace   int64  `json:"grace,omitempty" pb:"3"`
	Seconds int64  `json:"seconds,omitempty" pb:"4"` // time to live
}

type widgetStatus struct {
	Phase string `json:"phase,omitempty" pb:"1"`
}

// oldWidget is a widget in version v1beta1, which is flat.
type oldWidget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Colour          string       `json:"colour,omitempty" pb:"2"`
	Status          widgetStatus `json:"status,omitempty" pb:"3"`
}

var (
	v1      = meta.GroupVersion{Group: "test.example.com", Version: "v1"}
	v1beta1 = meta.GroupVersion{Group: "test.example.com", Version: "v1beta1"}
	widgets = meta.GroupResource{Group: v1.Group, Resource: "widgets"}
	now     = time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)
)

// newScheme returns a scheme with widgets and the types that the functions more add.
func newScheme(tb testing.TB, more ...func(*scheme.Scheme)) *scheme.Scheme {
	tb.Helper()
	s := scheme.New()
	s.AddKnownType(v1.WithKind("Widget"), &widget{})
	s.AddKnownType(v1beta1.WithKind("Widget"), &oldWidget{})
	s.SetVersionPriority(v1, v1beta1)
	scheme.AddConversion(s, func(in *oldWidget, out *widget) error {
		out.Spec.Color = in.Colour
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *widget, out *oldWidget) error {
		out.Colour = in.Spec.Color
		return scheme.ConvertFields(s, in, out)
	})
	s.AddFieldLabels(v1.WithKind("Widget"), func(label, value string) (string, string, error) {
		if label != "spec.color" && label != "metadata.name" && label != "metadata.namespace" {
			return "", "", errors.New("field label not supported: " + label)
		}
		return label, value, nil
	})
	for _, f := range more {
		f(s)
	}
	if err := s.Complete(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// declaration returns the resource widgets, which tests change.
func declaration() registry.ResourceOf[*widget] {
	return registry.ResourceOf[*widget]{
		GroupResource: widgets, Kind: "Widget", Namespaced: true,
		Fields: []registry.FieldValue{{Label: "spec.color", Path: "spec.color", Version: "v1"}},
		TTL:    func(w *widget) time.Duration { return time.Duration(w.Spec.Seconds) * time.Second },
		Strategy: registry.StrategyOf[*widget]{
			Validate: func(w, old *widget) field.ErrorList {
				if old != nil && old.Spec.Color == "fixed" && w.Spec.Color != "fixed" {
					return field.ErrorList{field.Invalid(field.NewPath("spec", "color"), w.Spec.Color, "is fixed")}
				}
				return nil
			},
			Graceful: func(w *widget, opts *meta.DeleteOptions) bool {
				if w.Spec.Grace == 0 {
					return false
				}
				if opts.GracePeriodSeconds == nil {
					opts.GracePeriodSeconds = &w.Spec.Grace
				}
				return true
			},
			Warnings: func(w, _ *widget) []string {
				if w.Spec.Color == "beige" {
					return []string{"beige is deprecated"}
				}
				return nil
			},
		},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*widget]{},
	}
}

// kit is a Store of widgets over a memory engine.
type kit struct {
	*registry.Store
	cfg    *registry.Config
	tb     testing.TB
	engine *memory.Store
	store  storage.Store // engine, or the wrapper that a test puts around it
	cache  *cache.Cache
	leases *leases
	info   *request.Info
	ctx    context.Context // carries info
}

// leases counts the leases that are granted and those that are forgotten.
type leases struct {
	*storage.Leases
	mu        sync.Mutex
	got, lost int
}

func (l *leases) Get(ctx context.Context, ttl time.Duration) (storage.LeaseID, error) {
	l.mu.Lock()
	l.got++
	l.mu.Unlock()
	return l.Leases.Get(ctx, ttl)
}

func (l *leases) Forget(id storage.LeaseID) {
	l.mu.Lock()
	l.lost++
	l.mu.Unlock()
	l.Leases.Forget(id)
}

// options are the parts of a kit that tests replace.
type options struct {
	resource func(*registry.ResourceOf[*widget])
	instead  *registry.Resource // replaces widgets
	types    func(*scheme.Scheme)
	config   func(*registry.Config)
	cache    cache.Config
	wrap     func(storage.Store) storage.Store
	entries  []storage.Entry
	chain    admission.Chain
	history  int
}

func newKit(tb testing.TB, o options) *kit {
	tb.Helper()
	k := &kit{tb: tb, info: &request.Info{Attributes: request.Attributes{User: &request.User{Name: "tester"}}}}
	rev := storage.Revision(0)
	for _, e := range o.entries {
		rev = max(rev, e.Rev)
	}
	k.engine = memory.New(memory.Config{Entries: o.entries, Rev: rev, History: o.history})
	k.store = k.engine
	if o.wrap != nil {
		k.store = o.wrap(k.engine)
	}
	k.cache = cache.New(k.store, o.cache)
	tb.Cleanup(func() { k.cache.Close(); k.store.Close() })
	k.leases = &leases{Leases: storage.NewLeases(k.store, nil)}
	var types []func(*scheme.Scheme)
	if o.types != nil {
		types = append(types, o.types)
	}
	s := newScheme(tb, types...)
	codecs := codec.NewFactory(s)
	k.cfg = &registry.Config{
		Kinds: kind.NewTypes(s, codecs), Codecs: codecs, Cache: k.cache, Leases: k.leases, Admission: o.chain,
		Now: func() time.Time { return now },
	}
	if o.config != nil {
		o.config(k.cfg)
	}
	declared := declaration()
	if o.resource != nil {
		o.resource(&declared)
	}
	res := registry.Typed(declared)
	if o.instead != nil {
		res = *o.instead
	}
	store, err := registry.New(k.cfg, res)
	if err != nil {
		tb.Fatal(err)
	}
	k.Store = store
	k.ctx = request.NewContext(tb.Context(), k.info)
	return k
}

func named(name string, change ...func(*widget)) *widget {
	w := &widget{ObjectMeta: meta.ObjectMeta{Name: name}}
	for _, f := range change {
		f(w)
	}
	return w
}

func colored(c string) func(*widget)      { return func(w *widget) { w.Spec.Color = c } }
func finalized(f ...string) func(*widget) { return func(w *widget) { w.Finalizers = f } }
func graceful(s int64) func(*widget)      { return func(w *widget) { w.Spec.Grace = s } }

// create stores w in the namespace "ns".
func (k *kit) create(w *widget) *widget {
	k.tb.Helper()
	enc, err := k.Create(k.ctx, k.creation(w, &meta.CreateOptions{}))
	if err != nil {
		k.tb.Fatalf("Create(%s): %v", w.Name, err)
	}
	return k.decode(enc)
}

// creation is a create in the namespace "ns".
func (k *kit) creation(obj meta.Typed, opts *meta.CreateOptions) *request.Write {
	return &request.Write{
		Namespace: "ns", Version: "v1", User: k.info.User, Options: opts, DryRun: len(opts.DryRun) > 0, Warn: k.info.Warn, Annotate: k.info.Annotate,
		Change: func(context.Context, request.Current) (meta.Typed, error) { return obj, nil },
	}
}

func (k *kit) decode(enc request.Encoded) *widget {
	k.tb.Helper()
	obj, err := k.Decode(k.ctx, enc)
	if err != nil {
		k.tb.Fatal(err)
	}
	return obj.(*widget)
}

// get reads a widget; nil if there is none.
func (k *kit) get(name string) *widget {
	k.tb.Helper()
	enc, err := k.Get(k.ctx, "ns", name, "")
	if meta.IsNotFound(err) {
		return nil
	}
	if err != nil {
		k.tb.Fatalf("Get(%s): %v", name, err)
	}
	return k.decode(enc)
}

// put replaces a widget through a door, as a PUT does: the body is the same in every try.
func (k *kit) put(door *registry.Store, w *widget, opts ...func(*request.Write)) (*widget, bool, error) {
	k.tb.Helper()
	req := &request.Write{Namespace: "ns", Name: w.Name, Version: "v1", User: k.info.User, UID: w.UID, Options: &meta.UpdateOptions{},
		Warn: k.info.Warn, Annotate: k.info.Annotate,
		Change: func(context.Context, request.Current) (meta.Typed, error) { return scheme.DeepCopy(w), nil }}
	for _, o := range opts {
		o(req)
	}
	enc, created, err := door.Update(k.ctx, req)
	if err != nil {
		return nil, false, err
	}
	return k.decode(enc), created, nil
}

// write returns a write to a name in the namespace "ns". change makes the new object from the
// current one.
func (k *kit) write(name string, change request.ChangeFunc) *request.Write {
	return &request.Write{Namespace: "ns", Name: name, Version: "v1", User: k.info.User, Options: &meta.UpdateOptions{},
		Warn: k.info.Warn, Annotate: k.info.Annotate, Change: change}
}

// change updates the current widget by a function, as a PATCH does.
func (k *kit) change(name string, f func(*widget)) (*widget, error) {
	k.tb.Helper()
	enc, _, err := k.Update(k.ctx, k.write(name, func(_ context.Context, cur request.Current) (meta.Typed, error) {
		if cur.Encoded == nil {
			return nil, meta.NewNotFound(widgets, name)
		}
		obj, err := cur.Object()
		if err != nil {
			return nil, err
		}
		w := obj.(*widget)
		f(w)
		return w, nil
	}))
	if err != nil {
		return nil, err
	}
	return k.decode(enc), nil
}

func (k *kit) delete(name string, opts meta.DeleteOptions) (*request.DeleteResult, error) {
	k.tb.Helper()
	return k.Delete(k.ctx, k.deletion(name, &opts), &opts)
}

// deleteCollection deletes the objects that list selects.
func (k *kit) deleteCollection(ctx context.Context, list *request.ListRequest, opts *meta.DeleteOptions) (*request.List, error) {
	return k.DeleteCollection(ctx, list, k.deletion("", opts), opts)
}

// deletion is a delete in the namespace "ns".
func (k *kit) deletion(name string, opts *meta.DeleteOptions) *request.Write {
	return &request.Write{Namespace: "ns", Name: name, Version: "v1", User: k.info.User, Options: opts, DryRun: len(opts.DryRun) > 0, Warn: k.info.Warn, Annotate: k.info.Annotate}
}

// revision returns the revision of the store.
func (k *kit) revision() storage.Revision {
	k.tb.Helper()
	rev, err := k.engine.Revision(k.ctx)
	if err != nil {
		k.tb.Fatal(err)
	}
	return rev
}

// names returns the names of the objects that a list request selects.
func (k *kit) names(req request.ListRequest) []string {
	k.tb.Helper()
	list, err := k.List(k.ctx, &req)
	if err != nil {
		k.tb.Fatalf("List(%+v): %v", req, err)
	}
	return k.namesOf(list)
}

func (k *kit) namesOf(list *request.List) []string {
	k.tb.Helper()
	var names []string
	for enc := range list.Items {
		names = append(names, k.decode(enc).Name)
	}
	return names
}

// stored returns the value that the engine has for a widget.
func (k *kit) stored(name string) string {
	k.tb.Helper()
	e, err := k.store.Get(k.ctx, "/registry/test.example.com/widgets/ns/"+name)
	if err != nil {
		k.tb.Fatal(err)
	}
	return string(e.Value)
}

func wantReason(tb testing.TB, what string, err error, want meta.StatusReason) {
	tb.Helper()
	if got := meta.ReasonFor(err); err == nil || got != want {
		tb.Errorf("%s: got error %v (%s), want %s", what, err, got, want)
	}
}

func wantNames(tb testing.TB, what string, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// text returns an object as JSON for messages.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
