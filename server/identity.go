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

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/server/reload"
)

// identity is who the server is to its clients, and whose certificates it trusts. Certificates are read again when their files change.
type identity struct {
	tls        TLSConfig
	kubeconfig string     // path of the administrator's; "" if there is none
	own        *authority //  nil if the server is no authority
	admin      *pki.Pair  // nil without own
	given      string     // file of the serving certificate, if own has not signed it

	// shown is what servers behind this one are shown, nil for nothing; proxyCA is who has signed it, if that is this server's own.
	shown   *reloaded[tls.Certificate]
	proxyCA *x509.Certificate

	serving *reloaded[tls.Certificate]
	byName  *reloaded[namedCertificates] // nil if there are none
	authorities
	// loopback is the server's own token, of this life of it and kept in memory only; who shows it is system:apiserver, a
	// member of system:masters.
	loopback string
	accounts *accountIssuer
}

// authorities are those whose certificates count.
type authorities struct {
	clientCAFile string
	proxyCAFile  string                   // "" if there are no front proxies
	clients      *reloaded[x509.CertPool] // nil if no client has a certificate
	proxies      *reloaded[x509.CertPool] // nil if there are none
	wanted       *reloaded[x509.CertPool] // whose certificates clients are asked for: those of both
}

// newIdentity reads or makes certificates.
func newIdentity(ctx context.Context, c completed, reg prometheus.Registerer) (_ *identity, err error) {
	id := &identity{
		tls: c.Serving.TLS, loopback: rand.Text(),
		authorities: authorities{clientCAFile: c.Authentication.ClientCAFile, proxyCAFile: c.Authentication.FrontProxy.ClientCAFile},
	}
	if id.accounts, err = newAccountIssuer(ctx, c, reg); err != nil {
		return nil, fmt.Errorf("server: service account tokens: %w", err)
	}
	defer func() {
		if err != nil {
			id.accounts.close()
		}
	}()
	if err := id.openShown(c); err != nil {
		return nil, fmt.Errorf("server: certificate for servers behind this one: %w", err)
	}
	if c.Serving.SecurePort == NoPort {
		return id, nil
	}
	if c.Serving.authority() {
		id.kubeconfig = c.path("admin.kubeconfig")
		if id.own, err = openAuthority(c.path("pki"), "ca"); err != nil {
			return nil, fmt.Errorf("server: certificates: %w", err)
		}
		if id.admin, err = id.own.admin(); err != nil {
			return nil, fmt.Errorf("server: admin certificate: %w", err)
		}
	}
	if err := id.openServing(c); err != nil {
		return nil, fmt.Errorf("server: serving certificate: %w", err)
	}
	if err := id.readAuthorities(c.Authentication.FrontProxy.AllowedNames); err != nil {
		return nil, err
	}
	return id, nil
}

// openServing reads the serving certificate: that which is given, or one that is made if it is not there.
func (id *identity) openServing(c completed) (err error) {
	certFile, keyFile := c.Serving.TLS.CertFile, c.Serving.TLS.KeyFile
	id.given = certFile
	switch {
	case certFile != "":
	case id.own != nil:
		names, ips := namesOf(c.Serving)
		certFile, keyFile = c.path("pki", "apiserver.crt"), c.path("pki", "apiserver.key")
		_, err = id.own.serving(names, ips)
	default:
		certFile, keyFile, err = openSelfSigned(c)
		id.given = certFile
	}
	if err != nil {
		return err
	}
	if id.serving, err = readPair(certFile, keyFile); err != nil {
		return err
	}
	return id.readByName()
}

// readPair reads a certificate and its key.
func readPair(certFile, keyFile string) (*reloaded[tls.Certificate], error) {
	return newReloaded([]string{certFile, keyFile}, func() (*tls.Certificate, error) {
		pair, err := configfile.KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("%s with %s: %w", certFile, keyFile, err)
		}
		return &pair, nil
	})
}

// openShown reads what servers behind this one are shown: the certificate that is given, or one that is made if it is not there. It is
// of a CA that signs nothing else, so that they trust nobody else to speak for others; this server trusts it with nothing. Where it is
// said whom they are to trust, there is none but the one that is given.
func (id *identity) openShown(c completed) (err error) {
	certFile, keyFile := c.API.Aggregation.CertFile, c.API.Aggregation.KeyFile
	if certFile == "" {
		if !c.Serving.authority() || id.proxyCAFile != "" {
			return nil
		}
		p, err := openAuthority(c.path("pki"), "front-proxy-ca")
		if err != nil {
			return err
		}
		if _, err := p.frontProxy(); err != nil {
			return err
		}
		id.proxyCA, certFile, keyFile = p.ca.Cert, c.path("pki", frontProxyName+".crt"), c.path("pki", frontProxyName+".key")
	}
	id.shown, err = readPair(certFile, keyFile)
	return err
}

