package embedded

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// The loop that makes room when room has refused a write. If the database file has grown to the
// quota, or the disk has little room, and much of the file is unused, the loop defragments it
// (defragment.go), and writes are refused until that is done. If the file is full of history, the
// loop compacts it first. It also releases the log, if the log is long. So a store stays full only
// if its present objects fill it, and a disk only if other files do.

const (
	// roomAgain is the pause after an attempt that made no room.
	roomAgain = 10 * time.Second
	// logKept is the number of segments that the log always has: the one it writes, and the next.
	logKept = 2
)

// run makes room when take has refused a request. Every idleAge it looks at the disk, trims the
// mapping of the database, and defragments the database if much of it is free.
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
			r.store.member.trim.atRest()
			if !time.Now().Before(r.retry) {
				r.defragment(ctx)
			}
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

// make frees what can be freed, and reports whether that helped.
func (r *room) make(ctx context.Context) bool {
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

// shrink defragments the database if at most half of size is in use, after a compaction if
// necessary.
func (r *room) shrink(ctx context.Context, size int64) error {
	be := r.store.member.be
	enough := func() bool { return be.SizeInUse() < size/2 }
	if !enough() {
		now, err := r.store.Revision(ctx)
		if err != nil {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		done, err := r.store.compact(soon, now)
		if err != nil {
			return err
		}
		select {
		case <-done:
		case <-soon.Done():
			return soon.Err()
		}
		be.ForceCommit()
	}
	if _, free := r.left(); enough() && free > be.SizeInUse()+growth {
		return r.store.copy(ctx)
	}
	return nil
}

// releaseLog saves a snapshot and deletes old segments, if the log is long.
func (r *room) releaseLog() error {
	if logBytes(r.dir) <= (logKept+2)*segmentBytes {
		return nil
	}
	return r.store.member.releaseLog()
}
