package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file has the steps of a create in the order in which they run; write.go lists them. The
// router calls Store.Create. An update runs begin and finish as well; update.go has the steps that
// differ.

// maxGenerateTries is how many generated names a create tries before it reports that they exist.
const maxGenerateTries = 8

// Create stores a new object. See router.Creater.
func (s *Store) Create(ctx context.Context, req *request.Write) (request.Encoded, error) {
	w := s.newWrite(req, admission.Create)
	defer w.settle(ctx)
	if err := w.begin(ctx, nil); err != nil {
		return nil, s.apiError(err, req.Name)
	}
	m := w.obj.GetObjectMeta()
	generates := m.GenerateName != "" // existsError depends on it even if a name was sent as well
	enc, err := w.createNamed(ctx, generates && m.Name == "")
	if w.mayDisown(err) {
		w.obj.GetObjectMeta().ManagedFields = nil
		enc, err = w.create(ctx)
	}
	w.ended(err)
	name := w.obj.GetObjectMeta().Name
	if errors.Is(err, storage.Exists) {
		return nil, s.existsError(ctx, req.Namespace, name, generates)
	}
	if err != nil {
		return nil, s.apiError(err, name)
	}
	return enc, nil
}

// begin runs the first half of a try: it makes the new object, lets admission change it, and asks
// the guard. cur is the stored state that the try starts from, and w.old its decoded form. Both are
// nil if the object does not exist.
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
	if err := w.mutate(ctx, hub); err != nil {
		return err
	}
	if err := w.upToDate(cur); err != nil {
		return err
	}
	if guard := w.s.res.Guard; guard != nil && w.req.User != nil {
		return guard(ctx, w.r, w.obj, w.old)
	}
	return nil
}

// make returns the new object in the hub, completed with defaults, and with its managedFields.
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
		m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil // cleared before own, so that no manager owns them
	}
	hub, err := toHub(ctx, w.s.kind, obj, w.version())
	if err != nil {
		return nil, err
	}
	return hub, w.own(ctx, current.Encoded, obj, hub)
}

// identify compares the UID and namespace of the object with those that the request names. For an
// object that does not exist, a UID in the request is a conflict.
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

// mutate runs the mutators of admission on hub and sets w.obj to the object that they leave.
// Through a door with a kind of its own, admission sees that kind, and w.obj becomes the whole
// object again.
func (w *write) mutate(ctx context.Context, hub meta.Object) (err error) {
	w.attrs.Object, w.attrs.Old = hub, w.old
	if w.s.project != nil {
		if w.attrs.Old, err = w.s.show(w.old, AsResult); err != nil {
			return err
		}
	}
	entries := hub.GetObjectMeta().ManagedFields
	if err := w.admission().Mutate(ctx, w.attrs); err != nil {
		return err
	}
	if w.obj, err = mutated(w.attrs); err != nil {
		return err
	}
	m := w.obj.GetObjectMeta()
	w.keepOwners(ctx, m, entries)
	if warning := meta.DropRepeatedOwners(m, true); warning != "" {
		w.attrs.Warn(warning)
	}
	if w.s.project != nil {
		return w.project(ctx)
	}
	return nil
}

// createNamed calls create. If the name is generated and exists already, it tries another name, up
// to maxGenerateTries. Each try starts from a copy of the unnamed object, because strategies may
// derive fields from the name.
func (w *write) createNamed(ctx context.Context, generated bool) (request.Encoded, error) {
	if !generated {
		return w.create(ctx)
	}
	unnamed := w.obj
	for try := 1; ; try++ {
		w.obj = scheme.Copy(unnamed).(meta.Object)
		enc, err := w.create(ctx)
		if try == maxGenerateTries || !errors.Is(err, storage.Exists) {
			return enc, err
		}
	}
}