// proxy returns what servers behind this one are shown, nil for nothing.
func (id *identity) proxy() *tls.Certificate {
	if id.shown == nil {
		return nil
	}
	return id.shown.get()
}

// readAuthorities reads whose certificates clients and front proxies have. The names of proxies may be given.
func (id *identity) readAuthorities(names []string) (err error) {
	var files []string
	if id.clientCAFile != "" {
		files = []string{id.clientCAFile}
	}
	if id.own != nil || files != nil {
		if id.clients, err = newReloaded(files, poolOf(id.clientCAs)); err != nil {
			return fmt.Errorf("server: client CAs: %w", err)
		}
	}
	proxyCAs := func() ([]*x509.Certificate, error) { return id.proxyCAs(names) }
	if id.proxyCAFile != "" {
		files = append(files, id.proxyCAFile)
		if id.proxies, err = newReloaded([]string{id.proxyCAFile}, poolOf(proxyCAs)); err != nil {
			return fmt.Errorf("server: CAs of front proxies: %w", err)
		}
	}
	id.wanted, err = newReloaded(files, poolOf(id.clientCAs, proxyCAs))
	return err
}

// clientCAs reads whose certificates clients have.
func (id *identity) clientCAs() (all []*x509.Certificate, err error) {
	if id.own != nil {
		all = []*x509.Certificate{id.own.ca.Cert}
	}
	if id.clientCAFile == "" {
		return all, nil
	}
	more, err := readCertificates(id.clientCAFile)
	if err == nil && len(more) == 0 {
		err = fmt.Errorf("%s holds no certificate", id.clientCAFile)
	}
	return append(all, more...), err
}

// proxyCAs reads whose certificates front proxies have. Those with certificates of the server's own authority must be named, as
// clients have such certificates too.
func (id *identity) proxyCAs(names []string) ([]*x509.Certificate, error) {
	if id.proxyCAFile == "" {
		return nil, nil
	}
	all, err := readCertificates(id.proxyCAFile)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("%s holds no certificate", id.proxyCAFile)
	case len(names) == 0 && id.own != nil && slices.ContainsFunc(all, id.own.ca.Cert.Equal):
		return nil, errors.New("the server's own authority, which signs those of clients as well, is among them: the names of front proxies must be given")
	}
	return all, nil
}

// poolOf puts certificates from several places into one pool.
func poolOf(reads ...func() ([]*x509.Certificate, error)) func() (*x509.CertPool, error) {
	return func() (*x509.CertPool, error) {
		pool := x509.NewCertPool()
		for _, read := range reads {
			all, err := read()
			if err != nil {
				return nil, err
			}
			for _, c := range all {
				pool.AddCert(c)
			}
		}
		return pool, nil
	}
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

// tlsConfig asks clients for a certificate of the authorities that count, which authentication judges, and offers protocols.
func (id *identity) tlsConfig(protocols []string) *tls.Config {
	c := &tls.Config{
		MinVersion:       id.tls.MinVersion,
		CipherSuites:     id.tls.CipherSuites,
		CurvePreferences: id.tls.Curves,
		NextProtos:       protocols,
		ClientAuth:       tls.RequestClientCert,
		GetCertificate:   id.certificate,
	}
	var current atomic.Pointer[tls.Config]
	current.Store(c)
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := current.Load()
		if wanted := id.wanted.get(); now.ClientCAs != wanted {
			now = c.Clone()
			now.ClientCAs = wanted
			current.Store(now)
		}
		return now, nil
	}
	return c
}

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
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() { // a pipe is read once
			times[i] = info.ModTime()
		}
	}
	return times
}

// get returns the present value. The caller that finds it time to look at the files does so; all others go on with
// what is there.
func (r *reloaded[T]) get() *T {
	now := time.Now().UnixNano()
	if len(r.files) == 0 || now-r.checked.Load() < int64(reload.CheckEvery) || !r.checking.TryLock() {
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
