package jwt

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds on connections to an issuer.
const (
	callTime   = 30 * time.Second // for one request, including its response
	maxAnswer  = 4 << 20          // bytes of a response's body
	idleTime   = 90 * time.Second // after which an idle connection is closed
	maxIdle    = 4                // idle connections
	dialTime   = 10 * time.Second // for connecting, and for the TLS handshake
	discoverAt = "/.well-known/openid-configuration"
)

var errTooLarge = errors.New("the issuer's response is too large")

// transport connects to an issuer. Every request ends with life at the latest, whatever context
// go-oidc gives it.
type transport struct {
	life context.Context
	*http.Transport
	from, to *url.URL // a GET of from goes to the URL to instead (DiscoveryURL); both nil: no request is redirected
}

// newTransport returns the transport to an issuer, which must be valid.
func newTransport(life context.Context, s *Source) (*transport, error) {
	t := &transport{life: life, Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: dialTime,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        maxIdle,
		IdleConnTimeout:     idleTime,
	}}
	if s.CertificateAuthority != "" {
		pool, err := authorities(s.CertificateAuthority)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig.RootCAs = pool
	}
	if s.DiscoveryURL != "" {
		var err error
		if t.to, err = url.Parse(s.DiscoveryURL); err != nil {
			return nil, err
		}
		if t.from, err = url.Parse(strings.TrimSuffix(s.URL, "/") + discoverAt); err != nil {
			return nil, err
		}
	}
	context.AfterFunc(life, t.CloseIdleConnections)
	return t, nil
}

// RoundTrip implements http.RoundTripper. The request ends with life, with its own context, or
// after callTime.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(t.life, callTime)
	context.AfterFunc(r.Context(), cancel)
	r = r.Clone(ctx)
	if t.from != nil && r.Method == http.MethodGet && r.URL.String() == t.from.String() {
		r.URL, r.Host = t.to, ""
	}
	resp, err := t.Transport.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &bounded{resp.Body, cancel, maxAnswer}
	return resp, nil
}

// bounded is the body of a response with a bound on its length.
type bounded struct {
	io.ReadCloser
	cancel context.CancelFunc
	left   int // bytes that may still be read; negative after the bound was exceeded
}

// Read implements io.Reader. It fails if the body is longer than the bound.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// Close implements io.Closer. It also ends the request's context.
func (b *bounded) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
