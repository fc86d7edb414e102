package client

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"time"
)

// HandlerTransport carries requests to a handler in the same process. The handler sees what it
// would see of a client on the network: a request of its own, headers included, whose context ends
// when the client gives up, and a writer that streams, blocks while the client does not read, and
// heeds write deadlines. What has no place here is hijacking.
//
// Each request has a goroutine. RoundTrip waits for it if its context ends before there is an
// answer, and so does Close of the answer's body, so that nothing of a request is left when the
// caller is done with it.
func HandlerTransport(h http.Handler) http.RoundTripper { return &handlerTransport{h} }

type handlerTransport struct{ handler http.Handler }

// RoundTrip calls the handler, and returns when it has begun to answer.
func (t *handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	x := &exchange{header: http.Header{}, begun: make(chan struct{}), ended: make(chan struct{}), cancel: cancel}
	x.reader, x.writer = io.Pipe()
	go func() {
		growStack()
		defer close(x.ended)
		defer cancel()
		x.serve(t.handler, incoming(ctx, r), r.Context())
	}()
	select {
	case <-x.begun:
	case <-ctx.Done(): // the caller's doing, or the end of the handler, which begins an answer first
		<-x.ended
	}
	if err := r.Context().Err(); err != nil {
		body{x}.Close()
		return nil, err
	}
	if x.failed != nil {
		return nil, x.failed
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", x.code, http.StatusText(x.code)), StatusCode: x.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: x.sent, Body: body{x}, ContentLength: -1, Request: r,
	}, nil
}

// incoming turns a client's request into a server's.
func incoming(ctx context.Context, r *http.Request) *http.Request {
	in := r.Clone(ctx)
	in.URL = &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	in.RequestURI = in.URL.RequestURI()
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	in.RemoteAddr = "127.0.0.1:0" // nobody listens there, but whoever parses it finds an address
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// exchange is one request on its way: the http.ResponseWriter of its handler.
type exchange struct {
	reader *io.PipeReader
	writer *io.PipeWriter
	cancel context.CancelFunc
	begun  chan struct{} // closed when sent and code are set, or the handler has failed before that
	ended  chan struct{} // closed when the handler has returned

	header http.Header // the handler's
	sent   http.Header // as it was when the answer began
	code   int         // 0 until then
	failed error       // instead of an answer

	late struct {
		sync.Mutex
		timer *time.Timer
	}
}

// growStack makes room on the stack for a request's way through the server, at once, while there is
// little on it to be moved.
//
//go:noinline
func growStack() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room[0])
}

// serve runs the handler. asked is the context of the caller.
func (x *exchange) serve(h http.Handler, in *http.Request, asked context.Context) {
	defer in.Body.Close()
	// A handler that is writing does not look at its context.
	stop := context.AfterFunc(asked, func() { x.writer.CloseWithError(asked.Err()) })
	defer stop()
	defer x.end(asked)
	h.ServeHTTP(x, in)
	x.begin(http.StatusOK)
}

// end closes the answer: as a whole one, unless the handler panicked, which cuts it, or the caller
// has given up.
func (x *exchange) end(asked context.Context) {
	_ = x.SetWriteDeadline(time.Time{})
	err := asked.Err()
	if p := recover(); p != nil {
		err = io.ErrUnexpectedEOF
		if p != http.ErrAbortHandler {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
		if x.code == 0 {
			x.failed = err
			close(x.begun)
		}
	}
	x.writer.CloseWithError(err) // nil is io.EOF
}

func (x *exchange) begin(code int) {
	if x.code == 0 {
		x.code, x.sent = code, maps.Clone(x.header)
		close(x.begun)
	}
}

// Header returns the header that the handler fills in.
func (x *exchange) Header() http.Header { return x.header }

// WriteHeader begins the answer. Informational headers are dropped.
func (x *exchange) WriteHeader(code int) {
	if code >= http.StatusOK {
		x.begin(code)
	}
}

// Write returns when all of p has been read, or nobody will read it.
func (x *exchange) Write(p []byte) (int, error) {
	x.begin(http.StatusOK)
	return x.writer.Write(p)
}

// Flush begins the answer; nothing is held back.
func (x *exchange) Flush() { x.begin(http.StatusOK) }

// SetReadDeadline does nothing: a request's body comes from memory.
func (x *exchange) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline lets writing fail after t, and cuts the answer; the zero time lifts that.
func (x *exchange) SetWriteDeadline(t time.Time) error {
	x.late.Lock()
	defer x.late.Unlock()
	if x.late.timer != nil {
		x.late.timer.Stop()
		x.late.timer = nil
	}
	if !t.IsZero() {
		x.late.timer = time.AfterFunc(time.Until(t), func() { x.writer.CloseWithError(io.ErrUnexpectedEOF) })
	}
	return nil
}

// body is the answer as the client reads it.
type body struct{ x *exchange }

func (b body) Read(p []byte) (int, error) { return b.x.reader.Read(p) }

// Close ends the request and waits for its handler.
func (b body) Close() error {
	b.x.cancel()
	b.x.reader.Close()
	<-b.x.ended
	return nil
}
