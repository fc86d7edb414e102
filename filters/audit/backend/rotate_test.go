package backend

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file rotate in a bubble of synctest, where time stands still. So all rotations
// without a pause fall into the same millisecond.

// shelf is a folder with a rotated log, whose MaxSize is 1 MiB.
type shelf struct {
	t *testing.T
	c LogConfig
}

func newShelf(t *testing.T) *shelf {
	return &shelf{t, LogConfig{Path: filepath.Join(t.TempDir(), "audit.log"), MaxSize: 1}}
}

func (s *shelf) open() *rotating {
	s.t.Helper()
	l, err := openLog(&s.c)
	if err != nil {
		s.t.Fatal(err)
	}
	return l.file
}

// fill writes one file for each text, so that all but the last are rotated.
func (s *shelf) fill(r *rotating, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if n, err := r.Write(full(text)); n != 1<<20 || err != nil {
			s.t.Fatalf("Write of %s: %d, %v", text, n, err)
		}
	}
}

// full returns 1 MiB that begins with text.
func full(text string) []byte {
	return append([]byte(text), bytes.Repeat([]byte{'.'}, 1<<20-len(text))...)
}

// put makes a file in the folder.
func (s *shelf) put(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) path(name string) string { return filepath.Join(filepath.Dir(s.c.Path), name) }

// want fails the test unless the folder has exactly these files, each "NAME TEXT". The text is what
// the file begins with, up to a dot. A .gz is decompressed.
func (s *shelf) want(want ...string) {
	s.t.Helper()
	var got []string
	for _, file := range filesIn(s.t, filepath.Dir(s.c.Path)) {
		data, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.HasSuffix(file, gzipped) {
			data = unzipped(s.t, file)
		}
		text, _, _ := bytes.Cut(data, []byte("."))
		got = append(got, filepath.Base(file)+" "+string(text))
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		s.t.Errorf("got  %q\nwant %q", got, want)
	}
}

// unzipped returns what a .gz decompresses to.
func unzipped(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return data
}

func TestRotationsInOneMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.put("audit-2000-01-01T00-00-00.001.log", "plain.")
		r := s.open()
		s.fill(r, "a", "b", "c")
		time.Sleep(time.Second)
		s.fill(r, "d")
		r.close(t.Context())
		s.want("audit-2000-01-01T00-00-00.000.log a", "audit-2000-01-01T00-00-00.001.log plain",
			"audit-2000-01-01T00-00-00.002.log b", "audit-2000-01-01T00-00-01.000.log c", "audit.log d")
	})
}

// TestTakenByGzip wants a name to be taken when its .gz is there.
func TestTakenByGzip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.c.Compress = true
		r := s.open()
		s.fill(r, "a", "b")
		r.close(t.Context())
		r = s.open()
		s.fill(r, "c", "d")
		r.close(t.Context())
		s.want("audit-2000-01-01T00-00-00.000.log.gz a", "audit-2000-01-01T00-00-00.001.log.gz b",
			"audit-2000-01-01T00-00-00.002.log.gz c", "audit.log d")
	})
}

// TestRemovalByNumber wants the newest files to stay, although all are of one millisecond, and
// removed files leave their names free.
func TestRemovalByNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.c.MaxBackups = 2
		r := s.open()
		for i := range 10 {
			s.fill(r, fmt.Sprint("e", i))
			synctest.Wait() // for the worker
		}
		s.want("audit-2000-01-01T00-00-00.007.log e7", "audit-2000-01-01T00-00-00.008.log e8", "audit.log e9")
		r.close(t.Context())
	})
}

// TestRemovalByAge removes at the start and after a rotation.
func TestRemovalByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.c.MaxAge = 2
		s.put("audit-1999-12-29T23-59-59.999.log", "too old.")
		s.put("audit-1999-12-29T23-59-59.998.log.gz", "too old.")
		s.put("audit-1999-12-30T00-00-00.000.log", "old.")
		r := s.open()
		synctest.Wait()
		s.want("audit-1999-12-30T00-00-00.000.log old", "audit.log ")
		s.fill(r, "a")
		time.Sleep(time.Hour)
		s.fill(r, "b")
		r.close(t.Context())
		s.want("audit-2000-01-01T01-00-00.000.log a", "audit.log b")
	})
}

// TestOthersFiles wants files whose names only resemble those of rotated files to stay as they are.
func TestOthersFiles(t *testing.T) {
	s := newShelf(t)
	s.c.MaxBackups, s.c.MaxAge, s.c.Compress = 1, 1, true
	var want []string
	for _, name := range []string{
		"audit-1999-01-01T00-00-00.000.log.bak", "audit-1999-01-01T00-00-00.000.txt", "audit-1999-01-01T00-00-00.log",
		"audit-1999-01-01T00-00-00,000.log", "audit-1999-01-01T00-00-00.0000.log", "audit-1999-02-30T00-00-00.000.log",
		"audit-1999-01-01.log", "audit-old.log", "audit-1999-01-01T00-00-00.000", "audit.log.1", "audit-.log",
		"xaudit-1999-01-01T00-00-00.000.log", "audit-audit-1999-01-01T00-00-00.000.log", "1999-01-01T00-00-00.000.log",
		"1999-01-01T00-00-00.000", "audit-1999-01-01T00-00-00.000.log.tmp",
	} {
		s.put(name, "others'.")
		want = append(want, name+" others'")
	}
	r := s.open()
	s.fill(r, "a", "b", "c")
	r.close(t.Context())
	files := filesIn(t, filepath.Dir(s.c.Path))
	at := slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, gzipped) })
	if at < 0 {
		t.Fatalf("no compressed file is in %q", files)
	}
	s.want(append(want, filepath.Base(files[at])+" b", "audit.log c")...)
}

