// Package identity is who a server is to its clients, and who its clients are to it.
//
// An Identity has the certificates that the server shows, its own authority, which signs those of
// users, and the keys that sign tokens of service accounts. Authenticators find out who sends a
// request, by all that a Config allows.
//
// Read: config.go, identity.go, authority.go, named.go, credentials.go; accounts.go, issuers.go,
// openid.go, authenticators.go; then trust.go, which tells other servers of the cluster whom to
// trust.
package identity

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/server/reload"
)

// Needs is what an Identity is made of.
type Needs struct {
	DataDir string // the server's own authority and keys are in its folder pki
	TLS     TLS
	Secure  bool // there is a secure port; without one there are tokens alone
	// BindAddress is what the server listens at. Addresses are further ones for a certificate in
	// TLS.CertDir.
	BindAddress string
	Addresses   []net.IP
	// ProxyCertFile and ProxyKeyFile hold the certificate that servers behind this one are shown;
	// "" lets an authority of the server's own make one.
	ProxyCertFile, ProxyKeyFile string
	Authentication              *Config // complete
	Metrics                     prometheus.Registerer
}

// authority reports whether the server signs certificates itself.
func (n *Needs) authority() bool { return n.Secure && n.TLS.CertDir == "" }

// path is the name of a file in the folder of the server's own authority.
func (n *Needs) path(name string) string { return filepath.Join(n.DataDir, "pki", name) }

// Identity is who the server is to its clients, and whose certificates it trusts. Certificates are
// read again when their files change.
type Identity struct {
	tls        TLS
	kubeconfig string     // path of the administrator's; "" if there is none
	own        *authority //  nil if the server is no authority
	admin      *pki.Pair  // nil without own
	given      string     // file of the serving certificate, if own has not signed it

	// shown is what servers behind this one are shown, nil for nothing; proxyCA is who has signed
	// it, if that is this server's own.
	shown   *reload.Value[tls.Certificate]
	proxyCA *x509.Certificate

	serving *reload.Value[tls.Certificate]
	byName  *reload.Value[namedCertificates] // nil if there are none
	authorities
	// Loopback is the server's own token, of this life of it and kept in memory only; who shows it
	// is system:apiserver, a member of system:masters.
	Loopback string
	Accounts *Accounts
}

// authorities are those whose certificates count.
type authorities struct {
	clientCAFile string
	proxyCAFile  string                       // "" if there are no front proxies
	clients      *reload.Value[x509.CertPool] // nil if no client has a certificate
	proxies      *reload.Value[x509.CertPool] // nil if there are none
	wanted       *reload.Value[x509.CertPool] // whose certificates clients are asked for: those of both
}

// New reads or makes certificates and keys. Close ends what it has begun, unless Follow is called.
func New(ctx context.Context, n Needs) (_ *Identity, err error) {
	c := n.Authentication
	id := &Identity{
		tls: n.TLS, Loopback: rand.Text(),
		authorities: authorities{clientCAFile: c.ClientCAFile, proxyCAFile: c.FrontProxy.ClientCAFile},
	}
	if id.Accounts, err = newAccounts(ctx, &c.ServiceAccounts, n.DataDir, n.Metrics); err != nil {
		return nil, fmt.Errorf("server: service account tokens: %w", err)
	}
	defer func() {
		if err != nil {
			id.Accounts.Close()
		}
	}()
	if err := id.openShown(&n); err != nil {
		return nil, fmt.Errorf("server: certificate for servers behind this one: %w", err)
	}
	if !n.Secure {
		return id, nil
	}
	if n.authority() {
		id.kubeconfig = filepath.Join(n.DataDir, "admin.kubeconfig")
		if id.own, err = openAuthority(n.path(""), "ca"); err != nil {
			return nil, fmt.Errorf("server: certificates: %w", err)
		}
		if id.admin, err = id.own.admin(); err != nil {
			return nil, fmt.Errorf("server: admin certificate: %w", err)
		}
	}
	if err := id.openServing(&n); err != nil {
		return nil, fmt.Errorf("server: serving certificate: %w", err)
	}
	if err := id.readAuthorities(c.FrontProxy.AllowedNames); err != nil {
		return nil, err
	}
	return id, nil
}

