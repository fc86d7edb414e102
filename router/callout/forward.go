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

// Forwarder sends requests of others on to a service, to the address in their URL, which the caller has resolved, as an
// http.RoundTripper. It changes nothing of a request: what may go on of its header, and how long it may take, is the caller's
// business, who streams. A redirect is an answer like others; errors are those of net/http, without a word of what the other end has
// sent instead of an answer.
//
// Connections are kept by address, HTTP/2 where it is spoken, but for requests that ask to switch
// protocols: the body of the answer 101 is then the connection, an io.ReadWriteCloser. A request
// lasts until the body of its answer is closed.
type Forwarder struct {
	usual, upgrades *http.Transport
	flawed          func(Flaw)
	links           links
}

// NewForwarder returns a Forwarder to a service, of which name, namespace and what is said about certificates count. The error says
// what is wrong with it.
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
	upgrades.ForceAttemptHTTP2, upgrades.Protocols = false, new(http.Protocols)
	upgrades.Protocols.SetHTTP1(true)
	f := &Forwarder{usual: usual, upgrades: upgrades, flawed: to.Flawed}
	if err == nil {
		usual.DialContext, upgrades.DialContext = f.links.counting(usual.DialContext), f.links.counting(upgrades.DialContext)
	}
	return f, err
}

// RoundTrip implements http.RoundTripper.
func (f *Forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	by := f.usual
	if Upgrades(r.Header) {
		by = f.upgrades
	}
	f.links.begin()
	resp, err := by.RoundTrip(r)
	tellFlaws(resp, err, f.flawed)
	if err != nil {
		f.links.end()
		return nil, unheard(err)
	}
	b := &lasting{ReadCloser: resp.Body, links: &f.links}
	resp.Body = b
	if w, ok := b.ReadCloser.(io.Writer); ok {
		resp.Body = struct {
			*lasting
			io.Writer
		}{b, w}
	}
	return resp, nil
}

// Upgrades reports whether the header is that of a request to switch protocols.
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

// CloseIdle ends the idle connections, because they may be dead.
func (f *Forwarder) CloseIdle() {
	f.usual.CloseIdleConnections()
	f.upgrades.CloseIdleConnections()
}

// Close ends the connections, those in use with the last request that is on its way. A request that
// comes later is sent all the same, and no connection is kept for another.
func (f *Forwarder) Close() {
	f.CloseIdle()
	f.links.close()
}

// dialer connects to an address of a network.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// links are the connections of a Forwarder, and how many requests run. net/http could not close
// those of HTTP/2 that are in use, and would keep them for idleTime afterwards.
type links struct {
	mu      sync.Mutex
	open    map[*link]struct{}
	running int
	closed  bool // none is kept without a request
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
	over := l.overLocked()
	l.mu.Unlock()
	closeAll(over)
}

func (l *links) close() {
	l.mu.Lock()
	l.closed = true
	over := l.overLocked()
	l.mu.Unlock()
	closeAll(over)
}

// overLocked returns the connections that are to be closed now.
func (l *links) overLocked() map[*link]struct{} {
	if !l.closed || l.running > 0 {
		return nil
	}
	return maps.Clone(l.open)
}

func closeAll(links map[*link]struct{}) {
	for k := range links {
		_ = k.Close() // nobody waits for anything by it
	}
}

// counting is dial, but what it connects is counted. If all requests of a closed Forwarder have
// gone by then, the connection is closed at once.
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
		over := l.overLocked()
		l.mu.Unlock()
		closeAll(over)
		return k, nil
	}
}

// link is a connection that is counted.
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

// lasting is the body of an answer, with which its request ends.
type lasting struct {
	io.ReadCloser
	links *links
	once  sync.Once
}

// Close implements io.Closer.
func (b *lasting) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.links.end)
	return err
}

// transport returns what connects to t.
func (t *Target) transport() (*http.Transport, error) {
	tlsConfig, err := t.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: connectTime}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    connectTime,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter},
		DisableCompression:     true, // bounds count what is sent, and forwarded is what was asked for
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeader,
	}, nil
}
