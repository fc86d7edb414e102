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

// Finalizers that the garbage collector works on.
const (
	finalizerOrphan     = "orphan"
	finalizerForeground = "foregroundDeletion"
)

// errUnchanged ends a deletion that leaves the object as it is: it is being deleted already.
var errUnchanged = errors.New("deletion is pending")

// deletion is one call of Delete.
type deletion struct {
	*write
	ctx  context.Context
	name string
	key  string
	// asked are the caller's options, and opts a copy for one try: strategies fill in the grace
	// period.
	asked, opts *meta.DeleteOptions
	// cur is the state of the present try. It calls for a mark, which is to be stored, or for the
	// end, or for both.
	cur          *cache.Object
	marked, gone bool
}

// Delete deletes an object, or marks it if it has finalizers, or gets a grace period. See
// router.Deleter.
func (s *Store) Delete(ctx context.Context, req *request.Write, opts *meta.DeleteOptions) (*request.DeleteResult, error) {
	if opts.IgnoresReadErrors() {
		return s.discard(ctx, req, opts)
	}
	if permanent := s.res.Strategy.Permanent; permanent != nil {
		if why := permanent(req.Name); why != "" {
			return nil, meta.NewForbidden(s.res.GroupResource, req.Name, errors.New(why))
		}
	}
	s.warnOfOrphans(req, opts)
	return s.delete(ctx, req, opts)
}

// warnOfOrphans tells a client that says nothing about dependents what becomes of them.
func (s *Store) warnOfOrphans(req *request.Write, opts *meta.DeleteOptions) {
	if text := s.res.Strategy.OrphanWarning; text != "" && opts.PropagationPolicy == nil && opts.OrphanDependents == nil {
		req.Warn(text)
	}
}

// delete is Delete of an object that may be deleted.
func (s *Store) delete(ctx context.Context, req *request.Write, opts *meta.DeleteOptions) (*request.DeleteResult, error) {
	key, err := s.key(req.Namespace, req.Name)
	if err != nil {
		return nil, err
	}
	res, err := s.deleteKey(ctx, key, req, opts)
	return res, s.apiError(err, req.Name)
}

// deleteKey is Delete with the store's errors.
func (s *Store) deleteKey(ctx context.Context, key string, req *request.Write, opts *meta.DeleteOptions) (*request.DeleteResult, error) {
	d := &deletion{write: s.newWrite(req, admission.Delete), ctx: ctx, name: req.Name, key: key, asked: opts}
	defer d.settle(ctx)
	for {
		res, err := d.run()
		if errors.Is(err, storage.Conflict) { // overtaken between the decision and the write: decide again
			continue
		}
		d.ended(err)
		return res, err
	}
}

// run decides on the current state whether to mark or to delete, and does it. It fails with
// storage.Conflict if the state changed meanwhile.
func (d *deletion) run() (*request.DeleteResult, error) {
	opts := cache.UpdateOptions{DryRun: d.r.DryRun, Form: func() uint32 { return d.form }}
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
	if errors.Is(err, storage.NotFound) && d.marked { // somebody else finished what we began, and settles it
		d.again(d.ctx)
		return d.result(obj, true)
	}
	if err != nil {
		return nil, err
	}
	return d.result(deleted, true)
}

// apply decides on the state cur, and makes the marked value if there is one to store.
func (d *deletion) apply(cur *cache.Object) (value []byte, lease storage.LeaseID, err error) {
	d.again(d.ctx) // perhaps the object does not go in this state
	d.marked, d.gone, d.cur = false, false, cur
	own := *d.asked // what the strategy made of another state does not count for this one
	d.opts = &own
	d.r.Now = d.s.now()
	obj, err := d.s.reader.hub(d.ctx, cur)
	if err != nil {
		return nil, 0, err
	}
	if err := d.s.mayDelete(obj.GetObjectMeta(), d.opts.Preconditions); err != nil {
		return nil, 0, err // before admission: it is not the object that was meant
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
	if d.gone { // before the mark: whoever refuses that the object goes finds it as it was
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

// decide applies the deletion to obj. marked: obj has changed and must be stored; gone: it can be
// deleted (after that).
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
	case terminate != nil && m.DeletionTimestamp == nil: // what is emptied first only begins to go, even if nothing holds it
		m.DeletionTimestamp = &meta.Time{Time: d.r.Now}
		terminate(obj)
		return true, false, nil
	case terminate != nil && d.s.res.Strategy.Held != nil && d.s.res.Strategy.Held(obj): // it is being emptied
		return false, false, nil
	case graceful && (held || *d.opts.GracePeriodSeconds > 0):
		return true, false, nil
	case graceful: // zero grace: tell watchers, then delete
		return true, true, nil
	case held:
		d.markDeleting(m)
		return true, false, nil
	default:
		return false, true, nil
	}
}

// markDeleting sets the deletion time of an object that only its finalizers hold. One that is set
// stays, whatever the clock says (it may be another server's), unless it lies ahead because of a
// grace period, which ends here.
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

// grace decides about the grace period. pending means that the deletion has begun and this one adds
// nothing.
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
			// Its time is over. That it is still there means that whoever marked it did not come to
			// delete it.
			return false, false, nil
		case want != nil && *want < *had: // only a shorter time is heard
			ends := m.DeletionTimestamp.Add(time.Duration(*want-*had) * time.Second)
			if ends.Before(d.r.Now) { // not before now, and whoever ends the object gracefully gets to see that
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

// atLeastZero reads a grace period. A negative one means a second.
func atLeastZero(seconds *int64) *int64 {
	if seconds != nil && *seconds < 0 {
		one := int64(1)
		return &one
	}
	return seconds
}

// finalizers returns the finalizers with those of the garbage collector as the propagation policy
// wants them.
func (d *deletion) finalizers(m *meta.ObjectMeta) (list []string, changed bool) {
	strategy := &d.s.res.Strategy
	if strategy.NoGarbageCollection || d.s.cfg.NoGarbageCollection {
		return m.Finalizers, false
	}
	orphan, foreground := slices.Contains(m.Finalizers, finalizerOrphan), slices.Contains(m.Finalizers, finalizerForeground)
	wantOrphan, wantForeground := orphan, foreground && !orphan
	if !orphan && !foreground {
		wantOrphan = strategy.OrphanByDefault
	}
	switch policy := d.opts.PropagationPolicy; {
	case d.opts.OrphanDependents != nil:
		wantOrphan, wantForeground = *d.opts.OrphanDependents, false
	case policy == nil:
	default:
		wantOrphan, wantForeground = *policy == meta.DeletePropagationOrphan, *policy == meta.DeletePropagationForeground
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

// mayDelete compares the uid and resourceVersion that the client insists on.
func (s *Store) mayDelete(m *meta.ObjectMeta, p *meta.Preconditions) error {
	if p == nil {
		return nil
	}
	gk := s.groupKind()
	gr := meta.GroupResource{Group: gk.Group, Resource: gk.Kind}
	otherUID := "the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated"
	otherVersion := "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). " +
		"The object might have been modified"
	if s.res.Strategy.Terminate != nil { // kube-apiserver looks before it begins to empty them, in other words
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

// admit asks the admission plugins about deleting old.
func (d *deletion) admit() error {
	d.attrs.Old, d.attrs.Options = d.old, d.opts
	if err := d.admission().Mutate(d.ctx, d.attrs); err != nil {
		return err
	}
	return d.admission().Validate(d.ctx, d.attrs)
}

// result answers with the object, or for kinds that do not return it and are gone, a Status. What
// is emptied first is returned, although OpenAPI does not say so, as kube-apiserver does.
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
