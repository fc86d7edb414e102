package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Action is one request to do something, with an object that says what: a review, a binding, an
// eviction. Nothing is stored by the registry.
type Action struct {
	Namespace, Name string
	Object          meta.Object // what the client sent, in the hub of its kind; the action's own
	Options         *meta.CreateOptions
	User            *request.User
	DryRun          bool
	attrs           *admission.Attributes // as admission sees the request
}

// Warn tells the client something beside the answer.
func (a *Action) Warn(text string) {
	if a.attrs != nil {
		a.attrs.Warn(text)
	}
}

// Annotate adds to the audit record of the request.
func (a *Action) Annotate(key, value string) {
	if a.attrs != nil {
		a.attrs.Annotate(key, value)
	}
}

// Take has settle told what becomes of the action, once: what the action takes before it does what
// is asked for follows the same law as what writes take. The fate is that of the error that Create
// returns.
func (a *Action) Take(settle admission.Settle) {
	if a.attrs != nil {
		a.attrs.Take(settle)
	}
}

// fateOf is the fate of what ended with an error that clients are told. After an error of the
// server nobody knows what has been done, unless it was a dry run.
func fateOf(err error, dryRun bool) admission.Fate {
	switch {
	case dryRun:
		return admission.NotStored
	case err == nil:
		return admission.Stored
	case meta.StatusOf(err).Code >= http.StatusInternalServerError:
		return admission.InDoubt
	}
	return admission.NotStored
}

// errUnfinished stands for the error of what panics.
var errUnfinished = meta.NewInternalError(errors.New("it has not come to an end"))

// Connection is one request to be connected to what an object stands for: a shell, a log, a port.
type Connection struct {
	Namespace, Name string
	// Path is what follows the subresource's name in the path, without a slash before it.
	Path string
	// Options are what the query asks for, of the kind of the subresource; nil if that has none of
	// its own.
	Options meta.Typed
	User    *request.User
}

// Actions declares a resource without a store: its objects are asked, and answered at once
// (reviews).
type Actions struct {
	GroupResource meta.GroupResource
	Kind          string
	Singular      string
	Namespaced    bool
	// Type is the kind of the objects; nil means the Go types that are registered for Kind.
	Type kind.Kind
	// Check says what is wrong with what the client sent, before admission approves of it; may be
	// nil.
	Check func(a *Action) error
	// Create does what the client asks for and returns what it is told: an object of the hub of the
	// kind, or a *meta.Status. It may do I/O, and is called once admission has let the request
	// pass.
	Create func(ctx context.Context, a *Action) (meta.Typed, error)
	// Returned: the answer is the object that the client sent, completed, and says like a new one
	// who owns its fields.
	Returned bool
}

// Describe returns what clients are told of the resource in the version of gvk.
func (a *Actions) Describe(gvk meta.GroupVersionKind) meta.Description {
	return meta.Description{Name: a.GroupResource.Resource, Singular: a.Singular, Kind: gvk, Namespaced: a.Namespaced}
}

// Actor serves creates of what is not stored: of a resource without a store, or of a subresource
// with Create. All methods may be called at once.
type Actor struct {
	cfg         *Config
	resource    meta.GroupResource
	subresource string
	namespaced  bool
	kind        kind.Kind
	fixed       meta.GroupVersionKind // what a subresource with a kind of its own takes, whatever the version of the resource
	forms       *forms
	complete    func(ctx context.Context, a *Action) error // nil: what is sent is complete
	check       func(a *Action) error                      // nil: nothing can be wrong
	run         func(ctx context.Context, a *Action) (meta.Typed, error)
	owners      map[string]*owner // by version; nil: nobody is told who owns what was sent
	anew        bool              // what is sent is no object that there is, and has nothing that only such have
}

// NewActor makes the Actor of a resource without a store.
func NewActor(cfg *Config, a Actions) (*Actor, error) {
	if err := checkPlace(a.GroupResource); err != nil {
		return nil, err
	}
	gk := meta.GroupKind{Group: a.GroupResource.Group, Kind: a.Kind}
	k := a.Type
	if k == nil {
		k = cfg.Kinds.Kind(gk)
	}
	if k == nil {
		return nil, fmt.Errorf("registry: the kind %s of %s is not registered", gk, a.GroupResource)
	}
	c := &Actor{
		cfg: cfg, resource: a.GroupResource, namespaced: a.Namespaced, kind: k, forms: newForms(new(atomic.Uint32)),
		check: a.Check, run: a.Create, anew: true,
	}
	c.openOwners(a.Returned)
	return c, nil
}