// TestCompression compresses at rotation, and at the start what an earlier process left: a file
// without a .gz, and one with half a .gz.
func TestCompression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.c.Compress = true
		s.put("audit-1999-01-01T00-00-00.000.log", "left.")
		s.put("audit-1999-01-02T00-00-00.000.log", "half.")
		s.put("audit-1999-01-02T00-00-00.000.log.gz", "\x1f\x8b")
		r := s.open()
		synctest.Wait()
		left := []string{"audit-1999-01-01T00-00-00.000.log.gz left", "audit-1999-01-02T00-00-00.000.log.gz half"}
		s.want(append(left, "audit.log ")...)
		if err := os.Chmod(s.c.Path, 0o640); err != nil {
			t.Fatal(err)
		}
		s.fill(r, "a", "b")
		r.close(t.Context())
		s.want(append(left, "audit-2000-01-01T00-00-00.000.log.gz a", "audit.log b")...)
		const name = "audit-2000-01-01T00-00-00.000.log.gz"
		if got := unzipped(t, s.path(name)); !bytes.Equal(got, full("a")) {
			t.Errorf("the decompressed file differs from what was written: %d bytes", len(got))
		}
		for _, file := range []string{name, "audit.log"} {
			if info, err := os.Stat(s.path(file)); err != nil || info.Mode() != 0o640 {
				t.Errorf("%s: got %v (%v), want the mode of the file before", file, info.Mode(), err)
			}
		}
	})
}

// TestCloseDuringCompression closes while the worker compresses, which a pipe in the place of the
// file holds up. If there is time, the compression ends; if not, the file stays alone.
func TestCloseDuringCompression(t *testing.T) {
	const name = "audit-1999-01-01T00-00-00.000.log"
	for _, inTime := range []bool{true, false} {
		s := newShelf(t)
		s.c.Compress = true
		if err := syscall.Mkfifo(s.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
		r := s.open()
		pipe, err := os.OpenFile(s.path(name), os.O_WRONLY, 0) // waits for the compression to begin
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pipe.WriteString("begun "); err != nil {
			t.Fatal(err)
		}
		ctx, closed, want := t.Context(), make(chan struct{}), []string{s.path(name + gzipped), s.c.Path}
		if !inTime {
			ctx, want = ended(t), []string{s.path(name), s.c.Path}
		}
		go func() {
			r.close(ctx)
			close(closed)
		}()
		if inTime {
			for range r.rotated { // is closed
			}
			if _, err := pipe.WriteString("and ended"); err != nil {
				t.Error(err)
			}
			pipe.Close()
		}
		<-closed
		pipe.Close()
		if got := filesIn(t, filepath.Dir(s.c.Path)); !slices.Equal(got, want) {
			t.Fatalf("in time %v: got %q, want %q", inTime, got, want)
		}
		if inTime {
			s.want(name+".gz begun and ended", "audit.log ")
		}
	}
}

// TestCompressionOnFullDisk wants the file to stay and the half .gz to vanish, and the next rotation
// to compress the file.
func TestCompressionOnFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		s.c.Compress = true
		const name = "audit-1999-01-01T00-00-00.000.log"
		s.put(name, "a.")
		if err := os.Symlink("/dev/full", s.path(name+gzipped)); err != nil {
			t.Fatal(err)
		}
		if err := compress(t.Context(), s.path(name)); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("compress: got %v, want no space", err)
		}
		s.want(name + " a")
		r := s.open()
		s.fill(r, "b", "c")
		r.close(t.Context())
		s.want(name+".gz a", "audit-2000-01-01T00-00-00.000.log.gz b", "audit.log c")
	})
}

// TestRotationFails wants writes to fail while no new file can be made, even a write that would fit
// into the old one, and to go on when it can.
func TestRotationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		r := s.open()
		synctest.Wait()
		if _, err := r.Write(full("a")[:1<<20-10]); err != nil {
			t.Fatal(err)
		}
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
		large, errLarge := r.Write(full("b"))
		small, errSmall := r.Write([]byte("x"))
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if large+small > 0 || !errors.Is(errLarge, syscall.EMFILE) || !errors.Is(errSmall, syscall.EMFILE) {
			t.Errorf("got %d and %d bytes, %v and %v; want no file to be free", large, small, errLarge, errSmall)
		}
		s.fill(r, "c", "d")
		r.close(t.Context())
		s.want("audit-2000-01-01T00-00-00.000.log a", "audit-2000-01-01T00-00-00.003.log c", "audit.log d")
	})
}

// TestMovedFile wants a rotation to make a new file, and a new folder, if somebody has moved or
// removed the old ones.
func TestMovedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		r := s.open()
		s.fill(r, "a")
		if err := os.Rename(s.c.Path, s.path("moved")); err != nil {
			t.Fatal(err)
		}
		s.fill(r, "b")
		s.want("audit.log b", "moved a")
		if err := os.RemoveAll(filepath.Dir(s.c.Path)); err != nil {
			t.Fatal(err)
		}
		s.fill(r, "c")
		s.want("audit.log c")
		r.close(t.Context())
	})
}

// TestTooLarge wants a write that is larger than a file to fail without a rotation, and one that
// just fits not to rotate.
func TestTooLarge(t *testing.T) {
	s := newShelf(t)
	s.put("audit.log", "12345.")
	r := s.open()
	defer r.close(t.Context())
	if n, err := r.Write(make([]byte, 1<<20+1)); n != 0 || err == nil || err.Error() != "write length 1048577 exceeds maximum file size 1048576" {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := r.Write(make([]byte, 1<<20-6)); err != nil {
		t.Error(err)
	}
	s.want("audit.log 12345")
}
