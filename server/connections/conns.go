package connections

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
)

// The bound on connections: which are open, which are idle, and which is closed next. Listeners
// wraps its net.Listeners with conns.wrap, and gives net/http the hooks conns.stateChanged and
// conns.context.

// reservedFiles is the number of file descriptors that connections leave to the rest of the
// process: the store, which may fail without them, logs, certificates and outgoing connections. If
// the process may open fewer than twice reservedFiles, connections take half.
const reservedFiles = 128

// maxConns returns the bound on connections of a process that may open that many files.
func maxConns(files uint64) int {
	if files < 2*reservedFiles {
		return int(max(1, files/2))
	}
	return int(min(files-reservedFiles, math.MaxInt32))
}

// conns bounds the connections of all listeners together. At the bound, each new connection closes
// the connection that has been idle for longest: first among strangers' connections, then among all
// others. A connection in use is never closed. If all are in use, the new connection and those
// behind it in the system's queue wait. A request takes the lock at its begin and its end, for a
// few instructions, and allocates nothing.
type conns struct {
	bound   int
	streams int // bound on the open HTTP/2 streams of each connection
	log     *zap.Logger

	mu       sync.Mutex
	freed    sync.Cond // signals that a connection was closed or became idle, or a listener closed
	open     int
	warned   bool     // the log says that the bound is reached; reset when fewer than half are open
	waiting  [2]queue // idle connections: 0 of strangers, 1 of others; the longest idle first
	hijacked queue    // hijacked connections, which net/http no longer knows
	bursts   *Bursts

	strangers budget // of the HTTP/2 streams of all strangers
}

func newConns(bound, streams int, bursts *Bursts, log *zap.Logger) *conns {
	cs := &conns{
		bound:     bound,
		streams:   streams,
		bursts:    bursts,
		log:       log,
		strangers: newBudget(strangerStreams, strangerRate),
	}
	cs.freed.L = &cs.mu
	for i := range cs.waiting {
		cs.waiting[i].init()
	}
	cs.hijacked.init()
	return cs
}

// bounded is a listener whose connections conns counts.
type bounded struct {
	net.Listener
	all    *conns
	closed bool // guarded by all.mu
}

func (cs *conns) wrap(l net.Listener) net.Listener { return &bounded{Listener: l, all: cs} }

// Accept implements net.Listener. It accepts a connection, and then waits until there is room for
// it.
func (l *bounded) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.all.closeIdle() // net/http tries again soon
		}
		return nil, err
	}
	c := &conn{Conn: nc, all: l.all, streams: newBudget(float64(l.all.streams), authenticatedRate)}
	if !l.admit(c) {
		nc.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// admit waits for room and counts c. It returns false if the listener is closed before that.
func (l *bounded) admit(c *conn) bool {
	cs := l.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open >= cs.bound && !cs.warned {
		cs.warned = true
		cs.mu.Unlock()
		cs.log.Warn("connections have reached their bound; idle ones are closed for new ones", zap.Int("bound", cs.bound))
		cs.mu.Lock()
	}
	for cs.open >= cs.bound && !l.closed {
		idle := cs.takeIdle()
		if idle == nil {
			cs.freed.Wait()
			continue
		}
		cs.mu.Unlock()
		idle.Close()
		cs.mu.Lock()
	}
	if l.closed {
		return false
	}
	cs.open++
	cs.bursts.Arrived()
	cs.waiting[0].push(c)
	return true
}

// Close implements net.Listener.
func (l *bounded) Close() error {
	l.all.mu.Lock()
	l.closed = true
	l.all.freed.Broadcast()
	l.all.mu.Unlock()
	return l.Listener.Close()
}

// takeIdle removes from its queue the idle connection that is to be closed next, and returns it;
// nil if there is none. mu is held.
func (cs *conns) takeIdle() *conn {
	for i := range cs.waiting {
		if c := cs.waiting[i].first(); c != nil {
			c.unlink()
			return c
		}
	}
	return nil
}

// closeIdle closes the next idle connection, and reports whether there was one.
func (cs *conns) closeIdle() bool {
	cs.mu.Lock()
	c := cs.takeIdle()
	cs.mu.Unlock()
	if c != nil {
		c.Close()
	}
	return c != nil
}

// stateChanged is the http.Server.ConnState of all servers. A new connection counts as idle until
// the headers of its first request have been read.
func (cs *conns) stateChanged(nc net.Conn, state http.ConnState) {
	switch state {
	case http.StateActive, http.StateHijacked, http.StateIdle:
	default:
		return
	}
	c := connOf(nc)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.unlink()
	if !c.used {
		c.used = true
		cs.bursts.moved()
	}
	switch {
	case state == http.StateActive:
		c.unheard.Store(!c.speaksHTTP2)
		return
	case c.closed:
		return
	case state == http.StateHijacked:
		cs.hijacked.push(c)
		return
	case c.authenticated.Load():
		cs.waiting[1].push(c)
	default:
		cs.waiting[0].push(c)
	}
	if cs.open >= cs.bound { // otherwise nobody waits in admit
		cs.freed.Broadcast()
	}
}

// awaitHijacked waits for the end of the hijacked connections, for which http.Server.Shutdown does
// not wait. When ctx ends, it closes the connections that are left, and returns ctx's error.
func (cs *conns) awaitHijacked(ctx context.Context) (err error) {
	defer context.AfterFunc(ctx, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.freed.Broadcast()
	})()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := cs.hijacked.first(); c != nil; c = cs.hijacked.first() {
		if err = ctx.Err(); err == nil {
			cs.freed.Wait()
			continue
		}
		cs.mu.Unlock()
		c.Close()
		cs.mu.Lock()
	}
	return err
}

