package controller

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// Election lets one of the servers that share a store do something: the one that holds a Lease, as leader election of
// client-go has it. It is no lock: for a moment two may think that they hold it, so what they do must stand that.
type Election struct {
	Client *client.Client
	// Lease is what is held, in the namespace kube-system.
	Lease string
	// Identity tells the servers apart.
	Identity string
	Log      *zap.Logger
}

// A Lease is held for leaseTime after its last renewal. Its holder renews it every renewPause, and gives up when that has failed
// for renewTime; others look every lookPause, which is also how soon they follow a holder that has let go.
const (
	leaseTime  = 15 * time.Second
	renewTime  = 10 * time.Second
	renewPause = 5 * time.Second
	lookPause  = 2 * time.Second
)

// Run calls lead each time when the Lease is this server's, and ends its context when it no longer is. It returns when ctx has
// ended, lead has returned, and the Lease is let go.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context)) {
	var seen sighting
	for ctx.Err() == nil {
		lease, err := e.leases().Get(ctx, e.Lease, meta.GetOptions{})
		switch {
		case err != nil && !meta.IsNotFound(err):
			e.Log.Debug("cannot read the lease", zap.Error(err))
		case err != nil:
			lease, err = e.leases().Create(ctx, e.held(nil), meta.CreateOptions{})
		case seen.free(lease, e.Identity):
			lease, err = e.leases().Update(ctx, e.held(lease), meta.UpdateOptions{})
		default:
			lease = nil
		}
		if err == nil && lease != nil {
			e.Log.Info("leading")
			e.lead(ctx, lease, lead)
			continue
		}
		pause(ctx, lookPause)
	}
}

// lead runs lead while the Lease can be renewed.
func (e *Election) lead(ctx context.Context, lease *coordinationv1.Lease, lead func(ctx context.Context)) {
	term, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lead(term)
	}()
	for renewed := time.Now(); time.Since(renewed) < renewTime && pause(ctx, renewPause); {
		next, err := e.leases().Update(ctx, e.held(lease), meta.UpdateOptions{})
		if meta.IsConflict(err) { // another has it, or somebody has written into it
			if next, err = e.leases().Get(ctx, e.Lease, meta.GetOptions{}); err == nil && holder(next) != e.Identity {
				break
			}
		}
		if err != nil {
			e.Log.Warn("cannot renew the lease", zap.Error(err))
			continue
		}
		lease, renewed = next, time.Now()
	}
	end()
	<-ended
	e.release(context.WithoutCancel(ctx), lease)
	e.Log.Info("not leading any more")
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
		e.Log.Debug("cannot release the lease", zap.Error(err))
	}
}

// held is the Lease as this server wants it next, from its last state, nil for none.
func (e *Election) held(last *coordinationv1.Lease) *coordinationv1.Lease {
	now, seconds, changes := meta.MicroTime{Time: time.Now().UTC()}, int32(leaseTime/time.Second), int32(0)
	next := &coordinationv1.Lease{ObjectMeta: meta.ObjectMeta{Namespace: "kube-system", Name: e.Lease}}
	acquired := &now
	if last != nil {
		next.ObjectMeta = last.ObjectMeta
		if last.Spec.LeaseTransitions != nil {
			changes = *last.Spec.LeaseTransitions
		}
		if holder(last) == e.Identity {
			acquired = last.Spec.AcquireTime
		} else {
			changes++
		}
	}
	next.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &e.Identity, LeaseDurationSeconds: &seconds, AcquireTime: acquired, RenewTime: &now, LeaseTransitions: &changes,
	}
	return next
}

func (e *Election) leases() client.Resource[*coordinationv1.Lease] { return leasesOf(e.Client) }

func leasesOf(c *client.Client) client.Resource[*coordinationv1.Lease] {
	return client.For[*coordinationv1.Lease](c, coordinationv1.GroupVersion.WithResource("leases")).In("kube-system")
}

// sighting is a state of a Lease and since when it has been known, by the clock of this process: the holder's may be another.
type sighting struct {
	version string
	since   time.Time
}

// free reports whether nobody holds a Lease but who: it has been let go, or not been renewed for its time since it was seen first.
func (s *sighting) free(lease *coordinationv1.Lease, who string) bool {
	return holder(lease) == "" || holder(lease) == who || s.expires(lease) <= 0
}

// expires is how long a Lease is held if it is not renewed. One that was over by its own words when it was seen first was not
// held.
func (s *sighting) expires(lease *coordinationv1.Lease) time.Duration {
	lasts := leaseTime
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		lasts = time.Duration(*seconds) * time.Second
	}
	if s.version != lease.ResourceVersion {
		first := s.version == ""
		s.version, s.since = lease.ResourceVersion, time.Now()
		if renewed := lease.Spec.RenewTime; first && renewed != nil && time.Since(renewed.Time) > lasts {
			s.since = s.since.Add(-lasts)
		}
	}
	return lasts - time.Since(s.since)
}

func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// pause waits, and reports whether ctx lasted that long.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
