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
	"time"

	"github.com/coracle-project/coracle/scheme/codec"
)

// Config says whom a Client calls, and how.
type Config struct {
	// Name stands in errors and metrics. It is required.
	Name string
	// Target is required.
	Target Target
	// Resolve finds the Target's service; it is required if there is one.
	Resolve Resolver
	// Timeout bounds each try of a call, default 30 s.
	Timeout time.Duration
	// MaxAnswer bounds the body of an answer in bytes, default 3 MiB: as much as the server takes from its clients.
	MaxAnswer int64
	// TellTimeout sends the Timeout along, as the query parameter of that name: webhooks of Kubernetes may know it.
	TellTimeout bool
	// Retry says when a call is tried again; the default is never.
	Retry Retry
	// Hooks are told of each try.
	Hooks Hooks
}

// Hooks are told what happens. They may be nil, and must not block.
type Hooks struct {
	// Tried: a try of a call has ended, with OK or a failure.
	Tried func(name string, kind Kind, took time.Duration)
}

// Limits of what a Client holds on to.
const (
	maxIdle     = 16               // connections that wait for the next call
	idleTime    = 90 * time.Second // how long they do
	connectTime = 10 * time.Second // for a connection, and once more for its handshake
	pingAfter   = 30 * time.Second // of silence, to find out that the other end of an HTTP/2 connection is gone
	maxHeader   = 64 << 10         // bytes
	maxDrain    = 64 << 10         // bytes of a body that nobody wants are read for the sake of its connection
)

// Client calls one Target. Close it when it is not needed any more.
type Client struct {
	cfg       Config
	url       *url.URL
	transport *http.Transport
}

// New returns a Client. The error says what is wrong with cfg; nothing is called yet.
func New(cfg Config) (*Client, error) {
	fail := func(err error) (*Client, error) { return nil, fmt.Errorf("callout %q: %w", cfg.Name, err) }
	if cfg.Name == "" {
		return fail(errors.New("a name is needed"))
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
		return fail(errors.New("services cannot be resolved here"))
	}
	if cfg.TellTimeout {
		address.RawQuery = "timeout=" + cfg.Timeout.String()
	}
	c := &Client{cfg: cfg, url: address}
	if c.transport, err = newTransport(&cfg); err != nil {
		return fail(err)
	}
	return c, nil
}

func newTransport(cfg *Config) (*http.Transport, error) {
	t, err := cfg.Target.transport()
	if err != nil {
		return nil, err
	}
	t.Proxy = http.ProxyFromEnvironment
	if service := cfg.Target.Service; service != nil {
		// The request names the service, for TLS and the Host header; only the connection knows better.
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

// Close ends the idle connections; one in use ends with its call.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Call posts in as JSON and decodes the answer into out, which is not looked at if it is nil. The error is an *Error, or
// says that in has no JSON. After an error out may be filled in half.
func (c *Client) Call(ctx context.Context, in, out any) error {
	body, err := codec.AppendJSON(nil, in)
	if err != nil {
		return fmt.Errorf("callout %q: %w", c.cfg.Name, err)
	}
	return c.post(ctx, body, func(answer []byte) error {
		if out == nil {
			return nil
		}
		return unread(json.Unmarshal(answer, out))
	})
}

// Post posts body, which is JSON, and returns the answer as it is. The error is an *Error.
func (c *Client) Post(ctx context.Context, body []byte) (answer []byte, err error) {
	err = c.post(ctx, body, func(b []byte) error {
		answer = b
		return nil
	})
	return answer, err
}

func (c *Client) post(ctx context.Context, body []byte, read func(answer []byte) error) error {
	return c.cfg.Retry.repeat(ctx, func() *Error {
		begun := time.Now()
		err := c.try(ctx, body, read)
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

// try calls once.
func (c *Client) try(parent context.Context, body []byte, read func([]byte) error) *Error {
	ctx, cancel := context.WithTimeout(parent, c.cfg.Timeout)
	defer cancel()
	r := (&http.Request{Method: http.MethodPost, URL: c.url, Header: http.Header{
		"Content-Type": {codec.JSONType}, "Accept": {codec.JSONType}, "User-Agent": {"coracle"},
	}}).WithContext(ctx)
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	resp, err := c.RoundTrip(r)
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
		return c.failed(ctx, err)
	}
	if int64(len(answer)) > c.cfg.MaxAnswer {
		err = fmt.Errorf("the answer is larger than %d bytes", c.cfg.MaxAnswer)
	} else {
		err = read(answer)
	}
	if err != nil {
		return c.error(Malformed, err)
	}
	return nil
}

// RoundTrip sends a request of any kind to the Target: it replaces scheme and host, adds credentials, and leaves the
// rest as it is, path and query too. Neither Timeout, MaxAnswer, Retry nor Hooks apply: the caller streams. Client is
// an http.RoundTripper, and errors are those of net/http.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Clone(r.Context())
	to.URL.Scheme, to.URL.Host, to.Host = c.url.Scheme, c.url.Host, ""
	if to.Header == nil {
		to.Header = http.Header{}
	}
	if authorize := c.cfg.Target.Authorize; authorize != nil {
		if err := authorize(to.Header); err != nil {
			if r.Body != nil {
				r.Body.Close() // as a RoundTripper must, also when it fails
			}
			return nil, err
		}
	}
	resp, err := c.transport.RoundTrip(to)
	tellFlaws(resp, err, c.cfg.Target.Flawed)
	return resp, err
}

// failed is why there was no answer, or not all of it.
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
	return c.error(Unreachable, unheard(err))
}

func (c *Client) refused(resp *http.Response) *Error {
	e := c.error(Refused, nil)
	e.Status = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, maxRetryAfter)) * time.Second
	}
	return e
}

// maxRetryAfter bounds, in seconds, what a stranger can make us wait.
const maxRetryAfter = 60

func (c *Client) error(kind Kind, err error) *Error {
	return &Error{Name: c.cfg.Name, Address: c.url.String(), Kind: kind, Err: err}
}
