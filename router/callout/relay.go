package callout

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"time"
)

// flushEvery is how long a part of a response of known length may be buffered. A streamed response
// is not buffered.
const flushEvery = 200 * time.Millisecond

// Relay passes one request on to another server, and the response back. No other code connects a
// client with another server.
//
// Laws:
//
//   - Both bodies stream. A slow reader holds back the writer, because the only buffer between them
//     is 32 KiB, or 4 KiB if the request Lasts.
//   - If the other server answers before it has read the whole body, the client gets that response.
//     With HTTP/1, net/http reads the rest of the body first; the caller of Serve bounds that wait
//     by a read deadline.
//   - A request to switch protocols has a connection of its own. Once the other server has
//     switched, the two connections are joined, and the end of one ends the other.
//
// Serve starts no goroutine that outlives it. A Relay serves one request, once.
type Relay struct {
	// To sends the request. It is usually a Forwarder.
	To http.RoundTripper
	// Rewrite makes the request that To sends, as in httputil.ReverseProxy.
	Rewrite func(*httputil.ProxyRequest)
	// Answered may change the header of a response before the client gets it. It is not called for
	// a response that switches protocols. If it returns an error, Failed is called with that error.
	Answered func(*http.Response) error
	// Failed answers the client if there is no response, or if it cannot be passed on; see
	// HeadError.
	Failed func(w http.ResponseWriter, r *http.Request, err error)
	// Lasts marks a request without a natural end, such as a watch: either end may send at any
	// time, but most of the time neither does.
	Lasts bool
	// Ends is a context that ends connections that have switched protocols. Their request's
	// deadline does not end them.
	Ends context.Context

	switches bool        // the client asks to switch protocols
	outlast  func() bool // separates the connection from the end of the request's context
	body     *lentBody   // nil if the request has no body
}

// HeadError is an error about the header of a response. It shows that the other server has been
// reached.
type HeadError struct{ Err error }

// Error implements error.
func (e HeadError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e HeadError) Unwrap() error { return e.Err }

// Serve passes in on and answers it through w. It returns when the response is complete or, if
// protocols have been switched, when the connection has ended. If the response breaks off after its
// header has been sent, Serve panics with http.ErrAbortHandler, on which net/http closes the
// connection.
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
	// ReverseProxy panics to abort a broken response only if the context has this value. Requests
	// from inside the server lack it.
	if ctx.Value(http.ServerContextKey) == nil {
		ctx = context.WithValue(ctx, http.ServerContextKey, r)
	}
	out := in.WithContext(ctx)
	if out.Body != nil && out.Body != http.NoBody {
		http1 := in.ProtoMajor < 2
		r.body = &lentBody{
			ReadCloser: out.Body, conn: http.NewResponseController(w), http1: http1,
			shared: !http1 || r.Lasts, ended: make(chan struct{}),
		}
		out.Body = r.body
		defer r.body.end()
	}
	proxy := httputil.ReverseProxy{
		Rewrite: r.Rewrite, Transport: r.To, ModifyResponse: r.answered, ErrorHandler: r.failed,
		FlushInterval: flushEvery, BufferPool: pool, ErrorLog: discardLog,
	}
	proxy.ServeHTTP(w, out)
}

// outlasting returns the context of a request to switch protocols. It ends with r.Ends or with
// cancel. It also ends with ctx, the context of the client's request, until the other server has
// switched: then answered calls r.outlast.
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

// answered is called with the header of the response, before anything is sent to the client.
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
		resp.Body = &responseBody{resp.Body, r.body}
	}
	return nil
}

// failed is called if there is no response, or answered has returned an error.
func (r *Relay) failed(w http.ResponseWriter, req *http.Request, err error) {
	if r.body != nil {
		r.body.hold()
	}
	r.Failed(w, req, err)
}
