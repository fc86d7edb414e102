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

// This file serves resources and subresources that store nothing themselves. An Actor runs creates:
// reviews, bindings, evictions, tokens. A Connecter opens connections: exec, log, proxy.
// server/generic makes both from declarations, and the router calls Create and Connect.

// Action is one request that Create of an Actions or a Subresource runs. Its object says what to
// do: a review, a binding, an eviction. The registry stores nothing of it.
type Action struct {
	Namespace, Name string
	Object          meta.Object // what the client sent, in the hub of its kind; owned by the action
	Options         *meta.CreateOptions
	User            *request.User
	DryRun          bool
	attrs           *admission.Attributes // the request as admission sees it; nil in tests
}

// Warn sends the client a warning beside the answer.
func (a *Action) Warn(text string) {
	if a.attrs != nil {
		a.attrs.Warn(text)
	}
}

// Annotate adds an annotation to the audit record of the request.
func (a *Action) Annotate(key, value string) {
	if a.attrs != nil {
		a.attrs.Annotate(key, value)
	}
}

// Take registers settle, which is called once with the fate of the action (see admission.Settle).
// An action calls Take when it has reserved something before it acts, such as one of the evictions
// that a disruption budget allows. The error of Create determines the fate: NotStored for a 4xx or
// a dry run, InDoubt for a 5xx, Stored for nil.
func (a *Action) Take(settle admission.Settle) {
	if a.attrs != nil {
		a.attrs.Take(settle)
	}
}

// fateOf returns the fate of an action that ended with err. A 4xx says that nothing was done. After
// a 5xx nobody knows what was done, unless it was a dry run.
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

// errUnfinished is the error of an action while it runs. It counts if the action panics: the fate
// is then InDoubt.
var errUnfinished = meta.NewInternalError(errors.New("it has not come to an end"))

// Connection is one request to connect to what an object stands for: a shell or a log of a pod, a
// port of a service.
type Connection struct {
	Namespace, Name string
	// Path is what follows the subresource's name in the path, without a slash before it.
	Path string
	// Options are the decoded query, such as PodExecOptions, in the version of the subresource's
	// Kind. They are nil if the subresource has no kind of its own.
	Options meta.Typed
	User    *request.User
}

// Actions declares a resource whose objects are not stored: a client creates one, and the answer
// comes at once (reviews).
type Actions struct {
	GroupResource meta.GroupResource
	Kind          string
	Singular      string
	Namespaced    bool
	// Type is the kind of the objects; nil means the Go types that are registered for Kind.
	Type kind.Kind
	// Check validates the object that the client sent. It runs after the mutators and before the
	// validators of admission. nil: every object is valid.
	Check func(a *Action) error
	// Create does what the client asks for and returns the answer: an object in the hub of the
	// kind, or a *meta.Status. It may do I/O. It is called only after admission has let the request
	// pass.
	Create func(ctx context.Context, a *Action) (meta.Typed, error)
	// Returned says that the answer is the object that the client sent, with its result filled in.
	// Its managedFields then record who owns its fields, as those of a stored object do.
	Returned bool
}

// Describe returns what discovery says about the resource in the version of gvk.
func (a *Actions) Describe(gvk meta.GroupVersionKind) meta.Description {
	return meta.Description{Name: a.GroupResource.Resource, Singular: a.Singular, Kind: gvk, Namespaced: a.Namespaced}
}

// Actor serves creates whose objects are not stored: those of an Actions, or of a Subresource with
// Create. All methods may be called at once.
type Actor struct {
	cfg         *Config
	resource    meta.GroupResource
	subresource string
	namespaced  bool
	kind        kind.Kind
	// fixed is the version and kind that a subresource with a kind of its own takes, whatever the
	// version of the resource.
	fixed    meta.GroupVersionKind
	forms    *forms
	complete func(ctx context.Context, a *Action) error // Subresource.Complete; may be nil
	check    func(a *Action) error                      // may be nil
	run      func(ctx context.Context, a *Action) (meta.Typed, error)
	owners   map[string]*owner // by version; nil: the answer carries no managedFields
	// anew: the client sends a new object, whose UID, times and other server-set metadata are
	// cleared. It is false for subresources, whose object may carry the metadata of an existing
	// object.
	anew bool
}

