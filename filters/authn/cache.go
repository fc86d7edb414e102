package authn

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// Cached wraps tokens and remembers its answers by token and audiences: a user for the time good,
// and the answer that there is no user for the time bad. A time of 0 remembers nothing, and errors
// are never remembered. Cached is for authenticators that ask other servers: a change there takes
// effect here after good or bad at the latest. If several requests ask about the same token at
// once, one of them asks tokens. A remembered answer costs no allocation. meter may be nil.
func Cached(tokens request.TokenAuthenticator, good, bad time.Duration, meter CacheMeter) request.TokenAuthenticator {
	if meter == nil {
		meter = unmetered{}
	}
	c := &cached{tokens: tokens, good: good, bad: bad, meter: meter}
	c.found.now = time.Now
	return c
}

type cached struct {
	tokens    request.TokenAuthenticator
	good, bad time.Duration
	meter     CacheMeter
	found     remembered[identified]
}

// CacheMeter is told about the use of Cached authenticators, for metrics. All methods may be called
// concurrently.
type CacheMeter interface {
	// Asked is called once for each question. remembered says whether the answer was in the cache,
	// and took how long the question took.
	Asked(remembered bool, took time.Duration)
	// Waiting is called with 1 when a question begins to wait for an answer that is not in the
	// cache, and with -1 when it ends. Fetching is called in the same way for each question for
	// which the wrapped authenticator is asked.
	Waiting(more int)
	Fetching(more int)
	// Fetched is called when the wrapped authenticator has answered. ok is false if it returned an
	// error.
	Fetched(ok bool)
}

type unmetered struct{}

func (unmetered) Asked(bool, time.Duration) {}
func (unmetered) Waiting(int)               {}
func (unmetered) Fetching(int)              {}
func (unmetered) Fetched(bool)              {}

// identified is the result of a TokenAuthenticator.
type identified struct {
	user     *request.User
	accepted []string
}

// AuthenticateToken implements request.TokenAuthenticator.
func (c *cached) AuthenticateToken(
	ctx context.Context, token string, audiences []string,
) (*request.User, []string, error) {
	began := time.Now()
	key := digestOf(token, audiences)
	if a, ok := c.found.find(key); ok {
		c.meter.Asked(true, time.Since(began))
		return a.value.user, a.value.accepted, nil
	}
	c.meter.Waiting(1)
	defer func() {
		c.meter.Waiting(-1)
		c.meter.Asked(false, time.Since(began))
	}()
	i, err := c.found.ask(ctx, key, func(ctx context.Context) answer[identified] {
		answered := false // stays false if tokens panics
		c.meter.Fetching(1)
		defer func() {
			c.meter.Fetching(-1)
			c.meter.Fetched(answered)
		}()
		user, accepted, err := c.tokens.AuthenticateToken(ctx, token, audiences)
		answered = err == nil
		switch {
		case err != nil:
			return answer[identified]{err: err}
		case user == nil:
			return answer[identified]{keep: c.bad}
		}
		return answer[identified]{value: identified{user, accepted}, good: true, keep: c.good, size: sizeOf(user)}
	})
	return i.user, i.accepted, err
}

// sizeOf estimates the memory of a user in bytes.
func sizeOf(u *request.User) int {
	n := len(u.Name) + len(u.UID) + 256
	for _, g := range u.Groups {
		n += len(g) + 16
	}
	for key, values := range u.Extra {
		n += len(key) + 64
		for _, v := range values {
			n += len(v) + 16
		}
	}
	return n
}
