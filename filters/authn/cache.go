package authn

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// Cached remembers what tokens says of a token that is asked about for some audiences: of a good one for the time good, of another,
// or one that tokens does not know, for the time bad; 0 remembers none of them. Errors are not remembered. It is for authenticators that
// are dear to ask, and whose answers may be that old: those that ask other servers. Of those who ask about the same at the same
// time one asks tokens. An answer that is remembered costs no allocation. meter may be nil.
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

// CacheMeter is told what becomes of questions to Cached authenticators. All methods may be called at once.
type CacheMeter interface {
	// Asked is told of each question: whether the answer was remembered, and how long it took.
	Asked(remembered bool, took time.Duration)
	// Waiting and Fetching are told how many more or fewer questions wait for answers that nobody remembers, and how many of those are
	// being asked for.
	Waiting(more int)
	Fetching(more int)
	// Fetched is told of each that has been asked for, and whether there was an answer.
	Fetched(ok bool)
}

type unmetered struct{}

func (unmetered) Asked(bool, time.Duration) {}
func (unmetered) Waiting(int)               {}
func (unmetered) Fetching(int)              {}
func (unmetered) Fetched(bool)              {}

// identified is what a TokenAuthenticator returns.
type identified struct {
	user     *request.User
	accepted []string
}

func (c *cached) AuthenticateToken(ctx context.Context, token string, audiences []string) (*request.User, []string, error) {
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
		answered := false // it may crash
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

// sizeOf is about how many bytes a user takes.
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
