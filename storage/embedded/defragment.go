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

// What is deleted leaves free pages in the database file. To give them back to the disk the file is
// copied without them, while reads and writes go on (see package database). The copy takes the
// place of the file when both hold the same: a crash finds one of them under the name, and all that
// was acknowledged is in it or in the log. What is left of a copy is removed at the next start.

const (
	// The database is defragmented by itself if at least so much of it is free: this part, and so
	// many bytes. At the start the bytes alone decide, as nobody waits for the disk yet.
	freeNumerator, freeDenominator = 3, 4
	freeBytes                      = 256 << 20
	// defragmentAgain is the time from an attempt that has failed to the next.
	defragmentAgain = 10 * time.Minute
	// copyRest is the longest rest between two steps of a copy, which rests for as long as the step
	// has taken: the disk and the processor are for others, too.
	copyRest = 100 * time.Millisecond
)

// Defragment implements storage.Defragmenter.
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

// copy replaces the database by a copy.
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
	m.snapshots.Lock() // what is before a snapshot is deleted from the log, which relies on the database under its name
	defer m.snapshots.Unlock()
	if err := m.trim.without(c.Switch); err != nil {
		return err
	}
	if err := syncDir(snapDir(m.dir)); err != nil {
		m.fail(err)
	}
	return nil
}

// rest sleeps between two steps of a copy, and reports why there may be no more of them.
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

// defragment defragments the database if much of it is free.
func (r *room) defragment(ctx context.Context) {
	size, used := r.store.Size()
	free := size - used
	if free < freeBytes || free < size/freeDenominator*freeNumerator || !r.roomForCopy() {
		return
	}
	if err := r.store.copy(ctx); err != nil && ctx.Err() == nil {
		r.retry = time.Now().Add(defragmentAgain)
		r.log.Warn("the database could not be defragmented", zap.Int64("size", size), zap.Int64("used", used), zap.Error(err))
	}
}

// roomForCopy reports whether the disk has room for a copy of the database, beside what writes
// need.
func (r *room) roomForCopy() bool {
	_, used := r.store.Size()
	writes, _ := r.left()
	return writes > used+growth
}

// copyPath is where a copy of the database is made.
func copyPath(dir string) string { return filepath.Join(snapDir(dir), "db.tmp") }

// shrinkAtStart rewrites the database, if there is one that nobody has open yet, if it has many
// free bytes.
func shrinkAtStart(ctx context.Context, dir string) error {
	if info, err := os.Stat(dbPath(dir)); err != nil || info.Size() < freeBytes {
		return nil
	}
	_, err := rewrite(ctx, dir, func(size, free int64) bool { return free >= freeBytes && roomToRewrite(dir, size-free) })
	return err
}

// roomToRewrite reports whether the disk has room for some bytes, beside what is kept free.
func roomToRewrite(dir string, used int64) bool {
	free, size := space(dir)
	return free-reserve(size) >= used+growth
}

// rewrite replaces a database that nobody has open by a copy without free pages, if that is worth
// it.
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

// Defragment gives the free pages of the database file in a directory back to the disk. It is an
// error if a Store, or an etcd, is open there.
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
