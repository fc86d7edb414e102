package database

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

// open opens a database whose hook counts the commits, under the key "commits" of the bucket meta.
func open(t *testing.T, path string) *Database {
	t.Helper()
	c := backend.DefaultBackendConfig(zap.NewNop())
	c.Path, c.UnsafeNoFsync, c.MmapSize, c.BackendFreelistType = path, true, 1<<30, bolt.FreelistMapType
	commits := 0
	c.Hooks = backend.NewHooks(func(tx backend.UnsafeReadWriter) {
		commits++
		tx.UnsafePut(schema.Meta, []byte("commits"), fmt.Append(nil, commits))
	})
	return Open(c, func() {})
}

// change runs fn in the batch transaction.
func change(d *Database, fn func(tx backend.BatchTx)) {
	tx := d.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	fn(tx)
}

// contents returns what a backend holds, by bucket and key, without the count of commits.
func contents(tx backend.ReadTx, buckets []backend.Bucket) map[string]string {
	tx.RLock()
	defer tx.RUnlock()
	all := map[string]string{}
	for _, b := range buckets {
		tx.UnsafeForEach(b, func(k, v []byte) error {
			all[b.String()+"/"+string(k)] = string(v)
			return nil
		})
	}
	delete(all, "meta/commits")
	return all
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%q: got %.20q (%v), want %.20q", k, g, ok, v)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%q is there, and was deleted", k)
		}
	}
}

func makeCopy(t *testing.T, d *Database, path string) *Copy {
	t.Helper()
	c, err := d.Copy(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func step(t *testing.T, c *Copy, alone bool) (ready bool) {
	t.Helper()
	ready, err := c.Step(alone)
	if err != nil {
		t.Fatal(err)
	}
	return ready
}

// TestCopyWhileWriting changes random keys of several buckets while copies take the place of the
// database, one after another.
func TestCopyWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	d := open(t, path)
	buckets := []backend.Bucket{schema.Key, schema.Lease, schema.Meta, other{firstOther, "unknown"}}
	want := map[string]string{"unknown/k": "v"}
	one := func(tx backend.BatchTx, r *rand.Rand) {
		b := buckets[r.IntN(3)] // not the last one: etcd writes only to buckets that it knows
		key := fmt.Sprintf("%04d", r.IntN(3000))
		if r.IntN(3) == 0 {
			tx.UnsafeDelete(b, []byte(key))
			delete(want, b.String()+"/"+key)
			return
		}
		value := strings.Repeat(key, r.IntN(300))
		tx.UnsafePut(b, []byte(key), []byte(value))
		want[b.String()+"/"+key] = value
	}
	change(d, func(tx backend.BatchTx) {
		tx.UnsafeCreateBucket(buckets[3])
		tx.UnsafePut(buckets[3], []byte("k"), []byte("v"))
	})
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for i := range 2 {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for {
				select {
				case <-stop:
					return
				default:
					change(d, func(tx backend.BatchTx) { // the transaction's lock guards want, too
						for range 1 + r.IntN(5) {
							one(tx, r)
						}
					})
				}
			}
		})
	}
	for i := range 10 {
		c := makeCopy(t, d, path+".tmp")
		for !step(t, c, i%2 == 0) {
		}
		if err := c.Switch(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	writing.Wait()
	same(t, contents(d.ReadTx(), buckets), want)
	same(t, contents(d.ConcurrentReadTx(), buckets), want)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	defer d.Close()
	same(t, contents(d.ReadTx(), buckets), want)
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("got files %v, want the database alone", files)
	}
}

// fill writes n keys of a size, and deletes all but every tenth.
func fill(d *Database, n, size int) {
	value := bytes.Repeat([]byte("v"), size)
	for i := range n {
		change(d, func(tx backend.BatchTx) { tx.UnsafePut(schema.Key, fmt.Appendf(nil, "%06d", i), value) })
	}
	d.ForceCommit()
	change(d, func(tx backend.BatchTx) {
		for i := range n {
			if i%10 != 0 {
				tx.UnsafeDelete(schema.Key, fmt.Appendf(nil, "%06d", i))
			}
		}
	})
}

