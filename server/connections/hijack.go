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

// Watches over HTTP/1.1, which this file takes over from net/http so that a waiting watch holds
// little memory. Listeners.Serve wraps the handler with hijackWatches.

// hijackWatches serves a request that may be a watch over HTTP/1.1 on a goroutine of its own, and
// hijacks the connection when the answer turns out to be a stream. net/http holds for each request
// the goroutine of the connection, whose stack has grown in the handshake, and buffers for reading
// and writing. A waiting watch needs none of these, and they are more than half of its memory.
//
// The handler sees an ordinary http.ResponseWriter. The connection closes after the stream; the
// header Connection: close tells the client so.
//
// If a connection has just had a watch refused, its next watch will probably be refused, too, and a
// refusal should be cheap. So for the time refusedFor, hijackWatches leaves watches of that
// connection to net/http. If such a watch succeeds, it takes more memory; nothing else differs.
func hijackWatches(h http.Handler, log *zap.Logger) http.Handler {
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
		detach := context.AfterFunc(r.Context(), cancel)
		go s.serve(h, r.WithContext(ctx))
		for range s.asked {
			err := s.hijack()
			if err != nil {
				s.answer <- err
				continue
			}
			detach() // the request of net/http ends now
			s.answer <- nil
			return
		}
		if s.result.reason != nil {
			panic(s.result.reason)
		}
		if s.result.refused && c != nil {
			c.refused.Store(time.Now().UnixNano())
		}
	})
}

// refusedFor is how long a refusal predicts the next one.
const refusedFor = 100 * time.Millisecond

// justRefused reports whether a watch of c was refused within refusedFor. c may be nil.
func (c *conn) justRefused() bool {
	if c == nil {
		return false
	}
	at := c.refused.Load()
	return at != 0 && time.Duration(time.Now().UnixNano()-at) < refusedFor
}

// mayStream reports whether r looks like a watch over HTTP/1.1. The handler decides later whether
// it is one, and whether it is allowed.
func mayStream(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoAtLeast(1, 1) && r.Method == http.MethodGet && r.Body == http.NoBody &&
		(strings.Contains(r.URL.RawQuery, "watch") || strings.Contains(r.URL.Path, "/watch/"))
}

// stream is the http.ResponseWriter of a request that hijackWatches serves. A handler that flushes
// before its first write begins a stream, as watches do: from then on the connection belongs to the
// stream, which writes the chunks of the answer itself.
//
// The goroutine of the handler owns the stream; any goroutine may set deadlines.
type stream struct {
	http.ResponseWriter // nil once the connection has been taken
	header              http.Header
	log                 *zap.Logger
	code                int     // status code, held back until FlushError has set Connection; 0: none
	frames              *[]byte // chunks that have not been sent; nil if there are none

	asked  chan struct{} // asks net/http's goroutine to hijack; closed when the handler has returned
	answer chan error
	result outcome            // read by net/http's goroutine after asked is closed
	cancel context.CancelFunc // ends the request

	mu       sync.Mutex
	conn     net.Conn  // nil until it has been hijacked
	deadline time.Time // for writing
}

// outcome is the end of a request that has not become a stream.
type outcome struct {
	refused bool // the status code was 400 or above
	reason  any  // the value of a panic
}

// serve calls h, on the goroutine of the stream. If h panics after the connection has been
// hijacked, serve logs the panic; if h panics before that, hijackWatches repeats the panic for
// net/http.
func (s *stream) serve(h http.Handler, r *http.Request) {
	defer close(s.asked)
	defer s.cancel()
	defer func() {
		reason := recover()
		if s.conn == nil {
			s.result.reason = reason
			return
		}
		if reason != nil && reason != http.ErrAbortHandler {
			s.log.Error("the handler of a stream panicked", zap.String("panic", fmt.Sprint(reason)), zap.Stack("stack"))
		}
		s.end(reason == nil)
	}()
	h.ServeHTTP(s, r)
	if s.conn == nil {
		s.writeCode()
	}
}

// end ends the stream, with its last chunk if whole, and closes the connection. It waits up to
// Linger for a client that does not read.
func (s *stream) end(whole bool) {
	if whole {
		_ = s.conn.SetWriteDeadline(time.Now().Add(Linger))
		s.takeBuffer()
		*s.frames = append(*s.frames, "0\r\n\r\n"...)
		_ = s.FlushError()
	}
	_ = s.conn.Close()
}

// hijack sends the header and hijacks the connection. It runs on the goroutine of net/http, whose
// stack has grown already, so that the stack of the stream stays small.
func (s *stream) hijack() error {
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
	if rw.Reader.Buffered() == 0 { // otherwise a pipelined request hides the end of the connection
		go s.await(conn)
	}
	return conn.SetWriteDeadline(s.deadline)
}

// await cancels the request when the client closes the connection.
func (s *stream) await(conn net.Conn) {
	if n, _ := conn.Read(make([]byte, 1)); n == 0 {
		s.cancel()
	}
}

// Header implements http.ResponseWriter.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader holds the code back until the first Write or Flush decides whether the answer is a
// stream.
func (s *stream) WriteHeader(code int) {
	switch {
	case s.conn != nil:
	case code < http.StatusOK:
		s.ResponseWriter.WriteHeader(code)
	case s.code == 0:
		s.code, s.result.refused = code, code >= http.StatusBadRequest
	}
}

// writeCode passes the code that was held back to net/http.
func (s *stream) writeCode() {
	if s.code != 0 {
		s.ResponseWriter.WriteHeader(s.code)
		s.code = 0
	}
}

// Write implements http.ResponseWriter: it writes p, as a chunk of HTTP/1.1 if the connection has
// been hijacked.
func (s *stream) Write(p []byte) (int, error) {
	if s.conn == nil {
		s.writeCode()
		return s.ResponseWriter.Write(p)
	}
	if len(p) == 0 { // an empty chunk would end the body
		return 0, nil
	}
	s.takeBuffer()
	b := strconv.AppendUint(*s.frames, uint64(len(p)), 16)
	b = append(b, "\r\n"...)
	b = append(b, p...)
	*s.frames = append(b, "\r\n"...)
	if len(*s.frames) < maxFrames {
		return len(p), nil
	}
	return len(p), s.FlushError()
}

// FlushError implements Flush for http.ResponseController. The first flush of an answer without a
// body so far, and without a length, hijacks the connection.
func (s *stream) FlushError() error {
	switch {
	case s.conn != nil:
		return s.sendFrames()
	case s.code == http.StatusOK && s.header.Get("Content-Length") == "":
		s.header.Set("Connection", "close")
		s.writeCode()
		s.asked <- struct{}{}
		return <-s.answer
	}
	s.writeCode()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// maxFrames is the number of bytes after which the collected chunks of a stream are sent, even
// without a flush: the size of a TLS record.
const maxFrames = 16 << 10

// frames holds buffers for chunks.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// takeBuffer gets a buffer from the pool, unless there is one. A stream that waits for its next
// event has none.
func (s *stream) takeBuffer() {
	if s.frames == nil {
		s.frames = frames.Get().(*[]byte)
	}
}

// sendFrames sends the collected chunks, and puts the buffer back into the pool.
func (s *stream) sendFrames() error {
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

// SetReadDeadline is for http.ResponseController. It does nothing for a hijacked connection, which
// is read only to notice that the client closes it.
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

// Unwrap lets http.ResponseController reach net/http's writer, until the connection is hijacked.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }
