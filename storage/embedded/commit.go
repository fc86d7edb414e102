package embedded

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
)

// The backend keeps in memory what its database has taken in, and commits that at intervals, for which it wakes up whether
// there is anything or not. So the backend's own interval is long, and a loop that sleeps until something is written commits.
// A crash loses nothing of it: the log has it, and is replayed from the last commit. The loop saves snapshots as well.
//
// Commits are also what makes the mapping of the database grow (see trimmer).

const (
	// commitAge is how long what has been written is not committed, at most.
	commitAge = 100 * time.Millisecond
	// backendRest is the backend's own interval: it has nothing to do then.
	backendRest = time.Hour
)

// committer commits the database some time after something has been written, and ends leases.
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

// close ends the loops. What has not been committed is when the member ends.
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

// commit brings what the database has taken in to the disk.
func (s *Store) commit() {
	if s.enter("commit", "") == nil {
		defer s.life.RUnlock()
		s.member.be.ForceCommit()
	}
}
