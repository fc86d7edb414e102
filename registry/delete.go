package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file has Store.Delete, which serves DELETE of one object; the router and deletecollection.go
// call it. A deletion decides on the current state (decide) whether to mark the object, which is an
// update, or to remove it, or both. discard.go removes objects that cannot be read.

// Finalizers that the garbage collector acts on and then removes.
const (
	finalizerOrphan     = "orphan"
	finalizerForeground = "foregroundDeletion"
)

// errUnchanged makes the cache give up the update of a deletion that stores no mark.
var errUnchanged = errors.New("deletion is pending")

// deletion is one call of Delete.
type deletion struct {
	*write
	ctx  context.Context
	name string
	key  string
	// asked are the caller's options. opts is a copy for the present try, because strategies fill
	// in its grace period.
	asked, opts *meta.DeleteOptions
	// cur is the state of the present try. marked says that the deletion changes it and the changed
	// state must be stored, gone that the object is to be removed (after that).
	cur          *cache.Object
	marked, gone bool
}

// Delete removes an object. If the object has finalizers or gets a grace period, Delete marks it
// instead, with deletionTimestamp. See router.Deleter.
func (s *Store) Delete(
	ctx context.Context, req *request.Write, opts *meta.DeleteOptions,
) (*request.DeleteResult, error) {
	if opts.IgnoresReadErrors() {
		return s.discard(ctx, req, opts)
	}
	if permanent := s.res.Strategy.Permanent; permanent != nil {
		if why := permanent(req.Name); why != "" {
			return nil, meta.NewForbidden(s.res.GroupResource, req.Name, errors.New(why))
		}
	}
	s.warnOfOrphans(req, opts)
	return s.delete(ctx, req, opts, req.Name)
}

// warnOfOrphans sends the strategy's OrphanWarning to a client that sent no propagation policy.
func (s *Store) warnOfOrphans(req *request.Write, opts *meta.DeleteOptions) {
	if text := s.res.Strategy.OrphanWarning; text != "" && opts.PropagationPolicy == nil &&
		opts.OrphanDependents == nil {
		req.Warn(text)
	}
}

// delete is Delete without the checks of Permanent and the warning, which a collection does not get
// for each object. asked is the name that the client sent, "" for a collection: admission sees it.
func (s *Store) delete(
	ctx context.Context, req *request.Write, opts *meta.DeleteOptions, asked string,
) (*request.DeleteResult, error) {
	key, err := s.key(req.Namespace, req.Name)
	if err != nil {
		return nil, err
	}
	res, err := s.deleteKey(ctx, key, req, opts, asked)
	return res, s.apiError(err, req.Name)
}

// deleteKey deletes the object at key. Its errors are those of the store. asked is the name that
// admission sees.
func (s *Store) deleteKey(
	ctx context.Context, key string, req *request.Write, opts *meta.DeleteOptions, asked string,
) (*request.DeleteResult, error) {
	d := &deletion{write: s.newWrite(req, admission.Delete), ctx: ctx, name: req.Name, key: key, asked: opts}
	d.attrs.Name = asked
	defer d.settle(ctx)
	for {
		res, err := d.run()
		if errors.Is(err, storage.Conflict) { // changed between decision and write: decide again
			continue
		}
		d.ended(err)
		return res, err
	}
}

// run is one try: it decides on the current state whether to mark or to remove the object, and does
// so. It fails with storage.Conflict if the state changed before the removal.
func (d *deletion) run() (*request.DeleteResult, error) {
	opts := cache.UpdateOptions{DryRun: d.r.DryRun, Put: func() cache.PutOptions {
		return cache.PutOptions{Form: d.form} // a mark needs no fence
	}}
	obj, err := d.s.objects.Update(d.ctx, d.key, opts, d.apply)
	if errors.Is(err, errUnchanged) {
		obj, err = d.cur, nil
	}
	if err != nil {
		return nil, err
	}
	if !d.gone || d.r.DryRun {
		return d.result(obj, d.gone)
	}
	d.sends()
	deleted, err := d.s.objects.Delete(d.ctx, d.key, cache.DeleteOptions{Rev: obj.Rev}, nil)
	if errors.Is(err, storage.NotFound) && d.marked { // another writer removed the object and settles its reservations
		d.again(d.ctx)
		return d.result(obj, true)
	}
	if err != nil {
		return nil, err
	}
	return d.result(deleted, true)
}

