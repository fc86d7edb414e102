package filters

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// What is left of a body when its answer begins is read, up to maxRest bytes of it in restTime, as otherwise an HTTP/1
// connection could not go on to its next request.
const (
	restTime = 2 * time.Second
	maxRest  = 256 << 10
)

// body is what a handler reads of a request, and bounds how long others wait for it. Before net/http sends the first
// byte of an answer by HTTP/1 it reads what the handler has left of the body, and takes until the read deadline for that.
// A client that never sends what it has announced would so hold up its own answer, and the connection, and with that the
// end of the server. HTTP/2 just ends the stream.
//
// A handler may have another goroutine read, as proxies do: what that has not read when the answer begins, it gets no more of.
//
// A read deadline must not outlast the reading: net/http goes on to read, to see the client go, and takes its end for that.
type body struct {
	io.ReadCloser
	conn readDeadline // nil if there is nothing to be waited for: no body, or no connection. A *lifted after lift

	mu      sync.Mutex // guards what follows, http1 apart, and reading
	rest    int64      // how much is announced and has not been read; less than 0 if nobody knows
	begun   bool       // something has been asked for
	done    bool       // all has been read, or nothing more will come
	whole   bool       // all has been read
	hurried bool       // the read deadline is a stranger's
	settled bool       // settle has been called
	expects bool       // the client only sends what it is asked for (Expect: 100-continue)
	http1   bool
}

// readDeadline is what connections can do. Writers that cannot (in tests, in process) have no slow clients either.
type readDeadline interface{ SetReadDeadline(time.Time) error }

// start puts b in the place of r's body, if there is one.
func (b *body) start(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	if r.ContentLength == 0 && r.Header["Content-Length"] == nil { // what net/http says of HTTP/2 requests that have ended
		return
	}
	b.conn, _ = w.(readDeadline)
	b.ReadCloser, b.rest, b.http1, b.expects = r.Body, r.ContentLength, r.ProtoMajor == 1, r.Header["Expect"] != nil
	r.Body = b
}

// Read reads for the handler.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read(p)
}

func (b *body) read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.rest -= int64(n)
	if err != nil && !b.done {
		b.done, b.whole = true, err == io.EOF
		if b.hurried && b.whole {
			b.limit(time.Time{})
		}
	}
	return n, err
}

// limit lets the body end at t.
func (b *body) limit(t time.Time) {
	if b.conn != nil {
		_ = b.conn.SetReadDeadline(t)
	}
}

// hurry gives the body a stranger's time.
func (b *body) hurry() {
	b.hurried = true
	b.limit(time.Now().Add(strangerTime))
}

// lift lets the handler read until ctx, the request's, ends. The server itself may end ctx while
// the client is silent, and a handler that reads would not notice.
func (b *body) lift(ctx context.Context) {
	if _, ok := b.conn.(*lifted); ok || b.conn == nil {
		return
	}
	l := &lifted{readDeadline: b.conn}
	l.stop = context.AfterFunc(ctx, l.end)
	b.conn = l
}

// lifted is the connection of a request whose read deadline has been taken off.
type lifted struct {
	readDeadline
	stop func() bool // before end is called

	mu   sync.Mutex
	left bool // the connection may serve another request, and has its deadlines
}

// end ends what is being read.
func (l *lifted) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.left {
		_ = l.SetReadDeadline(time.Now())
	}
}

func (l *lifted) leave() {
	if !l.stop() {
		l.mu.Lock()
		l.left = true
		l.mu.Unlock()
	}
}

// leave is called once the handler has left, however it left. From then on net/http waits for what
// the handler has not read of the body, until the read deadline: this makes sure that there is one.
// After a panic, which aborts the answer, there is nothing to wait for. The deadline of a body that
// has been settled already stays as it is.
func (b *body) leave(w *response, panicked bool) {
	if l, ok := b.conn.(*lifted); ok {
		l.leave()
	}
	switch {
	case b.conn == nil || !b.http1 || w.hijacked || b.settled && !panicked:
	case panicked:
		b.limit(time.Now())
	case w.begun: // by a handler that had lifted the deadline
		b.limit(time.Now().Add(restTime))
	default:
		b.settle()
	}
}

// settle comes to an end with the body before the answer begins. If it does not, the deadline stays, and net/http, which
// tries once more, closes the connection behind the answer.
func (b *body) settle() {
	if b.conn == nil || !b.http1 {
		return
	}
	b.settled = true
	late := !b.mu.TryLock() // somebody reads, who has to come to an end
	if late {
		b.limit(time.Now().Add(restTime))
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	if b.done {
		if late && b.whole {
			b.limit(time.Time{})
		}
		return
	}
	b.hurried = true // at the end of the body its deadline is taken off
	b.limit(time.Now().Add(restTime))
	if b.expects && !b.begun || b.rest > maxRest { // to read would be to ask for it; or be for nothing
		return
	}
	buf := rests.Get().(*[]byte)
	defer rests.Put(buf)
	for read := 0; !b.done && read < maxRest; {
		n, _ := b.read(*buf)
		read += n
	}
}

var rests = sync.Pool{New: func() any { b := make([]byte, 8<<10); return &b }}
