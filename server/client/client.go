package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Config names a server and the credentials to show to it.
type Config struct {
	// URL is the base URL of the server: scheme, host and, if the API is not at the root, a path.
	// With a HandlerTransport it may be "".
	URL string
	// Transport sends the requests, default http.DefaultTransport. It is responsible for TLS and
	// client certificates.
	Transport http.RoundTripper
	// Token, if set, is sent with each request as a bearer token.
	Token string
	// UserAgent is the header User-Agent, default "coracle-client".
	UserAgent string
	// Codecs decode the kinds that are read; codec.NewFactory makes them from a Scheme. They are
	// required.
	Codecs *codec.Factory
	// Answered, if set, is called when the answer to a request has begun, with its code, or when
	// there is none, with code 0. took is the time since the request was sent. It feeds metrics.
	// Many goroutines may call it at once.
	Answered func(method, host string, code int, took time.Duration)
	// Unread, if set, is called for each object that cannot be read, each time that a Source, or a
	// list or watch with a context of meta.WithUnread, meets it. Many goroutines may call it at
	// once.
	Unread func(resource meta.GroupResource, u meta.Unread)
}

// Client sends requests to one server. For returns the resources of the server.
type Client struct {
	base      url.URL
	transport http.RoundTripper
	codecs    *codec.Factory
	header    http.Header // of every request
	answered  func(method, host string, code int, took time.Duration)
	unread    func(resource meta.GroupResource, u meta.Unread)
}

// New returns a Client. It sends no request. The error never contains the URL, which may hold a
// password.
func New(cfg Config) (*Client, error) {
	if cfg.Codecs == nil {
		return nil, errors.New("client: Config.Codecs is nil")
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if _, ok := cfg.Transport.(*handlerTransport); ok && cfg.URL == "" {
		cfg.URL = "http://localhost"
	}
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, errors.New("client: Config.URL is not a URL with http or https and a host")
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("client: Config.URL has more than scheme, host and path: move the token to Config.Token")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	if cfg.UserAgent == "" {
		cfg.UserAgent = "coracle-client"
	}
	c := &Client{
		base:      *base,
		transport: cfg.Transport,
		codecs:    cfg.Codecs,
		header:    http.Header{"User-Agent": {cfg.UserAgent}},
		answered:  cfg.Answered,
		unread:    cfg.Unread,
	}
	if c.unread == nil {
		c.unread = func(meta.GroupResource, meta.Unread) {}
	}
	if cfg.Token != "" {
		c.header.Set("Authorization", "Bearer "+cfg.Token)
	}
	return c, nil
}

// call describes one request.
type call struct {
	method      string
	path        string // below the path of Config.URL
	query       url.Values
	accept      string
	contentType string // of body
	body        []byte
}

// open sends a call, and returns the answer if its code is 2xx. The caller reads and closes the
// body.
func (c *Client) open(ctx context.Context, call *call) (*http.Response, error) {
	u := c.base
	u.Path += call.path
	u.RawQuery = call.query.Encode()
	r := (&http.Request{Method: call.method, URL: &u, Header: c.header.Clone()}).WithContext(ctx)
	r.Header["Accept"] = []string{call.accept}
	if call.body != nil {
		r.Header["Content-Type"] = []string{call.contentType}
		r.ContentLength = int64(len(call.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(call.body)), nil }
		r.Body, _ = r.GetBody()
	}
	began := time.Now()
	resp, err := c.transport.RoundTrip(r)
	if c.answered != nil {
		code := 0
		if err == nil {
			code = resp.StatusCode
		}
		c.answered(call.method, u.Host, code, time.Since(began))
	}
	if err != nil {
		return nil, fmt.Errorf("client: %s %s: %w", call.method, call.path, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, refusal(call, resp)
	}
	return resp, nil
}

// do sends a call, and passes the whole body of an answer of 2xx to read.
func (c *Client) do(ctx context.Context, call *call, read func(data []byte) error) error {
	resp, err := c.open(ctx, call)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil {
		err = read(data)
	}
	if err != nil {
		return fmt.Errorf("client: %s %s: answer: %w", call.method, call.path, err)
	}
	return nil
}

// maxRefusal bounds, in bytes, how much of an error's body is read.
const maxRefusal = 1 << 20

// refusal returns the error for an answer that is not 2xx: the Status in its body, or a Status made
// from its code.
func refusal(call *call, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil {
		return fmt.Errorf("client: %s %s: answer: %w", call.method, call.path, err)
	}
	e := &meta.StatusError{}
	if json.Unmarshal(body, &e.Status) == nil && e.Status.Status == meta.StatusFailure {
		if e.Status.Code == 0 {
			e.Status.Code = int32(resp.StatusCode)
		}
		return e
	}
	e.Status = meta.Status{
		Status: meta.StatusFailure, Code: int32(resp.StatusCode),
		Message: fmt.Sprintf("%s %s: the server answered %q", call.method, call.path, resp.Status),
	}
	return e
}
