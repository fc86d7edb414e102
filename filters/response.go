package filters

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"
)

// strangerTime is how long a stranger may take to send a body, and to read an answer; and how long anybody may take to
// read a refusal (but see refusals). It is far more than small answers need.
const strangerTime = 10 * time.Second

// response is the writer that every handler behind Begin writes to. It notes status and size in the Info and sends
// the Info's warnings ahead of the first byte. It does not offer ReadFrom: what is sent comes from memory.
//
// How long a client may take to read is the server's business (http.Server.WriteTimeout); for strangers and refusals it is
// less. A handler that streams sets deadlines of its own, or takes them off, and has them from then on.
type response struct {
	http.ResponseWriter
	x          *exchange
	begun      bool // the header has been sent
	hijacked   bool
	authorized bool // the user may have the answer
	hurried    bool // the client has strangerTime to read the answer, whoever it is
	streams    bool // the handler has taken the deadlines off
	terminated terminator
}

func (w *response) start(under http.ResponseWriter, x *exchange) {
	w.ResponseWriter, w.x = under, x
}

// SetReadDeadline is for http.ResponseController. A handler that lifts the deadline reads for as
// long as its request lasts, before and after its answer begins.
func (w *response) SetReadDeadline(t time.Time) error {
	if t.IsZero() { // a later deadline changes nothing of that, which another goroutine may set
		w.streams = true
		w.x.body.lift(w.x)
	}
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(t)
}

// begin makes sure that the answer, which begins now, ends.
func (w *response) begin() {
	w.begun = true
	w.x.begun()
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

// WriteHeader sends the header, warnings included.
func (w *response) WriteHeader(code int) {
	if code >= 100 && code < 200 && code != http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	if !w.begun {
		w.begin()
		w.x.info.Status = code
		if len(w.x.info.Warnings) > 0 {
			addWarnings(w.Header(), w.x.info.Warnings)
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *response) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.x.info.Written += int64(n)
	return n, err
}

// WriteString is Write without a copy of s where the connection can do that.
func (w *response) WriteString(s string) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	n, err := io.WriteString(w.ResponseWriter, s)
	w.x.info.Written += int64(n)
	return n, err
}

// Flush sends what is buffered. Errors show at the next Write.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush for http.ResponseController.
func (w *response) FlushError() error {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack takes over the connection, of HTTP/1 only.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.begun, w.hijacked = true, true
		w.x.begun()
		if w.x.info.Status == 0 {
			w.x.info.Status = http.StatusSwitchingProtocols
		}
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// status returns the code that the client got or, if the handler returned without a word, will get.
func (w *response) status() int {
	if w.x.info.Status == 0 {
		return http.StatusOK
	}
	return w.x.info.Status
}
