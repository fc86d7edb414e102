package filters

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// strangerTime is how long a stranger may take to send a body and to read a response, and how long
// anybody may take to read a refusal (but see refusals). It is far more than small responses need.
const strangerTime = 10 * time.Second

// response is the ResponseWriter that every handler behind Begin writes to. It notes status and
// size in the Info and sends the Info's warnings with the header. It has no ReadFrom, because the
// API's responses come from memory, not from files.
//
// The server's WriteTimeout bounds how long a client may take to read; for strangers and refusals,
// begin sets a shorter deadline. A handler that streams sets its own deadlines or removes them.
type response struct {
	http.ResponseWriter
	x          *exchange
	begun      bool // the header has been sent
	hijacked   bool
	authorized bool // the user may have the response
	hurried    bool // the client has only strangerTime to read the response
	streams    bool // the handler has removed the deadlines
	terminated terminator
}

// start makes w write to under.
func (w *response) start(under http.ResponseWriter, x *exchange) {
	w.ResponseWriter, w.x = under, x
}

// SetReadDeadline is for http.ResponseController. A handler that removes the deadline may read for
// as long as its request lasts, before and after its response begins.
func (w *response) SetReadDeadline(t time.Time) error {
	if t.IsZero() { // a later deadline, which another goroutine may set, does not end the streaming
		w.streams = true
		w.x.body.lift(w.x)
	}
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(t)
}

// begin is called when the response begins. It bounds the time for the rest of the body and for the
// response.
func (w *response) begin(code int) {
	w.begun = true
	w.x.answerBegun(code)
	if w.streams {
		return
	}
	w.x.body.settle()
	if w.hurried || w.authorized && isStranger(w.x.info.User) {
		if conn, ok := w.ResponseWriter.(interface{ SetWriteDeadline(time.Time) error }); ok {
			_ = conn.SetWriteDeadline(time.Now().Add(strangerTime))
		}
	}
}

// WriteHeader implements http.ResponseWriter. Informational responses (1xx) are passed on;
// otherwise it sends the header with the warnings.
func (w *response) WriteHeader(code int) {
	if code >= 100 && code < 200 && code != http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	if !w.begun {
		w.begin(code)
		w.x.info.Status = code
		if len(w.x.info.Warnings) > 0 {
			addWarnings(w.Header(), w.x.info.Warnings)
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if len(p) >= timedWrite && !w.streams {
		return w.writeTimed(p)
	}
	n, err := w.ResponseWriter.Write(p)
	w.x.info.Written += int64(n)
	return n, err
}

// timedWrite is the least length of a Write whose time is noted, in bytes. net/http buffers what is
// shorter, so that it does not wait for the client.
const timedWrite = 4 << 10

// writeTimed is a Write whose time is noted. Only if it takes noticeable time, it becomes a span:
// an answer may have very many parts.
func (w *response) writeTimed(p []byte) (int, error) {
	began := time.Now()
	n, err := w.ResponseWriter.Write(p)
	w.x.info.Written += int64(n)
	request.Took(w.x, request.SpanWrite, "Write response", "", time.Since(began))
	return n, err
}

// WriteString implements io.StringWriter, without a copy of s if the connection supports that.
func (w *response) WriteString(s string) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	n, err := io.WriteString(w.ResponseWriter, s)
	w.x.info.Written += int64(n)
	return n, err
}

// Flush implements http.Flusher. Its error shows at the next Write.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError flushes for http.ResponseController.
func (w *response) FlushError() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker. Only HTTP/1 connections can be taken over.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.begun, w.hijacked = true, true
		if w.x.info.Status == 0 {
			w.x.info.Status = http.StatusSwitchingProtocols
		}
		w.x.answerBegun(w.x.info.Status)
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// status returns the code that the client got, or, if the handler returned without a response, will
// get from net/http.
func (w *response) status() int {
	if w.x.info.Status == 0 {
		return http.StatusOK
	}
	return w.x.info.Status
}