// apply decides on the state cur. It returns the bytes of the marked object, or errUnchanged if no
// mark is to be stored.
func (d *deletion) apply(cur *cache.Object) (value []byte, lease storage.LeaseID, err error) {
	d.again(d.ctx) // apply may have reserved something for an earlier state
	d.marked, d.gone, d.cur = false, false, cur
	own := *d.asked // without what the strategy set for an earlier state
	d.opts = &own
	d.r.Now = d.s.now()
	obj, err := d.s.reader.hub(d.ctx, cur)
	if err != nil {
		return nil, 0, err
	}
	if err := d.s.mayDelete(obj.GetObjectMeta(), d.opts.Preconditions); err != nil {
		return nil, 0, err // before admission: the client meant another object
	}
	if d.old, err = d.s.oldIn(d.ctx, cur, d.req.Version); err != nil {
		return nil, 0, err
	}
	if err := d.admit(); err != nil {
		return nil, 0, err
	}
	if d.marked, d.gone, err = d.decide(obj); err != nil {
		return nil, 0, err
	}
	if d.gone { // before the mark, so that a refusal leaves the object unchanged
		if err := d.reserve(d.ctx, nil, d.old); err != nil {
			return nil, 0, err
		}
	}
	if !d.marked {
		return nil, 0, errUnchanged
	}
	if value, err = d.encode(d.ctx, obj); err != nil {
		return nil, 0, err
	}
	d.sends()
	return value, d.lease, nil
}

// decide applies the deletion to obj. marked says that obj has changed and must be stored, gone
// that the object can be removed (after that).
func (d *deletion) decide(obj meta.Object) (marked, gone bool, err error) {
	graceful, pending, err := d.grace(obj)
	if err != nil || pending {
		return false, false, err
	}
	m := obj.GetObjectMeta()
	finalizers, changed := d.finalizers(m)
	if changed {
		m.Finalizers = finalizers
	}
	held := d.s.held(obj)
	switch terminate := d.s.res.Strategy.Terminate; {
	// An object that is emptied first (Terminate) is only marked, even if nothing holds it.
	case terminate != nil && m.DeletionTimestamp == nil:
		m.DeletionTimestamp = &meta.Time{Time: d.r.Now}
		terminate(obj)
		return true, false, nil
	case terminate != nil && d.s.res.Strategy.Held != nil && d.s.res.Strategy.Held(obj): // its content is being deleted
		return false, false, nil
	case graceful && (held || *d.opts.GracePeriodSeconds > 0):
		return true, false, nil
	case graceful: // no time left: watchers see the mark before the removal
		return true, true, nil
	case held:
		d.markDeleting(m)
		return true, false, nil
	default:
		return false, true, nil
	}
}

// markDeleting sets deletionTimestamp of an object that only finalizers hold. A time that is set
// stays, even if it lies ahead because another server's clock is ahead. Only a time that lies ahead
// because of a grace period is set to the present, which ends the period.
func (d *deletion) markDeleting(m *meta.ObjectMeta) {
	if m.DeletionTimestamp == nil && m.Generation > 0 {
		m.Generation++
	}
	period := m.DeletionGracePeriodSeconds
	waits := period != nil && *period > 0 && m.DeletionTimestamp.After(d.r.Now)
	if m.DeletionTimestamp == nil || waits {
		m.DeletionTimestamp = &meta.Time{Time: d.r.Now}
	}
	zero := int64(0)
	m.DeletionGracePeriodSeconds = &zero
}

// grace applies the grace period to obj. graceful says that obj now carries the time of its end.
// pending says that an earlier deletion runs and that this one changes nothing: a later deletion
// can only shorten the period.
func (d *deletion) grace(obj meta.Object) (graceful, pending bool, err error) {
	strategy, m := &d.s.res.Strategy, obj.GetObjectMeta()
	d.opts.GracePeriodSeconds = atLeastZero(d.opts.GracePeriodSeconds)
	m.DeletionGracePeriodSeconds = atLeastZero(m.DeletionGracePeriodSeconds)
	if strategy.Graceful == nil {
		return false, false, nil
	}
	if m.DeletionTimestamp != nil {
		had, want := m.DeletionGracePeriodSeconds, d.opts.GracePeriodSeconds
		switch {
		case had == nil || *had == 0:
			// The period is over. The client that ended it has not removed the object yet, or never
			// will.
			return false, false, nil
		case want != nil && *want < *had: // a later deletion can only shorten the period
			ends := m.DeletionTimestamp.Add(time.Duration(*want-*had) * time.Second)
			if ends.Before(d.r.Now) { // not in the past; one second is left so that the kubelet sees a graceful end
				ends, want = d.r.Now, new(min(*want, 1))
			}
			m.DeletionTimestamp, m.DeletionGracePeriodSeconds = &meta.Time{Time: ends}, want
			return true, false, nil
		}
		return false, true, nil
	}
	if !strategy.Graceful(obj, d.opts) {
		return false, false, nil
	}
	if d.opts.GracePeriodSeconds == nil {
		return false, false, meta.NewInternalError(fmt.Errorf("options.GracePeriodSeconds should not be nil"))
	}
	m.DeletionTimestamp = &meta.Time{Time: d.r.Now.Add(time.Duration(*d.opts.GracePeriodSeconds) * time.Second)}
	period := *d.opts.GracePeriodSeconds
	m.DeletionGracePeriodSeconds = &period
	if m.Generation > 0 {
		m.Generation++
	}
	return true, false, nil
}

