package embedded

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

func TestTrim(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	path := filepath.Join(dir, "member", "snap", "db")
	s.commits.close() // the test commits and trims by itself
	s.room.close()
	start, end, ok := mapping(path)
	if !ok {
		t.Fatalf("the mapping of %s was not found", path)
	}
	if end-start < 8<<30 {
		t.Errorf("the mapping has %d bytes, less than the quota: it would be moved", end-start)
	}
	const n = 4000
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < n; i += 16 {
				s.Put(t.Context(), fmt.Sprintf("/a/%d", i), bytes.Repeat([]byte("x"), 8192), storage.Pre{}, 0)
			}
		})
	}
	wg.Wait()
	s.commit()
	list := func() {
		t.Helper()
		res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/a/"})
		if err != nil || len(res.Entries) != n {
			t.Fatalf("Range: got %d entries, %v, want %d", len(res.Entries), err, n)
		}
	}
	list()
	before := mappedResident()
	s.member.trim.look()
	after := mappedResident()
	if before-after < n*8192/2 {
		t.Errorf("resident mapped files: %d MiB before, %d MiB after", before>>20, after>>20)
	}
	list() // reads the pages again
	before = mappedResident()
	for calls := 1; mappedResident() > before-n*8192/2; calls++ {
		if calls == 1000 {
			t.Fatalf("resident mapped files at rest: %d MiB before, %d MiB after", before>>20, mappedResident()>>20)
		}
		s.member.trim.atRest()
		if calls == 1 && mappedResident() <= before-n*8192/2 {
			t.Error("the mapping was trimmed although it had just grown")
		}
	}
	list()

	if _, _, ok := mapping(filepath.Join(dir, "none")); ok {
		t.Error("found the mapping of a file that is not mapped")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestResidentWhileMakingRoom compacts and defragments. Both read the whole file, but only a small
// part of it may be resident at once.
func TestResidentWhileMakingRoom(t *testing.T) {
	s, err := Open(t.Context(), Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	value := bytes.Repeat([]byte("x"), 16<<10)
	const n = 100 << 20 / (16 << 10) // 100 MiB
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d", i/2), value, storage.Pre{}, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.commit()
	peak := func(what string, fn func() error) {
		t.Helper()
		s.member.trim.trim()
		before, stop, most := mappedResident(), make(chan struct{}), int64(0)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					most = max(most, mappedResident()-before)
				}
			}
		})
		if err := fn(); err != nil {
			t.Error(err)
		}
		close(stop)
		wg.Wait()
		t.Logf("%s: %d MiB of mapped files at most", what, most>>20)
		if most > 3*trimThreshold {
			t.Errorf("%s: %d MiB of mapped files were resident, of 100", what, most>>20)
		}
	}
	peak("compaction", func() error {
		now, _ := s.Revision(t.Context())
		done, err := s.compact(t.Context(), now)
		if err == nil {
			<-done
		}
		return err
	})
	peak("defragmentation", func() error {
		_, err := s.Defragment(t.Context())
		return err
	})
}
