package registry_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

func TestCreateFillsIn(t *testing.T) {
	k := newKit(t, options{})
	five := int64(5)
	w := k.create(named("a", colored("red"), func(w *widget) {
		w.UID, w.SelfLink, w.Generation, w.CreationTimestamp = "mine", "/mine", 7, &meta.Time{Time: now.AddDate(-1, 0, 0)}
		w.DeletionTimestamp, w.DeletionGracePeriodSeconds = &meta.Time{Time: now}, &five
		w.Status.Phase = "mine"
	}))
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(string(w.UID)) {
		t.Errorf("uid: got %q, want a UUID of version 4", w.UID)
	}
	if w.Namespace != "ns" || w.Generation != 1 || !w.CreationTimestamp.Time.Equal(now) || w.SelfLink != "" ||
		w.DeletionTimestamp != nil || w.DeletionGracePeriodSeconds != nil || w.Status.Phase != "" {
		t.Errorf("Create keeps what the server owns: %s", text(w))
	}
	if w.ResourceVersion == "" || strings.Contains(k.stored("a"), "resourceVersion") {
		t.Errorf("resourceVersion: got %q, stored %s, want it in the answer only", w.ResourceVersion, k.stored("a"))
	}
	if got := k.get("a"); text(got) != text(w) {
		t.Errorf("Get after Create: got %s, want the answer of Create %s", text(got), text(w))
	}
}

func TestCreateRefuses(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("there"))
	leaving := k.create(named("leaving", finalized("test.example.com/hold")))
	if _, err := k.delete(leaving.Name, meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := k.revision()
	for _, tt := range []struct {
		name   string
		w      *widget
		opts   meta.CreateOptions
		reason meta.StatusReason
		says   string
	}{
		{"taken", named("there"), meta.CreateOptions{}, meta.StatusReasonAlreadyExists, `widgets.test.example.com "there" already exists`},
		{"taken, dry", named("there"), meta.CreateOptions{DryRun: []string{"All"}}, meta.StatusReasonAlreadyExists, ""},
		{"being deleted", named("leaving"), meta.CreateOptions{}, meta.StatusReasonAlreadyExists, "object is being deleted: "},
		{"with a version", named("b", func(w *widget) { w.ResourceVersion = "12" }), meta.CreateOptions{}, meta.StatusReasonBadRequest, ""},
		{"with a version, bad", named("b", func(w *widget) { w.ResourceVersion, w.Spec.Size = "12", -1 }), meta.CreateOptions{}, meta.StatusReasonInvalid, "spec.size"},
		{"with a version, taken", named("there", func(w *widget) { w.ResourceVersion = "12" }), meta.CreateOptions{}, meta.StatusReasonBadRequest, ""},
		{"with a version, taken, dry", named("there", func(w *widget) { w.ResourceVersion = "12" }), meta.CreateOptions{DryRun: []string{"All"}}, meta.StatusReasonAlreadyExists, ""},
		{"other namespace", named("b", func(w *widget) { w.Namespace = "else" }), meta.CreateOptions{}, meta.StatusReasonBadRequest, ""},
		{"no name", named(""), meta.CreateOptions{}, meta.StatusReasonInvalid, "name or generateName is required"},
		{"bad name", named("A B"), meta.CreateOptions{}, meta.StatusReasonInvalid, ""},
		{"bad field", named("b", func(w *widget) { w.Spec.Size = -1 }), meta.CreateOptions{}, meta.StatusReasonInvalid, "spec.size"},
		{"bad label", named("b", func(w *widget) { w.Labels = map[string]string{"a b": "c"} }), meta.CreateOptions{}, meta.StatusReasonInvalid, "metadata.labels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := k.Create(k.ctx, k.creation(tt.w, &tt.opts))
			wantReason(t, "Create", err, tt.reason)
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Create: got %q, want it to say %q", err, tt.says)
			}
		})
	}
	if after := k.revision(); after != before {
		t.Errorf("refused creates moved the revision from %d to %d", before, after)
	}
}

func TestCreateDryRun(t *testing.T) {
	k := newKit(t, options{})
	before := k.revision()
	enc, err := k.Create(k.ctx, k.creation(named("a", func(w *widget) { w.Spec.Seconds, w.ResourceVersion = 60, "12" }), &meta.CreateOptions{DryRun: []string{"All"}}))
	if err != nil {
		t.Fatal(err)
	}
	if w := k.decode(enc); w.UID == "" || w.ResourceVersion != "" {
		t.Errorf("dry create: got uid %q and resourceVersion %q, want a uid and no version", w.UID, w.ResourceVersion)
	}
	if after := k.revision(); after != before || k.get("a") != nil || k.leases.got != 0 {
		t.Errorf("a dry create wrote: revision %d to %d, leases %d", before, after, k.leases.got)
	}
}

