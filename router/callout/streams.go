package callout

import (
	"errors"
	"io"
	"log"
	"net/http"
	"sync"
	"time"
)

// What streams between a client and the server that a Relay hands its request on to: bodies, and
// connections that have switched protocols. Either end may end before the other.

// lentBody is the body of a request while the transport reads it to send it on. By HTTP/1, when the
// answer begins before the other server has read the whole body, this server needs the rest. The
// transport then waits for the end of the answer: an error would cut the answer off.
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

// end is called when the answer has ended: nobody reads any more, or waits for a client to send. A
// body that is held ends with the answer.
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

// tunnel is the connection to a server that has switched protocols. When one end closes it, it is
// closed for the other end, too, which might not notice.
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

// bufferPool has the buffers by which answers are copied, all of one size.
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

// A stream keeps its buffer while it waits, which is most of the time.
var (
	buffers      = bufferPool{size: 32 << 10}
	smallBuffers = bufferPool{size: 4 << 10}
)

// silent drops what net/http logs about connections that break: the texts are those of strangers.
var silent = log.New(io.Discard, "", 0)
