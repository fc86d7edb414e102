package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// proxy forwards connections from a store to its etcd, until a test cuts or holds them.
type proxy struct {
	address, target string

	held sync.RWMutex // while a test holds it for writing, no bytes pass and no connection ends
	wg   sync.WaitGroup

	mu    sync.Mutex
	l     net.Listener
	conns map[net.Conn]struct{}
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	p := &proxy{target: strings.TrimPrefix(target, "http://"), address: "127.0.0.1:0", conns: map[net.Conn]struct{}{}}
	p.listen(t)
	p.address = p.l.Addr().String()
	t.Cleanup(p.cut)
	return p
}

func (p *proxy) listen(t *testing.T) {
	t.Helper()
	var l net.Listener
	eventually(t, func() (err error) { // another process may have the port for a while
		l, err = net.Listen("tcp", p.address)
		return err
	})
	p.l = l
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", p.target)
			if err != nil {
				c.Close()
				continue
			}
			p.wg.Go(func() { p.copy(c, s) })
			p.wg.Go(func() { p.copy(s, c) })
		}
	})
}

func (p *proxy) copy(to, from net.Conn) {
	p.mu.Lock()
	p.conns[to] = struct{}{}
	p.mu.Unlock()
	defer to.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		p.held.RLock()
		if err == nil {
			_, err = to.Write(buf[:n])
		}
		p.held.RUnlock()
		if err != nil {
			return
		}
	}
}

// cut ends all connections and refuses others.
func (p *proxy) cut() {
	p.l.Close()
	p.mu.Lock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
	p.mu.Unlock()
	p.wg.Wait()
}

// calls are all operations that need etcd.
func calls(s *Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"get": func(ctx context.Context) error { _, err := s.Get(ctx, "/a/x"); return err },
		"range": func(ctx context.Context) error {
			_, err := s.Range(ctx, storage.RangeRequest{Prefix: "/a/"})
			return err
		},
		"put": func(ctx context.Context) error {
			_, err := s.Put(ctx, "/a/new", nil, storage.Pre{Absent: true}, 0)
			return err
		},
		"delete":   func(ctx context.Context) error { _, err := s.Delete(ctx, "/a/x", storage.Pre{}); return err },
		"compact":  func(ctx context.Context) error { return s.Compact(ctx, 1) },
		"lease":    func(ctx context.Context) error { _, err := s.Lease(ctx, time.Minute); return err },
		"revision": func(ctx context.Context) error { _, err := s.Revision(ctx); return err },
		"watch after": func(ctx context.Context) error {
			c, err := s.Watch(ctx, storage.WatchRequest{Prefix: "/a/", After: 1})
			if err == nil {
				c.Close()
			}
			return err
		},
	}
}

// told returns the lines of the log above the level debug.
func told(logs *observer.ObservedLogs) (lines []string) {
	for _, e := range logs.All() {
		if e.Level > zapcore.DebugLevel {
			lines = append(lines, e.Level.String()+" "+e.Message)
		}
	}
	return lines
}

// eventually calls f until f returns no error.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if err := f(); err == nil {
			return
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// watched writes /a/x and returns it, with a cursor that begins after the write.
func watched(t *testing.T, s *Store) (first storage.Entry, c storage.Cursor) {
	t.Helper()
	first, err := s.Put(t.Context(), "/a/x", []byte("1"), storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/", After: first.Rev}); err != nil {
		t.Fatal(err)
	}
	return first, c
}

