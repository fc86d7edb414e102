package callout

import (
	"errors"
	"net"
	"net/http"
	"strings"
)

// Forwarder sends requests of others on to a service, to the address in their URL, which the caller has resolved, as an
// http.RoundTripper. It changes nothing of a request: what may go on of its header, and how long it may take, is the caller's
// business, who streams. A redirect is an answer like others; errors are those of net/http, without a word of what the other end has
// sent instead of an answer.
//
// Connections are kept by address, HTTP/2 where it is spoken, but for requests that ask to switch protocols: the body of the answer
// 101 is then the connection, an io.ReadWriteCloser.
type Forwarder struct {
	usual, upgrades *http.Transport
	flawed          func(Flaw)
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
	return &Forwarder{usual, upgrades, to.Flawed}, err
}

// RoundTrip implements http.RoundTripper.
func (f *Forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	by := f.usual
	if Upgrades(r.Header) {
		by = f.upgrades
	}
	resp, err := by.RoundTrip(r)
	tellFlaws(resp, err, f.flawed)
	if err != nil {
		return nil, unheard(err)
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

// Close ends the idle connections; one in use ends with its request.
func (f *Forwarder) Close() {
	f.usual.CloseIdleConnections()
	f.upgrades.CloseIdleConnections()
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
