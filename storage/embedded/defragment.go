package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/database"
)

// Defragmentation. Deleted entries leave free pages in the database file. To give them back to the
// disk, the file is copied without them while reads and writes go on (package database). The copy
// replaces the file when both hold the same. After a crash the name refers to one of the two, and
// every acknowledged write is in that file or in the log. The next start removes an unfinished
// copy. The loop in make.go, the operator (Store.Defragment, Defragment) and a start call it.

const (
	// The loop defragments the database if at least this part of it and this number of bytes are
	// free. At a start the bytes alone decide, because no request waits for the disk yet.
	freeNumerator, freeDenominator = 3, 4
	freeBytes                      = 256 << 20
	// defragmentAgain is the time from a failed attempt to the next.
	defragmentAgain = 10 * time.Minute
	// copyRest is the longest pause between two steps of a copy. A pause is as long as the step
	// was, but no longer than this, so that requests get the disk and the processor, too.
	copyRest = 100 * time.Millisecond
)

// Defragment implements storage.Defragmenter. It fails with Unavailable if the disk has no room for
// a copy.
func (s *Store) Defragment(ctx context.Context) (storage.Defragmented, error) {
	var d storage.Defragmented
	d.Before, _ = s.Size()
	if !s.room.roomForCopy() {
		return d, &storage.Error{Op: "defragment", Kind: storage.Unavailable, Err: errDisk}
	}
	err := s.copy(ctx)
	d.After, _ = s.Size()
	return d, err
}

// copy replaces the database by a copy without free pages. One copy runs at a time.
func (s *Store) copy(ctx context.Context) (err error) {
	select {
	case s.copying <- struct{}{}:
		defer func() { <-s.copying }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.closed.Load() {
		return closedError("defragment", "")
	}
	c, err := s.member.be.Copy(copyPath(s.member.dir))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Abandon())
		}
	}()
	for ready := false; !ready; {
		begin, chases := time.Now(), c.Chases()
		if ready, err = c.Step(chases); err != nil {
			return err
		}
		s.member.trim.look()
		rest := min(time.Since(begin), copyRest)
		if chases {
			rest = 0
		}
		if err := s.rest(ctx, rest); err != nil {
			return err
		}
	}
	m := s.member
	m.snapshots.Lock() // a snapshot deletes log that a start would need with the old file
	defer m.snapshots.Unlock()
	if err := m.trim.without(c.Switch); err != nil {
		return err
	}
	if err := syncDir(snapDir(m.dir)); err != nil {
		m.fail(err)
	}
	return nil
}

// rest sleeps between two steps of a copy. It returns an error if the copy must end: the store is
// closed, or the disk has no room.
func (s *Store) rest(ctx context.Context, d time.Duration) error {
	if s.closed.Load() {
		return closedError("defragment", "")
	}
	if _, frees := s.room.left(); frees <= 0 {
		return &storage.Error{Op: "defragment", Kind: storage.Unavailable, Err: errDisk}
	}
	if d == 0 {
		return ctx.Err()
	}
	return storage.Sleep(ctx, d)
}

// defragment defragments the database if enough of it is free.
func (r *room) defragment(ctx context.Context) {
	size, used := r.store.Size()
	free := size - used
	if free < freeBytes || free < size/freeDenominator*freeNumerator || !r.roomForCopy() {
		return
	}
	if err := r.store.copy(ctx); err != nil && ctx.Err() == nil {
		r.retry = time.Now().Add(defragmentAgain)
		r.log.Warn("the database could not be defragmented", zap.Int64("size", size), zap.Int64("used", used),
			zap.Error(err))
	}
}

// roomForCopy reports whether the disk has room for a copy of the database besides the room that
// writes need.
func (r *room) roomForCopy() bool {
	_, used := r.store.Size()
	writes, _ := r.left()
	return writes > used+growth
}

// copyPath returns the path of an unfinished copy of the database.
func copyPath(dir string) string { return filepath.Join(snapDir(dir), "db.tmp") }

// shrinkAtStart rewrites the database of a store that is about to be opened, if it has freeBytes of
// free pages.
func shrinkAtStart(ctx context.Context, dir string) error {
	if info, err := os.Stat(dbPath(dir)); err != nil || info.Size() < freeBytes {
		return nil
	}
	_, err := rewrite(ctx, dir, func(size, free int64) bool {
		return free >= freeBytes &&
			roomToRewrite(dir, size-free)
	})
	return err
}

// roomToRewrite reports whether the disk has room for used bytes besides the reserve.
func roomToRewrite(dir string, used int64) bool {
	free, size := space(dir)
	return free-reserve(size) >= used+growth
}

// rewrite replaces a database that no process has open by a copy without free pages, if worth says
// so. It reports whether it did.
func rewrite(ctx context.Context, dir string, worth func(size, free int64) bool) (bool, error) {
	trim := newTrimmer(dbPath(dir))
	done, err := database.Rewrite(dbPath(dir), copyPath(dir), worth, func() error {
		trim.look()
		if !roomToRewrite(dir, 0) {
			return errDisk
		}
		return ctx.Err()
	})
	if err == nil && done {
		err = syncDir(snapDir(dir))
	}
	return done, err
}

// Defragment gives the free pages of the database file in the data directory dir back to the disk.
// It fails if a Store, or an etcd, is open there.
func Defragment(ctx context.Context, dir string) (storage.Defragmented, error) {
	var d storage.Defragmented
	before, err := os.Stat(dbPath(dir))
	if err != nil {
		return d, fmt.Errorf("embedded: %w", err)
	}
	lock, err := lockDir(ctx, dir)
	if err != nil {
		return d, fmt.Errorf("embedded: %s: %w", dir, err)
	}
	defer lock.Close()
	d.Before, d.After = before.Size(), before.Size()
	done, err := rewrite(ctx, dir, func(size, free int64) bool { return roomToRewrite(dir, size-free) })
	if err == nil && !done {
		err = errDisk
	}
	if err != nil {
		return d, fmt.Errorf("embedded: %w", err)
	}
	after, err := os.Stat(dbPath(dir))
	if err != nil {
		return d, fmt.Errorf("embedded: %w", err)
	}
	d.After = after.Size()
	return d, nil
}
