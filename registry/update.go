package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file has Store.Update, which serves PUT, PATCH and apply of objects and subresources; the
// router calls it. It runs the steps of begin and finish (create.go) inside cache.Resource.Update,
// which calls them again if the stored state was not the cached one.

// update is one call of Update.
type update struct {
	*write
	ctx     context.Context
	key     string
	created bool
	// emptied is the current object if the update removes its last finalizer, so that the object is
	// deleted instead of written. last are the bytes that the update would have stored.
	emptied *cache.Object
	last    []byte
}

// errEmptied makes the cache give up an update because the object is to be deleted (see emptied).
var errEmptied = errors.New("the last finalizer is gone")

// Update changes an object, or creates it if it does not exist and the strategy or the request
// allows that. A door never creates. The bool reports whether the object was created. See
// router.Updater.
//
// The change starts from the cached bytes. If the store holds a newer state, the change is made
// again from that.
func (s *Store) Update(ctx context.Context, req *request.Write) (request.Encoded, bool, error) {
	key, err := s.key(req.Namespace, req.Name)
	if err != nil {
		return nil, false, err
	}
	u := &update{write: s.newWrite(req, admission.Update), ctx: ctx, key: key}
	defer u.settle(ctx)
	u.byUpdate = true
	obj, err := u.run()
	if u.mayDisown(err) {
		u.disowned = true
		obj, err = u.run()
	}
	u.ended(err)
	if err != nil {
		return nil, false, s.apiError(err, req.Name)
	}
	enc, err := s.present(ctx, obj, AsResult)
	return enc, u.created, err
}

// run runs tries until one ends without a conflict. The context ends it if other writers are always
// faster; a fence that always changes ends it after maxFencedTries.
func (u *update) run() (*cache.Object, error) {
	s := u.s
	opts := cache.UpdateOptions{
		AllowCreate: s.subresource == "" && (s.res.Strategy.AllowCreateOnUpdate || u.req.ForceCreate),
		DryRun:      u.r.DryRun,
		Put:         u.options,
	}
	for unleased, fenced := 1, 1; ; {
		obj, err := s.objects.Update(u.ctx, u.key, opts, u.apply)
		switch {
		case errors.Is(err, storage.NoLease) && unleased < maxLeaseTries:
			unleased++
			s.cfg.Leases.Forget(u.lease)
		case errors.Is(err, storage.Fenced) && fenced < maxFencedTries:
			fenced++
			u.again(u.ctx)
		case errors.Is(err, errEmptied):
			if obj, err = u.remove(); !errors.Is(err, storage.Conflict) {
				return obj, err
			}
		default:
			return obj, err
		}
	}
}

// apply runs one try: it makes the bytes to store from the current state. cur is nil if the object
// does not exist.
func (u *update) apply(cur *cache.Object) (value []byte, lease storage.LeaseID, err error) {
	u.again(u.ctx)
	u.created, u.emptied, u.old = cur == nil, nil, nil
	u.attrs.Operation, u.attrs.Options = admission.Create, toCreate(u.req.Options)
	if cur != nil {
		u.attrs.Operation, u.attrs.Options = admission.Update, u.req.Options
		if u.old, err = u.s.oldIn(u.ctx, cur, u.version()); err != nil {
			return nil, 0, u.s.namedError(u.ctx, cur, err)
		}
	}
	if err := u.begin(u.ctx, cur); err != nil {
		return nil, 0, err
	}
	if value, err = u.finish(u.ctx); err != nil {
		return nil, 0, err
	}
	if cur != nil && u.s.mayGo(u.obj) {
		u.emptied, u.last = cur, value
		return nil, 0, errEmptied
	}
	u.sends()
	return value, u.lease, nil
}

// toCreate turns the options of an update into those of a create, which admission sees if the
// update creates the object.
func toCreate(options meta.Typed) meta.Typed {
	if o, ok := options.(*meta.UpdateOptions); ok {
		return &meta.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation}
	}
	return options
}

// remove deletes the object whose last finalizer the update removed. The client gets the state that
// it asked for. Watchers get the last state that was stored, as in Kubernetes.
func (u *update) remove() (*cache.Object, error) {
	last, err := u.s.objects.Preview(u.key, u.last)
	if err != nil {
		return nil, err
	}
	u.again(u.ctx) // the update itself is not stored
	if err := u.reserve(u.ctx, nil, u.old); err != nil {
		return nil, err
	}
	if !u.r.DryRun {
		u.sends()
		_, err := u.s.objects.Delete(u.ctx, u.key, cache.DeleteOptions{Rev: u.emptied.Rev}, nil)
		switch {
		case errors.Is(err, storage.NotFound): // another writer deleted the object and settles its reservations
			u.again(u.ctx)
		case err != nil:
			return nil, err
		}
	}
	return last.At(u.emptied.Rev), nil
}