// atLeastZero returns the grace period in seconds. As in Kubernetes, a negative period means one
// second.
func atLeastZero(seconds *int64) *int64 {
	if seconds != nil && *seconds < 0 {
		one := int64(1)
		return &one
	}
	return seconds
}

// finalizers returns the object's finalizers with orphan or foregroundDeletion added or removed as
// the propagation policy wants. OrphanDependents, which is deprecated, overrides the policy.
// Without either, the finalizer that is set stays, else OrphanByDefault decides.
func (d *deletion) finalizers(m *meta.ObjectMeta) (list []string, changed bool) {
	strategy := &d.s.res.Strategy
	if strategy.NoGarbageCollection || d.s.cfg.NoGarbageCollection {
		return m.Finalizers, false
	}
	orphan, foreground := slices.Contains(m.Finalizers, finalizerOrphan), slices.Contains(
		m.Finalizers, finalizerForeground,
	)
	wantOrphan, wantForeground := orphan, foreground && !orphan
	if !orphan && !foreground {
		wantOrphan = strategy.OrphanByDefault
	}
	switch policy := d.opts.PropagationPolicy; {
	case d.opts.OrphanDependents != nil:
		wantOrphan, wantForeground = *d.opts.OrphanDependents, false
	case policy == nil:
	default:
		wantOrphan = *policy == meta.DeletePropagationOrphan
		wantForeground = *policy == meta.DeletePropagationForeground
	}
	if wantOrphan == orphan && wantForeground == foreground {
		return m.Finalizers, false
	}
	for _, f := range m.Finalizers {
		if f != finalizerOrphan && f != finalizerForeground {
			list = append(list, f)
		}
	}
	if wantOrphan {
		list = append(list, finalizerOrphan)
	}
	if wantForeground {
		list = append(list, finalizerForeground)
	}
	return list, true
}

// mayDelete returns the conflict if the preconditions of the deletion (uid, resourceVersion) do not
// hold.
func (s *Store) mayDelete(m *meta.ObjectMeta, p *meta.Preconditions) error {
	if p == nil {
		return nil
	}
	gk := s.groupKind()
	gr := meta.GroupResource{Group: gk.Group, Resource: gk.Kind}
	otherUID := "the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated"
	otherVersion := "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). " +
		"The object might have been modified"
	if s.res.Strategy.Terminate != nil { // kube-apiserver checks these kinds elsewhere, in other words
		gr = s.res.GroupResource
		otherUID = "Precondition failed: UID in precondition: %s, UID in object meta: %s"
		otherVersion = "Precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s"
	}
	if p.UID != nil && *p.UID != m.UID {
		return meta.NewConflict(gr, m.Name, fmt.Errorf(otherUID, *p.UID, m.UID))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.ResourceVersion {
		return meta.NewConflict(gr, m.Name, fmt.Errorf(otherVersion, *p.ResourceVersion, m.ResourceVersion))
	}
	return nil
}

// admit runs mutators and validators on the deletion. Plugins see the object as Old.
func (d *deletion) admit() error {
	d.attrs.Old, d.attrs.Options = d.old, d.opts
	if err := d.admission().Mutate(d.ctx, d.attrs); err != nil {
		return err
	}
	return d.admission().Validate(d.ctx, d.attrs)
}

// result returns the answer: the object if it is only marked or if its kind returns deleted
// objects, else a Status. An object that is emptied first (Terminate) is returned although OpenAPI
// says Status, as by kube-apiserver.
func (d *deletion) result(obj *cache.Object, done bool) (*request.DeleteResult, error) {
	if !done || d.s.res.ReturnsDeleted || d.s.res.Strategy.Terminate != nil {
		return &request.DeleteResult{Encoded: obj, Done: done}, nil
	}
	gr := d.s.res.GroupResource
	status := &meta.Status{Status: "Success", Details: &meta.StatusDetails{
		Name: d.name, Group: gr.Group, Kind: gr.Resource, UID: d.old.GetObjectMeta().UID,
	}}
	return &request.DeleteResult{Status: status, Done: true}, nil
}
