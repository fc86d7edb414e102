package router

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// sendTimeout is how long a client may take to read what a watch sends at once. endGrace is how
// long it may take after the watch has ended.
const (
	sendTimeout = time.Minute
	endGrace    = 5 * time.Second
)

// sender writes and flushes the events of a watch. It cuts off a client that does not read: such a
// client would otherwise keep its watch for ever, and would keep the server from stopping. A write
// deadline is set only when the time is already up, because HTTP/2 ends a stream at its deadline
// even if nothing is being written.
type sender struct {
	out  answer
	rc   *http.ResponseController
	late *time.Timer // runs while a write or flush is under way, and from newSender to the first flush
	stop func() bool // ends the context.AfterFunc that waits for the end of the watch

	mu          sync.Mutex
	closed      bool // close was called: the connection belongs to somebody else
	hasDeadline bool // the connection has a deadline of ours
}

// Lift removes the deadlines of the connection, for a request that lasts as long as its client
// likes. The handler that streams calls it, once it is certain that there is something to stream.
func Lift(w http.ResponseWriter) {
	rc := http.NewResponseController(w) // errors mean that there is no connection, in tests
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
}

// Stream returns a writer for a response of another package that lasts as long as ctx. It cuts off
// a client that does not read for sendTimeout, as a watch does. The caller must call end when the
// response has ended.
func Stream(ctx context.Context, w http.ResponseWriter) (stream http.ResponseWriter, end func()) {
	s := newSender(ctx, answer{w: w})
	return &streamed{w, s}, s.close
}

// streamed is the writer that Stream returns.
type streamed struct {
	http.ResponseWriter
	sender *sender
}

// Write implements http.ResponseWriter with a time limit for each write.
func (w *streamed) Write(p []byte) (int, error) {
	w.sender.late.Reset(sendTimeout)
	defer w.sender.late.Stop()
	return w.ResponseWriter.Write(p)
}

// FlushError flushes for http.ResponseController.
func (w *streamed) FlushError() error {
	w.sender.late.Reset(sendTimeout)
	return w.sender.flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *streamed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// newSender begins to send to out, for a watch that ends with ctx. The caller must call close.
func newSender(ctx context.Context, out answer) *sender {
	s := &sender{out: out, rc: http.NewResponseController(out.w)}
	_ = s.rc.SetWriteDeadline(time.Time{}) // removes the server's WriteTimeout, which is for short responses
	s.late = time.AfterFunc(sendTimeout, func() { s.deadline(0) })
	s.stop = context.AfterFunc(ctx, func() { s.deadline(endGrace) })
	return s
}

// deadline makes writes fail after d.
func (s *sender) deadline(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.hasDeadline = true
		_ = s.rc.SetWriteDeadline(time.Now().Add(d)) // an error means that there is no connection, in tests
	}
}

// write writes b. From then on the client has sendTimeout until the flush ends.
func (s *sender) write(b []byte) error {
	s.late.Reset(sendTimeout)
	if len(b) == 0 {
		return nil
	}
	_, err := s.out.Write(b)
	return err
}

// flush sends everything that has been written; the first flush sends at least the header.
func (s *sender) flush() error {
	defer s.late.Stop()
	return s.rc.Flush()
}

// close ends the sender and removes its deadline, because the connection may serve further
// requests.
func (s *sender) close() {
	s.stop()
	s.late.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.hasDeadline {
		_ = s.rc.SetWriteDeadline(time.Time{})
	}
}
