package embedded

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// The database file never shrinks by itself, so if it has grown to the quota, or there is little room on the disk, with much
// of it unused, writes are refused for the moment that it takes to rewrite it. If it is full of history, the history is
// forgotten first. The log is let go of. Only a store that is full of present objects stays so, until some are deleted, and
// only a disk that others have filled.

const (
	// roomAgain is the time between two attempts to make room that were of no use.
	roomAgain = 10 * time.Second
	// logKept is how many segments the log has anyway: the one it writes, and the next.
	logKept = 2
	// defragBytes is how much of the database must be unused for it to be rewritten at the start.
	defragBytes = 256 << 20
)

func (r *room) run(ctx context.Context) {
	tick := time.NewTicker(idleAge)
	defer tick.Stop()
	kick, rest := r.kick, time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.look()
		case <-rest.C:
			kick = r.kick
		case <-kick:
			if !r.make(ctx) {
				kick = nil
				rest.Reset(roomAgain)
			}
		}
	}
}

// make frees what can be freed, and reports whether that was of use.
func (r *room) make(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	size, _ := r.store.Size()
	full := size >= r.quota*3/4
	var err error
	if full {
		err = r.shrink(ctx, r.quota)
	} else if size >= leastReserve {
		err = r.shrink(ctx, size)
	}
	if err == nil {
		err = r.releaseLog()
	}
	r.look()
	now, used := r.store.Size()
	if full {
		r.log.Warn("the database had reached its quota", zap.Int64("quota", r.quota),
			zap.Int64("size", now), zap.Int64("used", used), zap.Error(err))
	} else if err != nil {
		r.log.Warn("no room could be made on the disk", zap.Int64("size", now), zap.Int64("used", used), zap.Error(err))
	}
	return err == nil && now < size && now < r.quota*3/4
}

// shrink rewrites the database if it has at most half of a size in use.
func (r *room) shrink(ctx context.Context, size int64) error {
	be := r.store.member.be
	enough := func() bool { return be.SizeInUse() < size/2 }
	if !enough() {
		now, err := r.store.Revision(ctx)
		if err != nil {
			return err
		}
		done, err := r.store.compact(ctx, now)
		if err != nil {
			return err
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		be.ForceCommit()
	}
	if _, free := r.left(); enough() && free > be.SizeInUse() { // for the copy
		return r.store.trim.without(be.Defrag)
	}
	return nil
}

// releaseLog lets go of the log, if it is long.
func (r *room) releaseLog() error {
	if logBytes(r.dir) <= (logKept+2)*segmentBytes {
		return nil
	}
	return r.store.member.releaseLog()
}

// roomToRewrite reports whether the disk has room for another database, beside what is kept free.
func roomToRewrite(dir string) bool {
	free, size := space(dir)
	return free-reserve(size) >= allocated(dbPath(dir))
}
