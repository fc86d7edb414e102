package health

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failingStore is a store whose Revision fails while err is set.
type failingStore struct {
	storage.Store
	err atomic.Pointer[error]
}

func (s *failingStore) Revision(ctx context.Context) (storage.Revision, error) {
	if err := s.err.Load(); err != nil {
		return 0, *err
	}
	return s.Store.Revision(ctx)
}

// subject is a Health without a server.
type subject struct{ *Health }

func newHealth(t *testing.T, store storage.Store, log *zap.Logger) subject {
	t.Helper()
	t.Cleanup(func() { store.Close() })
	h, err := New(Needs{
		Paths: router.NewPrefixMux(), Store: backing.New(backing.Config{Location: backing.Location{Engine: store}}),
		Timeouts: Timeouts{DefaultTimeout, DefaultTimeout}, Started: time.Now(), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return subject{h}
}

// get requests a path.
func (s subject) get(ctx context.Context, target string) (int, string) {
	r, w := httptest.NewRequestWithContext(ctx, "GET", target, http.NoBody), httptest.NewRecorder()
	s.paths.Match(r.URL.Path).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestHealthLog requests a failing check again and again: the failure is logged once, or not at all
// if the store is unavailable, which is logged elsewhere.
func TestHealthLog(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	store := &failingStore{Store: memory.New(memory.Config{})}
	h := newHealth(t, store, zap.New(core))
	probe := func(want, lines int) {
		t.Helper()
		for range 10 {
			if code, body := h.get(t.Context(), "/livez/etcd"); code != want {
				t.Errorf("got %d %s, want %d", code, body, want)
			}
		}
		if got := logs.FilterMessage("health check failed").Len(); got != lines {
			t.Errorf("got %d lines in the log, want %d", got, lines)
		}
	}
	probe(http.StatusOK, 0)
	broken := errors.New("broken")
	for round := range 2 {
		store.err.Store(&broken)
		probe(http.StatusInternalServerError, round+1)
		store.err.Store(nil)
		probe(http.StatusOK, round+1)
	}
	away := error(&storage.Error{Op: "revision", Kind: storage.Unavailable})
	store.err.Store(&away)
	probe(http.StatusInternalServerError, 2)
}

// TestHealthMetrics: the checks that an endpoint makes are counted. Excluded checks, and checks
// that were requested on their own path, are not.
func TestHealthMetrics(t *testing.T) {
	store := &failingStore{Store: memory.New(memory.Config{})}
	h := newHealth(t, store, zap.NewNop())
	h.get(t.Context(), "/livez")
	h.get(t.Context(), "/livez?exclude=log")
	h.get(t.Context(), "/livez/ping")
	broken := errors.New("broken")
	store.err.Store(&broken)
	h.get(t.Context(), "/livez")
	gone, leave := context.WithCancel(t.Context())
	leave()
	h.get(gone, "/livez")
	_, body := h.get(t.Context(), "/metrics/slis")
	for _, want := range []string{
		`kubernetes_healthcheck{name="ping",type="livez"} 1`, `kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 3`,
		`kubernetes_healthcheck{name="etcd",type="livez"} 0`, `kubernetes_healthchecks_total{name="etcd",status="error",type="livez"} 1`,
		`kubernetes_healthchecks_total{name="etcd",status="success",type="livez"} 2`,
		`kubernetes_healthchecks_total{name="log",status="success",type="livez"} 2`, "process_start_time_seconds ",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	for _, other := range []string{`type="readyz"`, "go_goroutines"} {
		if strings.Contains(body, other) {
			t.Errorf("%s is in %s", other, body)
		}
	}
}

// TestHooks: a hook and its Completes are checks of all endpoints. The check of a hook fails until
// the hook has returned without an error. A second hook of the same name is refused.
func TestHooks(t *testing.T) {
	h := newHealth(t, memory.New(memory.Config{}), zap.NewNop())
	missing, late := errors.New("some are missing"), make(chan struct{})
	for _, hook := range []generic.Hook{
		{Name: "good", Run: func(context.Context) error { return nil }, Completes: generic.Check{Name: "more", Run: func(context.Context) error { return missing }}},
		{Name: "late", Run: func(context.Context) error { <-late; return nil }},
		{Name: "bad", Run: func(context.Context) error { return errors.New("broken") }},
	} {
		if err := h.AddHook(hook); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.AddHook(generic.Hook{Name: "good"}); err == nil || !strings.Contains(err.Error(), `hook "good" is registered twice`) {
		t.Errorf("twice: got %v", err)
	}
	checks := func(want map[string]string) {
		t.Helper()
		for name, reason := range want {
			for _, endpoint := range []string{"/healthz/", "/livez/", "/readyz/"} {
				if _, body := h.get(t.Context(), endpoint+name); body != reason {
					t.Errorf("%s: got %q, want %q", endpoint+name, body, reason)
				}
			}
		}
	}
	const failed = "internal server error: "
	checks(map[string]string{"poststarthook/good": failed + "not finished\n", "more": failed + "some are missing\n"})
	bad := make(chan error, 1)
	ended := make(chan bool)
	go func() { ended <- h.RunHooks(t.Context(), func(err error) { bad <- err }) }()
	if err := <-bad; err.Error() != "server: hook bad: broken" {
		t.Errorf("got %v", err)
	}
	checks(map[string]string{"poststarthook/late": failed + "not finished\n", "poststarthook/bad": failed + "broken\n"})
	close(late)
	if <-ended {
		t.Error("RunHooks reports that none has failed")
	}
	checks(map[string]string{"poststarthook/good": "ok", "poststarthook/late": "ok", "more": failed + "some are missing\n"})
}
