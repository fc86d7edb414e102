package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// write is one write under way: the pipeline that every one takes, whoever it comes from. Its steps, in this order:
//
//	decode     what the client sent, or the current object patched, in the version that it speaks   (begin)
//	default    what it leaves out
//	convert    to the hub
//	own        record who owns which fields; what a client applies is put into the object, and owned, before all that (own.go)
//	mutate     admission changes the object; what comes from outside is completed with defaults again; owners that
//	           repeat are dropped, and entries of managedFields that cannot be read taken back
//	guard      the declaration says whether the user may write this object
//	baptize    the object gets its namespace, and a new one its name and UID                        (finish)
//	reserve    take what is counted outside of the object
//	take back  what this door may not set: whatever follows sees only changes that are allowed
//	prepare    the strategy and the store fill in what the server owns, and count the change; of one that is none the times
//	           of managedFields are taken back
//	validate   metadata, declaration, strategy
//	admit      admission approves
//	encode     once: these bytes are stored, answered, and come back through the watch; what was applied is pruned now
//
// Then the bytes are written over the state that the write started from. If that has been overtaken, an update begins
// again, with the true old object. What becomes of the last try settles its reservation.
type write struct {
	s     *Store
	req   *request.Write
	r     *Request
	attrs *admission.Attributes
	// byUpdate: it may come upon an object, or create it.
	byUpdate bool
	// disowned: nobody owns the fields, as the object was too large with what says who does.
	disowned bool

	// Of the present try.

	obj, old meta.Object // of the hub; old is nil on create
	form     uint32      // of the bytes to store, as reader.encode says
	lease    storage.LeaseID
	reserved func(ctx context.Context, stored bool)
}

func (s *Store) newWrite(req *request.Write, op admission.Operation) *write {
	var own struct { // made as one
		write
		request Request
		attrs   admission.Attributes
	}
	own.request = Request{User: req.User, Namespace: req.Namespace, Name: req.Name, DryRun: req.DryRun, warn: req.Warn}
	own.attrs = s.attributes(req, op)
	own.write = write{s: s, req: req, r: &own.request, attrs: &own.attrs}
	return &own.write
}

// attributes describes a write to the admission plugins.
func (s *Store) attributes(req *request.Write, op admission.Operation) admission.Attributes {
	version := cmp.Or(req.Version, s.reader.home.GVK.Version)
	gr := s.res.GroupResource
	a := admission.Attributes{
		Operation: op, Kind: s.shown(version), Type: s.kind,
		Resource:    meta.GroupVersionResource{Group: gr.Group, Version: version, Resource: gr.Resource},
		Subresource: s.subresource,
		Namespace:   req.Namespace, Name: req.Name,
		Options: req.Options, DryRun: req.DryRun, User: req.User,
	}
	a.Listen(req.Warn, req.Annotate)
	return a
}

// version is the one in which the client addresses the resource.
func (w *write) version() string { return w.attrs.Resource.Version }

// toHub returns an object that clients write in a version as strategies see it.
func toHub(ctx context.Context, k kind.Kind, obj meta.Typed, version string) (meta.Object, error) {
	if hub := k.Hub(version); hub != scheme.InternalVersion && kind.In(k, hub) != nil {
		converted, err := k.Convert(ctx, obj, hub)
		if err != nil {
			return nil, err
		}
		return converted.(meta.Object), nil
	}
	return kind.ToHub(ctx, k, obj)
}

// admission is who is to be asked about the write.
func (w *write) admission() admission.Chain {
	if w.req.Admitted {
		return nil
	}
	return w.s.cfg.Admission
}

// begin makes the object of a try and lets admission change it. cur is the state that it starts from, which decodes to
// w.old; both are nil if there is none.
func (w *write) begin(ctx context.Context, cur *cache.Object) error {
	hub, err := w.make(ctx, cur)
	if err != nil {
		return err
	}
	m := hub.GetObjectMeta()
	if err := w.identify(m); err != nil {
		return err
	}
	if w.attrs.Name == "" {
		w.attrs.Name = m.Name
	}
	if why := w.s.res.NoCreate; why != "" && cur == nil {
		return meta.NewForbidden(w.s.res.GroupResource, w.attrs.Name, errors.New(why))
	}
	w.attrs.Object, w.attrs.Old = hub, w.old
	if w.s.project != nil {
		if w.attrs.Old, err = w.s.show(w.old, AsResult); err != nil {
			return err
		}
	}
	entries := m.ManagedFields
	if err := w.admission().Mutate(ctx, w.attrs); err != nil {
		return err
	}
	w.obj = w.attrs.Object
	m = w.obj.GetObjectMeta()
	w.keepOwners(ctx, m, entries)
	if warning := meta.DropRepeatedOwners(m, true); warning != "" {
		w.attrs.Warn(warning)
	}
	if w.s.project != nil {
		if err := w.project(ctx); err != nil {
			return err
		}
	}
	if err := w.upToDate(cur, m); err != nil {
		return err
	}
	if guard := w.s.res.Guard; guard != nil && w.req.User != nil {
		return guard(ctx, w.r, w.obj, w.old)
	}
	return nil
}

// make makes the new object, complete and owned, in the hub.
func (w *write) make(ctx context.Context, cur *cache.Object) (meta.Object, error) {
	current := request.Current{Object: func() (meta.Object, error) { return w.s.kind.New(), nil }}
	if cur != nil {
		enc, err := w.current(ctx, cur)
		if err != nil {
			return nil, err
		}
		current.Encoded = enc
		current.Object = func() (meta.Object, error) { return w.s.Decode(ctx, enc) }
	}
	if w.req.Apply != nil {
		return w.apply(ctx, current.Encoded)
	}
	obj, err := w.req.Change(ctx, current)
	if err != nil {
		return nil, err
	}
	if err := w.s.kind.Default(ctx, obj); err != nil {
		return nil, err
	}
	if o, ok := obj.(meta.Object); ok && !w.byUpdate {
		m := o.GetObjectMeta()
		m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil // which nobody owns, either
	}
	hub, err := toHub(ctx, w.s.kind, obj, w.version())
	if err != nil {
		return nil, err
	}
	return hub, w.own(ctx, current.Encoded, obj, hub)
}

// identify compares the object with the place that it is written to.
func (w *write) identify(m *meta.ObjectMeta) error {
	if w.old == nil {
		if w.req.UID != "" {
			return w.wrongUID("")
		}
		if _, err := parseRevision(m.ResourceVersion); err != nil && w.byUpdate {
			return meta.NewBadRequest(err.Error())
		}
		return fixNamespace(w.s.res.Namespaced, w.req.Namespace, m)
	}
	if have := w.old.GetObjectMeta().UID; w.req.UID != "" && w.req.UID != have {
		return w.wrongUID(have)
	}
	return nil
}

