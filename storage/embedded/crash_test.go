package embedded_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// With crashDir, a process of the test binary is the victim of a test: it writes to the store in
// that folder, prints each acknowledgement, and never ends. crashSize is the size of its values in
// bytes; above 0, it does not sync. With crashCopy, it defragments its database again and again.
const (
	crashDir  = "EMBEDDED_CRASH_DIR"
	crashSize = "EMBEDDED_CRASH_SIZE"
	crashCopy = "EMBEDDED_CRASH_COPY"
)

func victim(dir string) {
	ctx := context.Background()
	size, _ := strconv.Atoi(os.Getenv(crashSize))
	s, err := embedded.Open(ctx, embedded.Config{Dir: dir, NoSync: size > 0})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	padding := strings.Repeat(" ", size)
	var mu sync.Mutex
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("/crash/%d-%d", w, i%50)
				e, err := s.Put(ctx, key, []byte(strconv.Itoa(i)+padding), storage.Pre{}, 0)
				if err != nil {
					continue
				}
				mu.Lock()
				fmt.Println(key, i, e.Rev)
				mu.Unlock()
			}
		}()
	}
	for os.Getenv(crashCopy) != "" {
		if _, err := s.Defragment(ctx); err != nil {
			fmt.Println("defragment", err)
		}
	}
	select {}
}

// TestKill kills a writing process several times. All that the process acknowledged is in the
// store.
func TestKill(t *testing.T) {
	t.Parallel()
	dir, last := t.TempDir(), map[string]storage.Entry{} // acknowledged, over all rounds
	for round := range 4 {
		killAfter(t, dir, 0, 200*(round+1), last)
		checkSurvived(t, dir, 0, last)
	}
}

// killAfter kills a process after a number of acknowledgements, and adds all of them to last.
func killAfter(t *testing.T, dir string, size, lines int, last map[string]storage.Entry) {
	t.Helper()
	kill(t, dir, size, nil, func(acknowledged int) bool { return acknowledged >= lines }, last)
}

// kill runs a process with an environment, and kills it as soon as due reports true after an
// acknowledgement. It adds all acknowledgements to last.
func kill(t *testing.T, dir string, size int, env []string, due func(acknowledged int) bool, last map[string]storage.Entry) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), crashDir+"="+dir, fmt.Sprintf("%s=%d", crashSize, size)), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed, lines := false, 0
	for scan := bufio.NewScanner(out); scan.Scan(); {
		f := strings.Fields(scan.Text())
		if len(f) != 3 {
			t.Logf("victim: %s", scan.Text())
			continue
		}
		rev, _ := strconv.ParseUint(f[2], 10, 64)
		if e := last[f[0]]; uint64(e.Rev) < rev {
			last[f[0]] = storage.Entry{Key: f[0], Value: []byte(f[1]), Rev: storage.Revision(rev)}
		}
		if lines++; !killed && due(lines) {
			killed = true
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if !killed {
		t.Fatal("the victim ended by itself")
	}
}

func checkSurvived(t *testing.T, dir string, size int, last map[string]storage.Entry) {
	t.Helper()
	begin := time.Now()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	t.Logf("opened after the crash in %v", time.Since(begin))
	padding := strings.Repeat(" ", size)
	for key, want := range last {
		got, err := s.Get(t.Context(), key)
		// A later write may have been applied without its acknowledgement being printed.
		if err != nil || got.Rev < want.Rev || (got.Rev == want.Rev && string(got.Value) != string(want.Value)+padding) {
			t.Errorf("%s: got %s at %d, %v, want %s at %d", key, bytes.TrimSpace(got.Value), got.Rev, err, want.Value, want.Rev)
		}
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s2, err := embedded.Open(t.Context(), embedded.Config{Dir: dir}); err == nil {
		s2.Close()
		t.Fatal("the same directory was opened twice")
	}
}

// TestKillAtBirth kills processes while they start for the first time: the directory stays usable.
func TestKillAtBirth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 24 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashDir+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(4+2*i) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	checkSurvived(t, dir, 0, nil)
}
