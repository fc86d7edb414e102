package server

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// closeCounter counts the calls of Close.
type closeCounter struct {
	storage.Store
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return c.Store.Close()
}

// descriptors returns the open files of the process, as the targets of links in /proc; nothing if
// the system has no such folder.
func descriptors() (open []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open = append(open, to)
		}
	}
	slices.Sort(open)
	return open
}

// TestFailingPart makes a server of which each part in turn fails. The parts before it must end, so
// that no goroutine, no open file and no lock on the data folder is left.
func TestFailingPart(t *testing.T) {
	ours := errors.New("this part fails")
	for _, tt := range []struct {
		name   string
		config func(*testing.T, *Config) (check func(part string))
	}{
		{"embedded", func(t *testing.T, c *Config) func(string) {
			c.Storage.Engine = StorageEmbedded
			return func(string) {}
		}},
		{"file", func(t *testing.T, c *Config) func(string) {
			c.Storage.Engine = StorageFile
			return func(string) {}
		}},
		{"given", func(t *testing.T, c *Config) func(string) {
			given := &closeCounter{Store: memory.New(memory.Config{})}
			c.Storage.Store = given
			return func(part string) {
				if given.closed != 1 {
					t.Errorf("%s: the store of the configuration was closed %d times, want once", part, given.closed)
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir() // all servers use one folder, so that a lock that is left is found
			all := serverParts()
			for i, p := range all {
				cfg := Config{DataDir: dir, Serving: ServingConfig{SecurePort: AnyPort, HTTPPort: AnyPort}, Log: zap.NewNop()}
				check := tt.config(t, &cfg)
				before, running := descriptors(), goleak.IgnoreCurrent()
				c, err := cfg.complete()
				if err == nil {
					err = c.makeDataDir()
				}
				if err != nil {
					t.Fatal(err)
				}
				failing := part{p.name, func(*assembly) error { return ours }}
				a, err := assemble(t.Context(), c, append(slices.Clip(all[:i]), failing))
				if a != nil || !errors.Is(err, ours) {
					t.Fatalf("%s fails: assemble returned %v, %v", p.name, a, err)
				}
				if rest := strings.ReplaceAll(err.Error(), ours.Error(), ""); rest != "" {
					t.Errorf("%s fails: further errors %q", p.name, rest)
				}
				check(p.name)
				if err := goleak.Find(running); err != nil {
					t.Fatalf("%s fails: %v", p.name, err)
				}
				if after := descriptors(); runtime.GOOS == "linux" && !slices.Equal(before, after) {
					t.Errorf("%s fails: open files before %q, after %q", p.name, before, after)
				}
			}
		})
	}
}

// TestEnds: a stack of ends runs them in reverse order, each once, and joins their errors.
func TestEnds(t *testing.T) {
	var e ends
	var order []int
	for i := range 3 {
		e.push(func() error {
			order = append(order, i)
			if i == 1 {
				return nil
			}
			return errors.New(string(rune('a' + i)))
		})
	}
	if err := e.run(); err == nil || err.Error() != "c\na" {
		t.Errorf("run: got error %v, want c and a", err)
	}
	if err := e.run(); err != nil || !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("run: got order %v, error %v", order, err)
	}
}
