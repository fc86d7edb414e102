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

// The transport to a handler in the same process: it does what net/http's server would do for a
// handler, without a network. Server.Client of package server uses it.

// HandlerTransport returns a RoundTripper that calls a handler in the same process. The handler
// sees a request as from a client on the network: a copy of its own, headers included, whose
// context ends when the client gives up. Its writer streams, blocks while the client does not read,
// and heeds write deadlines. It cannot be hijacked.
//
// Each request has a goroutine. Close of the answer's body waits until the goroutine has ended, and
// so does RoundTrip if the context of the request ends before there is an answer. So no goroutine
// outlives a request.
func HandlerTransport(h http.Handler) http.RoundTripper { return &handlerTransport{h} }

// handlerTransport is the RoundTripper that HandlerTransport returns.
type handlerTransport struct{ handler http.Handler }

// RoundTrip calls the handler, and returns when the handler has begun its answer.
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
	case <-ctx.Done(): // the client has given up, or the handler has returned
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

// incoming makes the request that the handler gets from the request that the client sends: net/http
// fills in the fields of an http.Request differently on the two sides.
func incoming(ctx context.Context, r *http.Request) *http.Request {
	in := r.Clone(ctx)
	in.URL = &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	in.RequestURI = in.URL.RequestURI()
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	in.RemoteAddr = "127.0.0.1:0" // parsers of addresses must find one
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// exchange is one request and its answer: the http.ResponseWriter of the handler, and the pipe to
// the client.
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

	writeDeadline struct {
		sync.Mutex
		timer *time.Timer
	}
}

// growStack grows the stack of a goroutine to the size that a request needs, in one step, while
// there is little on the stack to copy.
//
//go:noinline
func growStack() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room[0])
}

// serve runs the handler for the request in. asked is the context of the client's request.
func (x *exchange) serve(h http.Handler, in *http.Request, asked context.Context) {
	defer in.Body.Close()
	// A handler that blocks in Write does not see the end of its context.
	stop := context.AfterFunc(asked, func() { x.writer.CloseWithError(asked.Err()) })
	defer stop()
	defer x.end(asked)
	h.ServeHTTP(x, in)
	x.begin(http.StatusOK)
}

// end ends the answer: with io.EOF if it is whole, or with an error if the handler has panicked or
// the client has given up.
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

// begin fixes code and header of the answer at its first call, and lets RoundTrip return.
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

// Write returns when the client has read all of p, or has given up.
func (x *exchange) Write(p []byte) (int, error) {
	x.begin(http.StatusOK)
	return x.writer.Write(p)
}

// Flush begins the answer. Write buffers nothing, so there is nothing else to flush.
func (x *exchange) Flush() { x.begin(http.StatusOK) }

// SetReadDeadline does nothing: a request's body comes from memory.
func (x *exchange) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline makes writes fail from t on; the client then gets io.ErrUnexpectedEOF. The zero
// time means no deadline.
func (x *exchange) SetWriteDeadline(t time.Time) error {
	x.writeDeadline.Lock()
	defer x.writeDeadline.Unlock()
	if x.writeDeadline.timer != nil {
		x.writeDeadline.timer.Stop()
		x.writeDeadline.timer = nil
	}
	if !t.IsZero() {
		x.writeDeadline.timer = time.AfterFunc(time.Until(t), func() { x.writer.CloseWithError(io.ErrUnexpectedEOF) })
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
