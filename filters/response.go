package filters

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// response is the writer that every handler behind Begin writes to. It notes status and size in the Info and sends
// the Info's warnings ahead of the first byte. It does not offer ReadFrom: what is sent comes from memory.
type response struct {
	http.ResponseWriter
	info     *request.Info
	begun    bool // the header has been sent
	hijacked bool
}

func (w *response) start(under http.ResponseWriter, info *request.Info) {
	w.ResponseWriter, w.info = under, info
}

// limit sets when reading the body and writing the answer fail; a zero read leaves reading alone. Writers that know no
// deadlines (in tests) have no slow clients either.
func (w *response) limit(read, write time.Time) {
	conn, ok := w.ResponseWriter.(interface {
		SetReadDeadline(time.Time) error
		SetWriteDeadline(time.Time) error
	})
	if !ok {
		return
	}
	if !read.IsZero() {
		_ = conn.SetReadDeadline(read)
	}
	_ = conn.SetWriteDeadline(write)
}

// WriteHeader sends the header, warnings included.
func (w *response) WriteHeader(code int) {
	if code >= 100 && code < 200 && code != http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	if !w.begun {
		w.begun = true
		w.info.Status = code
		if len(w.info.Warnings) > 0 {
			addWarnings(w.Header(), w.info.Warnings)
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *response) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.info.Written += int64(n)
	return n, err
}

// WriteString is Write without a copy of s where the connection can do that.
func (w *response) WriteString(s string) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	n, err := io.WriteString(w.ResponseWriter, s)
	w.info.Written += int64(n)
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
		if w.info.Status == 0 {
			w.info.Status = http.StatusSwitchingProtocols
		}
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// status returns the code that the client got or, if the handler returned without a word, will get.
func (w *response) status() int {
	if w.info.Status == 0 {
		return http.StatusOK
	}
	return w.info.Status
}
