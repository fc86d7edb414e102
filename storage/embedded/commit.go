package embedded

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
)

// The backend holds changes in memory and commits them to its database at intervals, for which it
// wakes up even if there are no changes. So its own interval is set to an hour, and a loop in this
// file commits instead: it sleeps until something is written. A crash loses nothing, because a
// start replays the log from the last commit. The loop saves snapshots as well.
//
// Commits make the resident part of the database's mapping grow (see trimmer).

const (
	// commitAge is the longest time from a write to its commit.
	commitAge = 100 * time.Millisecond
	// backendRest is the backend's own interval, after which it finds nothing to commit.
	backendRest = time.Hour
)

// committer commits the database commitAge after a write, and ends leases. It owns two goroutines.
type committer struct {
	store *Store
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func newCommitter(s *Store) *committer {
	ctx, stop := context.WithCancel(context.Background())
	c := &committer{store: s, stop: stop}
	c.done.Go(func() { c.run(ctx) })
	c.done.Go(func() { s.member.endLeases(ctx) })
	return c
}

// close ends the loops. The member's close commits the rest.
func (c *committer) close() {
	c.stop()
	c.done.Wait()
}

func (c *committer) run(ctx context.Context) {
	m := c.store.member
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wrote:
		}
		if storage.Sleep(ctx, commitAge) != nil {
			return
		}
		c.store.commit()
		if m.isLong() {
			if err := m.releaseLog(); err != nil {
				m.log.Warn("no snapshot could be saved", zap.Error(err))
			}
		}
	}
}

// commit commits the changes that the backend holds in memory to the database.
func (s *Store) commit() {
	if s.enter("commit", "") == nil {
		defer s.life.RUnlock()
		s.member.be.ForceCommit()
	}
}
