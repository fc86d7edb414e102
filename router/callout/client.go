package callout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
)

// This file is the client for one webhook or extension server. Call and Post send JSON, with time
// limits and retries; RoundTrip passes any request.

// Config is the configuration of a Client.
type Config struct {
	// Name identifies the Client in errors and metrics. It is required.
	Name string
	// Target is where to call. It is required.
	Target Target
	// Resolve finds the address of the Target's service. It is required if the Target has one.
	Resolve Resolver
	// Timeout is the time limit of each try of a call; default 30 s.
	Timeout time.Duration
	// MaxAnswer is the largest response body in bytes; default 3 MiB, which is also the largest
	// request body that the server accepts.
	MaxAnswer int64
	// TellTimeout adds the time limit of each call as the query parameter timeout, in seconds
	// rounded up, as Kubernetes does for webhooks. The limit is Timeout, or less if the context of
	// the call ends earlier.
	TellTimeout bool
	// Spread makes the Client speak HTTP/1.1, in which calls that run at the same time have a
	// connection each, so that they reach all backends of a service. By HTTP/2, all of them would
	// share one connection to one backend. A URL of this machine itself has one backend, so HTTP/2
	// stays allowed. Kubernetes does the same for admission and conversion webhooks.
	Spread bool
	// Retry says when a failed call is tried again; by default never.
	Retry Retry
	// Hooks are called for each try, for metrics.
	Hooks Hooks
}

// Hooks are functions that are called when something has happened. They may be nil, and must not
// block.
type Hooks struct {
	// Tried is called when a try has ended, with the kind of its failure or OK.
	Tried func(name string, kind Kind, took time.Duration)
}

// Limits on connections.
const (
	maxIdle     = 16               // idle connections that are kept
	maxSpread   = 64               // the same for HTTP/1.1 with Config.Spread
	idleTime    = 90 * time.Second // after which an idle connection is closed
	connectTime = 10 * time.Second // for connecting, and again for the TLS handshake
	pingAfter   = 30 * time.Second // without a byte on an HTTP/2 connection, before it is pinged
	maxHeader   = 64 << 10         // bytes of a response's header
	maxDrain    = 64 << 10         // bytes of an unwanted body that are read so that the connection can be used again
)

// Client calls one Target. The owner must call Close. All methods may be called concurrently.
type Client struct {
	cfg       Config
	url       *url.URL
	transport *http.Transport
}

// New returns a Client. It checks cfg and connects to nothing.
func New(cfg Config) (*Client, error) {
	fail := func(err error) (*Client, error) { return nil, fmt.Errorf("callout %q: %w", cfg.Name, err) }
	if cfg.Name == "" {
		return fail(errors.New("the name is missing"))
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.MaxAnswer <= 0 {
		cfg.MaxAnswer = 3 << 20
	}
	address, err := cfg.Target.address()
	if err != nil {
		return fail(err)
	}
	if cfg.Target.Service != nil && cfg.Resolve == nil {
		return fail(errors.New("the target is a service, but there is no resolver"))
	}
	c := &Client{cfg: cfg, url: address}
	if c.transport, err = newTransport(&cfg); err != nil {
		return fail(err)
	}
	if cfg.Spread && (cfg.Target.Service != nil || !isHere(address.Hostname())) {
		onlyHTTP1(c.transport)
		c.transport.MaxIdleConns, c.transport.MaxIdleConnsPerHost = maxSpread, maxSpread
	}
	return c, nil
}

// isHere reports whether a host is the machine itself.
func isHere(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// newTransport returns the transport to cfg's Target. If the Target is a service, it resolves the
// service for each connection.
func newTransport(cfg *Config) (*http.Transport, error) {
	t, err := cfg.Target.transport()
	if err != nil {
		return nil, err
	}
	t.Proxy = http.ProxyFromEnvironment
	if service := cfg.Target.Service; service != nil {
		// The request's URL contains the service's DNS name, which TLS and the Host header need.
		// Only the connection goes to the resolved address.
		t.Proxy = nil
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			address, err := cfg.Resolve(ctx, *service)
			if err != nil {
				return nil, err
			}
			return dial(ctx, network, address)
		}
	}
	return t, nil
}

// Close ends idle connections. A connection in use ends with its call.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Call posts in as JSON and decodes the response into out; a nil out ignores the response. The
// error is an *Error, except if in cannot be encoded. After an error out may be partly filled.
func (c *Client) Call(ctx context.Context, in, out any) error {
	body, err := codec.AppendJSON(nil, in)
	if err != nil {
		return fmt.Errorf("callout %q: %w", c.cfg.Name, err)
	}
	return c.post(ctx, body, func(answer []byte) error {
		if out == nil {
			return nil
		}
		return decodeError(json.Unmarshal(answer, out))
	})
}

// Post posts body, which must be JSON, and returns the response body. The error is an *Error.
func (c *Client) Post(ctx context.Context, body []byte) (answer []byte, err error) {
	err = c.post(ctx, body, func(b []byte) error {
		answer = b
		return nil
	})
	return answer, err
}

// post posts body, with retries, and calls read with the body of a good response.
func (c *Client) post(ctx context.Context, body []byte, read func(answer []byte) error) error {
	return c.cfg.Retry.repeat(ctx, func() *Error {
		begun := time.Now()
		err := c.attempt(ctx, body, read)
		if tried := c.cfg.Hooks.Tried; tried != nil {
			kind := OK
			if err != nil {
				kind = err.Kind
			}
			tried(c.cfg.Name, kind, time.Since(begun))
		}
		return err
	})
}

// attempt is one try of post. It follows redirects.
func (c *Client) attempt(parent context.Context, body []byte, read func([]byte) error) (failure *Error) {
	ctx := parent
	if end, ok := parent.Deadline(); !ok || time.Until(end) > c.cfg.Timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(parent, c.cfg.Timeout)
		defer cancel()
	}
	to := c.url
	if c.cfg.TellTimeout {
		to = tellTimeout(ctx, to)
		defer func() {
			if failure != nil {
				failure.Address = to.String()
			}
		}()
	}
	resp, err := c.exchange(ctx, to, body)
	for range maxRedirects {
		if next := moved(resp, to); next != nil {
			io.CopyN(io.Discard, resp.Body, maxDrain)
			resp.Body.Close()
			resp, err = c.exchange(ctx, next, body)
		}
	}
	if err != nil {
		return c.failed(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		io.CopyN(io.Discard, resp.Body, maxDrain)
		return c.refused(resp)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, c.cfg.MaxAnswer+1))
	if err != nil {
		failure = c.failed(ctx, err)
		failure.Cut = true
		return failure
	}
	if int64(len(answer)) > c.cfg.MaxAnswer {
		err = fmt.Errorf("the response is larger than %d bytes", c.cfg.MaxAnswer)
	} else {
		err = read(answer)
	}
	if err != nil {
		return c.error(Malformed, err)
	}
	return nil
}

