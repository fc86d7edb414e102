package reload

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDir: a Dir notices files that come, change and go, files behind links, and the end of the
// directory. It notices nothing else.
func TestDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, elsewhere := filepath.Join(t.TempDir(), "d"), t.TempDir()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		write := func(in, name, text string) {
			t.Helper()
			must(os.WriteFile(filepath.Join(in, name), []byte(text), 0o600))
		}
		must(os.Mkdir(dir, 0o700))
		write(dir, "a.yaml", "a")
		write(elsewhere, "1", "a")
		write(elsewhere, "2", "bb")
		must(os.Symlink(filepath.Join(elsewhere, "1"), filepath.Join(dir, "link")))
		d := NewDir(dir)
		var calls atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Follow(ctx, func() { calls.Add(1) })
		}()
		for i, tt := range []struct {
			what   string
			change func()
			want   int64
		}{
			{"nothing", func() {}, 0},
			{"a file changes", func() { write(dir, "a.yaml", "aa") }, 1},
			{"a file comes", func() { write(dir, "b.yaml", "b") }, 2},
			{"a file goes", func() { must(os.Remove(filepath.Join(dir, "b.yaml"))) }, 3},
			{"a link leads elsewhere", func() {
				must(os.Remove(filepath.Join(dir, "link")))
				must(os.Symlink(filepath.Join(elsewhere, "2"), filepath.Join(dir, "link")))
			}, 4},
			{"the target of a link changes", func() { write(elsewhere, "2", "bbb") }, 5},
			{"a directory comes", func() { must(os.Mkdir(filepath.Join(dir, "c"), 0o700)) }, 5},
			{"the directory is moved away", func() { must(os.Rename(dir, dir+"2")) }, 6},
			{"it is still away", func() {}, 6},
			{"an empty directory comes", func() { must(os.Mkdir(dir, 0o700)) }, 7},
		} {
			tt.change()
			time.Sleep(CheckEvery)
			synctest.Wait()
			if got := calls.Load(); got != tt.want {
				t.Errorf("step %d, %s: got %d calls, want %d", i, tt.what, got, tt.want)
			}
		}
		cancel()
		<-done
	})
}