// openServing reads the serving certificate: that which is given, or one that is made if it is not
// there.
func (id *Identity) openServing(n *Needs) (err error) {
	certFile, keyFile := n.TLS.CertFile, n.TLS.KeyFile
	id.given = certFile
	switch {
	case certFile != "":
	case id.own != nil:
		names, ips := n.names()
		certFile, keyFile = n.path("apiserver.crt"), n.path("apiserver.key")
		_, err = id.own.serving(names, ips)
	default:
		certFile, keyFile, err = openSelfSigned(n)
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
func readPair(certFile, keyFile string) (*reload.Value[tls.Certificate], error) {
	return reload.NewValue([]string{certFile, keyFile}, func() (*tls.Certificate, error) {
		pair, err := configfile.KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("%s with %s: %w", certFile, keyFile, err)
		}
		return &pair, nil
	})
}

// openShown reads what servers behind this one are shown: the certificate that is given, or one
// that is made if it is not there. It is of a CA that signs nothing else, so that they trust nobody
// else to speak for others; this server trusts it with nothing. Where it is said whom they are to
// trust, there is none but the one that is given.
func (id *Identity) openShown(n *Needs) (err error) {
	certFile, keyFile := n.ProxyCertFile, n.ProxyKeyFile
	if certFile == "" {
		if !n.authority() || id.proxyCAFile != "" {
			return nil
		}
		p, err := openAuthority(n.path(""), "front-proxy-ca")
		if err != nil {
			return err
		}
		if _, err := p.frontProxy(); err != nil {
			return err
		}
		id.proxyCA, certFile, keyFile = p.ca.Cert, n.path(frontProxyName+".crt"), n.path(frontProxyName+".key")
	}
	id.shown, err = readPair(certFile, keyFile)
	return err
}

// Proxy returns what servers behind this one are shown, nil for nothing.
func (id *Identity) Proxy() *tls.Certificate {
	if id.shown == nil {
		return nil
	}
	return id.shown.Get()
}

// readAuthorities reads whose certificates clients and front proxies have. The names of proxies may
// be given.
func (id *Identity) readAuthorities(names []string) (err error) {
	var files []string
	if id.clientCAFile != "" {
		files = []string{id.clientCAFile}
	}
	if id.own != nil || files != nil {
		if id.clients, err = reload.NewValue(files, poolOf(id.clientCAs)); err != nil {
			return fmt.Errorf("server: client CAs: %w", err)
		}
	}
	proxyCAs := func() ([]*x509.Certificate, error) { return id.proxyCAs(names) }
	if id.proxyCAFile != "" {
		files = append(files, id.proxyCAFile)
		if id.proxies, err = reload.NewValue([]string{id.proxyCAFile}, poolOf(proxyCAs)); err != nil {
			return fmt.Errorf("server: CAs of front proxies: %w", err)
		}
	}
	id.wanted, err = reload.NewValue(files, poolOf(id.clientCAs, proxyCAs))
	return err
}

// clientCAs reads whose certificates clients have.
func (id *Identity) clientCAs() (all []*x509.Certificate, err error) {
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

// proxyCAs reads whose certificates front proxies have. Those with certificates of the server's own
// authority must be named, as clients have such certificates too.
func (id *Identity) proxyCAs(names []string) ([]*x509.Certificate, error) {
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

// names are what a self-made serving certificate is for.
func (n *Needs) names() (names []string, ips []net.IP) {
	names = []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	ips = []net.IP{net.IPv4(127, 0, 0, 1).To4(), net.IPv6loopback}
	if host, err := os.Hostname(); err == nil && !slices.Contains(names, host) {
		names = append(names, host)
	}
	for _, san := range append([]string{n.BindAddress}, n.TLS.SANs...) {
		if ip := net.ParseIP(san); ip == nil {
			names = append(names, san)
		} else if !ip.IsUnspecified() && !slices.ContainsFunc(ips, ip.Equal) {
			ips = append(ips, ip)
		}
	}
	return names, ips
}

// TLSConfig asks clients for a certificate of the authorities that count, which authentication
// judges, and offers protocols.
func (id *Identity) TLSConfig(protocols []string) *tls.Config {
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
		if wanted := id.wanted.Get(); now.ClientCAs != wanted {
			now = c.Clone()
			now.ClientCAs = wanted
			current.Store(now)
		}
		return now, nil
	}
	return c
}
