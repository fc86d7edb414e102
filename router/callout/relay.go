package callout

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"time"
)

// flushEvery is how long a part of an answer of known size may be held back. An answer that streams
// is not held back.
const flushEvery = 200 * time.Millisecond

// Relay hands one request on to another server, and the answer back. It is the one place where a
// client and another server are joined:
//   - Both bodies stream. A reader that is slow holds back the writer, because what is between them
//     is one buffer of 32 KiB, or 4 KiB if the request Lasts.
//   - When the other server answers without reading the whole body, the client gets that answer. By
//     HTTP/1, net/http reads the rest of a body before it sends an answer. The caller of Serve bounds
//     that wait by a read deadline.
//   - A request to switch protocols gets a connection of its own. Once the other server has
//     switched, the two connections are joined: the end of one ends the other.
//
// Serve starts no goroutine that outlasts it. A Relay serves one request.
type Relay struct {
	// To sends the request, usually a Forwarder.
	To http.RoundTripper
	// Rewrite makes the request that is sent, as in httputil.ReverseProxy.
	Rewrite func(*httputil.ProxyRequest)
	// Answered may change the head of an answer before it is sent on. It does not see the answer of
	// a server that has switched protocols. Its error goes to Failed.
	Answered func(*http.Response) error
	// Failed answers if the other server has not, or its answer cannot be sent on: see HeadError.
	Failed func(w http.ResponseWriter, r *http.Request, err error)
	// Lasts says that request and answer last as long as both ends like. Both may send at once, and
	// most of the time nobody sends.
	Lasts bool
	// Ends ends a connection that has switched protocols. Such a connection outlasts the deadline of
	// its request.
	Ends context.Context

	switches bool        // the client asks to switch protocols
	outlast  func() bool // takes the end of the request off the connection
	body     *lentBody   // nil if the request has none
}

// HeadError says what is wrong with the head of an answer. The other server has been reached.
type HeadError struct{ Err error }

// Error implements error.
func (e HeadError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e HeadError) Unwrap() error { return e.Err }

// Serve returns when the request has been answered or, if the protocols have been switched, when
// the connection has ended.
func (r *Relay) Serve(w http.ResponseWriter, in *http.Request) {
	ctx, pool := in.Context(), &buffers
	if r.Lasts {
		pool = &smallBuffers
	}
	if r.switches = Upgrades(in.Header); r.switches {
		var cancel context.CancelFunc
		ctx, cancel = r.outlasting(ctx)
		defer cancel()
	}
	if ctx.Value(http.ServerContextKey) == nil { // of a request from inside; half an answer must look broken there, too
		ctx = context.WithValue(ctx, http.ServerContextKey, r)
	}
	out := in.WithContext(ctx)
	if out.Body != nil && out.Body != http.NoBody {
		http1 := in.ProtoMajor < 2
		r.body = &lentBody{
			ReadCloser: out.Body, conn: http.NewResponseController(w), http1: http1, shared: !http1 || r.Lasts, over: make(chan struct{}),
		}
		out.Body = r.body
		defer r.body.end()
	}
	proxy := httputil.ReverseProxy{
		Rewrite: r.Rewrite, Transport: r.To, ModifyResponse: r.answered, ErrorHandler: r.failed,
		FlushInterval: flushEvery, BufferPool: pool, ErrorLog: silent,
	}
	proxy.ServeHTTP(w, out)
}

// outlasting returns a context that ends with ctx until r.outlast is called. It also ends with
// r.Ends and with cancel.
func (r *Relay) outlasting(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	longer, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	stopWork := context.AfterFunc(r.Ends, end)
	r.outlast = stop
	return longer, func() {
		stop()
		stopWork()
		end()
	}
}

// answered looks at the head of an answer, which is about to be sent.
func (r *Relay) answered(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case r.switches && code == http.StatusSwitchingProtocols:
		r.outlast()
		if conn, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = tunnel{conn}
		}
		return nil
	case r.switches && code < http.StatusBadRequest:
		return HeadError{fmt.Errorf("invalid upgrade response: status code %d", code)}
	}
	if err := r.Answered(resp); err != nil {
		return err
	}
	if r.body != nil {
		r.body.hold()
		resp.Body = &lastBody{resp.Body, r.body}
	}
	return nil
}

// failed is told why there is no answer.
func (r *Relay) failed(w http.ResponseWriter, req *http.Request, err error) {
	if r.body != nil {
		r.body.hold()
	}
	r.Failed(w, req, err)
}
