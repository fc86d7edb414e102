package file

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/coracle-project/coracle/storage"
)

// crashAt is a size in bytes. If a file of the victim would grow beyond it, the kernel kills the
// victim.
const crashAt = "FILE_CRASH_AT"

func init() {
	limited := func(do func(s *Store) error) func(string) {
		return func(dir string) {
			at, err := strconv.ParseUint(os.Getenv(crashAt), 10, 64)
			if err == nil {
				err = dieBeyond(at)
			}
			var s *Store
			if err == nil {
				s, err = Open(Config{Dir: dir, NoSync: true})
			}
			if err == nil {
				err = do(s)
			}
			fmt.Println("done", err)
		}
	}
	ctx := context.Background()
	put := func(value string) func(*Store) error {
		return func(s *Store) error {
			id, err := s.Lease(ctx, time.Hour)
			if err == nil {
				_, err = s.Put(ctx, key, []byte(value), storage.Pre{}, id)
			}
			return err
		}
	}
	victims["put"] = limited(put(newValue))
	victims["put much"] = limited(put(newValue[:len(newValue)-1] + strings.Repeat(" ", 1<<10) + "}"))
	victims["delete"] = limited(func(s *Store) error {
		_, err := s.Delete(ctx, key, storage.Pre{})
		return err
	})
	victims["expire"] = limited(func(s *Store) error { return untilEmpty(ctx, s) })
}

const oldValue, newValue = `{"n":1}`, `{"n":2}`

// dieBeyond makes the kernel kill the process when a file would grow beyond a size. It restores the
// default action of the signal, which Go would catch.
func dieBeyond(size uint64) error {
	var def struct{ handler, flags, restorer, mask uintptr }
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGXFSZ), uintptr(unsafe.Pointer(&def)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size})
}

// untilEmpty waits for all leases to end.
func untilEmpty(ctx context.Context, s *Store) error {
	res, err := s.Range(ctx, storage.RangeRequest{Prefix: "/"})
	for err == nil && len(res.Entries) > 0 {
		var c storage.Cursor
		if c, err = s.Watch(ctx, storage.WatchRequest{Prefix: "/", After: res.Rev}); err != nil {
			break
		}
		_, err = c.Next(ctx)
		c.Close()
		if err == nil {
			res, err = s.Range(ctx, storage.RangeRequest{Prefix: "/"})
		}
	}
	return err
}

// crash runs a victim in dir, which the kernel kills when its journal has grown by growth bytes. It
// reports whether the victim was done before.
func crash(t *testing.T, dir, as string, growth int) (done bool) {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashAs+"="+as, fmt.Sprintf("%s=%d", crashAt, int(info.Size())+growth))
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return false
	}
	if err != nil || string(out) != "done <nil>\n" {
		t.Fatalf("the victim: %v: %s", err, out)
	}
	return true
}

// TestCrashPoints kills writes inside each line that they append to the journal, and so between all
// steps of a write: the first lines, the rename or removal of the file, and the last line. At
// whichever step a write is killed, no object has lost its lease.
func TestCrashPoints(t *testing.T) {
	for _, tt := range []struct {
		name, victim string
		old          bool // the key exists before
		step         int  // bytes of the journal from one try to the next
	}{
		{"create", "put", false, 11},
		{"update", "put", true, 11},
		{"create with a file that is cut off", "put much", false, 150},
		{"update with a file that is cut off", "put much", true, 150},
		{"delete", "delete", true, 11},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := map[string]bool{}
			for growth := 0; !seen["done"]; growth += tt.step {
				dir := t.TempDir()
				s := openAt(t, dir)
				if tt.old {
					id, _ := s.Lease(t.Context(), 2*time.Hour)
					if _, err := s.Put(t.Context(), key, []byte(oldValue), storage.Pre{}, id); err != nil {
						t.Fatal(err)
					}
				}
				rev := s.mem.Current()
				s.Close()
				if crash(t, dir, tt.victim, growth) {
					seen["done"] = true
				}
				s = openAt(t, dir)
				e, err := s.Get(t.Context(), key)
				k := s.commit.records[key]
				left := time.Until(k.ends).Round(time.Hour)
				switch got := strings.ReplaceAll(string(e.Value), " ", ""); {
				case got == newValue && left == time.Hour && k.lease != 0 && e.Rev > rev:
					seen["new"] = true
				case got == oldValue && tt.old && left == 2*time.Hour && k.lease != 0 && e.Rev == rev:
					seen["old"] = true
				case storage.KindOf(err) == storage.NotFound && (!tt.old || tt.victim == "delete"):
					seen["none"] = true
				default:
					t.Errorf("killed when the journal had grown by %d bytes: got %.30q at %d after %d, %v, on a lease for %v",
						growth, e.Value, e.Rev, rev, err, left)
				}
				s.Close()
			}
			if len(seen) != 3 && tt.victim != "delete" {
				t.Errorf("got only the outcomes %v: the victim was not killed at every step", seen)
			}
		})
	}
}

// TestCrashInExpiry kills the process while it deletes the keys of a lease that has ended.
func TestCrashInExpiry(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	id, err := s.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := s.Put(t.Context(), fmt.Sprintf("%s-%d", key, i), []byte(oldValue), storage.Pre{}, id); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	rounds := 0
	for ; !crash(t, dir, "expire", 70); rounds++ { // one line and a part of the next
		if rounds == 20 {
			t.Fatal("nothing is deleted")
		}
	}
	if rounds == 0 {
		t.Error("the victim was not killed")
	}
	s = openAt(t, dir)
	if err := untilEmpty(t.Context(), s); err != nil {
		t.Error(err)
	}
	if n := len(s.commit.leases); n != 0 {
		t.Errorf("got %d leases, want none", n)
	}
}
