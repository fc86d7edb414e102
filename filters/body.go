package filters

import (
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
	conn readDeadline // nil if there is nothing to be waited for: no body, or no connection

	mu      sync.Mutex // guards what follows, http1 apart, and reading
	left    int64      // how much is announced and has not been read; less than 0 if nobody knows
	begun   bool       // something has been asked for
	done    bool       // all has been read, or nothing more will come
	whole   bool       // all has been read
	hurried bool       // the read deadline is a stranger's
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
	b.ReadCloser, b.left, b.http1, b.expects = r.Body, r.ContentLength, r.ProtoMajor == 1, r.Header["Expect"] != nil
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
	b.left -= int64(n)
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

// settle comes to an end with the body before the answer begins. If it does not, the deadline stays, and net/http, which
// tries once more, closes the connection behind the answer.
func (b *body) settle() {
	if b.conn == nil || !b.http1 {
		return
	}
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
	if b.expects && !b.begun || b.left > maxRest { // to read would be to ask for it; or be for nothing
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
