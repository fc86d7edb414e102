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

// Bounds on what an issuer may take.
const (
	callTime   = 30 * time.Second // for one request, answer included
	maxAnswer  = 4 << 20          // bytes
	idleTime   = 90 * time.Second
	maxIdle    = 4
	dialTime   = 10 * time.Second
	discoverAt = "/.well-known/openid-configuration"
)

var errLarge = errors.New("the issuer's answer is too large")

// transport is the way to an issuer. Everything on it ends with life, whatever go-oidc thinks of contexts.
type transport struct {
	life context.Context
	*http.Transport
	from, to *url.URL // where discovery goes instead, if it does
}

// newTransport returns the way to the issuer, which must be valid.
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

// RoundTrip implements http.RoundTripper.
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

// bounded is the body of an answer, which may have so many bytes.
type bounded struct {
	io.ReadCloser
	cancel context.CancelFunc
	left   int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return n, errLarge
	}
	return n, err
}

func (b *bounded) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
