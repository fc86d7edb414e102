package connections

//lint:file-ignore SA1019 net/http's own HTTP/2 takes no connection that somebody else reads from
import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// The defence against rapid resets (CVE-2023-44487). A client that begins HTTP/2 streams and resets
// them at once could make the server work without end: in the protocol a stream that was reset no
// longer counts. Here its request counts until its handler has returned. While too many run, the
// server reads no further frames of the connection. It does not close the connection.
//
// All strangers share one budget of strangerStreams unanswered requests. An answered request gives
// its stream back, a request that the stranger resets does not; strangerRate streams a second come
// back by themselves. The first request of a connection is free, so that a client with credentials
// does not wait for strangers. The connection of an authenticated client has a budget of its own:
// as many streams as the protocol allows it at a time. Each request that ends gives its stream
// back, also one that was reset, and authenticatedRate streams a second come back by themselves.
const (
	strangerStreams, strangerRate = 200, 2000
	authenticatedRate             = 1000

	// longestPace bounds how long a stream waits, however many streams wait.
	longestPace = time.Second

	// maxFrame bounds the frames that clients may send, in bytes. It is the least bound that the
	// protocol allows, because each connection keeps a buffer of the size of its longest frame.
	maxFrame = 16 << 10
)

// budget is a token bucket of streams. It holds at most most streams. It is refilled by give, and
// with rate streams a second.
type budget struct {
	most, rate float64

	mu   sync.Mutex
	left float64 // if negative, the number of streams that wait
	at   time.Time
}

func newBudget(most, rate float64) budget {
	return budget{most: most, rate: rate, left: most, at: time.Now()}
}

// take takes a stream from the budget, and returns how long the caller must wait before it begins
// the stream.
func (b *budget) take() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 1 { // otherwise no clock is read
		now := time.Now()
		b.left = min(b.left+now.Sub(b.at).Seconds()*b.rate, b.most)
		b.at = now
	}
	b.left = max(b.left-1, -b.rate*longestPace.Seconds())
	return time.Duration(max(-b.left, 0) / b.rate * float64(time.Second))
}

// give gives a stream back.
func (b *budget) give() {
	b.mu.Lock()
	b.left = min(b.left+1, b.most)
	b.mu.Unlock()
}

// serveHTTP2 makes srv serve HTTP/2 on framed connections, which count streams.
func serveHTTP2(srv *http.Server) error {
	h2 := &http2.Server{MaxReadFrameSize: maxFrame}
	if err := http2.ConfigureServer(srv, h2); err != nil {
		return err
	}
	srv.TLSNextProto[http2.NextProtoTLS] = func(srv *http.Server, tc *tls.Conn, h http.Handler) {
		c := connOf(tc)
		c.speaksHTTP2 = true
		h2.ServeConn(&framed{Conn: tc, counted: c, left: len(http2.ClientPreface)}, &http2.ServeConnOpts{
			Context: context.WithValue(context.Background(), connKey{}, c), BaseConfig: srv, Handler: h,
		})
	}
	return nil
}

// framed is an HTTP/2 connection that parses the heads of frames as they are read. Before it
// returns the HEADERS frame of a new stream it waits until the budget allows the stream.
type framed struct {
	*tls.Conn
	counted *conn
	left    int // unread bytes of the present frame's payload, or of the client's preface
	head    [9]byte
	has     int    // bytes of head that have been read
	last    uint32 // id of the newest stream; a client's ids increase
}

// NetConn lets connOf find the conn.
func (f *framed) NetConn() net.Conn { return f.counted }

// Read implements net.Conn. It never returns bytes of two frames at once.
func (f *framed) Read(p []byte) (int, error) {
	if f.left > 0 {
		n, err := f.Conn.Read(p[:min(len(p), f.left)])
		f.left -= n
		return n, err
	}
	n, err := f.Conn.Read(p[:min(len(p), len(f.head)-f.has)])
	f.has += copy(f.head[f.has:], p[:n])
	if f.has == len(f.head) {
		f.has = 0
		f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
		switch http2.FrameType(f.head[3]) {
		case http2.FrameHeaders:
			f.countStream(binary.BigEndian.Uint32(f.head[5:]))
		case http2.FrameRSTStream:
			f.countReset()
		}
	}
	return n, err
}

// countStream takes a stream from the budget, and waits. The HEADERS frame of a known stream holds
// trailers and is not counted.
func (f *framed) countStream(stream uint32) {
	if stream <= f.last {
		return
	}
	first := f.last == 0
	f.last = stream
	if c := f.counted; c.authenticated.Load() {
		time.Sleep(c.streams.take())
	} else if !first {
		time.Sleep(c.all.strangers.take())
	}
}

// countReset takes a stream from the strangers' budget for a reset. Otherwise a stream that ended
// just before its reset would cost nothing, because paced has given it back. A stream that is reset
// while its request runs costs two. countReset does not wait; the next stream of a stranger does.
func (f *framed) countReset() {
	if !f.counted.authenticated.Load() {
		f.counted.all.strangers.take()
	}
}

// paced wraps h. It gives an HTTP/2 stream back to its budget when the handler has returned, and
// does not call h for a stream that has been reset already. For an HTTP/1 request it clears
// conn.unheard.
func paced(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if r.ProtoMajor != 2 || !ok {
			if ok {
				c.unheard.Store(false)
			}
			h.ServeHTTP(w, r)
			return
		}
		if r.Context().Err() == nil {
			h.ServeHTTP(w, r)
		}
		if c.authenticated.Load() {
			c.streams.give()
		} else if r.Context().Err() == nil {
			c.all.strangers.give()
		}
	})
}
