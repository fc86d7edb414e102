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

// update is one call of Update.
type update struct {
	s       *Store
	ctx     context.Context
	req     *request.UpdateRequest
	key     string
	dryRun  bool
	created bool
	// emptied is the current object if the change takes its last finalizer off, and last the state it asked for.
	emptied *cache.Object
	last    []byte
	lease   storage.LeaseID // of the last try
}

// errEmptied ends an update of an object that is to be deleted instead of written.
var errEmptied = errors.New("the last finalizer is gone")

// Update changes an object, or creates it where the strategy allows that. See router.Updater.
//
// The change starts from the cached bytes and is made again on a fresh read if they turn out to be stale.
func (s *Store) Update(ctx context.Context, req *request.UpdateRequest) (request.Encoded, bool, error) {
	key, err := s.key(req.Namespace, req.Name)
	if err != nil {
		return nil, false, err
	}
	u := &update{s: s, ctx: ctx, req: req, key: key, dryRun: len(req.Options.DryRun) > 0}
	opts := cache.UpdateOptions{
		AllowCreate: s.res.Strategy.AllowCreateOnUpdate || req.ForceCreate,
		DryRun:      u.dryRun,
	}
	for try := 1; ; try++ {
		obj, err := s.objects.Update(ctx, key, opts, u.apply)
		if errors.Is(err, storage.NoLease) && try < maxLeaseTries {
			s.cfg.Leases.Forget(u.lease)
			continue
		}
		if errors.Is(err, errEmptied) {
			if obj, err = u.remove(); errors.Is(err, storage.Conflict) {
				continue
			}
		}
		if err != nil {
			return nil, false, s.apiError(err, req.Name)
		}
		return obj, u.created, nil
	}
}

// remove deletes the object whose last finalizer the update took off. The answer is the state that was asked for;
// watchers see the last one that was stored.
func (u *update) remove() (*cache.Object, error) {
	if !u.dryRun {
		_, err := u.s.objects.Delete(u.ctx, u.key, cache.DeleteOptions{Rev: u.emptied.Rev}, nil)
		if err != nil && !errors.Is(err, storage.NotFound) {
			return nil, err
		}
	}
	obj, err := u.s.objects.Preview(u.key, u.last)
	if err != nil {
		return nil, err
	}
	return obj.At(u.emptied.Rev), nil
}

// apply makes the new value from the current one. cur is nil if the object does not exist.
func (u *update) apply(cur *cache.Object) (value []byte, lease storage.LeaseID, err error) {
	u.created, u.emptied = cur == nil, nil
	if cur == nil {
		return u.create()
	}
	s := u.s
	old, err := s.reader.object(cur.JSON())
	if err != nil {
		return nil, 0, err
	}
	obj, err := u.req.Change(u.ctx, request.Current{
		Encoded: cur,
		Object:  func() (meta.Object, error) { return s.reader.object(cur.JSON()) },
	})
	if err != nil {
		return nil, 0, err
	}
	if err := u.checkVersion(cur, old, obj); err != nil {
		return nil, 0, err
	}
	r := s.strategyRequest(u.ctx, u.req.Namespace, u.req.Options.DryRun)
	attrs := s.attributes(u.ctx, admission.Update, u.req.Namespace, u.req.Name)
	attrs.Object, attrs.Old, attrs.Options, attrs.DryRun = obj, old, u.req.Options, u.dryRun
	if err := s.cfg.Admission.Mutate(u.ctx, attrs); err != nil {
		return nil, 0, err
	}
	if err := s.beforeUpdate(u.ctx, r, obj, old); err != nil {
		return nil, 0, err
	}
	if err := s.cfg.Admission.Validate(u.ctx, attrs); err != nil {
		return nil, 0, err
	}
	value, u.lease, err = s.encode(u.ctx, obj, u.dryRun)
	if err == nil && s.mayGo(obj) {
		u.emptied, u.last = cur, value
		return nil, 0, errEmptied
	}
	return value, u.lease, err
}

// create is an update of what does not exist.
func (u *update) create() ([]byte, storage.LeaseID, error) {
	s := u.s
	obj, err := u.req.Change(u.ctx, request.Current{Object: func() (meta.Object, error) { return s.New(), nil }})
	if err != nil {
		return nil, 0, err
	}
	m := obj.GetObjectMeta()
	if u.req.UID != "" {
		return nil, 0, u.wrongUID("")
	}
	if err := s.fixNamespace(u.req.Namespace, m); err != nil {
		return nil, 0, err
	}
	r := s.strategyRequest(u.ctx, u.req.Namespace, u.req.Options.DryRun)
	attrs := s.attributes(u.ctx, admission.Create, u.req.Namespace, u.req.Name)
	attrs.Object, attrs.Options, attrs.DryRun = obj, u.req.Options, u.dryRun
	if err := s.cfg.Admission.Mutate(u.ctx, attrs); err != nil {
		return nil, 0, err
	}
	if err := s.beforeCreate(u.ctx, r, obj); err != nil {
		return nil, 0, err
	}
	if err := s.cfg.Admission.Validate(u.ctx, attrs); err != nil {
		return nil, 0, err
	}
	value, lease, err := s.encode(u.ctx, obj, u.dryRun)
	u.lease = lease
	return value, lease, err
}

