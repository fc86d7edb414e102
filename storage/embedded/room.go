package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// The backend ends the process if it cannot write: a full disk would take the reads with it. So writes are refused before,
// while what it writes by itself still has room: it ends leases, compacts, saves snapshots, and begins segments of its log.
const (
	// What is kept free is a part of the disk, within bounds. The lower one is the segment of the log that the log
	// is about to allocate, another that it begins with what was admitted before, and as much again. What frees room
	// may take half of it.
	reservePart  = 32
	leastReserve = 4 * segmentBytes
	mostReserve  = 256 << 20

	// Writes are admitted against a share of the room there was at the last look, at most half of it, so that looks are
	// few where there is much, and come closer together towards the end.
	mostShare = 64 << 20
	// nearEnd is the room below which the database is committed before a look, which shows what it has taken in.
	nearEnd = 1 << 30
	// lookAge is for how long a look holds, since others may fill the disk as well. When it has found nothing, there is
	// no other before. idleAge is the same while nothing is written.
	lookAge = 100 * time.Millisecond
	idleAge = 10 * time.Second

	// Writes are refused from when less than the one may be written until it is the other.
	lastRoom  = 1 << 20
	roomBegin = segmentBytes
)

// What a request may take of the disk: the log has it once and the database up to three times, since a page is written
// anew with its neighbours before the old ones are free.
const (
	costFactor  = 4
	costRequest = int64(4 << 10)
	costCompact = int64(4 << 20)
)

var (
	// errFull refuses a write for which the database has no room, errDisk one that might fill the disk.
	errFull = errors.New("the database is full")
	errDisk = fmt.Errorf("%w: the disk has too little room", errFull)
)

// room says whether a write may be done, for the quota of the database and for the disk below it; and it makes room (see
// make.go). The disk's bounds are those of the file system, and that of the size of a file if the process has one.
type room struct {
	store *Store
	dir   string
	quota int64
	log   *zap.Logger

	writes, frees share        // frees is for what makes room: deletions, compaction
	underway      atomic.Int64 // the cost of what has been admitted and not answered
	free          atomic.Int64 // at the last look
	looked        atomic.Int64 // when that was, in nanoseconds since born
	born          time.Time

	mu struct {
		sync.Mutex
		low bool // writes are refused
	}

	kick  chan struct{} // capacity 1: a write has been refused
	retry time.Time     // when the database may be defragmented again after that has failed; owned by run
	stop  context.CancelFunc
	done  sync.WaitGroup
}

// share is what may be admitted until the next look.
type share struct {
	left    atomic.Int64
	granted int64 // guarded by room.mu; left then
}

func newRoom(s *Store, dir string, quota int64, log *zap.Logger) *room {
	return &room{store: s, dir: dir, quota: quota, log: log, born: time.Now(), kick: make(chan struct{}, 1)}
}

// open looks at the disk and begins the loop, which goes by way of the store's room.
func (r *room) open() {
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	r.look()
	r.done.Go(func() { r.run(ctx) })
}

// close ends the loop.
func (r *room) close() {
	r.stop()
	r.done.Wait()
}

// take admits a request, until give, or refuses it.
func (r *room) take(size, cost int64, frees bool) error {
	if size > 0 && r.store.member.be.Size()+size >= r.quota {
		signal(r.kick)
		return errFull
	}
	s := &r.writes
	if frees {
		s = &r.frees
	}
	r.underway.Add(cost) // first, so that no look misses it
	if (s.left.Add(-cost) < 0 || !r.fresh()) && !r.refill(s, cost) {
		r.give(cost)
		return errDisk
	}
	return nil
}

// give takes back what take has admitted.
func (r *room) give(cost int64) { r.underway.Add(-cost) }

// fresh reports whether the last look still holds.
func (r *room) fresh() bool { return time.Since(r.born)-time.Duration(r.looked.Load()) < lookAge }

// refill admits a request after a look at the disk, unless there has been one.
func (r *room) refill(s *share, cost int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh() {
		if s.left.Add(-cost) >= 0 { // somebody else has looked
			return true
		}
		if s.granted < cost {
			return false
		}
	}
	if s == &r.writes {
		r.lookLocked(cost, 0)
	} else {
		r.lookLocked(0, cost)
	}
	return s.left.Add(-cost) >= 0
}

// look looks at the disk.
func (r *room) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookLocked(0, 0)
}

// lookLocked looks at the disk, for a write or a request that makes room, of some cost.
func (r *room) lookLocked(write, free int64) {
	writes, frees := r.left()
	if writes < nearEnd && (r.writes.used() || r.frees.used()) {
		r.store.commit()
		writes, frees = r.left()
	}
	least := max(lastRoom, write)
	if r.mu.low {
		least = roomBegin
	}
	if low := writes < least; low != r.mu.low {
		r.mu.low = low
		msg := "the disk has room again: writes are accepted"
		if low {
			msg = "the disk has too little room: writes are refused until there is more"
		}
		r.log.Warn(msg, zap.String("dir", r.dir), zap.Int64("free", r.free.Load()))
	}
	if r.mu.low {
		writes = 0
		signal(r.kick)
	}
	underway := r.underway.Load() - write - free
	r.writes.grant(writes-underway, write)
	r.frees.grant(frees-underway, free)
	r.looked.Store(int64(time.Since(r.born)))
}

// grant makes a share of what may be written, of which a request of some cost may take all. Nothing is admitted if that is
// 0 or less.
func (s *share) grant(room, cost int64) {
	s.granted = min(room/2, mostShare)
	if cost <= room {
		s.granted = max(s.granted, cost)
	}
	s.left.Store(s.granted)
}

// used reports whether anything has been admitted or refused since the last look.
func (s *share) used() bool { return s.left.Load() != s.granted }

// left returns what may be written to the disk, and what by requests that make room; of that something is under way.
func (r *room) left() (writes, frees int64) {
	file, used := r.store.Size()
	free, size := space(r.dir)
	r.free.Store(free)
	writes, frees = beyond(free, size)
	if writes < nearEnd {
		// What the database has allocated and does not use can stand in for a part of the reserve, not for the log's.
		writes += max(0, min(allocated(dbPath(r.dir))-used, reserve(size)/2-segmentBytes))
	}
	if limit := fileLimit(); limit != unbounded {
		// The database grows in steps; a segment of the log is longer than the others by what is written at once.
		w, f := beyond(limit-max(file+growth-segmentBytes, segmentBytes), limit)
		writes, frees = min(writes, w), min(frees, f)
	}
	return writes, frees
}

// unbounded is more than any disk has. It can be added to.
const unbounded = math.MaxInt64 / 2

// growth is the step in which the database file grows.
const growth = 16 << 20

// beyond returns what is free beyond the reserve, and beyond the half of it.
func beyond(free, size int64) (writes, frees int64) {
	return free - reserve(size), free - reserve(size)/2
}

// reserve is what is kept free of a disk of some size.
func reserve(size int64) int64 { return min(max(size/reservePart, leastReserve), mostReserve) }

func dbPath(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// Free implements storage.Bounded.
func (s *Store) Free() (bytes int64, known bool) {
	free := s.room.free.Load()
	return free, free != unbounded
}
