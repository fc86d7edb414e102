package router

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// How long a client may take to read what a watch sends: sendTimeout while the watch lasts, and endGrace from its end on.
const (
	sendTimeout = time.Minute
	endGrace    = 5 * time.Second
)

// sender writes and flushes what a watch sends. It cuts off a client that does not read, which would otherwise keep its
// watch, and the server from stopping, for ever. Deadlines are set only when the time is up: to HTTP/2 the deadline of a
// stream is its end, whether something is being written or not.
type sender struct {
	out  answer
	rc   *http.ResponseController
	late *time.Timer // runs from the first write, and from the begin, to the flush
	stop func() bool // of what watches the end of the watch

	mu   sync.Mutex
	over bool // nobody may touch the connection any more
	cut  bool // it has a deadline
}

// Lift takes the deadlines off the connection of a request that lasts for as long as its client likes, and is going to. It
// is for the handler that streams, when it is clear that there is something to be streamed.
func Lift(w http.ResponseWriter) {
	rc := http.NewResponseController(w) // without a connection, in tests, there are no deadlines
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
}

// Stream returns a writer for an answer of somebody else's that lasts as long as ctx: a client that does not read is cut off, as that of
// a watch is. end is called when the answer has ended.
func Stream(ctx context.Context, w http.ResponseWriter) (stream http.ResponseWriter, end func()) {
	s := newSender(ctx, answer{w: w})
	return &streamed{w, s}, s.close
}

type streamed struct {
	http.ResponseWriter
	sender *sender
}

// Write writes p.
func (w *streamed) Write(p []byte) (int, error) {
	w.sender.late.Reset(sendTimeout)
	defer w.sender.late.Stop()
	return w.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController.
func (w *streamed) FlushError() error {
	w.sender.late.Reset(sendTimeout)
	return w.sender.flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *streamed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// newSender begins to send to out, for a watch that ends with ctx.
func newSender(ctx context.Context, out answer) *sender {
	s := &sender{out: out, rc: http.NewResponseController(out.w)}
	_ = s.rc.SetWriteDeadline(time.Time{}) // the server's own, which is for short answers
	s.late = time.AfterFunc(sendTimeout, func() { s.deadline(0) })
	s.stop = context.AfterFunc(ctx, func() { s.deadline(endGrace) })
	return s
}

// deadline lets writes fail after d.
func (s *sender) deadline(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.cut = true
		_ = s.rc.SetWriteDeadline(time.Now().Add(d)) // without a connection, in tests, nobody is slow
	}
}

// write writes b. The client has sendTimeout to read it, or as much of it as does not wait for the flush.
func (s *sender) write(b []byte) error {
	s.late.Reset(sendTimeout)
	if len(b) == 0 {
		return nil
	}
	_, err := s.out.Write(b)
	return err
}

// flush sends what has been written, the header for one.
func (s *sender) flush() error {
	defer s.late.Stop()
	return s.rc.Flush()
}

// close ends the sender. The connection may go on to serve others.
func (s *sender) close() {
	s.stop()
	s.late.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.cut {
		_ = s.rc.SetWriteDeadline(time.Time{})
	}
}