// create finishes the object and stores it under one name. An object with a resourceVersion is
// refused only after all checks, and not in a dry run, because in Kubernetes the storage layer
// refuses it.
func (w *write) create(ctx context.Context) (request.Encoded, error) {
	w.again(ctx)
	seen, _ := parseRevision(w.obj.GetObjectMeta().ResourceVersion) // an invalid revision counts as none here
	value, err := w.finish(ctx)
	if err != nil {
		return nil, err
	}
	m := w.obj.GetObjectMeta()
	key, err := w.s.key(m.Namespace, m.Name)
	if err != nil {
		return nil, err
	}
	if w.r.DryRun {
		return w.s.dryCreate(ctx, key, value)
	}
	if seen != 0 {
		return nil, meta.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	return w.put(ctx, key, value)
}

// finish runs the second half of a try, from the object that the mutators left to the bytes to
// store: baptize, reserve, prepare, validate, admit, encode.
func (w *write) finish(ctx context.Context) ([]byte, error) {
	w.r.Context = ctx
	w.r.Now = w.s.now() // each try has its own time: the previous try may have taken long
	if err := w.baptize(); err != nil {
		return nil, err
	}
	if w.req.Invalid != nil && w.s.subresource == "" {
		return nil, w.req.Invalid
	}
	if err := w.reserve(ctx, w.obj, w.old); err != nil {
		return nil, err
	}
	var errs field.ErrorList
	if w.old == nil {
		errs = w.prepareNew()
	} else {
		errs = w.prepareChanged()
	}
	if err := w.validate(errs); err != nil {
		return nil, err
	}
	if w.old != nil {
		w.keepTimes()
	} else if w.byUpdate && w.req.Rights != nil {
		if err := w.req.Rights.May(ctx, "create"); err != nil {
			return nil, err
		}
	}
	if err := w.admit(ctx); err != nil {
		return nil, err
	}
	return w.encode(ctx, w.obj)
}

// baptize gives the object its namespace, and a new object its name and UID. It comes before
// reserve, so that a reservation can name the object that it is for. It refuses an object in
// another namespace than that of the path, and, if an update creates the object, one with another
// name: the client was authorized for the path only, and admission may have changed both.
func (w *write) baptize() error {
	m := w.obj.GetObjectMeta()
	if w.old == nil && w.byUpdate && m.Name != w.req.Name {
		return meta.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			meta.Excerpt(m.Name), meta.Excerpt(w.req.Name)))
	}
	if err := fixNamespace(w.s.res.Namespaced, w.r.Namespace, m); err != nil || w.old != nil {
		return err
	}
	m.UID = NewUID()
	if m.GenerateName != "" && m.Name == "" {
		m.Name = GenerateName(m.GenerateName)
	}
	return nil
}

// reserve calls the kind's Reserve for the present try. A door to a part of the object, such as
// status, reserves nothing, because it cannot change the fields that need a reservation. obj is nil
// if the object goes; then reserve runs through every door.
func (w *write) reserve(ctx context.Context, obj, old meta.Object) error {
	part := w.s.subresource != "" && w.s.project == nil
	if w.s.res.Reserve == nil || part && obj != nil {
		return nil
	}
	settle, err := w.s.res.Reserve(ctx, w.r, obj, old)
	if err != nil {
		return err
	}
	w.attrs.Take(settle)
	return nil
}

// prepareNew sets the fields that the server owns, clears the status unless clients may bring it,
// runs the strategy's Prepare, and returns the errors of the metadata.
func (w *write) prepareNew() field.ErrorList {
	s, m := w.s, w.obj.GetObjectMeta()
	m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil
	if s.empty != nil {
		s.empty(w.obj)
	}
	if s.differ != nil {
		m.Generation = 1
	}
	m.CreationTimestamp = &meta.Time{Time: w.r.Now}
	m.ResourceVersion, m.SelfLink = "", ""
	if s.strategy.Prepare != nil {
		s.strategy.Prepare(w.r, w.obj, nil)
	}
	path := field.NewPath("metadata")
	errs := meta.ValidateObjectMeta(m, s.res.Namespaced, s.res.Strategy.ValidateName, path)
	if s.strategy.Metadata.has(MetaFinalizers) {
		errs = append(errs, meta.ValidateFinalizerNames(m.Finalizers, path.Child("finalizers"))...)
	}
	return errs
}

// validate runs the checks of the declaration and of the strategy; errs are those of the metadata.
// If all pass, it sends the strategy's warnings to the client and brings the object into its normal
// form. The error is the 422 that lists all errors.
func (w *write) validate(errs field.ErrorList) error {
	errs = append(errs, w.s.reader.kind.Check(w.r.Context, w.obj, w.old, w.version())...)
	errs = append(errs, w.validateByStrategy(errs)...)
	if err := w.invalid(errs); err != nil {
		return err
	}
	if warnings := w.s.strategy.Warnings; warnings != nil && w.req.Warn != nil {
		for _, text := range warnings(w.obj, w.old) {
			w.req.Warn(text)
		}
	}
	if w.s.strategy.Canonicalize != nil {
		w.s.strategy.Canonicalize(w.obj)
	}
	return nil
}

