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

// Who begins streams of HTTP/2 and resets them at once may have the server work and allocate
// without end: a stream that was reset counts no more in the protocol, but its request does here
// until its handler ends. So the server does not read on while there are too many. Nobody loses a
// connection by that, they wait.
//
// Strangers share one budget over all their connections: of requests that are not answered, and, as
// those that are taken back never are, of such requests by the second. The first request of a
// connection is free, so that who has credentials waits for no stranger. Others have a budget for
// each connection, from which only requests are taken that run: as many as the protocol lets them
// have.
const (
	strangerStreams, strangerRate = 200, 2000
	knownRate                     = 1000

	// longestPace bounds how long a stream waits, however many wait.
	longestPace = time.Second

	// maxFrame is how long a frame may be that is sent to the server: the least that the protocol
	// allows, as each connection keeps room for the longest that it has got.
	maxFrame = 16 << 10
)

// budget is how many streams may be begun: most at once, and rate of them a second if none is given
// back. The zero value is used up, and fills with time.
type budget struct {
	most, rate float64

	mu   sync.Mutex
	left float64 // less than 0: who takes has to wait
	at   time.Time
}

func newBudget(most, rate float64) budget {
	return budget{most: most, rate: rate, left: most, at: time.Now()}
}

// take takes one, and returns how long to wait until it may be used.
func (b *budget) take() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 1 { // the usual take needs no clock
		now := time.Now()
		b.left = min(b.left+now.Sub(b.at).Seconds()*b.rate, b.most)
		b.at = now
	}
	b.left = max(b.left-1, -b.rate*longestPace.Seconds())
	return time.Duration(max(-b.left, 0) / b.rate * float64(time.Second))
}

// give gives one back.
func (b *budget) give() {
	b.mu.Lock()
	b.left = min(b.left+1, b.most)
	b.mu.Unlock()
}

// serveHTTP2 has srv serve HTTP/2 by connections whose streams are counted.
func serveHTTP2(srv *http.Server) error {
	h2 := &http2.Server{MaxReadFrameSize: maxFrame}
	if err := http2.ConfigureServer(srv, h2); err != nil {
		return err
	}
	srv.TLSNextProto[http2.NextProtoTLS] = func(srv *http.Server, tc *tls.Conn, h http.Handler) {
		c := connOf(tc)
		c.frames = true
		h2.ServeConn(&framed{Conn: tc, counted: c, left: len(http2.ClientPreface)}, &http2.ServeConnOpts{
			Context: context.WithValue(context.Background(), connKey{}, c), BaseConfig: srv, Handler: h,
		})
	}
	return nil
}

// framed is a connection of HTTP/2 that is read frame by frame. Before it shows the beginning of a
// stream, it waits until that may begin.
type framed struct {
	*tls.Conn
	counted *conn
	left    int // bytes of the frame, or of the client's preface, after its head
	head    [9]byte
	has     int    // bytes of head
	last    uint32 // stream that was begun
}

// NetConn lets connOf find what is counted.
func (f *framed) NetConn() net.Conn { return f.counted }

// Read implements net.Conn.
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
			f.began(binary.BigEndian.Uint32(f.head[5:]))
		case http2.FrameRSTStream:
			f.reset()
		}
	}
	return n, err
}

// began counts a stream, unless what it sends are trailers.
func (f *framed) began(stream uint32) {
	if stream <= f.last {
		return
	}
	first := f.last == 0
	f.last = stream
	if c := f.counted; c.known.Load() {
		time.Sleep(c.streams.take())
	} else if !first {
		time.Sleep(c.all.strangers.take())
	}
}

// reset counts what a stranger takes back once more, as it may have been answered, to nobody, just
// before. The next stream waits for that.
func (f *framed) reset() {
	if !f.counted.known.Load() {
		f.counted.all.strangers.take()
	}
}

// paced is a handler that gives the streams of HTTP/2 back whose requests have ended. Nobody waits
// for what has been taken back before it began. Of HTTP/1 it tells the connection that its request
// has come to a handler.
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
		if c.known.Load() {
			c.streams.give()
		} else if r.Context().Err() == nil {
			c.all.strangers.give()
		}
	})
}
