package file

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// With crashDir, a process of the test binary is the victim that crashAs names, with that folder.
const (
	crashDir = "FILE_CRASH_DIR"
	crashAs  = "FILE_CRASH_AS"
)

var victims = map[string]func(dir string){"writer": victim}

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		victims[os.Getenv(crashAs)](dir)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func openAt(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(Config{Dir: dir, NoSync: true, Settle: 5 * time.Millisecond, Failed: func(path string, err error) {
		t.Logf("failed: %s: %v", path, err)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestLaws(t *testing.T) {
	storagetest.Run(t, storagetest.Engine{
		Open:   func(t *testing.T) storage.Store { return openAt(t, t.TempDir()) },
		Reopen: func(t *testing.T, s storage.Store) storage.Store { return openAt(t, s.(*Store).cfg.Dir) },
	})
}

const key = "/registry/configmaps/default/settings"

func TestFileContent(t *testing.T) {
	s := openAt(t, t.TempDir())
	value := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","labels":{"a":"yes","b":"1","c":""},` +
		`"creationTimestamp":"2024-01-01T00:00:00Z"},"data":{"f.conf":"a = 1\nb \u003c 2\n","x":"- no list","url":"http://x:80/y"},` +
		`"list":[1,2.50,{"k":"v","l":[]},["x"],[[]]],"none":null,"t":true,"e":{},"raw":"a\n<b>","\u003c":"&"}`
	if _, err := s.Put(t.Context(), key, []byte(value), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(s.cfg.Dir, "registry/configmaps/default/settings.yaml"))
	want := `kind: ConfigMap
apiVersion: v1
metadata:
  name: settings
  labels:
    a: "yes"
    b: "1"
    c: ""
  creationTimestamp: "2024-01-01T00:00:00Z"
data:
  f.conf: |
    a = 1
    b < 2
  x: "- no list"
  url: http://x:80/y
list:
- 1
- 2.50
- k: v
  l: []
- - x
- - []
none: null
t: true
e: {}
raw: !!str |-
  a
  <b>
"<": !!str "&"
`
	if err != nil || string(got) != want {
		t.Errorf("got, %v:\n%s\nwant:\n%s", err, got, want)
	}
}

func next(t *testing.T, c storage.Cursor) storage.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	b, err := c.Next(ctx)
	if err != nil || len(b.Events) != 1 {
		t.Fatalf("Next: got %+v, %v, want one event", b, err)
	}
	return b.Events[0]
}

// TestOutside changes files as an editor or git would, and expects events.
func TestOutside(t *testing.T) {
	s := openAt(t, t.TempDir())
	first, err := s.Put(t.Context(), key, []byte(`{"n":1}`), storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/", After: first.Rev, Prev: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	path := s.abs(keyPath(key))
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	write(path, "# by hand\nn: 2\n")
	if ev := next(t, c); string(ev.Value) != `{"n":2}` || string(ev.Prev) != `{"n":1}` || ev.Rev != first.Rev+1 {
		t.Errorf("an edit: got %+v", ev)
	}
	write(filepath.Join(filepath.Dir(path), "second.yaml"), "n: 3\n")
	if ev := next(t, c); ev.Key != "/registry/configmaps/default/second" || !ev.Created {
		t.Errorf("a new file: got %+v", ev)
	}
	fresh := filepath.Join(s.cfg.Dir, "registry/secrets/kube-system")
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(fresh, "token.yaml"), "n: 4\n")
	if ev := next(t, c); ev.Key != "/registry/secrets/kube-system/token" {
		t.Errorf("a file in a new folder: got %+v", ev)
	}
	write(path+".swp", "junk")
	write(filepath.Join(fresh, ".hidden.yaml"), "n: 5\n")
	write(path, "n: [\n") // broken: no event
	if err := os.Rename(filepath.Join(fresh, "token.yaml"), filepath.Join(fresh, "renamed.yaml")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < 2 {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range b.Events {
			got = append(got, fmt.Sprint(ev.Key, ev.Deleted))
		}
	}
	if all := strings.Join(got, " "); !strings.Contains(all, "tokentrue") || !strings.Contains(all, "renamedfalse") {
		t.Errorf("a renamed file: got %v", got)
	}
	if e, err := s.Get(t.Context(), key); err != nil || string(e.Value) != `{"n":2}` {
		t.Errorf("a broken file: got %s, %v, want the last value", e.Value, err)
	}
	if _, err := s.Put(t.Context(), key, []byte(`{}`), storage.Pre{}, 0); storage.KindOf(err) != storage.Unavailable {
		t.Errorf("Put over a broken file: got %v, want Unavailable", err)
	}
	if err := os.RemoveAll(filepath.Join(s.cfg.Dir, "registry/configmaps")); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 2; {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range b.Events {
			if !ev.Deleted {
				t.Errorf("a removed folder: got %+v", ev)
			}
			n++
		}
	}
}

// TestOutsideConflict writes with a revision that an unnoticed edit has made stale.
func TestOutsideConflict(t *testing.T) {
	s, err := Open(Config{Dir: t.TempDir(), NoSync: true, Settle: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := s.Put(t.Context(), key, []byte(`{"n":1}`), storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.abs(keyPath(key)), []byte("n: 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), key, []byte(`{"n":3}`), storage.Pre{Rev: e.Rev}, 0); storage.KindOf(err) != storage.Conflict {
		t.Errorf("Put over an edit: got %v, want Conflict", err)
	}
	if e, err = s.Get(t.Context(), key); err != nil || string(e.Value) != `{"n":2}` {
		t.Errorf("Get: got %s, %v", e.Value, err)
	}
}

// TestWhileClosed changes the folder while no store has it open.
func TestWhileClosed(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	revs := map[string]storage.Revision{}
	for _, name := range []string{"same", "edited", "removed"} {
		e, err := s.Put(t.Context(), "/a/"+name, []byte(`{"n":1}`), storage.Pre{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		revs[name] = e.Rev
	}
	before := s.mem.Current()
	s.Close()
	os.WriteFile(filepath.Join(dir, "a/edited.yaml"), []byte("n: 2"), 0o644)
	os.WriteFile(filepath.Join(dir, "a/added.yaml"), []byte("n: 3"), 0o644)
	os.Remove(filepath.Join(dir, "a/removed.yaml"))
	s = openAt(t, dir)
	if got := s.mem.Current(); got != before+3 {
		t.Errorf("revision after three changes: got %d, want %d", got, before+3)
	}
	if e, _ := s.Get(t.Context(), "/a/same"); e.Rev != revs["same"] {
		t.Errorf("untouched: got revision %d, want %d", e.Rev, revs["same"])
	}
	if e, _ := s.Get(t.Context(), "/a/edited"); e.Rev <= before || string(e.Value) != `{"n":2}` {
		t.Errorf("edited: got %s at %d", e.Value, e.Rev)
	}
	if e, _ := s.Get(t.Context(), "/a/added"); e.Rev <= before {
		t.Errorf("added: got %s at %d", e.Value, e.Rev)
	}
	if _, err := s.Get(t.Context(), "/a/removed"); storage.KindOf(err) != storage.NotFound {
		t.Errorf("removed: got %v", err)
	}
	if _, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/", After: before}); storage.KindOf(err) != storage.Compacted {
		t.Errorf("Watch from before the changes: got %v, want Compacted", err)
	}
}

func TestLeaseSurvives(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	id, err := s.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "/a/x", []byte(`{}`), storage.Pre{}, id); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = openAt(t, dir)
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if ev := next(t, c); !ev.Deleted || ev.Key != "/a/x" {
		t.Errorf("got %+v, want the end of the lease", ev)
	}
	if _, err := os.Stat(s.abs(keyPath("/a/x"))); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	openAt(t, dir)
	if s, err := Open(Config{Dir: dir}); err == nil {
		s.Close()
		t.Error("one folder was opened twice")
	}
}

func victim(dir string) {
	s, err := Open(Config{Dir: dir})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("/crash/%d/%d", w, i%5)
				if e, err := s.Put(context.Background(), key, fmt.Appendf(nil, `{"n":%d}`, i), storage.Pre{}, 0); err == nil {
					mu.Lock()
					fmt.Println(key, i, e.Rev)
					mu.Unlock()
				}
			}
		}()
	}
	select {}
}

// TestKill kills a writing process and checks that its acknowledged writes are there.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	type ack struct {
		n   int
		rev storage.Revision
	}
	last := map[string]ack{}
	for round := range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashDir+"="+dir, crashAs+"=writer")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := 1; ; lines++ {
			var key string
			var a ack
			if n, err := fmt.Fscanln(out, &key, &a.n, &a.rev); n != 3 {
				if lines < 40*(round+1) {
					t.Fatalf("the victim ended by itself: %v", err)
				}
				break
			}
			if a.rev > last[key].rev {
				last[key] = a
			}
			if lines == 40*(round+1) {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		s := openAt(t, dir)
		for key, want := range last {
			e, err := s.Get(t.Context(), key)
			var v struct{ N int }
			json.Unmarshal(e.Value, &v)
			if err != nil || e.Rev < want.rev || e.Rev == want.rev && v.N != want.n {
				t.Errorf("round %d: %s: got %s at %d, %v, want %d at %d", round, key, e.Value, e.Rev, err, want.n, want.rev)
			}
		}
		s.Close()
	}
}

func BenchmarkPut(b *testing.B) {
	for _, sync := range []bool{true, false} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			s, err := Open(Config{Dir: b.TempDir(), NoSync: !sync})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Put(b.Context(), key, fmt.Appendf(nil, `{"metadata":{"name":"x"},"n":%d}`, i), storage.Pre{}, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
