package controller

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// This file is leader election with a Lease, and the reading of other holders' Leases (sighting),
// which Yield uses too. Package server runs all its controllers in one Election.

// Election chooses one of the servers that share a store: the server that holds a Lease leads, as
// in client-go's leader election. An Election is no lock: a server whose process was paused may
// lead for a moment longer than its Lease lasts, so the work must tolerate two leaders at once.
type Election struct {
	Client *client.Client
	// Lease is the name of the Lease, in the namespace kube-system.
	Lease string
	// Identity names this server as a holder. No two servers may have the same.
	Identity string
	Log      *zap.Logger
}

// A Lease expires leaseTime after its last renewal. The holder renews it every renewPause. If no
// renewal has succeeded for renewTime, the holder stops its work; the difference to leaseTime
// allows for clocks that run at different speeds. The other servers read the Lease every lookPause:
// that is the longest time until one of them follows a holder that has released the Lease. The
// holder also tries a failed renewal again after lookPause.
const (
	leaseTime  = 15 * time.Second
	renewTime  = 10 * time.Second
	renewPause = 5 * time.Second
	lookPause  = 2 * time.Second
)

// errHeld says that another server holds the Lease.
var errHeld = errors.New("another server holds the lease")

// Run calls lead each time this server gets the Lease, and ends lead's context when the server
// loses the Lease. Run returns when ctx has ended, lead has returned, and the Lease is let go.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context)) {
	var seen sighting
	for ctx.Err() == nil {
		asked := time.Now()
		lease, err := e.hold(ctx, nil, &seen)
		if err == nil {
			e.Log.Info("leading", zap.String("lease", e.Lease))
			e.lead(ctx, lease, asked, lead)
			e.Log.Info("no longer leading", zap.String("lease", e.Lease))
		} else if err != errHeld {
			e.Log.Debug("cannot take the lease", zap.String("lease", e.Lease), zap.Error(err))
		}
		Pause(ctx, lookPause)
	}
}

// lead runs lead while the Lease, which was asked for at the time given, can be renewed.
func (e *Election) lead(
	ctx context.Context, lease *coordinationv1.Lease, asked time.Time, lead func(ctx context.Context),
) {
	term, end := context.WithCancel(ctx)
	defer end()
	over := time.AfterFunc(time.Until(asked.Add(renewTime)), end) // also while a renewal gets no answer
	defer over.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lead(term)
	}()
	var seen sighting
	for wait := renewPause; Pause(term, wait); {
		asked = time.Now()
		next, err := e.hold(term, lease, &seen)
		switch {
		case err == nil:
			lease, wait = next, renewPause
			if over.Stop() {
				over.Reset(time.Until(asked.Add(renewTime)))
			}
		case err == errHeld:
			end()
		default:
			e.Log.Warn("cannot renew the lease", zap.String("lease", e.Lease), zap.Error(err))
			wait = lookPause
		}
	}
	<-ended
	e.release(context.WithoutCancel(ctx), lease)
}

// hold makes the Lease this server's for another leaseTime and returns it. last is the state in
// which this server knows it to be its own, nil for none. The error is errHeld if it is another's.
func (e *Election) hold(
	ctx context.Context, last *coordinationv1.Lease, seen *sighting,
) (*coordinationv1.Lease, error) {
	if last != nil {
		lease, err := e.leases().Update(ctx, e.held(last), meta.UpdateOptions{})
		if !meta.IsConflict(err) && !meta.IsNotFound(err) { // somebody has written into it, or deleted it
			return lease, err
		}
	}
	lease, err := e.leases().Get(ctx, e.Lease, meta.GetOptions{})
	switch {
	case meta.IsNotFound(err):
		return e.leases().Create(ctx, e.held(nil), meta.CreateOptions{})
	case err != nil:
		return nil, err
	case !seen.free(lease, e.Identity):
		return nil, errHeld
	}
	return e.leases().Update(ctx, e.held(lease), meta.UpdateOptions{})
}

// release lets others have the Lease at once.
func (e *Election) release(ctx context.Context, lease *coordinationv1.Lease) {
	ctx, cancel := context.WithTimeout(ctx, lookPause)
	defer cancel()
	free := e.held(lease)
	free.Spec.HolderIdentity = new(string)
	seconds := int32(1) // how soon others that go by the time alone may have it
	free.Spec.LeaseDurationSeconds = &seconds
	if _, err := e.leases().Update(ctx, free, meta.UpdateOptions{}); err != nil && !meta.IsConflict(err) {
		e.Log.Warn("cannot release the lease", zap.String("lease", e.Lease), zap.Error(err))
	}
}

// held is the Lease as this server wants it next, from its last state, nil for none.
func (e *Election) held(last *coordinationv1.Lease) *coordinationv1.Lease {
	now, seconds, changes := meta.MicroTime{Time: time.Now().UTC()}, int32(leaseTime/time.Second), int32(0)
	next := &coordinationv1.Lease{ObjectMeta: meta.ObjectMeta{Namespace: "kube-system", Name: e.Lease}}
	acquired := &now
	if last != nil {
		next.ObjectMeta = last.ObjectMeta
		changes = scheme.OrZero(last.Spec.LeaseTransitions)
		if holder(last) == e.Identity {
			acquired = last.Spec.AcquireTime
		} else {
			changes++
		}
	}
	next.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       &e.Identity,
		LeaseDurationSeconds: &seconds,
		AcquireTime:          acquired,
		RenewTime:            &now,
		LeaseTransitions:     &changes,
	}
	return next
}

// leases returns the resource of the Election's Lease.
func (e *Election) leases() client.Resource[*coordinationv1.Lease] { return leasesOf(e.Client) }

// leasesOf returns the Leases of the namespace kube-system.
func leasesOf(c *client.Client) client.Resource[*coordinationv1.Lease] {
	return client.For[*coordinationv1.Lease](c, coordinationv1.GroupVersion.WithResource("leases")).In("kube-system")
}

// sighting is the last version of a Lease that this process saw, and when it saw that version
// first. Expiry is measured by this process's clock, because the holder's clock may differ.
type sighting struct {
	version string
	since   time.Time
}

// maxSkew is the largest difference between two servers' clocks that is allowed for. If the first
// version seen expired longer ago than maxSkew, by its renewTime, the Lease is free at once.
const maxSkew = time.Minute

// free reports whether who may take the Lease: who holds it already, its holder released it, or its
// holder has not renewed it for its duration since this version was seen first.
func (s *sighting) free(lease *coordinationv1.Lease, who string) bool {
	return holder(lease) == "" || holder(lease) == who || s.expires(lease) <= 0
}

// expires returns the time until the Lease expires if its holder does not renew it; 0 or less if it
// has expired. It records the version of the Lease if that version is new.
func (s *sighting) expires(lease *coordinationv1.Lease) time.Duration {
	lasts := leaseTime
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		lasts = time.Duration(*seconds) * time.Second
	}
	if s.version != lease.ResourceVersion {
		first := s.version == ""
		s.version, s.since = lease.ResourceVersion, time.Now()
		if renewed := lease.Spec.RenewTime; first && renewed != nil && time.Since(renewed.Time) > lasts+maxSkew {
			s.since = s.since.Add(-lasts)
		}
	}
	return lasts - time.Since(s.since)
}

// holder returns the identity of the server that holds a Lease, or "" if it was released.
func holder(lease *coordinationv1.Lease) string { return scheme.OrZero(lease.Spec.HolderIdentity) }

// Pause waits for d and returns true, or returns false as soon as ctx ends.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