// TestSwitchLeavesReaders holds a transaction open while a copy replaces the database. The
// transaction still sees the state at its begin, and later ones see later writes.
func TestSwitchLeavesReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	d := open(t, path)
	defer d.Close()
	fill(d, 1000, 4000)
	d.ForceCommit()
	size := d.Size()
	old := d.ConcurrentReadTx()
	before := contents(d.ConcurrentReadTx(), schema.AllBuckets)
	if err := d.Defrag(); err != nil {
		t.Fatal(err)
	}
	change(d, func(tx backend.BatchTx) { tx.UnsafePut(schema.Key, []byte("000000"), []byte("new")) })
	d.ForceCommit()
	if now := d.Size(); now > size/4 {
		t.Errorf("the file has %d bytes, and had %d with nine tenths of it free", now, size)
	}
	if d.SizeInUse() > d.Size() || d.SizeInUse() < 100*4000 {
		t.Errorf("%d bytes are said to be in use", d.SizeInUse())
	}
	if _, v := d.ReadTx().UnsafeRange(schema.Key, []byte("000000"), nil, 1); len(v) != 1 || string(v[0]) != "new" {
		t.Errorf("got %.20q, want new", v)
	}
	same(t, contents(old, schema.AllBuckets), before)
}

// TestHooks: the hooks are called for commits of the database, and not for those of a copy.
func TestHooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	d := open(t, path)
	defer d.Close()
	fill(d, 100, 100)
	commits := func() string {
		tx := d.ConcurrentReadTx()
		defer tx.RUnlock()
		_, v := tx.UnsafeRange(schema.Meta, []byte("commits"), nil, 1)
		return string(bytes.Join(v, nil))
	}
	inside := 0
	d.SetTxPostLockInsideApplyHook(func() { inside++ })
	d.ForceCommit()
	before := commits()
	c := makeCopy(t, d, path+".tmp")
	defer func() {
		if err := c.Switch(); err != nil {
			t.Fatal(err)
		}
		if now := commits(); now == before {
			t.Errorf("%s commits are counted, as before the switch", now)
		}
		d.BatchTx().LockInsideApply()
		d.BatchTx().Unlock()
		if inside != 1 {
			t.Errorf("the hook inside of transactions was called %d times, want once", inside)
		}
	}()
	before = commits() // the steps of the copy must not change it
	for range 3 {
		step(t, c, false)
	}
	if now := commits(); now != before {
		t.Errorf("%s commits are counted, want %s, as before the first step of the copy", now, before)
	}
}

// TestFailures: after a copy that failed or was given up, the database is as it was.
func TestFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	d := open(t, path)
	defer d.Close()
	fill(d, 1000, 4000)
	want := contents(d.ConcurrentReadTx(), schema.AllBuckets)
	if _, err := d.Copy(filepath.Join(path, "no", "folder")); err == nil {
		t.Error("a copy was made in a folder that does not exist")
	}

	c := makeCopy(t, d, path+".tmp")
	if _, err := d.Copy(path + ".other"); !errors.Is(err, errCopying) {
		t.Errorf("a second copy: got %v", err)
	}
	step(t, c, false)
	if err := c.Abandon(); err != nil {
		t.Error(err)
	}

	c = makeCopy(t, d, path+".tmp")
	change(d, func(tx backend.BatchTx) { tx.UnsafeDeleteBucket(schema.AuthUsers) })
	if _, err := c.Step(false); !errors.Is(err, errBuckets) {
		t.Errorf("a bucket was deleted: got %v", err)
	}
	if err := c.Switch(); !errors.Is(err, errBuckets) {
		t.Errorf("a bucket was deleted: got %v from Switch", err)
	}
	if err := c.Abandon(); err != nil {
		t.Error(err)
	}
	change(d, func(tx backend.BatchTx) { tx.UnsafeCreateBucket(schema.AuthUsers) })

	c = makeCopy(t, d, path+".tmp")
	for !step(t, c, false) {
	}
	os.Remove(path + ".tmp")
	if err := c.Switch(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is gone was renamed: got %v", err)
	}
	if err := c.Abandon(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	d.ForceCommit()
	same(t, contents(d.ConcurrentReadTx(), schema.AllBuckets), want)
	if err := d.Defrag(); err != nil {
		t.Error(err)
	}
	same(t, contents(d.ConcurrentReadTx(), schema.AllBuckets), want)
}

