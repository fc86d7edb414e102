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
	// Client reads and writes the Lease.
	Client *client.Client
	// Lease is the name of the Lease, in the namespace kube-system.
	Lease string
	// Identity names this server as a holder. No two servers may have the same.
	Identity string
	// Log is told when this server begins and ceases to lead, and of failures. It is required.
	Log *zap.Logger
}

// A Lease expires leaseTime after its last renewal. The holder renews it every renewPause. If no
// renewal has succeeded for renewTime, the holder stops its work; renewTime is shorter than
// leaseTime because clocks run at different speeds. The other servers read the Lease every
// lookPause, so after a holder has released the Lease, another server leads lookPause later at the
// latest. The holder also tries a failed renewal again after lookPause.
const (
	leaseTime  = 15 * time.Second
	renewTime  = 10 * time.Second
	renewPause = 5 * time.Second
	lookPause  = 2 * time.Second
)

// errHeld says that another server holds the Lease.
var errHeld = errors.New("another server holds the lease")

// Run calls lead each time this server gets the Lease, and ends lead's context when the server
// loses the Lease. Run returns when ctx has ended, lead has returned, and Run has tried to release
// the Lease.
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

// lead runs the function lead until this server loses the Lease, and then releases the Lease. asked
// is the time just before the request that got the Lease: renewTime counts from it.
func (e *Election) lead(
	ctx context.Context, lease *coordinationv1.Lease, asked time.Time, lead func(ctx context.Context),
) {
	term, end := context.WithCancel(ctx)
	defer end()
	// over ends the term even while a renewal waits for its answer.
	over := time.AfterFunc(time.Until(asked.Add(renewTime)), end)
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

// hold takes or renews the Lease for leaseTime, and returns the Lease as it is then. last is the
// Lease as this server wrote it last, or nil if this server does not hold it. If another server
// holds the Lease, the error is errHeld.
func (e *Election) hold(
	ctx context.Context, last *coordinationv1.Lease, seen *sighting,
) (*coordinationv1.Lease, error) {
	if last != nil {
		lease, err := e.leases().Update(ctx, e.held(last), meta.UpdateOptions{})
		if !meta.IsConflict(err) && !meta.IsNotFound(err) {
			return lease, err
		}
		// Another client has changed or deleted the Lease since, so it is read again.
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

// release empties the holder of the Lease, so that another server can take it at once.
func (e *Election) release(ctx context.Context, lease *coordinationv1.Lease) {
	ctx, cancel := context.WithTimeout(ctx, lookPause)
	defer cancel()
	free := e.held(lease)
	free.Spec.HolderIdentity = new(string)
	seconds := int32(1) // for servers that look only at the time and not at the holder
	free.Spec.LeaseDurationSeconds = &seconds
	if _, err := e.leases().Update(ctx, free, meta.UpdateOptions{}); err != nil && !meta.IsConflict(err) {
		e.Log.Warn("cannot release the lease", zap.String("lease", e.Lease), zap.Error(err))
	}
}

// held returns the Lease that this server writes to hold it for leaseTime from now on. last is the
// Lease as it is stored, or nil if there is none.
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
// first. A Lease expires if its version stays the same for its duration by the clock of this
// process, because the holder's clock may differ.
type sighting struct {
	version string    // resourceVersion; "" before the first Lease was seen
	since   time.Time // when version was seen first
}

// maxSkew is the largest difference between two servers' clocks that is allowed for. When this
// process sees a Lease for the first time and the Lease expired more than maxSkew ago by its
// renewTime, it counts as expired at once, without another wait for its duration.
const maxSkew = time.Minute

// free reports whether the server with the identity who may take the Lease. It may if it holds the
// Lease already, if the holder has released the Lease, or if the Lease has expired.
func (s *sighting) free(lease *coordinationv1.Lease, who string) bool {
	return holder(lease) == "" || holder(lease) == who || s.expires(lease) <= 0
}

// expires returns the time that is left until the Lease expires, unless its holder renews it
// before; the time is 0 or less if the Lease has expired. If the version of the Lease is new,
// expires records it.
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