func TestGenerateName(t *testing.T) {
	k := newKit(t, options{})
	long := strings.Repeat("x", 100)
	for range 3 {
		w := k.create(named("", func(w *widget) { w.GenerateName = "g-" }))
		if !regexp.MustCompile(`^g-[bcdfghjklmnpqrstvwxz2456789]{5}$`).MatchString(w.Name) || w.GenerateName != "g-" {
			t.Errorf("got name %q from generateName %q", w.Name, w.GenerateName)
		}
	}
	if w := k.create(named("", func(w *widget) { w.GenerateName = long })); len(w.Name) != 63 {
		t.Errorf("a long generateName gives a name of %d characters, want 63", len(w.Name))
	}
}

// failingCreates is a store that lets a number of creates fail as if the key existed.
type failingCreates struct {
	storage.Store
	mu   sync.Mutex
	left int
	kind storage.Kind
	puts int
}

func (r *failingCreates) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
	r.mu.Lock()
	r.puts++
	refuse := r.left > 0
	if refuse {
		r.left--
	}
	r.mu.Unlock()
	if refuse {
		return storage.Entry{}, &storage.Error{Op: "put", Key: key, Kind: r.kind}
	}
	return r.Store.Put(ctx, key, value, pre, lease)
}

func TestGenerateNameTriesAgain(t *testing.T) {
	store := &failingCreates{kind: storage.Exists}
	k := newKit(t, options{
		wrap: func(s storage.Store) storage.Store { store.Store = s; return store },
		resource: func(r *registry.ResourceOf[*widget]) {
			r.Strategy.Prepare = func(_ *registry.Request, w, _ *widget) { w.Spec.Color += w.Name + string(w.UID) }
		},
	})
	store.left = 7
	w := k.create(named("", func(w *widget) { w.GenerateName = "g-" }))
	if w.Spec.Color != w.Name+string(w.UID) {
		t.Errorf("prepared with %s, want the name and uid that the object has: %s", w.Spec.Color, text(w))
	}
	if store.puts != 8 || !strings.HasPrefix(w.Name, "g-") {
		t.Errorf("got name %q after %d puts, want one after 8", w.Name, store.puts)
	}
	store.left = 100
	_, err := k.Create(k.ctx, k.creation(named("", func(w *widget) { w.GenerateName = "g-" }), &meta.CreateOptions{}))
	wantReason(t, "Create when all names are taken", err, meta.StatusReasonAlreadyExists)
	if store.puts != 16 {
		t.Errorf("got %d puts, want 8 more", store.puts-8)
	}
	_, err = k.Create(k.ctx, k.creation(named("n", func(w *widget) { w.GenerateName = "g-" }), &meta.CreateOptions{}))
	if store.puts != 17 || !strings.HasSuffix(err.Error(), ", the server was not able to generate a unique name for the object") {
		t.Errorf("a name of the client's own beside generateName: got %v after %d puts", err, store.puts-16)
	}
}

func TestTimeToLive(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("lasting"))
	if k.leases.got != 0 {
		t.Errorf("an object without a time to live asked for %d leases", k.leases.got)
	}
	k.create(named("short", func(w *widget) { w.Spec.Seconds = 60 }))
	if k.leases.got != 1 {
		t.Errorf("got %d leases, want 1", k.leases.got)
	}
	if _, err := k.change("short", colored("red")); err != nil || k.leases.got != 2 {
		t.Errorf("an update asked for %d leases (%v), want another one", k.leases.got-1, err)
	}
}

func TestLostLease(t *testing.T) {
	store := &failingCreates{kind: storage.NoLease}
	k := newKit(t, options{wrap: func(s storage.Store) storage.Store { store.Store = s; return store }})
	store.left = 1
	k.create(named("a", func(w *widget) { w.Spec.Seconds = 60 }))
	if k.leases.lost != 1 || k.leases.got != 2 {
		t.Errorf("got %d leases and %d forgotten, want 2 and 1", k.leases.got, k.leases.lost)
	}
	store.left = 1
	if _, err := k.change("a", colored("red")); err != nil {
		t.Errorf("update after the store lost the lease: %v", err)
	}
	store.left = 100
	_, err := k.Create(k.ctx, k.creation(named("b", func(w *widget) { w.Spec.Seconds = 60 }), &meta.CreateOptions{}))
	wantReason(t, "Create without any lease to be had", err, meta.StatusReasonServerTimeout)
}

// plugin is a plugin of two functions. It records the attributes that it sees.
type plugin struct {
	mu       sync.Mutex // guards seen against parallel writes
	name     string
	seen     []admission.Attributes
	mutate   func(a *admission.Attributes) error
	validate func(a *admission.Attributes) error
}

func (p *plugin) Name() string                     { return p.name }
func (p *plugin) Handles(admission.Operation) bool { return true }

