package embedded

import (
	"context"
	"sync"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// The server keeps in memory what its database has taken in, and commits that at intervals, for which it wakes up whether
// there is anything or not. So the server's own interval is long, and a loop that sleeps until something is written commits.
// A crash loses nothing of it: the log has it, and is replayed from the last commit.
//
// Commits are also what makes the mapping of the database grow (see trimmer).

const (
	// commitAge is how long what has been written is not committed, at most.
	commitAge = 100 * time.Millisecond
	// commitRest is the same for what the server writes by itself: the ends of leases, and what it notes about itself.
	commitRest = 10 * time.Second
)

// committer commits the database some time after something has been written.
type committer struct {
	store *Store
	kick  chan struct{} // capacity 1: something has been written
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func newCommitter(s *Store) *committer {
	ctx, stop := context.WithCancel(context.Background())
	c := &committer{store: s, kick: make(chan struct{}, 1), stop: stop}
	c.done.Go(func() { c.run(ctx) })
	return c
}

// close ends the loop. What has not been committed is when the server ends.
func (c *committer) close() {
	c.stop()
	c.done.Wait()
}

// wrote is called after a write.
func (c *committer) wrote() { signal(c.kick) }

func (c *committer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		}
		if storage.Sleep(ctx, commitAge) != nil {
			return
		}
		c.store.commit()
		c.store.trim.look()
	}
}

// commit brings what the database has taken in to the disk.
func (s *Store) commit() {
	s.life.RLock()
	defer s.life.RUnlock()
	if !s.IsClosed() {
		s.server.Backend().ForceCommit()
	}
}