// connKey is the key of the conn in the context of a request.
type connKey struct{}

// context is the http.Server.ConnContext of all servers: it puts the conn into the context of
// requests.
func (cs *conns) context(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(nc))
}

// connOf returns the conn below a connection that net/http shows: a conn itself, a *tls.Conn or a
// *framed.
func connOf(nc net.Conn) *conn {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok { // *tls.Conn or *framed
		nc = t.NetConn()
	}
	return nc.(*conn)
}

// MarkAuthenticated wraps the authenticator a. When a finds a user that is not anonymous, the
// wrapper marks the connection of the request, which from then on is no stranger's.
func MarkAuthenticated(a request.Authenticator) request.Authenticator { return marking{a} }

// marking is the authenticator that MarkAuthenticated returns. It reads the mark before it sets it,
// because most requests come on a connection that is marked already.
type marking struct{ request.Authenticator }

// Authenticate implements request.Authenticator.
func (a marking) Authenticate(r *http.Request) (*request.User, error) {
	user, err := a.Authenticator.Authenticate(r)
	if err == nil && user != nil && user.Name != request.AnonymousUser {
		// An in-process request has no conn.
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && !c.authenticated.Load() {
			c.authenticated.Store(true)
		}
	}
	return user, err
}

// conn is one counted connection. It is what net/http and TLS read from and write to.
type conn struct {
	net.Conn
	all           *conns
	authenticated atomic.Bool // an authenticated request has arrived on it: no stranger's
	streams       budget
	refused       atomic.Int64 // Unix time in ns of the last refused watch over HTTP/1.1; 0: none
	unheard       atomic.Bool  // between the headers of an HTTP/1 request and the call of a handler
	speaksHTTP2   bool         // set before net/http calls stateChanged

	closed bool // guarded by all.mu, like the fields below
	used   bool // a request has come on it

	// The connections before and after c in its queue; nil if c is in none.
	prev, next *conn
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.closed {
		return err
	}
	c.closed = true
	c.unlink()
	cs.open--
	cs.bursts.moved()
	if cs.open < cs.bound/2 {
		cs.warned = false
	}
	cs.freed.Broadcast()
	return err
}

// Write implements net.Conn. net/http answers some requests without a handler, for example one with
// an unknown Expect header. After such an answer it reads the body of the request without a
// deadline, so Write sets one.
func (c *conn) Write(p []byte) (int, error) {
	if c.unheard.Load() {
		_ = c.SetReadDeadline(time.Now().Add(unheardTime))
	}
	return c.Conn.Write(p)
}

// CloseWrite lets net/http send the end of an answer before it closes the connection, although the
// client is still sending the body of its request.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// unlink removes c from its queue, if it is in one.
func (c *conn) unlink() {
	if c.next == nil {
		return
	}
	c.prev.next, c.next.prev = c.next, c.prev
	c.prev, c.next = nil, nil
}

// queue is a doubly linked ring of connections with a sentinel, so that push and unlink allocate
// nothing. conns.mu guards it.
type queue struct{ ring conn }

func (q *queue) init() { q.ring.prev, q.ring.next = &q.ring, &q.ring }

func (q *queue) first() *conn {
	if q.ring.next == &q.ring {
		return nil
	}
	return q.ring.next
}

func (q *queue) push(c *conn) {
	c.prev, c.next = q.ring.prev, &q.ring
	c.prev.next, q.ring.prev = c, c
}
