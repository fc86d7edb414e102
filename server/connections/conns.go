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

// reservedFiles are descriptors that connections leave to the rest of the process: the store, which
// may not survive without them, logs, certificates, and connections to others. Where there are few,
// connections take at most half.
const reservedFiles = 128

// maxConns is the bound on connections for a number of descriptors that the process may have.
func maxConns(files uint64) int {
	if files < 2*reservedFiles {
		return int(max(1, files/2))
	}
	return int(min(files-reservedFiles, math.MaxInt32))
}

// conns bounds the connections of all listeners together. At the bound each new one takes the place
// of an idle one, that has been idle for longest: first of strangers, which are those that no
// request has come by from anybody known, or no request at all, then of others. A connection in use
// is never closed; if all are, nothing is accepted, and clients wait in the system's queue. Cost: a
// lock for some instructions at the begin and the end of a request, and no allocation.
type conns struct {
	bound   int
	streams int // of HTTP/2, that each may have at a time
	log     *zap.Logger

	mu      sync.Mutex
	freed   sync.Cond // a connection has been closed or become idle, or a listener closed
	open    int
	warned  bool     // that the bound was reached, since there was room
	waiting [2]queue // idle ones, of strangers and of others
	taken   queue    // those that are not net/http's any more
	crowd   *Crowd

	strangers budget // streams of those that are not known
}

func newConns(bound, streams int, crowd *Crowd, log *zap.Logger) *conns {
	cs := &conns{
		bound:     bound,
		streams:   streams,
		crowd:     crowd,
		log:       log,
		strangers: newBudget(strangerStreams, strangerRate),
	}
	cs.freed.L = &cs.mu
	for i := range cs.waiting {
		cs.waiting[i].init()
	}
	cs.taken.init()
	return cs
}

// bounded is a listener whose connections are counted.
type bounded struct {
	net.Listener
	all    *conns
	closed bool // guarded by all.mu
}

func (cs *conns) listen(l net.Listener) net.Listener { return &bounded{Listener: l, all: cs} }

// Accept implements net.Listener. It returns when there is room for the connection.
func (l *bounded) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.all.closeIdle() // net/http tries again soon
		}
		return nil, err
	}
	c := &conn{Conn: nc, all: l.all, streams: newBudget(float64(l.all.streams), knownRate)}
	if !l.admit(c) {
		nc.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// admit counts c in once there is room. It returns false if the listener is closed before that.
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
	cs.crowd.Came()
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

// takeIdle takes the idle connection off its queue that is to go first; nil if there is none. mu is
// held.
func (cs *conns) takeIdle() *conn {
	for i := range cs.waiting {
		if c := cs.waiting[i].first(); c != nil {
			c.unlink()
			return c
		}
	}
	return nil
}

// closeIdle closes the idle connection that is to go first, and reports whether there is one.
func (cs *conns) closeIdle() bool {
	cs.mu.Lock()
	c := cs.takeIdle()
	cs.mu.Unlock()
	if c != nil {
		c.Close()
	}
	return c != nil
}

// changed is called by net/http when the state of a connection changes. New ones are idle from the
// start, until the headers of a request have been read.
func (cs *conns) changed(nc net.Conn, state http.ConnState) {
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
		cs.crowd.moved()
	}
	switch {
	case state == http.StateActive:
		c.unheard.Store(!c.frames)
		return
	case c.closed:
		return
	case state == http.StateHijacked:
		cs.taken.push(c)
		return
	case c.known.Load():
		cs.waiting[1].push(c)
	default:
		cs.waiting[0].push(c)
	}
	if cs.open >= cs.bound { // else nobody waits
		cs.freed.Broadcast()
	}
}

// seeOut waits for the end of the connections that have been taken from net/http, which does not
// know of them any more. With the end of ctx it cuts those that are left, and returns ctx's error.
func (cs *conns) seeOut(ctx context.Context) (err error) {
	defer context.AfterFunc(ctx, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.freed.Broadcast()
	})()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := cs.taken.first(); c != nil; c = cs.taken.first() {
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

type connKey struct{}

// context lets acquainted find the connection of a request.
func (cs *conns) context(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(nc))
}

func connOf(nc net.Conn) *conn {
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok { // *tls.Conn or *framed
		nc = t.NetConn()
	}
	return nc.(*conn)
}

// Acquaint returns an authenticator that marks the connection of a request once somebody known has
// sent one by it: such connections are not a stranger's.
func Acquaint(a request.Authenticator) request.Authenticator { return acquainted{a} }

type acquainted struct{ request.Authenticator }

// Authenticate implements request.Authenticator.
func (a acquainted) Authenticate(r *http.Request) (*request.User, error) {
	user, err := a.Authenticator.Authenticate(r)
	if err == nil && user != nil && user.Name != request.AnonymousUser {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && !c.known.Load() { // requests of the loopback have none
			c.known.Store(true)
		}
	}
	return user, err
}

// conn is a connection that is counted.
type conn struct {
	net.Conn
	all     *conns
	known   atomic.Bool // somebody known has sent a request by it
	streams budget
	refused atomic.Int64 // when a watch by HTTP/1.1 was refused last, in ns; 0: none was
	unheard atomic.Bool  // the headers of a request by HTTP/1 have been read, and no handler has it yet
	frames  bool         // it is one of HTTP/2; set before net/http tells of its state

	closed bool // guarded by all.mu, as is the rest
	used   bool // a request has come by it

	// Its neighbours in a queue; nil if it is in none.
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
	cs.crowd.moved()
	if cs.open < cs.bound/2 {
		cs.warned = false
	}
	cs.freed.Broadcast()
	return err
}

// Write implements net.Conn. A request that no handler has is answered by net/http itself, for
// example if nobody can meet what it expects. After such an answer net/http reads the body of the
// request, for which it has no deadline.
func (c *conn) Write(p []byte) (int, error) {
	if c.unheard.Load() {
		_ = c.SetReadDeadline(time.Now().Add(unheardTime))
	}
	return c.Conn.Write(p)
}

// CloseWrite lets net/http end an answer before the request has been read.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

func (c *conn) unlink() {
	if c.next == nil {
		return
	}
	c.prev.next, c.next.prev = c.next, c.prev
	c.prev, c.next = nil, nil
}

// queue is a ring of connections around one that is none, which links them without allocating.
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
