package callout

import (
	"errors"
	"io"
	"log"
	"net/http"
	"sync"
	"time"
)

// This file has the streams between a client and the server to which a Relay passes its request:
// bodies, and connections that have switched protocols. Either end may end before the other.

// lentBody is the body of a client's request, lent to the transport that sends it on. With HTTP/1,
// if the response begins before the other server has read the whole body, net/http reads the rest
// in this server. From then on Read blocks the transport until the response has ended, because an
// error of Read would abort the response.
type lentBody struct {
	io.ReadCloser
	conn   *http.ResponseController // of the client
	http1  bool                     // the client speaks HTTP/1
	shared bool                     // it may be read while the response is being sent
	ended  chan struct{}            // closed by end
	once   sync.Once
	mu     sync.Mutex // guards held and read
	held   bool       // Read blocks
	read   bool       // Read has returned an error or io.EOF
}

var errAnswerEnded = errors.New("the answer has ended")

// Read implements io.Reader.
func (b *lentBody) Read(p []byte) (int, error) {
	if b.isHeld() {
		<-b.ended
		return 0, errAnswerEnded
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.mu.Lock()
		b.read = true
		b.mu.Unlock()
		if err != io.EOF && b.isHeld() {
			<-b.ended
		}
	}
	return n, err
}

// isHeld reports whether hold has taken the body away from the transport.
func (b *lentBody) isHeld() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// hold makes Read block, unless the body can be shared.
func (b *lentBody) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = !b.shared
}

// end is called when the response has ended. It makes blocked calls of Read return, and keeps
// net/http from waiting for a client that has not sent its whole body.
func (b *lentBody) end() {
	b.once.Do(func() {
		close(b.ended)
		b.mu.Lock()
		defer b.mu.Unlock()
		switch {
		case !b.shared, b.read:
		case b.http1: // otherwise net/http waits for the client to send the rest
			_ = b.conn.SetReadDeadline(time.Now())
		default:
			_ = b.Close()
		}
	})
}

// responseBody is the body of a response. Its Close also ends the body of the request.
type responseBody struct {
	io.ReadCloser
	asked *lentBody
}

// Close implements io.Closer. The request's body ends first, because closing the response waits for
// the goroutine that sends the request.
func (b *responseBody) Close() error {
	b.asked.end()
	return b.ReadCloser.Close()
}

// tunnel is the connection to a server that has switched protocols. Read returns an error at the
// end instead of io.EOF, so that the proxy closes both connections at once; with io.EOF, it would
// wait for the client, which may not notice.
type tunnel struct{ io.ReadWriteCloser }

var errClosed = errors.New("closed by the other end")

// Read implements io.Reader.
func (t tunnel) Read(p []byte) (int, error) {
	n, err := t.ReadWriteCloser.Read(p)
	if err == io.EOF {
		err = errClosed
	}
	return n, err
}

// bufferPool holds buffers for copying responses, all of one size.
type bufferPool struct {
	size int
	pool sync.Pool
}

// Get implements httputil.BufferPool.
func (b *bufferPool) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, b.size)
}

// Put implements httputil.BufferPool.
func (b *bufferPool) Put(buf []byte) { b.pool.Put(&buf) }

// A stream waits most of the time, and holds its buffer while it waits. So the buffer is small.
var (
	buffers      = bufferPool{size: 32 << 10}
	smallBuffers = bufferPool{size: 4 << 10}
)

// discardLog drops net/http's log lines about broken connections, whose texts come from the other
// ends.
var discardLog = log.New(io.Discard, "", 0)