// mayGo reports whether obj can be removed from the store: it is marked for deletion, has no
// finalizers, and its grace period is over.
func (s *Store) mayGo(obj meta.Object) bool {
	m := obj.GetObjectMeta()
	return m.DeletionTimestamp != nil && !s.held(obj) &&
		(m.DeletionGracePeriodSeconds == nil || *m.DeletionGracePeriodSeconds == 0)
}

// held reports whether metadata.finalizers or Strategy.Held keep an object from being removed.
func (s *Store) held(obj meta.Object) bool {
	return len(obj.GetObjectMeta().Finalizers) > 0 || s.res.Strategy.Held != nil && s.res.Strategy.Held(obj)
}

// upToDate compares the resourceVersion of the new object with the current revision: that is the
// optimistic lock of the API conventions. It returns a 409 if they differ. Without a
// resourceVersion it returns nil if the kind allows unconditional updates, else a 422.
func (w *write) upToDate(cur *cache.Object) error {
	if w.old == nil {
		return nil
	}
	m := w.attrs.Meta()
	rev, err := parseRevision(m.ResourceVersion)
	if err != nil {
		return meta.NewBadRequest(err.Error())
	}
	// An object of a door's own kind, such as Scale, may leave the resourceVersion out. A "0" is
	// treated as in an update of the resource itself, as by kube-apiserver.
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

// wrongUID returns the conflict of an update whose UID is not that of the object.
func (w *write) wrongUID(have meta.UID) error {
	return w.s.preconditionFailed(
		&meta.ObjectMeta{Namespace: w.req.Namespace, Name: w.req.Name}, "UID", string(w.req.UID), string(have),
	)
}

// preconditionFailed returns the conflict of a write that wants another UID or ResourceVersion
// (what) than the object with the metadata m has. The text is that of kube-apiserver's storage
// layer.
func (s *Store) preconditionFailed(m *meta.ObjectMeta, what, want, have string) error {
	key, err := s.key(m.Namespace, m.Name)
	if err != nil {
		return err
	}
	return meta.NewConflict(s.res.GroupResource, m.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: %s in precondition: %s, %s in object meta: %s", key, what, want, what, have))
}

// prepareChanged keeps the metadata that the server owns, undoes the changes that this door may not
// make, runs the strategy's Prepare, counts metadata.generation, and returns the errors of the
// metadata.
func (w *write) prepareChanged() field.ErrorList {
	s, m, om := w.s, w.obj.GetObjectMeta(), w.old.GetObjectMeta()
	m.Generation = om.Generation
	m.CreationTimestamp = om.CreationTimestamp
	m.SelfLink = ""
	if m.UID == "" {
		m.UID = om.UID
	}
	if s.takeBack != nil {
		s.takeBack(w.obj, w.old)
	}
	if s.strategy.Prepare != nil {
		s.strategy.Prepare(w.r, w.obj, w.old)
	}
	if om.DeletionTimestamp != nil { // an update neither ends nor moves a deletion
		m.DeletionTimestamp = om.DeletionTimestamp
	}
	if m.DeletionGracePeriodSeconds == nil {
		m.DeletionGracePeriodSeconds = om.DeletionGracePeriodSeconds
	}
	if s.differ != nil && s.differ(w.obj, w.old) {
		m.Generation++
	}
	m.ResourceVersion = om.ResourceVersion
	return s.validateMetaUpdate(m, om)
}

// validateMetaUpdate checks the metadata of an update. It repeats some checks, because
// kube-apiserver's code for the kind repeats them and a client sees each error twice (see
// MetaChecks).
func (s *Store) validateMetaUpdate(m, old *meta.ObjectMeta) field.ErrorList {
	path := field.NewPath("metadata")
	errs := meta.ValidateObjectMeta(m, s.res.Namespaced, names.PathSegmentName, path)
	errs = append(errs, meta.ValidateObjectMetaUpdate(m, old, path)...)
	checks := s.strategy.Metadata
	var finalizers field.ErrorList
	if checks.has(MetaFinalizers) {
		finalizers = meta.ValidateFinalizerNames(m.Finalizers, path.Child("finalizers"))
	}
	if checks.has(MetaCompare) {
		errs = append(errs, meta.ValidateObjectMetaUpdate(m, old, path)...)
		errs = append(errs, finalizers...)
	}
	if checks.has(MetaRepeat) {
		errs = append(errs, meta.ValidateObjectMeta(m, s.res.Namespaced, s.res.Strategy.ValidateName, path)...)
		errs = append(errs, finalizers...)
	}
	return errs
}