func (p *plugin) Mutate(_ context.Context, a *admission.Attributes) error {
	p.mu.Lock()
	p.seen = append(p.seen, *a)
	p.mu.Unlock()
	if p.mutate != nil {
		return p.mutate(a)
	}
	return nil
}

func (p *plugin) Validate(_ context.Context, a *admission.Attributes) error {
	if p.validate != nil {
		return p.validate(a)
	}
	return nil
}

func TestAdmissionOfCreate(t *testing.T) {
	p := &plugin{mutate: func(a *admission.Attributes) error {
		if a.Operation == admission.Create {
			a.Object.(*widget).Spec.Color = "painted"
		}
		a.Warn("seen")
		return nil
	}}
	k := newKit(t, options{chain: admission.Chain{p}})
	w := k.create(named("", func(w *widget) { w.GenerateName = "g-" }))
	if w.Spec.Color != "painted" {
		t.Errorf("color: got %q, want what the plugin made of it", w.Spec.Color)
	}
	a := p.seen[0]
	if a.Operation != admission.Create || a.Namespace != "ns" || a.Name != "" || a.Old != nil || a.User.Name != "tester" ||
		a.Resource != v1.WithResource("widgets") || a.Kind != v1.WithKind("Widget") {
		t.Errorf("attributes: %+v", a)
	}
	if len(k.info.Warnings) != 1 || k.info.Warnings[0] != "seen" {
		t.Errorf("warnings: got %q", k.info.Warnings)
	}
	var validated string
	p.validate = func(a *admission.Attributes) error {
		validated = a.Name
		return meta.NewForbidden(widgets, a.Name, errors.New("no"))
	}
	before := k.revision()
	_, err := k.Create(k.ctx, k.creation(named("", func(w *widget) { w.GenerateName = "h-" }), &meta.CreateOptions{}))
	wantReason(t, "Create that a plugin rejects", err, meta.StatusReasonForbidden)
	if !strings.HasPrefix(validated, "h-") || len(validated) != 7 {
		t.Errorf("validators see the name %q, want the generated one", validated)
	}
	if k.revision() != before {
		t.Error("a rejected create wrote")
	}
}

// TestMetadataChecks: some kinds require that finalizers are qualified names. The same error comes
// once for each time that a kind checks its metadata.
func TestMetadataChecks(t *testing.T) {
	for _, tt := range []struct {
		metadata       registry.MetaChecks
		create, update int
	}{{registry.MetaCommon, 0, 0}, {registry.MetaRepeat, 0, 0}, {registry.MetaCompare, 0, 0}, {registry.MetaChange, 1, 1}, {registry.MetaObject, 1, 1},
		{registry.MetaWhole, 1, 2}} {
		k := newKit(t, options{resource: func(r *registry.ResourceOf[*widget]) { r.Strategy.Metadata = tt.metadata }})
		k.create(named("a", finalized(hold)))
		_, err := k.Create(k.ctx, k.creation(named("b", finalized("plain")), &meta.CreateOptions{}))
		_, change := k.change("a", finalized(hold, "plain"))
		for what, got := range map[string]struct {
			err  error
			want int
		}{"create": {err, tt.create}, "update": {change, tt.update}} {
			n := 0
			var invalid *meta.StatusError
			if errors.As(got.err, &invalid) {
				n = len(invalid.Status.Details.Causes)
			}
			if n != got.want {
				t.Errorf("metadata %v: %s with a plain finalizer: got %v, want it refused %d times", tt.metadata, what, got.err, got.want)
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	k := newKit(t, options{})
	k.create(named("a", colored("beige")))
	if len(k.info.Warnings) != 1 {
		t.Errorf("warnings: got %q, want one", k.info.Warnings)
	}
}

func TestNewRefuses(t *testing.T) {
	k := newKit(t, options{})
	s := newScheme(t)
	cfg := &registry.Config{Kinds: kind.NewTypes(s, codec.NewFactory(s)), Cache: k.cache}
	for _, tt := range []struct {
		name string
		res  registry.Resource
	}{
		{"unknown kind", registry.Resource{GroupResource: widgets, Kind: "Gadget"}},
		{"unknown version", registry.Resource{GroupResource: widgets, Kind: "Widget", StorageVersion: "v9"}},
		{"a kind of a door without a projection", registry.Typed(registry.ResourceOf[*widget]{GroupResource: widgets, Kind: "Widget",
			Subresources: []registry.SubresourceOf[*widget]{{Name: "paint", Owns: []string{"spec.color"}, Kind: v1.WithKind("Widget")}}})},
		{"other type", registry.Typed(registry.ResourceOf[*oldWidget]{GroupResource: widgets, Kind: "Widget"})},
	} {
		if _, err := registry.New(cfg, tt.res); err == nil {
			t.Errorf("New with %s: got no error", tt.name)
		}
	}
}
