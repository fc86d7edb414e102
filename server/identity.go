package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// identity is who the server is to its clients, and whose certificates it trusts. Certificates are read again when their files change.
type identity struct {
	tls          TLSConfig
	clientCAFile string
	proxyCAFile  string // "" if there are no front proxies
	kubeconfig   string // path of the administrator's
	own          *pki   // nil if the server has no secure port
	admin        *keyPair

	serving *reloaded[tls.Certificate]
	clients *reloaded[x509.CertPool]
	proxies *reloaded[x509.CertPool] // nil if there are none
	// loopback is the server's own token, of this life of it and kept in memory only; who shows it is system:apiserver, a
	// member of system:masters.
	loopback string
	accounts *accountIssuer
}

// newIdentity reads or makes certificates.
func newIdentity(ctx context.Context, c completed, reg prometheus.Registerer) (*identity, error) {
	id := &identity{
		tls: c.Serving.TLS, clientCAFile: c.Authentication.ClientCAFile, kubeconfig: c.path("admin.kubeconfig"),
		proxyCAFile: c.Authentication.FrontProxy.ClientCAFile, loopback: rand.Text(),
	}
	var err error
	if id.accounts, err = newAccountIssuer(ctx, c, reg); err != nil {
		return nil, fmt.Errorf("server: service account tokens: %w", err)
	}
	if c.Serving.SecurePort == NoPort {
		return id, nil
	}
	if id.own, err = openPKI(c.path("pki")); err != nil {
		return nil, fmt.Errorf("server: certificates: %w", err)
	}
	if id.admin, err = id.own.admin(); err != nil {
		return nil, fmt.Errorf("server: admin certificate: %w", err)
	}
	certFile, keyFile := id.tls.CertFile, id.tls.KeyFile
	if certFile == "" {
		names, ips := namesOf(c.Serving)
		if _, err := id.own.serving(names, ips); err != nil {
			return nil, fmt.Errorf("server: serving certificate: %w", err)
		}
		certFile, keyFile = c.path("pki", "apiserver.crt"), c.path("pki", "apiserver.key")
	}
	id.serving, err = newReloaded([]string{certFile, keyFile}, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		return &pair, err
	})
	if err != nil {
		return nil, fmt.Errorf("server: serving certificate: %w", err)
	}
	var files []string
	if id.clientCAFile != "" {
		files = []string{id.clientCAFile}
	}
	if id.clients, err = newReloaded(files, id.readClientCAs); err != nil {
		return nil, fmt.Errorf("server: client CAs: %w", err)
	}
	return id, id.readProxies(c.Authentication.FrontProxy.AllowedNames)
}

// readProxies reads whose certificates front proxies have. Those with certificates of the server's own authority must be named, as
// clients have such certificates too.
func (id *identity) readProxies(names []string) error {
	if id.proxyCAFile == "" {
		return nil
	}
	var err error
	id.proxies, err = newReloaded([]string{id.proxyCAFile}, func() (*x509.CertPool, error) {
		authorities, err := readCertificates(id.proxyCAFile)
		switch {
		case err != nil:
			return nil, err
		case len(authorities) == 0:
			return nil, fmt.Errorf("%s holds no certificate", id.proxyCAFile)
		case len(names) == 0 && slices.ContainsFunc(authorities, id.own.ca.cert.Equal):
			return nil, errors.New("the server's own authority, which signs those of clients as well, is among them: the names of front proxies must be given")
		}
		pool := x509.NewCertPool()
		for _, c := range authorities {
			pool.AddCert(c)
		}
		return pool, nil
	})
	if err != nil {
		return fmt.Errorf("server: CAs of front proxies: %w", err)
	}
	return nil
}

// namesOf are what a self-made serving certificate is for.
func namesOf(c ServingConfig) (names []string, ips []net.IP) {
	names = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	ips = []net.IP{net.IPv4(127, 0, 0, 1).To4(), net.IPv6loopback}
	if host, err := os.Hostname(); err == nil && !slices.Contains(names, host) {
		names = append(names, host)
	}
	for _, san := range append([]string{c.BindAddress}, c.TLS.SANs...) {
		if ip := net.ParseIP(san); ip == nil {
			names = append(names, san)
		} else if !ip.IsUnspecified() && !slices.ContainsFunc(ips, ip.Equal) {
			ips = append(ips, ip)
		}
	}
	return names, ips
}

func (id *identity) readClientCAs() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	pool.AddCert(id.own.ca.cert)
	if id.clientCAFile != "" {
		pem, err := os.ReadFile(id.clientCAFile)
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", id.clientCAFile)
		}
	}
	return pool, nil
}

// tlsConfig asks clients for a certificate, which authentication judges, and offers HTTP/2.
func (id *identity) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		ClientAuth:     tls.RequestClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return id.serving.get(), nil },
	}
}

// checkEvery is how often files are looked at for changes, at most.
const checkEvery = time.Second

// reloaded is something read from files, and read again when they have changed. What cannot be read leaves the last
// good state in force. All methods may be called at once; readers never wait for files.
type reloaded[T any] struct {
	files   []string
	read    func() (*T, error)
	value   atomic.Pointer[T]
	checked atomic.Int64 // when the files were last looked at, in Unix nanoseconds

	checking sync.Mutex
	times    []time.Time // of the files behind value; guarded by checking
}

func newReloaded[T any](files []string, read func() (*T, error)) (*reloaded[T], error) {
	r := &reloaded[T]{files: files, read: read}
	r.times = r.modified()
	value, err := read()
	r.value.Store(value)
	r.checked.Store(time.Now().UnixNano())
	return r, err
}

func (r *reloaded[T]) modified() []time.Time {
	times := make([]time.Time, len(r.files))
	for i, f := range r.files {
		if info, err := os.Stat(f); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

// get returns the present value. The caller that finds it time to look at the files does so; all others go on with
// what is there.
func (r *reloaded[T]) get() *T {
	now := time.Now().UnixNano()
	if len(r.files) == 0 || now-r.checked.Load() < int64(checkEvery) || !r.checking.TryLock() {
		return r.value.Load()
	}
	defer r.checking.Unlock()
	r.checked.Store(now)
	times := r.modified()
	if slices.EqualFunc(times, r.times, time.Time.Equal) {
		return r.value.Load()
	}
	if value, err := r.read(); err == nil {
		r.value.Store(value)
		r.times = times
	}
	return r.value.Load()
}