// checkVersion enforces the uid and resourceVersion that the new object came with.
func (u *update) checkVersion(cur *cache.Object, old, obj meta.Object) error {
	s, m := u.s, obj.GetObjectMeta()
	if u.req.UID != "" && u.req.UID != old.GetObjectMeta().UID {
		return u.wrongUID(old.GetObjectMeta().UID)
	}
	rev, err := parseRevision(m.ResourceVersion)
	if err != nil {
		return meta.NewBadRequest(err.Error())
	}
	if rev == 0 {
		if !s.strategy.AllowUnconditionalUpdate && !s.res.Strategy.AllowUnconditionalUpdate {
			gk := meta.GroupKind{Group: s.res.GroupResource.Group, Kind: s.res.GroupResource.Resource}
			return meta.NewInvalid(gk, u.req.Name, field.ErrorList{
				field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
			})
		}
		return nil
	}
	if rev != cur.Rev {
		return meta.NewConflict(s.res.GroupResource, u.req.Name, errStale)
	}
	return nil
}

// wrongUID is the conflict of an update that names another incarnation of the object.
func (u *update) wrongUID(have meta.UID) error {
	return meta.NewConflict(u.s.res.GroupResource, u.req.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", u.key, u.req.UID, have))
}

// mayGo reports whether nothing holds a deleted object back.
func (s *Store) mayGo(obj meta.Object) bool {
	m := obj.GetObjectMeta()
	return m.DeletionTimestamp != nil && !s.held(obj) &&
		(m.DeletionGracePeriodSeconds == nil || *m.DeletionGracePeriodSeconds == 0)
}

// held reports whether finalizers of any kind keep an object.
func (s *Store) held(obj meta.Object) bool {
	return len(obj.GetObjectMeta().Finalizers) > 0 || s.res.Strategy.Held != nil && s.res.Strategy.Held(obj)
}

// beforeUpdate keeps what the server owns and validates the change.
func (s *Store) beforeUpdate(ctx context.Context, r *Request, obj, old meta.Object) error {
	m, om := obj.GetObjectMeta(), old.GetObjectMeta()
	if err := s.fixNamespace(r.Namespace, m); err != nil {
		return err
	}
	m.Generation = om.Generation
	m.CreationTimestamp = om.CreationTimestamp
	m.SelfLink, m.ManagedFields = "", nil
	if m.UID == "" {
		m.UID = om.UID
	}
	if om.DeletionTimestamp != nil { // an update neither ends nor moves a deletion
		m.DeletionTimestamp = om.DeletionTimestamp
	}
	if m.DeletionGracePeriodSeconds == nil {
		m.DeletionGracePeriodSeconds = om.DeletionGracePeriodSeconds
	}
	if s.strategy.PrepareUpdate != nil {
		s.strategy.PrepareUpdate(r, obj, old)
	}
	m.ResourceVersion = om.ResourceVersion
	errs := s.validateMetaUpdate(m, om)
	errs = append(errs, s.cfg.Scheme.Check(obj, old)...)
	if s.strategy.ValidateUpdate != nil {
		errs = append(errs, s.strategy.ValidateUpdate(r, obj, old)...)
	}
	if len(errs) > 0 {
		return meta.NewInvalid(s.storageGVK.GroupKind(), m.Name, errs)
	}
	s.warn(ctx, r, obj, old)
	if s.strategy.Canonicalize != nil {
		s.strategy.Canonicalize(obj)
	}
	return nil
}

// validateMetaUpdate checks the metadata of an update as often as kube-apiserver does: clients see each finding.
func (s *Store) validateMetaUpdate(m, old *meta.ObjectMeta) field.ErrorList {
	path := field.NewPath("metadata")
	errs := meta.ValidateObjectMeta(m, s.res.Namespaced, names.PathSegmentName, path)
	errs = append(errs, meta.ValidateObjectMetaUpdate(m, old, path)...)
	if s.strategy.Metadata >= MetaChange {
		errs = append(errs, meta.ValidateObjectMetaUpdate(m, old, path)...)
	}
	if s.strategy.Metadata == MetaWhole {
		errs = append(errs, meta.ValidateObjectMeta(m, s.res.Namespaced, s.res.Strategy.ValidateName, path)...)
		errs = append(errs, meta.ValidateFinalizerNames(m.Finalizers, path.Child("finalizers"))...)
	}
	return errs
}
