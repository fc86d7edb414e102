package filters

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// This file bounds how long the server waits for a request's body. Begin starts and ends the body,
// Deadline and TakeSeat limit its time, and response calls settle when the answer begins.

// When the answer begins, up to maxRest bytes of the unread body are read within restTime, because
// otherwise an HTTP/1 connection could not serve its next request.
const (
	restTime = 2 * time.Second
	maxRest  = 256 << 10
)

// body is the body that handlers read, and bounds how long the server waits for it. Before net/http
// sends the first byte of an HTTP/1 response, it reads what the handler has left of the body, until
// the read deadline. So a client that never sends the body that it has announced would delay its
// own response, keep the connection, and hold up a shutdown. HTTP/2 just ends the stream.
//
// A handler may let another goroutine read, as proxies do. What that goroutine has not read when
// the response begins, it does not get.
//
// A read deadline must be removed when the body has been read: net/http goes on reading in the
// background, to notice that the client leaves, and takes an expired deadline for that.
type body struct {
	io.ReadCloser
	conn readDeadline // nil if there is no body or no connection; a *lifted after lift

	mu       sync.Mutex // held during reads; guards the fields below, except http1
	rest     int64      // bytes announced and not yet read; negative if the length is unknown
	begun    bool       // a read has been tried
	done     bool       // the body has ended, or a read has failed
	complete bool       // the body has been read to its end
	limited  bool       // there is a short read deadline of ours, removed at the end of the body
	settled  bool       // settle has been called
	expects  bool       // the client waits for 100-continue before it sends the body
	http1    bool
}

// readDeadline is implemented by the ResponseWriters of net/http. A writer without it (in tests, in
// process) has no connection.
type readDeadline interface{ SetReadDeadline(time.Time) error }

// start replaces r.Body by b if r has a body.
func (b *body) start(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	if r.ContentLength == 0 && r.Header["Content-Length"] == nil { // an HTTP/2 request that ended with its headers
		return
	}
	b.conn, _ = w.(readDeadline)
	b.ReadCloser, b.rest, b.http1, b.expects = r.Body, r.ContentLength, r.ProtoMajor == 1, r.Header["Expect"] != nil
	r.Body = b
}

// Read implements io.Reader for the handler.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read(p)
}

// read is Read with mu held.
func (b *body) read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.rest -= int64(n)
	if err != nil && !b.done {
		b.done, b.complete = true, err == io.EOF
		if b.limited && b.complete {
			b.limit(time.Time{})
		}
	}
	return n, err
}

// limit sets the read deadline; a zero t removes it.
func (b *body) limit(t time.Time) {
	if b.conn != nil {
		_ = b.conn.SetReadDeadline(t)
	}
}

// limitStranger allows the body only the time of a stranger.
func (b *body) limitStranger() {
	b.limited = true
	b.limit(time.Now().Add(strangerTime))
}

// lift replaces the read deadline by the end of ctx, the request's context, for handlers that
// stream. The server itself may end ctx while the client is silent, and without a deadline a
// blocked Read would not return.
func (b *body) lift(ctx context.Context) {
	if _, ok := b.conn.(*lifted); ok || b.conn == nil {
		return
	}
	l := &lifted{readDeadline: b.conn}
	l.stop = context.AfterFunc(ctx, l.end)
	b.conn = l
}

// lifted is a connection whose read deadline has been removed.
type lifted struct {
	readDeadline
	stop func() bool // keeps end from being called

	mu   sync.Mutex
	left bool // the handler has returned; the connection may serve another request
}

// end makes a blocked Read return.
func (l *lifted) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.left {
		_ = l.SetReadDeadline(time.Now())
	}
}

// leave stops end from touching the connection.
func (l *lifted) leave() {
	if !l.stop() {
		l.mu.Lock()
		l.left = true
		l.mu.Unlock()
	}
}

// leave is called when the handler has returned or panicked. From then on net/http waits for the
// unread rest of the body until the read deadline, so leave makes sure that there is one. After a
// panic, which aborts the response, the deadline is now. A body that was settled already keeps its
// deadline.
func (b *body) leave(w *response, panicked bool) {
	if l, ok := b.conn.(*lifted); ok {
		l.leave()
	}
	switch {
	case b.conn == nil || !b.http1 || w.hijacked || b.settled && !panicked:
	case panicked:
		b.limit(time.Now())
	case w.begun: // the handler had lifted the deadline, so response.begin did not settle
		b.limit(time.Now().Add(restTime))
	default:
		b.settle()
	}
}

// settle reads the rest of the body before the response begins. If the rest is too long or arrives
// too slowly, the deadline stays set, and net/http closes the connection after the response.
func (b *body) settle() {
	if b.conn == nil || !b.http1 {
		return
	}
	b.settled = true
	late := !b.mu.TryLock() // another goroutine reads; the deadline makes its Read return
	if late {
		b.limit(time.Now().Add(restTime))
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	if b.done {
		if late && b.complete {
			b.limit(time.Time{})
		}
		return
	}
	b.limited = true // read removes the deadline at the end of the body
	b.limit(time.Now().Add(restTime))
	if b.expects && !b.begun || b.rest > maxRest { // reading would ask for the body (100-continue), or be in vain
		return
	}
	buf := restBuffers.Get().(*[]byte)
	defer restBuffers.Put(buf)
	for read := 0; !b.done && read < maxRest; {
		n, _ := b.read(*buf)
		read += n
	}
}

// restBuffers are buffers for discarding.
var restBuffers = sync.Pool{New: func() any { b := make([]byte, 8<<10); return &b }}
