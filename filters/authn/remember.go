package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/alias"
)

// digest stands for a token, and the audiences it is asked about for. Nobody can tell the token from it, and the time of a look-up by it
// tells nothing of how much of a token was right.
type digest [sha256.Size]byte

// digestOf returns the digest of a token for some audiences. It allocates nothing.
func digestOf(token string, audiences []string) digest {
	sum := digest(sha256.Sum256(alias.Bytes(token)))
	for _, a := range audiences {
		var both [2 * sha256.Size]byte
		next := sha256.Sum256(alias.Bytes(a))
		copy(both[:], sum[:])
		copy(both[sha256.Size:], next[:])
		sum = sha256.Sum256(both[:])
	}
	return sum
}

// Bounds on what is remembered of tokens by one authenticator: entries of each kind, and bytes that they are taken to hold.
const (
	maxRemembered      = 16 << 10
	maxRememberedBytes = 16 << 20
)

// remembered keeps what has been found out about tokens, for a while and within bounds. Who asks while somebody else finds out the
// same waits for that. Answers that are refusals have a place of their own, so that a flood of bad tokens drives out no good ones.
// All methods may be called at once.
type remembered[V any] struct {
	now func() time.Time

	mu struct {
		sync.RWMutex
		good, bad answers[V]
		asking    map[digest]*asking[V]
	}
}

// answer is what was found out.
type answer[V any] struct {
	value V
	err   error
	good  bool
	keep  time.Duration // how long it may be remembered; 0: not at all
	size  int           // that it is taken to hold, in bytes
}

// answers are bounded.
type answers[V any] struct {
	entries map[digest]remembers[V]
	bytes   int
}

type remembers[V any] struct {
	answer[V]
	until time.Time
}

// asking is somebody finding out.
type asking[V any] struct {
	done chan struct{} // closed when answer is there
	answer[V]
}

// overhead is what an entry holds beside its answer, in bytes.
const overhead = 256

// find returns what is remembered of a digest.
func (r *remembered[V]) find(key digest) (answer[V], bool) {
	r.mu.RLock()
	e, ok := r.mu.good.entries[key]
	if !ok && len(r.mu.bad.entries) > 0 {
		e, ok = r.mu.bad.entries[key]
	}
	r.mu.RUnlock()
	if !ok || !r.now().Before(e.until) {
		return answer[V]{}, false
	}
	return e.answer, true
}

// ask has find tell what nobody remembers. If whoever does gives up, because their request ends, one of those who wait for it does
// it again.
func (r *remembered[V]) ask(ctx context.Context, key digest, find func(ctx context.Context) answer[V]) (V, error) {
	for {
		r.mu.Lock()
		other := r.mu.asking[key]
		if other == nil {
			own := &asking[V]{done: make(chan struct{})}
			own.err = errCrashed
			if r.mu.asking == nil {
				r.mu.asking = map[digest]*asking[V]{}
			}
			r.mu.asking[key] = own
			r.mu.Unlock()
			return r.settle(ctx, key, own, find)
		}
		r.mu.Unlock()
		select {
		case <-other.done:
			if !errors.Is(other.err, errGaveUp) {
				return other.value, other.err
			}
		case <-ctx.Done():
			return *new(V), ctx.Err()
		}
	}
}

var (
	errCrashed = errors.New("authentication failed unexpectedly")
	errGaveUp  = errors.New("authentication was given up")
)

// settle finds out and tells those who wait, whatever becomes of it.
func (r *remembered[V]) settle(ctx context.Context, key digest, own *asking[V], find func(ctx context.Context) answer[V]) (V, error) {
	defer func() {
		r.mu.Lock()
		delete(r.mu.asking, key)
		if own.keep > 0 {
			r.keepLocked(key, own.answer)
		}
		r.mu.Unlock()
		close(own.done)
	}()
	a := find(ctx)
	if own.answer = a; ctx.Err() != nil && a.err != nil {
		own.answer = answer[V]{err: errGaveUp}
	}
	return a.value, a.err
}

func (r *remembered[V]) keepLocked(key digest, a answer[V]) {
	in := &r.mu.good
	if !a.good {
		in = &r.mu.bad
	}
	if in.entries == nil {
		in.entries = map[digest]remembers[V]{}
	}
	now := r.now()
	a.size += overhead
	if len(in.entries) >= maxRemembered || in.bytes+a.size > maxRememberedBytes {
		in.thin(now)
	}
	in.drop(key)
	in.entries[key] = remembers[V]{a, now.Add(a.keep)}
	in.bytes += a.size
}

// thin makes room: what is over goes, and of the rest any quarter. That is rare, and what is still asked for comes again.
func (in *answers[V]) thin(now time.Time) {
	n := 0
	for key, e := range in.entries {
		if n++; n%4 == 0 || !now.Before(e.until) {
			in.drop(key)
		}
	}
}

func (in *answers[V]) drop(key digest) {
	if e, ok := in.entries[key]; ok {
		delete(in.entries, key)
		in.bytes -= e.size
	}
}
