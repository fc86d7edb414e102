package callout

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
)

// This file forwards requests of other clients to an extension server. server/aggregator has a
// Forwarder for each service and a Relay for each request.

// Forwarder is an http.RoundTripper that sends requests to a service, at the address in their URL,
// which the caller has resolved. It does not change requests, apart from the headers of the trace:
// the caller decides which headers may pass and how long a request may take. A redirect is a
// response like others. Errors are those of net/http, without any part of what the other end has
// sent.
//
// Connections are kept and shared, with HTTP/2 if the server has it, except by requests to switch
// protocols. The body of a 101 response is then the connection, an io.ReadWriteCloser. A request is
// running until the body of its response is closed.
type Forwarder struct {
	name            string // of the service, for spans
	usual, upgrades *http.Transport
	flawed          func(Flaw)
	links           links
}

// NewForwarder returns a Forwarder to the service of a Target. Of the Target it uses the service's
// name and namespace and the fields about certificates.
func NewForwarder(to Target) (*Forwarder, error) {
	if to.Service == nil {
		return nil, errors.New("callout: requests are forwarded to services only")
	}
	to.ServerName = to.Service.host()
	usual, err := to.transport()
	if err != nil {
		return nil, err
	}
	upgrades, err := to.transport()
	if err == nil {
		onlyHTTP1(upgrades)
	}
	f := &Forwarder{name: to.ServerName, usual: usual, upgrades: upgrades, flawed: to.Flawed}
	if err == nil {
		usual.DialContext, upgrades.DialContext = f.links.counting(usual.DialContext),
			f.links.counting(upgrades.DialContext)
	}
	return f, err
}

// onlyHTTP1 makes a transport speak HTTP/1.1 alone.
func onlyHTTP1(t *http.Transport) {
	t.ForceAttemptHTTP2, t.Protocols = false, new(http.Protocols)
	t.Protocols.SetHTTP1(true)
}

// RoundTrip implements http.RoundTripper.
func (f *Forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	by := f.usual
	if Upgrades(r.Header) {
		by = f.upgrades
	}
	f.links.begin()
	resp, err := tracing(by, r, f.name)
	reportFlaws(resp, err, f.flawed)
	if err != nil {
		f.links.end()
		return nil, connectionError(err)
	}
	b := &countedBody{ReadCloser: resp.Body, links: &f.links}
	resp.Body = b
	if w, ok := b.ReadCloser.(io.Writer); ok {
		resp.Body = struct {
			*countedBody
			io.Writer
		}{b, w}
	}
	return resp, nil
}

// Upgrades reports whether h is the header of a request to switch protocols.
func Upgrades(h http.Header) bool {
	for _, v := range h["Connection"] {
		for option := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(option), "upgrade") {
				return h.Get("Upgrade") != ""
			}
		}
	}
	return false
}

// CloseIdle closes idle connections. The caller uses it when they may lead to a server that is
// gone.
func (f *Forwarder) CloseIdle() {
	f.usual.CloseIdleConnections()
	f.upgrades.CloseIdleConnections()
}

// Close closes all connections: the idle ones at once, the others when the last running request
// ends. A request that comes later is still sent, but its connection is not kept.
func (f *Forwarder) Close() {
	f.CloseIdle()
	f.links.close()
}

// dialer is the type of http.Transport.DialContext.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// links are the open connections of a Forwarder, with the number of running requests. They are
// counted here because net/http cannot close HTTP/2 connections in use, and keeps them open for
// idleTime after their last request.
type links struct {
	mu      sync.Mutex
	open    map[*link]struct{}
	running int  // requests
	closed  bool // connections are closed as soon as no request is running
}

// begin counts a request in.
func (l *links) begin() {
	l.mu.Lock()
	l.running++
	l.mu.Unlock()
}

// end counts a request out.
func (l *links) end() {
	l.mu.Lock()
	l.running--
	over := l.idleLocked()
	l.mu.Unlock()
	closeAll(over)
}

// close closes the connections, or lets the last running request close them.
func (l *links) close() {
	l.mu.Lock()
	l.closed = true
	over := l.idleLocked()
	l.mu.Unlock()
	closeAll(over)
}

// idleLocked returns the connections to close now. The caller holds mu, and closes them after it
// has released mu.
func (l *links) idleLocked() map[*link]struct{} {
	if !l.closed || l.running > 0 {
		return nil
	}
	return maps.Clone(l.open)
}

func closeAll(links map[*link]struct{}) {
	for k := range links {
		_ = k.Close() // no request uses it
	}
}

// counting wraps dial so that connections are counted. If the Forwarder has been closed and no
// request is running any longer, the new connection is closed at once.
func (l *links) counting(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		k := &link{Conn: conn, of: l}
		l.mu.Lock()
		if l.open == nil {
			l.open = map[*link]struct{}{}
		}
		l.open[k] = struct{}{}
		over := l.idleLocked()
		l.mu.Unlock()
		closeAll(over)
		return k, nil
	}
}

// link is a counted connection.
type link struct {
	net.Conn
	of *links
}

// Close implements net.Conn.
func (k *link) Close() error {
	k.of.mu.Lock()
	delete(k.of.open, k)
	k.of.mu.Unlock()
	return k.Conn.Close()
}

// countedBody is the body of a response. Its Close ends the request's count.
type countedBody struct {
	io.ReadCloser
	links *links
	once  sync.Once
}

// Close implements io.Closer.
func (b *countedBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.links.end)
	return err
}

// transport returns a transport for connections to t.
func (t *Target) transport() (*http.Transport, error) {
	tlsConfig, err := t.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: connectTime}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: connectTime,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter},
		// Limits count the bytes received, and a client gets the encoding that it asked for.
		DisableCompression:     true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeader,
	}, nil
}