// validateByStrategy runs the strategy's own check: ValidateRequest, ValidateIn or Validate. found
// are the errors so far.
func (w *write) validateByStrategy(found field.ErrorList) field.ErrorList {
	switch st := w.s.strategy; {
	case st.ValidateRequest != nil:
		return st.ValidateRequest(w.r, found, w.obj, w.old)
	case st.ValidateIn != nil:
		return st.ValidateIn(w.attrs.Resource.GroupVersion(), w.obj, w.old)
	case st.Validate != nil:
		return st.Validate(w.obj, w.old)
	}
	return nil
}

// invalid returns the 422 for errs, nil if there are none. It names the stored kind, even if the
// client wrote in another group, because the rules are those of the stored kind. If the request has
// ended, the checks may have stopped halfway, so the error is that of its context.
func (w *write) invalid(errs field.ErrorList) error {
	if err := w.r.Context.Err(); err != nil {
		return err
	}
	if len(errs) == 0 {
		return nil
	}
	return meta.NewInvalid(w.s.reader.kind.GroupKind(), w.obj.GetObjectMeta().Name, errs)
}

// admit runs the validators of admission, then its reservers, which take what is counted (quota).
func (w *write) admit(ctx context.Context) error {
	if w.s.project == nil { // else admission still sees the door's kind
		w.attrs.Object = w.obj
	}
	w.attrs.Name = w.obj.GetObjectMeta().Name
	return w.admission().Validate(ctx, w.attrs)
}

// encode returns the bytes to store, and sets w.form and w.lease. A dry run gets no lease.
func (w *write) encode(ctx context.Context, obj meta.Object) ([]byte, error) {
	s := w.s
	// An applied object is checked with its unknown fields and pruned only now, as in Kubernetes.
	if w.req.Apply != nil {
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

// lease returns a lease for obj, 0 if the object has no TTL.
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

// maxLeaseTries is how often a write is tried while the store reports that it does not know the
// lease (storage.NoLease).
const maxLeaseTries = 3

// put stores the new object. If the store does not know the lease, it tries again with another one.
// If the fence has changed, it tries again with what the reservers take now; they do not see the
// bytes, so these stay the same.
func (w *write) put(ctx context.Context, key string, value []byte) (request.Encoded, error) {
	for unleased, fenced := 1, 1; ; {
		w.sends()
		enc, err := w.s.objects.CreateAs(ctx, key, value, w.options(), w.lease)
		switch {
		case errors.Is(err, storage.NoLease) && unleased < maxLeaseTries:
			unleased++
			w.fate = admission.NotStored
			w.s.cfg.Leases.Forget(w.lease)
			w.lease, err = w.s.lease(ctx, w.obj)
		case errors.Is(err, storage.Fenced) && fenced < maxFencedTries:
			fenced++
			w.fate = admission.NotStored
			err = w.attrs.ReserveAgain(ctx)
		default:
			return enc, err
		}
		if err != nil {
			return nil, err
		}
	}
}

// dryCreate returns what Create would answer, and stores nothing.
func (s *Store) dryCreate(ctx context.Context, key string, value []byte) (request.Encoded, error) {
	rev, err := s.objects.Exists(ctx, key)
	if err != nil {
		return nil, err
	}
	if rev != 0 {
		return nil, &storage.Error{Op: "create", Key: key, Kind: storage.Exists, Rev: rev}
	}
	return s.objects.Preview(key, value)
}

// existsError returns the 409 for a name that exists. Its message says so if the object with the
// name is being deleted, because a client may then wait for that.
func (s *Store) existsError(ctx context.Context, namespace, name string, generates bool) error {
	if generates {
		return meta.NewGenerateNameConflict(s.res.GroupResource, name, 1)
	}
	err := meta.NewAlreadyExists(s.res.GroupResource, name)
	enc, getErr := s.Get(ctx, namespace, name, "")
	if getErr != nil {
		return err
	}
	if obj, decodeErr := s.Decode(ctx, enc); decodeErr == nil && obj.GetObjectMeta().DeletionTimestamp != nil {
		err.Status.Message = "object is being deleted: " + err.Status.Message
	}
	return err
}