// TestRewrite rewrites a file that is not open. The file stays as it is if a rewrite is not worth
// it, or fails.
func TestRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	d := open(t, path)
	fill(d, 3000, 4000)
	change(d, func(tx backend.BatchTx) {
		tx.UnsafeCreateBucket(other{firstOther, "unknown"})
		tx.UnsafePut(other{firstOther, "unknown"}, []byte("k"), []byte("v"))
	})
	buckets := append(slices.Clone(schema.AllBuckets), backend.Bucket(other{firstOther, "unknown"}))
	want := contents(d.ConcurrentReadTx(), buckets)
	always := func(size, free int64) bool { return true }
	next := func() error { return nil }
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(path)

	var size, free int64
	done, err := Rewrite(path, path+".tmp", func(s, f int64) bool { size, free = s, f; return false }, next)
	if done || err != nil || size != before.Size() || free < size/2 || free > size {
		t.Errorf("not worth it: got %v, %v, of %d bytes %d free", done, err, size, free)
	}
	broken := errors.New("broken")
	if done, err := Rewrite(path, path+".tmp", always, func() error { return broken }); done || !errors.Is(err, broken) {
		t.Errorf("broken off: got %v, %v", done, err)
	}
	if now, _ := os.Stat(path); !os.SameFile(before, now) {
		t.Error("the file was replaced")
	}
	if done, err := Rewrite(path, path+".tmp", always, next); !done || err != nil {
		t.Errorf("got %v, %v", done, err)
	}
	if now, _ := os.Stat(path); now.Size() > before.Size()/4 {
		t.Errorf("the file has %d bytes, and had %d with nine tenths of it free", now.Size(), before.Size())
	}
	d = open(t, path)
	same(t, contents(d.ReadTx(), buckets), want)
	if done, err := Rewrite(path, path+".tmp", always, next); done || err == nil {
		t.Errorf("a file that is open: got %v, %v", done, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("got files %v, want the database alone", files)
	}
}

// TestTakesAreBounded bounds how much is copied at once, because writers wait meanwhile.
func TestTakesAreBounded(t *testing.T) {
	for _, size := range []int{1, 10_000, 300_000} {
		d := open(t, filepath.Join(t.TempDir(), "db"))
		n := min(3*takeKeys, 10_000_000/size)
		change(d, func(tx backend.BatchTx) {
			for i := range n {
				tx.UnsafePut(schema.Key, fmt.Appendf(nil, "%06d", i), make([]byte, size))
			}
		})
		c := makeCopy(t, d, filepath.Join(t.TempDir(), "copy"))
		again := false
		for took, end := 0, false; !end; {
			d.BatchTx().LockOutsideApply()
			entries, last, err := c.take(nil)
			if took >= n/2 && !again { // copied keys that change are copied again, within the bound
				again = true
				for i := range took {
					d.BatchTx().UnsafePut(schema.Key, fmt.Appendf(nil, "%06d", i), make([]byte, size))
				}
			}
			d.BatchTx().Unlock()
			if err != nil || len(entries) > takeKeys || sizeOf(entries) > takeBytes+size+6 {
				t.Errorf("values of %d bytes: %d entries with %d bytes, %v", size, len(entries), sizeOf(entries), err)
			}
			took += len(entries)
			if end = last; end && took < n {
				t.Errorf("values of %d bytes: %d entries, want %d", size, took, n)
			}
		}
		if err := errors.Join(c.Abandon(), d.Close()); err != nil {
			t.Error(err)
		}
	}
}