// Actor returns what serves creates of a declared subresource with Create. The error says that its
// kind is unknown.
func (s *Store) Actor(sub *Subresource) (*Actor, error) {
	k := s.kind
	if sub.Kind != (meta.GroupVersionKind{}) {
		var err error
		if k, err = s.cfg.kindOf(sub.Kind); err != nil {
			return nil, fmt.Errorf("registry: %s/%s: %w", s.res.GroupResource, sub.Name, err)
		}
	}
	c := &Actor{
		cfg: s.cfg, resource: s.res.GroupResource, subresource: sub.Name, namespaced: s.res.Namespaced, kind: k,
		fixed: sub.Kind, forms: newForms(new(atomic.Uint32)), complete: sub.Complete, check: sub.Check, run: sub.Create,
	}
	c.openOwners(sub.Returned)
	return c, nil
}

// openOwners makes the owners of all versions, if anybody is told what they find.
func (c *Actor) openOwners(returned bool) {
	if !returned {
		return
	}
	c.owners = map[string]*owner{}
	all := versions{c.kind, c.cfg.Kinds}
	for _, v := range c.kind.Versions() {
		c.owners[v.GVK.Version] = &owner{
			Door:    apply.Door{Versions: all, Kind: v.GVK, Subresource: c.subresource, Custom: v.Type == nil},
			version: v.GVK.Version,
			empty:   sync.OnceValues(func() (any, error) { return all.empty(c.kind, v.GVK) }),
		}
	}
}

// own returns who owns the fields of an object that was sent in a version, which is complete. Where
// that cannot be told nobody does.
func (c *Actor) own(ctx context.Context, hub meta.Object, version *kind.Version, manager string) []meta.ManagedFieldsEntry {
	m := hub.GetObjectMeta()
	sent := m.ManagedFields
	m.ManagedFields = nil
	o := c.owners[version.GVK.Version]
	if o == nil || manager == "" {
		return nil
	}
	live, err := o.empty()
	if err != nil {
		return nil
	}
	tree, err := encodeTree(ctx, c.kind, hub, o.Kind)
	if err != nil || len(tree) > maxOwned {
		return nil
	}
	by := apply.Writer{Manager: manager, Now: c.cfg.now()}
	entries, err := o.Update(ctx, apply.Object{Tree: live}, apply.Object{Tree: tree, Managed: sent}, by)
	if err != nil {
		return nil
	}
	return entries
}

// Kind is what the Actor takes and answers.
func (c *Actor) Kind() kind.Kind { return c.kind }

// Create decodes and checks the request as the write pipeline does (see create.go), lets admission
// decide, and runs it. See router.Creater.
func (c *Actor) Create(ctx context.Context, req *request.Write) (request.Encoded, error) {
	enc, err := c.create(ctx, req)
	if err != nil {
		return nil, statusError(err)
	}
	return enc, nil
}

func (c *Actor) create(ctx context.Context, req *request.Write) (*answer, error) {
	obj, err := req.Change(ctx, request.Current{Object: func() (meta.Object, error) { return c.kind.New(), nil }})
	if err != nil {
		return nil, err
	}
	if err := c.kind.Default(ctx, obj); err != nil {
		return nil, err
	}
	hub, err := kind.ToHub(ctx, c.kind, obj)
	if err != nil {
		return nil, err
	}
	version := c.versionOf(obj)
	if m := hub.GetObjectMeta(); c.anew {
		m.UID, m.CreationTimestamp, m.DeletionTimestamp, m.DeletionGracePeriodSeconds, m.SelfLink = "", nil, nil, nil, ""
	}
	hub.GetObjectMeta().ManagedFields = c.own(ctx, hub, version, req.Manager)
	a := &admission.Attributes{
		Operation: admission.Create, Kind: version.GVK, Type: c.kind,
		Resource:    meta.GroupVersionResource{Group: c.resource.Group, Version: req.Version, Resource: c.resource.Resource},
		Subresource: c.subresource, Namespace: req.Namespace, Name: cmp.Or(req.Name, hub.GetObjectMeta().Name),
		Object: hub, Options: req.Options, DryRun: req.DryRun, User: req.User,
	}
	a.Listen(req.Warn, req.Annotate)
	act := &Action{Namespace: req.Namespace, Name: req.Name, User: req.User, DryRun: req.DryRun, attrs: a}
	act.Options, _ = req.Options.(*meta.CreateOptions)
	fate := admission.NotStored
	defer func() { a.Settle(ctx, fate) }() // even if something panics
	if err := c.admit(ctx, a, act); err != nil {
		return nil, err
	}
	fate = fateOf(errUnfinished, act.DryRun)
	out, err := c.run(ctx, act)
	fate = fateOf(err, act.DryRun)
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, out, version)
}

