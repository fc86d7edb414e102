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

// The steps of a create, in the order in which it takes them. An update takes those of begin and
// finish, too; update.go has what is different there.

// maxGenerateTries is how often a generated name that exists already is replaced by another.
const maxGenerateTries = 8

// Create stores a new object. See router.Creater.
func (s *Store) Create(ctx context.Context, req *request.Write) (request.Encoded, error) {
	w := s.newWrite(req, admission.Create)
	defer w.settle(ctx)
	if err := w.begin(ctx, nil); err != nil {
		return nil, s.apiError(err, req.Name)
	}
	m := w.obj.GetObjectMeta()
	generates := m.GenerateName != "" // perhaps for nothing: the error is the same
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

// begin makes the object of a try and lets admission change it. cur is the state that it starts
// from, which decodes to w.old; both are nil if there is none.
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

// mutate lets admission change the object, which is hub until then.
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

// createNamed is create, which it tries again while generated names exist already. Strategies make
// use of the name: each try starts from what the client sent.
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

// create finishes and writes the object under one name. One that has been stored somewhere is
// refused by the store and not before, as in Kubernetes: what else is wrong with it is said first,
// and a dry run does not come so far.
func (w *write) create(ctx context.Context) (request.Encoded, error) {
	w.again(ctx)
	seen, _ := parseRevision(w.obj.GetObjectMeta().ResourceVersion) // what is no revision at all counts as none here
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

// finish takes the object from admission's hands to the bytes to store.
func (w *write) finish(ctx context.Context) ([]byte, error) {
	w.r.Context = ctx
	w.r.Now = w.s.now() // of this try: the one before may have waited long, and others have written since
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

// baptize gives the object its identity, by which what is reserved for it can name it: its
// namespace, and if it is new a name and a UID. It refuses what admission has moved away from the
// place that the client may write to.
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
		m.Name = generateName(m.GenerateName)
	}
	return nil
}

// reserve takes what the kind needs for a try from outside of the object. A door to a part of the
// object reserves nothing: what it says of the rest does not count.
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

// prepareNew fills in what the server owns, and returns what is wrong with the metadata.
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

// validate says what is wrong with the object, beside what was found in its metadata. If nothing
// is, it hands the strategy's warnings to the client and brings the object into its normal form.
func (w *write) validate(errs field.ErrorList) error {
	errs = append(errs, w.s.reader.kind.Check(w.r.Context, w.obj, w.old, w.version())...)
	errs = append(errs, w.judge(errs)...)
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

// judge is what the strategy finds wrong with the object, beside what was found before.
func (w *write) judge(found field.ErrorList) field.ErrorList {
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

// admit asks admission to approve of the object, and has its reservers take what is counted.
func (w *write) admit(ctx context.Context) error {
	if w.s.project == nil { // else admission goes on with what the client sees
		w.attrs.Object = w.obj
	}
	w.attrs.Name = w.obj.GetObjectMeta().Name
	return w.admission().Validate(ctx, w.attrs)
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

// put writes the new object, again with another lease if the store has lost that.
func (w *write) put(ctx context.Context, key string, value []byte) (request.Encoded, error) {
	for try := 1; ; try++ {
		w.sends()
		enc, err := w.s.objects.CreateAs(ctx, key, value, w.form, w.lease)
		if !errors.Is(err, storage.NoLease) || try == maxLeaseTries {
			return enc, err
		}
		w.fate = admission.NotStored
		w.s.cfg.Leases.Forget(w.lease)
		if w.lease, err = w.s.lease(ctx, w.obj); err != nil {
			return nil, err
		}
	}
}

// dryCreate answers as Create would, without writing.
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

// existsError tells a name that is taken from one whose object is still going away.
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
