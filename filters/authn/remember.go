package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/alias"
)

// This file is the cache of tokens: a map from a token's hash to what was found out about it, with
// bounds on entries and bytes, and with one finder for concurrent questions about one token.
// ServiceAccounts and Cached use it.

// digest identifies a token and the audiences that it is asked about for. The token cannot be
// computed from it, and since lookups compare hashes, their timing does not tell how much of a
// token was right.
type digest [sha256.Size]byte

// digestOf returns the digest of a token for some audiences, in their order. It does not allocate.
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

// Bounds on what one authenticator remembers: entries of each kind, good or bad, and their
// estimated bytes.
const (
	maxRemembered      = 16 << 10
	maxRememberedBytes = 16 << 20
)

// remembered keeps answers about tokens for a limited time and within bounds. Concurrent questions
// about one token wait for one finder. Good and bad answers are kept apart, so that a flood of bad
// tokens does not evict good ones. All methods may be called concurrently.
type remembered[V any] struct {
	now func() time.Time

	mu struct {
		sync.RWMutex
		good, bad answers[V]
		asking    map[digest]*asking[V]
	}
}

// answer is what was found out about a token.
type answer[V any] struct {
	value V
	err   error
	good  bool
	keep  time.Duration // how long it may be remembered; 0: not at all
	size  int           // estimated memory in bytes
}

// answers are the remembered answers of one kind, and their size.
type answers[V any] struct {
	entries map[digest]rememberedAnswer[V]
	bytes   int
}

// rememberedAnswer is a remembered answer with the time at which it is forgotten.
type rememberedAnswer[V any] struct {
	answer[V]
	until time.Time
}

// asking is a question that somebody is finding the answer to.
type asking[V any] struct {
	done chan struct{} // closed when answer is set
	answer[V]
}

// overhead is the estimated memory of an entry besides its answer, in bytes.
const overhead = 256

// find returns the remembered answer for a digest, if there is one that is still valid.
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

// ask calls find for an answer that is not remembered, or waits for another request that is calling
// it. If that request ends before it has an answer, one of those who wait calls find again.
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
			return r.findAndShare(ctx, key, own, find)
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

// The errors of questions without an answer. errCrashed is for those who waited for a find that
// panicked; nobody gets errGaveUp.
var (
	errCrashed = errors.New("authentication failed unexpectedly")
	errGaveUp  = errors.New("authentication was given up")
)

// findAndShare calls find, and hands the answer to those who wait, even if find panics.
func (r *remembered[V]) findAndShare(
	ctx context.Context, key digest, own *asking[V], find func(ctx context.Context) answer[V],
) (V, error) {
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

// keepLocked remembers an answer and makes room for it. The caller holds mu.
func (r *remembered[V]) keepLocked(key digest, a answer[V]) {
	in := &r.mu.good
	if !a.good {
		in = &r.mu.bad
	}
	if in.entries == nil {
		in.entries = map[digest]rememberedAnswer[V]{}
	}
	now := r.now()
	a.size += overhead
	if len(in.entries) >= maxRemembered || in.bytes+a.size > maxRememberedBytes {
		in.evict(now)
	}
	in.forget(key)
	in.entries[key] = rememberedAnswer[V]{a, now.Add(a.keep)}
	in.bytes += a.size
}

// evict drops all expired answers and a quarter of the others, any of them. It is called rarely,
// and an answer that is still needed is found again.
func (in *answers[V]) evict(now time.Time) {
	n := 0
	for key, e := range in.entries {
		if n++; n%4 == 0 || !now.Before(e.until) {
			in.forget(key)
		}
	}
}

// forget forgets an answer.
func (in *answers[V]) forget(key digest) {
	if e, ok := in.entries[key]; ok {
		delete(in.entries, key)
		in.bytes -= e.size
	}
}