// admit runs what stands between a decoded object and its action.
func (c *Actor) admit(ctx context.Context, a *admission.Attributes, act *Action) error {
	if err := fixNamespace(c.namespaced, a.Namespace, a.Meta()); err != nil {
		return err
	}
	if err := c.cfg.Admission.Mutate(ctx, a); err != nil {
		return err
	}
	obj, err := mutated(a)
	if err != nil {
		return err
	}
	if warning := meta.DropRepeatedOwners(obj.GetObjectMeta(), true); warning != "" {
		a.Warn(warning)
	}
	act.Object = obj
	if c.complete != nil {
		if err := c.complete(ctx, act); err != nil {
			return err
		}
	}
	errs := c.kind.Check(ctx, obj, nil, a.Kind.Version)
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(errs) > 0 {
		return meta.NewInvalid(c.kind.GroupKind(), a.Name, errs)
	}
	if c.check != nil {
		if err := c.check(act); err != nil {
			return err
		}
	}
	return c.cfg.Admission.Validate(ctx, a)
}

// versionOf is the version that is spoken with the client that has sent an object: its own, or the
// one that is served here; the preferred one if neither is said.
func (c *Actor) versionOf(obj meta.Typed) *kind.Version {
	if v := kind.In(c.kind, cmp.Or(c.fixed.Version, obj.GetTypeMeta().GroupVersionKind().Version)); v != nil {
		return v
	}
	return c.kind.Versions()[0]
}

// answer is what a client is told: an object, and its JSON.
type answer struct {
	made
	obj meta.Typed
}

// answer makes the answer, in the version of the question. A Status is the same in all, and has the
// code of the answer.
func (c *Actor) answer(ctx context.Context, out meta.Typed, version *kind.Version) (*answer, error) {
	var data []byte
	var err error
	if status, ok := out.(*meta.Status); ok {
		status.Code = cmp.Or(status.Code, http.StatusCreated)
		out.GetTypeMeta().SetGroupVersionKind(meta.GroupVersionKind{Version: "v1", Kind: "Status"})
		data, err = codec.AppendJSON(nil, out)
	} else if out, err = c.kind.Convert(ctx, out, version.GVK.Version); err == nil {
		out.GetTypeMeta().SetGroupVersionKind(version.GVK)
		data, err = c.kind.Append(nil, out, codec.Media{})
	}
	if err != nil {
		return nil, err
	}
	return &answer{made{data: data, form: c.FormOf(version.GVK.Version, codec.Media{})}, out}, nil
}

// FormOf is Store.FormOf for answers.
func (c *Actor) FormOf(version string, m codec.Media) uint32 {
	m.Pretty, m.Stream = false, false
	gvk := c.fixed
	if gvk == (meta.GroupVersionKind{}) {
		gk := c.kind.GroupKind()
		gvk = meta.GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind}
	}
	return c.forms.of(gvk, m)
}

// Encode makes another form of an answer.
func (c *Actor) Encode(_ context.Context, enc request.Encoded, _ string, m codec.Media) ([]byte, error) {
	a := enc.(*answer)
	_, whole := a.obj.(*meta.Status) // which has nothing else to show
	switch {
	case m.As == codec.AsPartial && !whole:
		return c.cfg.partial(a.data, m)
	case m.Type == codec.YAML:
		return codec.AppendYAML(nil, a.data)
	case m.Type == codec.Protobuf:
		return codec.AppendProto(nil, a.obj)
	}
	return a.data, nil
}

// Connecter hands requests on to what a subresource with Connect leads to. All methods may be
// called at once.
type Connecter struct {
	store *Store
	sub   *Subresource
}

// Connecter returns what serves a declared subresource with Connect.
func (s *Store) Connecter(sub *Subresource) *Connecter { return &Connecter{s, sub} }

// Connect asks admission and returns the handler. The client's options, req.Options, are the object
// that admission sees; the handler gets what the mutators have left. See router.Connecter.
func (c *Connecter) Connect(ctx context.Context, req *request.Write, path string) (http.Handler, error) {
	h, err := c.connect(ctx, req, path)
	if err != nil {
		return nil, statusError(err)
	}
	return h, nil
}

func (c *Connecter) connect(ctx context.Context, req *request.Write, path string) (http.Handler, error) {
	a := c.store.attributes(req, admission.Connect)
	a.Subresource, a.Kind = c.sub.Name, cmp.Or(c.sub.Kind, a.Kind)
	a.Object, a.Options = req.Options, nil
	fate := admission.NotStored
	defer func() { a.Settle(ctx, fate) }()
	if err := c.store.cfg.Admission.Mutate(ctx, &a); err != nil {
		return nil, err
	}
	if err := c.store.cfg.Admission.Validate(ctx, &a); err != nil {
		return nil, err
	}
	fate = fateOf(errUnfinished, req.DryRun)
	h, err := c.sub.Connect(ctx, &Connection{Namespace: req.Namespace, Name: req.Name, Path: path, User: req.User, Options: a.Object})
	fate = fateOf(err, req.DryRun)
	return h, err
}
