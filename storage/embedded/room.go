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

// Room: whether quota and disk allow a write. The backend ends the process if it cannot write, so a
// full disk would end the reads, too. Writes are therefore refused earlier, while there is still
// room for what the member writes by itself: it ends leases, compacts, saves snapshots and begins
// segments of its log. Store.do (write.go) calls take and give.
const (
	// The reserve is a part of the disk, within bounds. The lower bound is the segment that the log
	// allocates next, another one that it begins with requests admitted earlier, and as much again.
	// Requests that free room may use half of the reserve.
	reservePart  = 32
	leastReserve = 4 * segmentBytes
	mostReserve  = 256 << 20

	// Writes are admitted against a share of the room at the last look, at most half of it. So
	// looks are rare while there is much room, and become frequent towards the end.
	mostShare = 64 << 20
	// nearEnd is the room below which the database is committed before a look, so that the look
	// sees its true size.
	nearEnd = 1 << 30
	// lookAge is how long a look holds, because other processes may fill the disk. A look that
	// found no room is not repeated earlier. idleAge is the interval of looks while nothing is
	// written.
	lookAge = 100 * time.Millisecond
	idleAge = 10 * time.Second

	// Writes are refused when less than lastRoom may be written, until it is at least roomBegin.
	lastRoom  = 1 << 20
	roomBegin = segmentBytes
)

// The cost of a request is what it may take of the disk, in bytes. The log holds it once and the
// database up to three times, because changed pages are written anew before the old ones are free.
const (
	costFactor  = 4
	costRequest = int64(4 << 10)
	costCompact = int64(4 << 20)
)

var (
	// errFull refuses a write for which the database has no room, errDisk one that might fill the
	// disk.
	errFull = errors.New("the database is full")
	errDisk = fmt.Errorf("%w: the disk has too little room", errFull)
)

// room decides whether a write may be done, by the quota of the database and the free space of the
// disk, and makes room (make.go). The disk's bounds are those of the file system and the process's
// limit on the size of a file.
type room struct {
	store *Store
	dir   string
	quota int64
	log   *zap.Logger

	writes, frees share        // frees is for requests that make room: deletions, compactions
	underway      atomic.Int64 // cost of the requests that have been admitted and not given back
	free          atomic.Int64 // bytes free at the last look
	looked        atomic.Int64 // time of the last look, in nanoseconds since born
	born          time.Time

	mu struct {
		sync.Mutex
		low bool // writes are refused
	}

	kick  chan struct{} // capacity 1; a write has been refused
	retry time.Time     // when defragment may try again after a failure; owned by run
	stop  context.CancelFunc
	done  sync.WaitGroup
}

// share is the cost that may be admitted until the next look.
type share struct {
	left    atomic.Int64
	granted int64 // what left was after the last look; guarded by room.mu
}

func newRoom(s *Store, dir string, quota int64, log *zap.Logger) *room {
	return &room{store: s, dir: dir, quota: quota, log: log, born: time.Now(), kick: make(chan struct{}, 1)}
}

// open looks at the disk and starts the loop. The loop uses the store's room, so s.room must be
// set.
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

// take admits a request or refuses it. An admitted request counts as under way until the caller
// calls give. size is what it adds to the database, and cost what it may take of the disk. frees
// says that it makes room, and may use a part of the reserve.
func (r *room) take(size, cost int64, frees bool) error {
	if size > 0 && r.store.member.be.Size()+size >= r.quota {
		signal(r.kick)
		return errFull
	}
	s := &r.writes
	if frees {
		s = &r.frees
	}
	r.underway.Add(cost) // before the check, so that no look misses it
	if (s.left.Add(-cost) < 0 || !r.fresh()) && !r.refill(s, cost) {
		r.give(cost)
		return errDisk
	}
	return nil
}

// give ends the request that take has admitted.
func (r *room) give(cost int64) { r.underway.Add(-cost) }

// fresh reports whether the last look still holds.
func (r *room) fresh() bool { return time.Since(r.born)-time.Duration(r.looked.Load()) < lookAge }

// refill looks at the disk, unless another request has just done so, and reports whether a request
// is admitted.
func (r *room) refill(s *share, cost int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh() {
		if s.left.Add(-cost) >= 0 { // another request has looked meanwhile
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

// lookLocked looks at the disk and sets the shares. write or free is the cost of the request that
// asks for it; it is counted in underway, and may take all of its share.
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

// grant makes a share of room, of which a request of the given cost may take all. If room is 0 or
// less, nothing is admitted.
func (s *share) grant(room, cost int64) {
	s.granted = min(room/2, mostShare)
	if cost <= room {
		s.granted = max(s.granted, cost)
	}
	s.left.Store(s.granted)
}

// used reports whether anything has been admitted or refused since the last look.
func (s *share) used() bool { return s.left.Load() != s.granted }

// left returns how many bytes writes may take of the disk, and how many requests that make room may
// take. Requests under way are not subtracted.
func (r *room) left() (writes, frees int64) {
	file, used := r.store.Size()
	free, size := space(r.dir)
	r.free.Store(free)
	writes, frees = beyond(free, size)
	if writes < nearEnd {
		// Unused pages of the database can stand in for a part of the reserve, but not for the
		// log's segment.
		writes += max(0, min(allocated(dbPath(r.dir))-used, reserve(size)/2-segmentBytes))
	}
	if limit := fileLimit(); limit != unbounded {
		// The database grows in steps of growth. A segment of the log may be longer than
		// segmentBytes by one batch.
		w, f := beyond(limit-max(file+growth-segmentBytes, segmentBytes), limit)
		writes, frees = min(writes, w), min(frees, f)
	}
	return writes, frees
}

// unbounded is more than any disk has. Sums with it do not overflow.
const unbounded = math.MaxInt64 / 2

// growth is the step in which the database file grows, in bytes.
const growth = 16 << 20

// beyond returns how much of free is beyond the reserve, and beyond half of the reserve.
func beyond(free, size int64) (writes, frees int64) {
	return free - reserve(size), free - reserve(size)/2
}

// reserve returns how many bytes of a disk of the given size are kept free.
func reserve(size int64) int64 { return min(max(size/reservePart, leastReserve), mostReserve) }

func dbPath(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// Free implements storage.Bounded.
func (s *Store) Free() (bytes int64, known bool) {
	free := s.room.free.Load()
	return free, free != unbounded
}
