package connections

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// apart serves what may be a watch by HTTP/1.1 on a goroutine of its own, and takes the connection
// from net/http when the answer turns out to be a stream. What net/http holds for a request is made
// for short ones: the goroutine of the connection, whose stack has grown in the handshake, and
// buffers for reading and writing, of which a watch that waits needs nothing. They are more than
// half of what one takes in memory.
//
// The handler notices nothing. The connection closes behind the stream, and the client is told so.
//
// Who has just been refused a watch will hardly get the next one, and refusing it should cost no
// more than to serve something: for a moment, watches of that connection are net/http's. One that
// is served all the same takes more memory, nothing else.
func apart(h http.Handler, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !mayStream(r) {
			h.ServeHTTP(w, r)
			return
		}
		c, _ := r.Context().Value(connKey{}).(*conn)
		if c.justRefused() {
			h.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		s := &stream{
			ResponseWriter: w, header: w.Header(), log: log, asked: make(chan struct{}), answer: make(chan error),
			cancel: cancel,
		}
		alone := context.AfterFunc(r.Context(), cancel)
		go s.serve(h, r.WithContext(ctx))
		for range s.asked {
			err := s.take()
			if err != nil {
				s.answer <- err
				continue
			}
			alone() // the request of net/http ends now
			s.answer <- nil
			return
		}
		if s.came.reason != nil {
			panic(s.came.reason)
		}
		if s.came.refused && c != nil {
			c.refused.Store(time.Now().UnixNano())
		}
	})
}

// refusedFor is how long a refusal tells what becomes of the next watch.
const refusedFor = 100 * time.Millisecond

// justRefused reports whether a watch has just been refused by c, which may be nil.
func (c *conn) justRefused() bool {
	if c == nil {
		return false
	}
	at := c.refused.Load()
	return at != 0 && time.Duration(time.Now().UnixNano()-at) < refusedFor
}

// mayStream reports whether r looks like a watch by HTTP/1.1. Nobody knows yet whether it is one
// that is served.
func mayStream(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoAtLeast(1, 1) && r.Method == http.MethodGet && r.Body == http.NoBody &&
		(strings.Contains(r.URL.RawQuery, "watch") || strings.Contains(r.URL.Path, "/watch/"))
}

// stream is the writer of a request that is served apart. An answer that is flushed before anything
// of it has been written is one that streams: from then on the connection is the stream's.
//
// It belongs to the goroutine of the handler, deadlines apart, which anybody may set.
type stream struct {
	http.ResponseWriter // nil once the connection has been taken
	header              http.Header
	log                 *zap.Logger
	code                int     // held back, so that the header can say what becomes of the connection; 0 if there is none
	frames              *[]byte // not sent yet; nil if there are none

	asked  chan struct{} // asks the goroutine of net/http to take the connection; closed when it has been served
	answer chan error
	came   outcome            // for net/http
	cancel context.CancelFunc // ends the request

	mu       sync.Mutex
	conn     net.Conn  // nil until it has been taken
	deadline time.Time // for writing
}

// outcome is what came of a request that has not become a stream.
type outcome struct {
	refused bool // the code is an error's
	reason  any  // of a panic
}

// serve has h answer.
func (s *stream) serve(h http.Handler, r *http.Request) {
	defer close(s.asked)
	defer s.cancel()
	defer func() {
		reason := recover()
		if s.conn == nil {
			s.came.reason = reason
			return
		}
		if reason != nil && reason != http.ErrAbortHandler {
			s.log.Error("stream panicked", zap.String("panic", fmt.Sprint(reason)), zap.Stack("stack"))
		}
		s.end(reason == nil)
	}()
	h.ServeHTTP(s, r)
	if s.conn == nil {
		s.begin()
	}
}

// end ends the stream. A client that does not read has Linger to do so.
func (s *stream) end(whole bool) {
	if whole {
		_ = s.conn.SetWriteDeadline(time.Now().Add(Linger))
		s.room()
		*s.frames = append(*s.frames, "0\r\n\r\n"...)
		_ = s.FlushError()
	}
	_ = s.conn.Close()
}

// take sends the header and hijacks the connection. It runs on the goroutine of net/http, whose
// stack has grown enough for that already.
func (s *stream) take() error {
	rc := http.NewResponseController(s.ResponseWriter)
	if err := rc.Flush(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, rw, err := rc.Hijack()
	if err != nil {
		return err
	}
	s.ResponseWriter, s.conn = nil, conn
	if rw.Reader.Buffered() == 0 { // else the client has sent its next request already, and nobody will see it leave
		go s.await(conn)
	}
	return conn.SetWriteDeadline(s.deadline)
}

// await ends the request when its client leaves.
func (s *stream) await(conn net.Conn) {
	if n, _ := conn.Read(make([]byte, 1)); n == 0 {
		s.cancel()
	}
}

// Header implements http.ResponseWriter.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader holds the code back until it is clear how the answer goes on.
func (s *stream) WriteHeader(code int) {
	switch {
	case s.conn != nil:
	case code < http.StatusOK:
		s.ResponseWriter.WriteHeader(code)
	case s.code == 0:
		s.code, s.came.refused = code, code >= http.StatusBadRequest
	}
}

// begin sends the code that was held back, if there is one, to net/http.
func (s *stream) begin() {
	if s.code != 0 {
		s.ResponseWriter.WriteHeader(s.code)
		s.code = 0
	}
}

// Write writes p, as a chunk if the connection has been taken.
func (s *stream) Write(p []byte) (int, error) {
	if s.conn == nil {
		s.begin()
		return s.ResponseWriter.Write(p)
	}
	if len(p) == 0 { // the chunk that ends a body
		return 0, nil
	}
	s.room()
	b := strconv.AppendUint(*s.frames, uint64(len(p)), 16)
	b = append(b, "\r\n"...)
	b = append(b, p...)
	*s.frames = append(b, "\r\n"...)
	if len(*s.frames) < maxFrames {
		return len(p), nil
	}
	return len(p), s.FlushError()
}

// FlushError is Flush for http.ResponseController.
func (s *stream) FlushError() error {
	switch {
	case s.conn != nil:
		return s.send()
	case s.code == http.StatusOK && s.header.Get("Content-Length") == "":
		s.header.Set("Connection", "close")
		s.begin()
		s.asked <- struct{}{}
		return <-s.answer
	}
	s.begin()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// maxFrames is how many bytes of a stream are put together before they are sent: as many as a
// record of TLS has.
const maxFrames = 16 << 10

var frames = sync.Pool{New: func() any { return new([]byte) }}

// room makes sure that there is a buffer. While a stream waits for its next event, it has none.
func (s *stream) room() {
	if s.frames == nil {
		s.frames = frames.Get().(*[]byte)
	}
}

// send sends what has been written.
func (s *stream) send() error {
	if s.frames == nil {
		return nil
	}
	_, err := s.conn.Write(*s.frames)
	if cap(*s.frames) <= 4*maxFrames {
		*s.frames = (*s.frames)[:0]
		frames.Put(s.frames)
	}
	s.frames = nil
	return err
}

// SetReadDeadline is for http.ResponseController. What is read of a stream is only whether the
// client is still there.
func (s *stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return nil
	}
	return http.NewResponseController(s.ResponseWriter).SetReadDeadline(t)
}

// SetWriteDeadline is for http.ResponseController.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.conn != nil {
		return s.conn.SetWriteDeadline(t)
	}
	return http.NewResponseController(s.ResponseWriter).SetWriteDeadline(t)
}

// Unwrap lets http.ResponseController reach the connection while it is net/http's.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }
