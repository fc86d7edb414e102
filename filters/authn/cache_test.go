package authn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// TestCached: the authenticator is asked again for other audiences, and when an answer is too old.
func TestCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c := Cached(tokenFunc(func(token string, audiences []string) (*request.User, []string, error) {
			asked = append(asked, fmt.Sprint(token, audiences))
			switch token {
			case "good":
				return &request.User{Name: "u"}, audiences, nil
			case "broken":
				return nil, nil, errors.New("broken")
			}
			return nil, nil, nil
		}), 10*time.Second, 2*time.Second, nil)
		for _, tt := range []struct {
			after     time.Duration
			token     string
			audiences []string
			asks      bool
		}{
			{0, "good", []string{"a"}, true},
			{0, "good", []string{"a"}, false},
			{0, "good", []string{"b"}, true},
			{0, "good", []string{"a", "b"}, true},
			{0, "good", []string{"ab"}, true},
			{0, "good", nil, true},
			{9 * time.Second, "good", []string{"a"}, false},
			{2 * time.Second, "good", []string{"a"}, true},
			{0, "bad", nil, true},
			{time.Second, "bad", nil, false},
			{time.Second, "bad", nil, true},
			{0, "broken", nil, true},
			{0, "broken", nil, true},
		} {
			time.Sleep(tt.after)
			before := len(asked)
			user, accepted, err := c.AuthenticateToken(t.Context(), tt.token, tt.audiences)
			if asks := len(asked) > before; asks != tt.asks {
				t.Errorf("%s for %q: asks %v, want %v", tt.token, tt.audiences, asks, tt.asks)
			}
			if (user != nil) != (tt.token == "good") || (err != nil) != (tt.token == "broken") || user != nil && !slices.Equal(accepted, tt.audiences) {
				t.Errorf("%s for %q: got %v for %q, %v", tt.token, tt.audiences, user, accepted, err)
			}
		}
	})
}

// TestCachedAsksOnce: many requests ask about one token at once. One of them asks the
// authenticator; if it gives up, another one does.
func TestCachedAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		c := Cached(contextFunc(func(ctx context.Context) (*request.User, error) {
			asked.Add(1)
			select {
			case <-time.After(time.Second):
				return &request.User{Name: "u"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}), time.Minute, 0, nil)
		impatient, giveUp := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if user, _, err := c.AuthenticateToken(impatient, "t", nil); user != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("the request that gives up: got %v, %v", user, err)
			}
		})
		synctest.Wait()
		for range 100 {
			wg.Go(func() {
				if user, _, err := c.AuthenticateToken(t.Context(), "t", nil); user == nil || err != nil {
					t.Errorf("got %v, %v", user, err)
				}
			})
		}
		synctest.Wait()
		late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if user, _, err := c.AuthenticateToken(late, "t", nil); user != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request whose wait ends with its context: got %v, %v", user, err)
		}
		giveUp()
		wg.Wait()
		if n := asked.Load(); n != 2 {
			t.Errorf("asked %d times, want twice", n)
		}
	})
}

type contextFunc func(ctx context.Context) (*request.User, error)

func (f contextFunc) AuthenticateToken(ctx context.Context, _ string, _ []string) (*request.User, []string, error) {
	user, err := f(ctx)
	return user, nil, err
}

// TestCachedPanics: if the request that asks the authenticator panics, the requests that wait for
// its answer go on.
func TestCachedPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Cached(contextFunc(func(context.Context) (*request.User, error) {
			time.Sleep(time.Second)
			panic("on purpose")
		}), time.Minute, time.Minute, nil)
		go func() {
			defer func() { _ = recover() }()
			c.AuthenticateToken(t.Context(), "t", nil)
		}()
		synctest.Wait()
		if user, _, err := c.AuthenticateToken(t.Context(), "t", nil); user != nil || err == nil {
			t.Errorf("got %v, %v", user, err)
		}
	})
}

// TestCacheBounded: a flood of unknown tokens stays within bounds and does not evict good answers.
func TestCacheBounded(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	c := Cached(tokenFunc(func(token string, _ []string) (*request.User, []string, error) {
		switch {
		case strings.HasPrefix(token, "big"):
			return &request.User{Name: big}, nil, nil
		case token == "good":
			return &request.User{Name: "u"}, nil, nil
		}
		return nil, nil, nil
	}), time.Hour, time.Hour, nil).(*cached)
	c.AuthenticateToken(t.Context(), "good", nil)
	for i := range 2 * maxRemembered {
		c.AuthenticateToken(t.Context(), fmt.Sprint("bad", i), nil)
	}
	if _, ok := c.found.find(digestOf("good", nil)); !ok {
		t.Error("a good answer has been evicted")
	}
	if n := len(c.found.mu.bad.entries); n > maxRemembered || n < maxRemembered/2 {
		t.Errorf("got %d refusals", n)
	}
	for i := range 1000 {
		c.AuthenticateToken(t.Context(), fmt.Sprint("big", i), nil)
	}
	sum := 0
	for _, e := range c.found.mu.good.entries {
		sum += e.size
	}
	if in := &c.found.mu.good; in.bytes != sum || sum > maxRememberedBytes || len(in.entries) < 50 {
		t.Errorf("got %d entries with %d bytes, counted as %d", len(in.entries), sum, in.bytes)
	}
}

func TestCachedAllocatesNothing(t *testing.T) {
	c := Cached(tokenFunc(func(string, []string) (*request.User, []string, error) { return &request.User{Name: "u"}, nil, nil }), time.Hour, 0, nil)
	token, audiences := strings.Repeat("t", 2000), []string{"a", "b"}
	if got := testing.AllocsPerRun(100, func() { c.AuthenticateToken(context.Background(), token, audiences) }); got > 0 {
		t.Errorf("got %v allocs, want 0", got)
	}
}

// meter records the calls of a CacheMeter.
type meter struct {
	mu                sync.Mutex
	told              []string
	waiting, fetching int
}

func (m *meter) tell(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, fmt.Sprintf(format, args...))
}

func (m *meter) Asked(remembered bool, _ time.Duration) { m.tell("asked %v", remembered) }
func (m *meter) Waiting(more int)                       { m.waiting += more; m.tell("waiting %d", m.waiting) }
func (m *meter) Fetching(more int)                      { m.fetching += more; m.tell("fetching %d", m.fetching) }
func (m *meter) Fetched(good bool)                      { m.tell("fetched %v", good) }

func TestCacheMeter(t *testing.T) {
	m := new(meter)
	c := Cached(tokenFunc(func(token string, _ []string) (*request.User, []string, error) {
		if token == "bad" {
			return nil, nil, errors.New("bad")
		}
		return &request.User{Name: "u"}, nil, nil
	}), time.Hour, 0, m)
	for _, token := range []string{"good", "good", "bad"} {
		_, _, _ = c.AuthenticateToken(t.Context(), token, nil)
	}
	miss := func(ok bool) string {
		return fmt.Sprintf("waiting 1, fetching 1, fetching 0, fetched %v, waiting 0, asked false, ", ok)
	}
	if got, want := strings.Join(m.told, ", "), miss(true)+"asked true, "+strings.TrimSuffix(miss(false), ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
