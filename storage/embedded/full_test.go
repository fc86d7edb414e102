//go:build linux

package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// fullDir is the data directory of a process of the test binary that child has started.
const fullDir = "EMBEDDED_FULL_DIR"

// child runs the test in a process of its own, in a directory of the parent. The parent only
// reports the result.
func child(t *testing.T, attr *syscall.SysProcAttr, run func(t *testing.T, dir string)) {
	t.Parallel()
	if dir := os.Getenv(fullDir); dir != "" {
		run(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fullDir+"="+t.TempDir())
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("no namespace to be had: %v", err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// TestFullFile writes until the limit on the size of files keeps the database from growing, and
// then raises the limit.
func TestFullFile(t *testing.T) {
	child(t, nil, func(t *testing.T, dir string) {
		limit := func(n uint64) {
			var l syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
				t.Fatal(err)
			}
			l.Cur = min(n, l.Max)
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
				t.Fatal(err)
			}
		}
		limit(72 << 20)
		f := openFull(t, dir)
		f.fill()
		f.reads()
		f.deletes()
		f.reopen()
		size, _ := f.store.Size()
		limit(uint64(size) + 16<<20)
		f.refuses()
		f.reads()
		limit(200 << 20)
		f.resumes()
	})
}

// TestFullDisk writes until the disk has too little room, fills the rest of the disk, and then
// makes the disk larger.
func TestFullDisk(t *testing.T) {
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	child(t, attr, func(t *testing.T, dir string) {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=100m"); err != nil {
			t.Fatal(err)
		}
		f := openFull(t, filepath.Join(dir, "data"))
		f.fill()
		f.reads()
		f.deletes()
		f.reopen()
		// Another program takes the room that the store kept free.
		rest, err := os.Create(filepath.Join(dir, "rest"))
		if err != nil {
			t.Fatal(err)
		}
		defer rest.Close()
		for err == nil {
			_, err = rest.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		f.refuses()
		f.reads()
		f.reopen()
		f.refuses()
		f.reads()
		if err := rest.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=200m"); err != nil {
			t.Fatal(err)
		}
		f.resumes()
	})
}

// TestFullBefore: if there is too little room for a new store, Open fails, and a later Open of the
// same directory succeeds.
func TestFullBefore(t *testing.T) {
	child(t, nil, func(t *testing.T, dir string) {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
		few := l
		few.Cur = 1 << 20
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &few); err != nil {
			t.Fatal(err)
		}
		if s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir}); err == nil {
			s.Close()
			t.Error("Open where files may have 1 MiB: got no error")
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
		openFull(t, dir)
	})
}

// TestFailedLog lets a write to the log fail. The writes that were under way are in doubt, and all
// later ones are refused. Reads and watches go on, without these writes. The next start has all
// acknowledged writes.
func TestFailedLog(t *testing.T) {
	child(t, nil, func(t *testing.T, dir string) {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
		none := l
		none.Cur = 0
		f := openFull(t, dir)
		doubt := func(w int) string { return fmt.Sprintf("/doubt/%d", w) }
		const writers = 8
		for i, failed := 0, false; !failed; i++ { // again if the store has noticed the limit before the write, and so has refused it
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
				t.Fatal(err)
			}
			for f.put(fmt.Sprintf("/full/%d", i), 100) != nil {
				time.Sleep(10 * time.Millisecond)
			}
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &none); err != nil {
				t.Fatal(err)
			}
			errs := make([]error, writers)
			var wg sync.WaitGroup
			for w := range errs {
				wg.Go(func() { errs[w] = f.put(doubt(w), 100) })
			}
			wg.Wait()
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
				t.Fatal(err)
			}
			for _, err := range errs {
				failed = failed || errors.Is(err, storage.InDoubt)
				if !errors.Is(err, storage.InDoubt) && !errors.Is(err, storage.Unavailable) {
					t.Fatalf("a write that could not be written: got %v", err)
				}
			}
		}
		if n := f.logs.FilterMessageSnippet("the log could not be written").Len(); n != 1 {
			t.Errorf("got %d lines about it, want 1", n)
		}
		for range 3 {
			f.refused("Put", f.put("/full/more", 100))
			_, err := f.store.Delete(t.Context(), "/full/0", storage.Pre{})
			f.refused("Delete", err)
		}
		f.reads()
		for w := range writers {
			if e, err := f.store.Get(t.Context(), doubt(w)); !errors.Is(err, storage.NotFound) {
				t.Errorf("Get of a key that was not written: got %+v, %v", e, err)
			}
		}
		f.reopen()
		f.reads()
		if err := f.put("/full/again", 100); err != nil {
			t.Errorf("Put after a restart: %v", err)
		}
		f.reads()
	})
}

// filling is a store on a small disk, with the writes that it has acknowledged.
type filling struct {
	*testing.T
	store  *embedded.Store
	dir    string
	logs   *observer.ObservedLogs
	mu     sync.Mutex
	acked  map[string]storage.Revision
	cursor storage.Cursor
	shown  storage.Revision
	ended  bool // the lease has ended
}

func openFull(t *testing.T, dir string) *filling {
	f := &filling{T: t, dir: dir, acked: map[string]storage.Revision{}}
	f.open()
	t.Cleanup(func() { f.store.Close() })
	return f
}

