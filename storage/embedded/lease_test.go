package embedded

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/lease"

	"github.com/coracle-project/coracle/storage"
)

// naming is a lessor that reports the leases as due that the test sends to it.
type naming struct {
	lease.Lessor
	due chan []*lease.Lease
}

func (n naming) ExpiredLeasesC() <-chan []*lease.Lease { return n.due }

// TestLeaseNamedAgain: a lease that was reported as due twice may have ended before. It does not
// hold up the leases that were reported with it.
func TestLeaseNamedAgain(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.commits.close() // ends the store's own loop; the test runs one below
	id, err := s.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Put(t.Context(), "/a", nil, storage.Pre{}, id)
	if err != nil {
		t.Fatal(err)
	}
	l := naming{s.member.lessor, make(chan []*lease.Lease)}
	s.member.lessor = l
	ctx, stop := context.WithCancel(t.Context())
	var ending sync.WaitGroup
	ending.Go(func() { s.member.endLeases(ctx) })
	gone := lease.NewLease(lease.LeaseID(id)+1, 1)
	l.due <- []*lease.Lease{gone, l.Lookup(lease.LeaseID(id))}
	l.due <- nil // endLeases has handled the leases before
	stop()
	ending.Wait()
	if rev := s.member.kv.Rev(); rev != int64(e.Rev)+1 {
		t.Errorf("the lease has not ended: the revision is %d, want %d", rev, e.Rev+1)
	}
}