// upToDate compares the state that is changed with the one that an object with the metadata m says it has seen.
func (w *write) upToDate(cur *cache.Object, m *meta.ObjectMeta) error {
	if w.old == nil {
		return nil
	}
	rev, err := parseRevision(m.ResourceVersion)
	if err != nil {
		return meta.NewBadRequest(err.Error())
	}
	// A kind of a door's own, such as Scale, may leave the version out, but "0" stands for none
	// there as well.
	bare := w.s.project != nil && m.ResourceVersion == ""
	switch {
	case rev == 0 && !w.s.res.Strategy.AllowUnconditionalUpdate && !bare:
		gk := meta.GroupKind{Group: w.s.res.GroupResource.Group, Kind: w.s.res.GroupResource.Resource}
		return meta.NewInvalid(gk, w.req.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	case rev != 0 && rev != cur.Rev:
		return meta.NewConflict(w.s.res.GroupResource, w.req.Name, errStale)
	}
	return nil
}

// wrongUID is the conflict of an update that names another incarnation of the object.
func (w *write) wrongUID(have meta.UID) error {
	return w.s.preconditionFailed(&meta.ObjectMeta{Namespace: w.req.Namespace, Name: w.req.Name}, "UID", string(w.req.UID), string(have))
}

// preconditionFailed is the conflict of an update of the object with the metadata m, of which it demands something that is not so.
func (s *Store) preconditionFailed(m *meta.ObjectMeta, what, want, have string) error {
	key, err := s.key(m.Namespace, m.Name)
	if err != nil {
		return err
	}
	return meta.NewConflict(s.res.GroupResource, m.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: %s in precondition: %s, %s in object meta: %s", key, what, want, what, have))
}

// finish takes the object from admission's hands to the bytes to store.
func (w *write) finish(ctx context.Context) ([]byte, error) {
	w.r.Context = ctx
	w.r.Now = w.s.now() // of this try: the one before may have waited long, and others have written since
	before := w.beforeUpdate
	if w.old == nil {
		before = w.beforeCreate
	}
	if err := w.baptize(); err != nil {
		return nil, err
	}
	if w.req.Invalid != nil && w.s.subresource == "" {
		return nil, w.req.Invalid
	}
	if err := w.reserve(ctx, w.obj, w.old); err != nil {
		return nil, err
	}
	if err := before(ctx); err != nil {
		return nil, err
	}
	if w.old != nil {
		w.keepTimes()
	} else if w.byUpdate && w.req.Rights != nil {
		if err := w.req.Rights.May(ctx, "create"); err != nil {
			return nil, err
		}
	}
	if w.s.project == nil { // else admission goes on with what the client sees
		w.attrs.Object = w.obj
	}
	w.attrs.Name = w.obj.GetObjectMeta().Name
	if err := w.admission().Validate(ctx, w.attrs); err != nil {
		return nil, err
	}
	return w.encode(ctx, w.obj)
}

// reserve makes the reservation of a try. That of the try before is given back first. A door to a part of the object reserves
// nothing: what it says of the rest does not count.
func (w *write) reserve(ctx context.Context, obj, old meta.Object) error {
	w.settle(ctx, false)
	part := w.s.subresource != "" && w.s.project == nil
	if w.s.res.Reserve == nil || part && obj != nil {
		return nil
	}
	var err error
	w.reserved, err = w.s.res.Reserve(ctx, w.r, obj, old)
	return err
}

// settle tells the reservation, if there is one, what became of it.
func (w *write) settle(ctx context.Context, stored bool) {
	if w.reserved != nil {
		w.reserved(context.WithoutCancel(ctx), stored && !w.r.DryRun)
		w.reserved = nil
	}
}

// settleWith is settle after a write that ended with err. One whose outcome is unknown settles nothing.
func (w *write) settleWith(ctx context.Context, err error) {
	if storage.KindOf(err) == storage.InDoubt {
		w.reserved = nil
		return
	}
	w.settle(ctx, err == nil)
}

// validate is what the strategy finds wrong with the object, beside what was found before.
func (w *write) validate(found field.ErrorList) field.ErrorList {
	switch st := w.s.strategy; {
	case st.Judge != nil:
		return st.Judge(w.r, found, w.obj, w.old)
	case st.ValidateIn != nil:
		return st.ValidateIn(w.attrs.Resource.GroupVersion(), w.obj, w.old)
	case st.Validate != nil:
		return st.Validate(w.obj, w.old)
	}
	return nil
}

// warn hands the strategy's warnings to the client.
func (w *write) warn() {
	if w.s.strategy.Warnings == nil || w.req.Warn == nil {
		return
	}
	for _, text := range w.s.strategy.Warnings(w.obj, w.old) {
		w.req.Warn(text)
	}
}

// invalid is the 422 for what is wrong with the object, nil for nothing. Whichever group was asked,
// it names the kind that is stored, whose rules they are. If the request has ended, errs may be
// only part of that, and the error is that of its context.
func (w *write) invalid(errs field.ErrorList) error {
	if err := w.r.Context.Err(); err != nil {
		return err
	}
	if len(errs) == 0 {
		return nil
	}
	return meta.NewInvalid(w.s.reader.kind.GroupKind(), w.obj.GetObjectMeta().Name, errs)
}

// encode makes the stored bytes of obj, and its lease if the kind has a TTL.
func (w *write) encode(ctx context.Context, obj meta.Object) ([]byte, error) {
	s := w.s
	if w.req.Apply != nil { // until here it was judged as it was applied, as in Kubernetes
		if err := s.kind.Prune(ctx, obj); err != nil {
			return nil, err
		}
	}
	value, form, err := s.reader.encode(ctx, obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", s.res.GroupResource, obj.GetObjectMeta().Name, err)
	}
	w.form = form
	if w.r.DryRun {
		return value, nil
	}
	w.lease, err = s.lease(ctx, obj)
	return value, err
}

// lease returns a lease for obj, 0 if its kind lives on.
func (s *Store) lease(ctx context.Context, obj meta.Object) (storage.LeaseID, error) {
	if s.res.TTL == nil {
		return 0, nil
	}
	ttl := s.res.TTL(obj)
	if ttl <= 0 {
		return 0, nil
	}
	return s.cfg.Leases.Get(ctx, ttl)
}

// maxLeaseTries is how often a write is tried whose lease the store has lost.
const maxLeaseTries = 3

// fixNamespace lets an object take the namespace of its path, and refuses another. An object of a kind outside of
// namespaces has none, whatever it says.
func fixNamespace(namespaced bool, namespace string, m *meta.ObjectMeta) error {
	if !namespaced {
		m.Namespace = ""
		return nil
	}
	if m.Namespace == "" {
		m.Namespace = namespace
	}
	if m.Namespace != namespace {
		return meta.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}