// exchange posts body once.
func (c *Client) exchange(ctx context.Context, to *url.URL, body []byte) (*http.Response, error) {
	r := (&http.Request{Method: http.MethodPost, URL: to, Header: http.Header{
		"Content-Type": {codec.JSONType}, "Accept": {codec.JSONType}, "User-Agent": {"coracle"},
	}}).WithContext(ctx)
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	return c.send(r)
}

// maxRedirects is the number of redirects that a call follows, as in net/http.
const maxRedirects = 10

// moved returns the URL to which a response redirects the request, or nil if there is none. It is
// also nil if the URL has another host, or if the request would become a GET. resp may be nil.
func moved(resp *http.Response, from *url.URL) *url.URL {
	if resp == nil {
		return nil
	}
	if s := resp.StatusCode; s != http.StatusTemporaryRedirect && s != http.StatusPermanentRedirect {
		return nil
	}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || to.Scheme != from.Scheme || to.Host != from.Host || to.User != nil {
		return nil
	}
	return to
}

// tellTimeout returns a URL with the time that is left in ctx, which has a deadline, as the query
// parameter timeout.
func tellTimeout(ctx context.Context, to *url.URL) *url.URL {
	end, _ := ctx.Deadline()
	told := *to
	told.RawQuery = "timeout=" + (time.Until(end) + time.Second - 1).Truncate(time.Second).String()
	return &told
}

// RoundTrip implements http.RoundTripper. It sends any request to the Target: it replaces scheme
// and host, adds credentials, and leaves the rest, including path and query. Timeout, MaxAnswer,
// Retry and Hooks do not apply, because the caller streams. Errors are those of net/http.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Clone(r.Context())
	to.URL.Scheme, to.URL.Host, to.Host = c.url.Scheme, c.url.Host, ""
	if to.Header == nil {
		to.Header = http.Header{}
	}
	return c.send(to)
}

// send sends a request, whose URL is one of the Target, and adds credentials to its header.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	if authorize := c.cfg.Target.Authorize; authorize != nil {
		if err := authorize(r.Header); err != nil {
			if r.Body != nil {
				r.Body.Close() // a RoundTripper closes the body even if it fails
			}
			return nil, err
		}
	}
	resp, err := tracing(c.transport, r, c.cfg.Name)
	reportFlaws(resp, err, c.cfg.Target.Flawed)
	return resp, err
}

// tracing sends r, whose header it may change, by t. The request is a span of the client's request,
// until its answer begins. If that is traced, the other server continues the trace. name is that of
// the other server.
func tracing(t http.RoundTripper, r *http.Request, name string) (*http.Response, error) {
	ctx, span := request.Begin(r.Context(), request.SpanCall, "HTTP "+r.Method)
	defer span.End()
	span.Note("server", name)
	headers := request.TraceHeaders(ctx)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return t.RoundTrip(r)
}

// failed returns the Error for a response that did not arrive, or not completely.
func (c *Client) failed(ctx context.Context, err error) *Error {
	var slow net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return c.error(Canceled, context.Canceled)
	case ctx.Err() != nil:
		return c.error(TimedOut, context.DeadlineExceeded)
	case errors.As(err, &slow) && slow.Timeout():
		return c.error(TimedOut, err)
	}
	return c.error(Unreachable, connectionError(err))
}

// refused returns the Error for a response with a status other than 2xx.
func (c *Client) refused(resp *http.Response) *Error {
	e := c.error(Refused, nil)
	e.Status = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, maxRetryAfter)) * time.Second
	}
	return e
}

// maxRetryAfter is the longest pause in seconds that a response can ask for.
const maxRetryAfter = 60

// error returns an Error of the Client.
func (c *Client) error(kind Kind, err error) *Error {
	return &Error{Name: c.cfg.Name, Address: c.url.String(), Kind: kind, Err: err}
}