// NewActor makes the Actor that serves a.
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

// Actor makes the Actor of a declared subresource with Create. It fails if the kind of the
// subresource is not registered.
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

// openOwners makes the owner of each version, if the answers carry managedFields.
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

// own returns the managedFields of an object that was sent in a version and is complete with
// defaults. They are empty if the owners cannot be determined: that is no reason to fail the
// request.
func (c *Actor) own(
	ctx context.Context, hub meta.Object, version *kind.Version, manager string,
) []meta.ManagedFieldsEntry {
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

// Kind returns the kind of the objects that clients send.
func (c *Actor) Kind() kind.Kind { return c.kind }

// Create decodes, completes and checks the object as the write pipeline does (see create.go), asks
// admission, and runs the action. See router.Creater.
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
		m.UID, m.SelfLink = "", ""
		m.CreationTimestamp, m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil, nil
	}
	hub.GetObjectMeta().ManagedFields = c.own(ctx, hub, version, req.Manager)
	a := &admission.Attributes{
		Operation: admission.Create, Kind: version.GVK, Type: c.kind,
		Resource: meta.GroupVersionResource{
			Group: c.resource.Group, Version: req.Version, Resource: c.resource.Resource,
		},
		Subresource: c.subresource, Namespace: req.Namespace, Name: cmp.Or(req.Name, hub.GetObjectMeta().Name),
		Object: hub, Options: req.Options, DryRun: req.DryRun, User: req.User,
	}
	a.Listen(req.Warn, req.Annotate)
	a.ListenRequest(req.AnnotateRequest)
	a.Tell(req.Story)
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

// admit runs the steps between the decoded object and its action: namespace, mutators, Complete,
// the checks of the kind, Check, validators.
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

// versionOf returns the version in which the client is answered: that of a kind of the
// subresource's own, else that of the object, else the preferred version.
func (c *Actor) versionOf(obj meta.Typed) *kind.Version {
	if v := kind.In(c.kind, cmp.Or(c.fixed.Version, obj.GetTypeMeta().GroupVersionKind().Version)); v != nil {
		return v
	}
	return c.kind.Versions()[0]
}

// answer is the object that answers a request, with its JSON.
type answer struct {
	made
	obj meta.Typed
}

// Status implements request.Verdict.
func (a *answer) Status() *meta.Status {
	status, _ := a.obj.(*meta.Status)
	return status
}

// answer encodes out in the version of the request. A Status is the same in every version, and its
// code is the HTTP status of the answer (201 if it is not set).
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

// FormOf returns the number of a form of the answers. The same arguments give the same number.
func (c *Actor) FormOf(version string, m codec.Media) uint32 {
	m.Pretty, m.Stream = false, false
	gvk := c.fixed
	if gvk == (meta.GroupVersionKind{}) {
		gk := c.kind.GroupKind()
		gvk = meta.GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind}
	}
	return c.forms.of(gvk, m)
}

// Encode makes a form of an answer in another media type. enc is what Create returned.
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

// Connecter serves a subresource with Connect. All methods may be called at once.
type Connecter struct {
	store *Store
	sub   *Subresource
}

// Connecter makes the Connecter of a declared subresource with Connect.
func (s *Store) Connecter(sub *Subresource) *Connecter { return &Connecter{s, sub} }

// Connect asks admission and returns the handler of the connection. Admission sees the client's
// options (req.Options) as its object. The handler gets the options as the mutators left them. See
// router.Connecter.
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
	h, err := c.sub.Connect(
		ctx, &Connection{Namespace: req.Namespace, Name: req.Name, Path: path, User: req.User, Options: a.Object},
	)
	fate = fateOf(err, req.DryRun)
	return h, err
}
