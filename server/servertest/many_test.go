//go:build !race

package servertest_test

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server/servertest"
)

// TestManyInARow starts and stops environments with definitions, one after the other. They leave no
// folders, ports, open files or goroutines behind.
func TestManyInARow(t *testing.T) {
	count := 100
	if testing.Short() {
		count = 5
	}
	t.Setenv("TMPDIR", t.TempDir())
	var files, goroutines int
	for i := range count {
		s, err := servertest.Environment{Definitions: []any{sails(1), sails(2)}, Webhooks: &servertest.Webhooks{}}.Start()
		if err != nil {
			t.Fatal(err)
		}
		if code, body := get(t, s.Client, s.URL+"/apis/sea.example.com/v1/sails2", ""); code != 200 {
			t.Errorf("GET: got %d %s", code, body)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "https://")); err == nil {
			c.Close()
			t.Errorf("a server listens at %s after the end", s.URL)
		}
		if i == 0 {
			files, goroutines = openFiles(), runtime.NumGoroutine()
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// The first environment opens what all later ones share. The end of goroutines may take a
	// moment.
	if f, g := openFiles(), runtime.NumGoroutine(); f > files+5 || g > goroutines+5 {
		t.Errorf("after %d environments: %d open files and %d goroutines; after the first %d and %d", count, f, g, files, goroutines)
	}
}

// openFiles returns the number of open files of the process, or 0 if the system does not tell.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