// TestAway takes etcd away while it is written to. As soon as the store knows it, it refuses every
// call at once, and none is in doubt. When etcd is back, calls and the cursor go on without a gap.
// The log has one line about each change.
func TestAway(t *testing.T) {
	t.Parallel()
	p := newProxy(t, etcdproc.Start(t))
	core, logs := observer.New(zapcore.DebugLevel)
	s, err := Open(t.Context(), Config{Endpoints: []string{p.address}, Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, c := watched(t, s)
	defer c.Close()

	p.cut()
	eventually(t, func() error {
		_, err := s.Put(t.Context(), "/a/x", []byte("2"), storage.Pre{}, 0)
		if errors.Is(err, storage.Unavailable) {
			return nil
		} else if !errors.Is(err, storage.InDoubt) { // a write that was sent before the store knew it is in doubt
			t.Errorf("Put: got %v, want InDoubt or Unavailable", err)
		}
		return err
	})
	for name, call := range calls(s) {
		for range 20 {
			if err := call(t.Context()); !errors.Is(err, storage.Unavailable) || !errors.Is(err, errAway) {
				t.Errorf("%s: got %v, want Unavailable at once", name, err)
			}
		}
	}
	if got := told(logs); len(got) != 1 || got[0] != "warn etcd is unreachable" {
		t.Errorf("while etcd is away the log says %q", got)
	}

	p.listen(t)
	eventually(t, func() error { _, err := s.Revision(t.Context()); return err })
	second, err := s.Put(t.Context(), "/a/x", []byte("3"), storage.Pre{Rev: first.Rev}, 0)
	if err != nil {
		t.Errorf("Put: got %v: was one that was refused applied?", err)
	}
	for last := first.Rev; last < second.Rev; {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range b.Events {
			if last++; ev.Rev != last {
				t.Errorf("the cursor shows %d after %d", ev.Rev, last-1)
			}
		}
	}
	if got := told(logs); len(got) != 2 || got[1] != "info etcd is reachable again" {
		t.Errorf("the log says %q", got)
	}
	for _, e := range logs.FilterMessageSnippet("etcd is").All() {
		fields := e.ContextMap()
		if all, _ := fields["endpoints"].([]any); len(all) != 1 || all[0] != p.address {
			t.Errorf("%s: got %v, want the endpoints", e.Message, fields)
		}
		if reason, _ := fields["reason"].(string); e.Level == zapcore.WarnLevel && !strings.Contains(reason, "connection refused") {
			t.Errorf("%s: got reason %q", e.Message, reason)
		}
		if _, ok := fields["after"].(time.Duration); e.Level == zapcore.InfoLevel && !ok {
			t.Errorf("%s: got %v, want how long it was away", e.Message, fields)
		}
	}
}

// TestHanging: if etcd does not answer for some beats, the calls that wait for it fail. A write
// that was held on its way is applied once or not at all.
func TestHanging(t *testing.T) {
	t.Parallel()
	if longest := (silentAfter+1)*beat + beat/10 + patience; longest >= 10*time.Second {
		t.Errorf("an etcd that hangs is noticed after %v, want less than 10 s", longest)
	}
	p := newProxy(t, etcdproc.Start(t))
	core, logs := observer.New(zapcore.DebugLevel)
	cfg := Config{Endpoints: []string{p.address}, Logger: zap.New(core), DialTimeout: 5 * time.Second}
	l := newLink(cfg.Endpoints, cfg.Logger)
	l.beat, l.patience = 150*time.Millisecond, 150*time.Millisecond // long enough for an answer on a busy machine
	s, err := open(t.Context(), cfg, l)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, c := watched(t, s)
	defer c.Close()

	// An idle connection is kept, because etcd answers pings.
	before := logs.FilterMessageSnippet("silent").Len()
	for range 2 * silentAfter {
		<-time.After(l.beat)
	}
	if got := logs.FilterMessageSnippet("silent").Len(); got != before || len(told(logs)) != 0 {
		t.Errorf("an idle connection was taken for a silent one: %q", told(logs))
	}

	p.held.Lock()
	var waiting sync.WaitGroup
	for name, call := range calls(s) {
		waiting.Go(func() {
			want := storage.Unavailable
			if name == "put" || name == "delete" {
				want = storage.InDoubt // it has been sent
			}
			if err := call(t.Context()); storage.KindOf(err) != want {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		})
	}
	waiting.Wait()
	if _, err := s.Put(t.Context(), "/a/x", nil, storage.Pre{}, 0); !errors.Is(err, errAway) {
		t.Errorf("Put: got %v, want it refused at once", err)
	}
	p.held.Unlock()

	eventually(t, func() error { _, err := s.Revision(t.Context()); return err })
	last, err := s.Put(t.Context(), "/a/last", nil, storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for at := first.Rev; at < last.Rev; {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range b.Events {
			if at++; ev.Rev != at {
				t.Fatalf("the cursor shows %d after %d", ev.Rev, at-1)
			}
			seen[ev.Key]++
		}
	}
	if seen["/a/last"] != 1 || seen["/a/new"] > 1 || seen["/a/x"] > 1 {
		t.Errorf("got events %v", seen)
	}
	if got := told(logs); len(got) != 2 || got[0] != "warn etcd is unreachable" || got[1] != "info etcd is reachable again" {
		t.Errorf("the log says %q", got)
	}
}

// TestOpenEnds: Open of a store whose etcd does not answer ends with its context, with the
// context's cause.
func TestOpenEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts no connection
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, cfg := range []Config{
		{Endpoints: []string{l.Addr().String()}},
		{Endpoints: []string{"127.0.0.1:1"}},
		{Endpoints: []string{l.Addr().String()}, Username: "u", Password: "p"},
	} {
		core, logs := observer.New(zapcore.InfoLevel)
		cfg.DialTimeout, cfg.Logger = time.Hour, zap.New(core)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		ended := make(chan error, 1)
		go func() {
			s, err := Open(ctx, cfg)
			if err == nil {
				s.Close()
			}
			ended <- err
		}()
		if cfg.Username == "" {
			eventually(t, func() error {
				if logs.Len() == 0 {
					return errors.New("nothing is logged")
				}
				return nil
			})
		}
		cancel(enough)
		if err := <-ended; !errors.Is(err, enough) && cfg.Username == "" || err == nil {
			t.Errorf("%v: got %v, want it to say why", cfg.Endpoints, err)
		}
		if got := told(logs); cfg.Username == "" && (len(got) != 1 || got[0] != "warn etcd is unreachable") {
			t.Errorf("%v: the log says %q", cfg.Endpoints, got)
		}
	}
}
