package callout

import (
	"bytes"
	"errors"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
)

// This file keeps the clients of webhooks that objects of the API name: admission webhooks and the
// conversion webhooks of definitions.

// Webhook is the address of a webhook as an object of the API gives it. One of URL and Service is
// set.
type Webhook struct {
	URL      string
	Service  *Service
	CABundle []byte // as in Target; white space alone counts as none
}

// Pool holds the clients of webhooks. Equal Webhooks share a client and so its connections: an
// operator usually has one webhook for all its configurations. A client is closed when nobody uses
// it any longer. All methods may be called concurrently.
type Pool struct {
	cfg   Config
	users *Users

	mu   sync.Mutex
	open map[webhookKey]*pooled
}

// NewPool returns a Pool whose clients have the configuration cfg. Of cfg.Target, only Flawed
// counts. users may be nil: the clients then have no credentials.
func NewPool(cfg Config, users *Users) *Pool {
	return &Pool{cfg: cfg, users: users, open: map[webhookKey]*pooled{}}
}

// webhookKey is a Webhook as a key.
type webhookKey struct {
	url       string
	service   Service
	isService bool
	authority string
}

// pooled is a client with the number of its users. Pool.mu guards users.
type pooled struct {
	*Client
	users int
}

// Open returns the client of a webhook, and counts the caller among its users. The caller calls
// release when it no longer uses the client; release may be called again, and is never nil. When
// the last user has called it, the idle connections close. A call that still runs is not disturbed.
func (p *Pool) Open(w Webhook) (client *Client, release func(), err error) {
	key := webhookKey{url: w.URL, isService: w.Service != nil}
	if w.Service != nil {
		key.service = *w.Service
	}
	if len(bytes.TrimSpace(w.CABundle)) > 0 {
		key.authority = string(w.CABundle)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	shared := p.open[key]
	if shared == nil {
		made, err := p.make(key)
		if err != nil {
			return nil, func() {}, err
		}
		shared = &pooled{Client: made}
		p.open[key] = shared
	}
	shared.users++
	return shared.Client, sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if shared.users--; shared.users == 0 {
			delete(p.open, key)
			shared.Close()
		}
	}), nil
}

// make makes the client of a webhook. The webhook's path is cleaned, and loses a slash at its end,
// as in Kubernetes.
func (p *Pool) make(key webhookKey) (*Client, error) {
	cfg := p.cfg
	cfg.Target = Target{URL: key.url, CABundle: []byte(key.authority), Flawed: p.cfg.Target.Flawed}
	if key.isService {
		service := key.service
		if strings.HasPrefix(service.Path, "/") {
			service.Path = path.Clean(service.Path)
		}
		cfg.Target.Service = &service
	}
	address, err := cfg.Target.address()
	if err != nil {
		return nil, err
	}
	if !key.isService {
		address.Path, address.RawPath = path.Clean(address.Path), ""
		cfg.Target.URL = address.String()
	}
	if u := p.users.of(hostPort(address)); u != nil {
		cfg.Target.Certificate, cfg.Target.Authorize = u.Certificate, u.Authorize
	}
	made, err := New(cfg)
	if cause := errors.Unwrap(err); cause != nil {
		err = cause // without the name of the pool, which says nothing about the webhook
	}
	return made, err
}

// hostPort returns the host and port of a URL with the scheme https.
func hostPort(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), strconv.Itoa(httpsPort))
	}
	return u.Host
}

const httpsPort = 443

// Close closes all clients that are still open. The owner calls it after the last Open.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, shared := range p.open {
		shared.Close()
	}
}