func (f *filling) open() {
	f.Helper()
	var err error
	core, logs := observer.New(zapcore.WarnLevel)
	f.logs = logs
	if f.store, err = embedded.Open(f.Context(), embedded.Config{Dir: f.dir, Logger: zap.New(core)}); err != nil {
		f.Fatal(err)
	}
	if f.cursor, err = f.store.Watch(f.Context(), storage.WatchRequest{Prefix: "/", After: f.shown}); err != nil {
		f.Fatal(err)
	}
}

func (f *filling) reopen() {
	f.Helper()
	f.store.Close()
	f.open()
}

// put writes a key, and notes the write if it is acknowledged.
func (f *filling) put(key string, size int) error {
	e, err := f.store.Put(f.Context(), key, bytes.Repeat([]byte("x"), size), storage.Pre{}, 0)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.acked[key] = e.Rev
	}
	return err
}

// fill runs several writers at once, of small and large values, until each is refused.
func (f *filling) fill() {
	f.Helper()
	lease, err := f.store.Lease(f.Context(), time.Second)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := f.store.Put(f.Context(), "/leased", []byte("1"), storage.Pre{}, lease); err != nil {
		f.Fatal(err)
	}
	until := func(writer, size int) {
		for i := 0; ; i++ {
			err := f.put(fmt.Sprintf("/full/%d-%d", writer, i), size)
			if storage.KindOf(err) == storage.Unavailable {
				return
			}
			if err != nil {
				f.Errorf("Put: %v", err)
				return
			}
		}
	}
	sizes := []int{100, 1000, 1000, 10_000, 10_000, 100_000, 100_000, 1_000_000}
	var wg sync.WaitGroup
	for w, size := range sizes {
		wg.Go(func() { until(w, size) })
	}
	wg.Wait()
	told := func() int { return f.logs.FilterMessageSnippet("too little room").Len() }
	for w := len(sizes); told() == 0 && f.Context().Err() == nil; w++ { // all were refused because of the writes that others had under way
		until(w, 1000)
	}
	f.Logf("%d writes were acknowledged", len(f.acked))
	// The store may have made some room, once or twice, before it refused all writers.
	if n, again := told(), f.logs.FilterMessageSnippet("has room again").Len(); n != again+1 || n > 3 {
		f.Errorf("got %d lines that there is too little room, and %d that there is room again; want one more, and few", n, again)
	}
}

// reads checks that Get, Range and the watch show all acknowledged writes.
func (f *filling) reads() {
	f.Helper()
	for key, rev := range f.acked {
		if e, err := f.store.Get(f.Context(), key); err != nil || e.Rev != rev {
			f.Fatalf("Get(%s): got %d, %v, want %d", key, e.Rev, err, rev)
		}
	}
	res, err := f.store.Range(f.Context(), storage.RangeRequest{Prefix: "/full/"})
	if err != nil || len(res.Entries) != len(f.acked) {
		f.Fatalf("Range: got %d entries, %v, want %d", len(res.Entries), err, len(f.acked))
	}
	for f.shown < seen(f.store) {
		f.cursor.Progress()
		f.next()
	}
}

// next reads a batch of the cursor.
func (f *filling) next() {
	f.Helper()
	b, err := f.cursor.Next(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	for _, ev := range b.Events {
		f.ended = f.ended || ev.Key == "/leased" && ev.Deleted
	}
	f.shown = b.Rev
}

// deletes deletes some keys, which the store allows when it is full, and waits for the end of a
// lease.
func (f *filling) deletes() {
	f.Helper()
	deleted := 0
	for key := range f.acked {
		if _, err := f.store.Delete(f.Context(), key, storage.Pre{}); err != nil {
			f.Fatalf("Delete(%s): %v", key, err)
		}
		delete(f.acked, key)
		if deleted++; deleted == 20 {
			break
		}
	}
	for !f.ended {
		f.next()
	}
}

// refuses checks that every kind of write is refused, even those that make room.
func (f *filling) refuses() {
	f.Helper()
	begin := time.Now()
	for err := error(nil); storage.KindOf(err) != storage.Unavailable; { // until the store has noticed it
		if time.Since(begin) > 10*time.Second {
			f.Fatalf("the disk is full, and deletions are not refused: %v", err)
		}
		_, err = f.store.Delete(f.Context(), "/full/none", storage.Pre{})
	}
	for _, size := range []int{0, 1, 1_000_000} {
		f.refused("Put", f.put("/full/more", size))
	}
	_, err := f.store.Lease(f.Context(), time.Minute)
	f.refused("Lease", err)
	f.refused("Compact", f.store.Compact(f.Context(), seen(f.store)))
}

func (f *filling) refused(what string, err error) {
	f.Helper()
	if storage.KindOf(err) != storage.Unavailable {
		f.Errorf("%s on a full disk: got %v, want %v", what, err, storage.Unavailable)
	}
}

// resumes checks that the store accepts writes soon after there is room.
func (f *filling) resumes() {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	for err := errors.New("none yet"); err != nil; err = f.put("/full/again", 1000) {
		if ctx.Err() != nil {
			f.Fatalf("there is room, and yet: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.reads()
	f.reopen()
	f.reads()
}
