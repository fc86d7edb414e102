package server

import (
	"errors"
	"io"
	"log"
	"net/http"
	"sync"
	"time"
)

// What streams between a client and a server behind this one, each of which may end before the other: bodies, and connections that have
// switched protocols.

// lentBody is the body of a request, which is read by whoever sends it on. By HTTP/1, when the answer begins before the other server has
// read all of it, the rest is this server's, and the one who reads waits for the end: an error would cut the answer off.
type lentBody struct {
	io.ReadCloser
	conn   *http.ResponseController
	http1  bool
	shared bool          // it can be read while the answer is sent
	over   chan struct{} // closed by end
	once   sync.Once
	mu     sync.Mutex
	held   bool
	read   bool // as far as it goes
}

var errOver = errors.New("the answer has ended")

// Read implements io.Reader.
func (b *lentBody) Read(p []byte) (int, error) {
	if b.isHeld() {
		<-b.over
		return 0, errOver
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.mu.Lock()
		b.read = true
		b.mu.Unlock()
		if err != io.EOF && b.isHeld() {
			<-b.over
		}
	}
	return n, err
}

func (b *lentBody) isHeld() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// hold lets nothing more be read, if it cannot be shared.
func (b *lentBody) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = !b.shared
}

// end is called when the answer has ended: nobody reads any more, or waits for a client to send. What is held ends with the answer.
func (b *lentBody) end() {
	b.once.Do(func() {
		close(b.over)
		b.mu.Lock()
		defer b.mu.Unlock()
		switch {
		case !b.shared, b.read:
		case b.http1: // the client may go on to send, which net/http waits for otherwise
			_ = b.conn.SetReadDeadline(time.Now())
		default:
			_ = b.Close()
		}
	})
}

// lastBody is the body of an answer with which the one of its request ends.
type lastBody struct {
	io.ReadCloser
	asked *lentBody
}

// Close closes the body, which waits for who sends the other.
func (b *lastBody) Close() error {
	b.asked.end()
	return b.ReadCloser.Close()
}

// tunnel is the connection to a server that has switched protocols. When one end closes it, it is closed for the other, who might not
// notice.
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

// bufferPool has what answers are copied by, all of one size.
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

// Streams wait most of the time, with their buffer.
var (
	buffers      = bufferPool{size: 32 << 10}
	smallBuffers = bufferPool{size: 4 << 10}
)

// silent is told of connections that break, which is nobody's fault here, in the words of strangers.
var silent = log.New(io.Discard, "", 0)
