// Package identity holds the certificates and keys by which a server proves its identity to
// clients, and makes the authenticators by which it finds out who its clients are.
//
// Words: the server's own authority is a certificate authority in the folder pki of the data
// folder, which signs the serving certificate and client certificates of users; a front proxy is a
// server that authenticates users itself and names them in headers (request header authentication);
// an issuer signs tokens; a signer is the name by which clients request certificates.
//
// Laws: private keys and kubeconfigs are readable by their owner alone. If the file of a
// certificate or key exists, New uses it or fails; it never overwrites a file because the file is
// broken. Files that the configuration names are read again when they change; if the new content is
// invalid the old content stays in force.
//
// New makes an Identity, which any goroutine may use. Authenticators is called once. A
// KubeconfigMaker needs no server: commands use it on a data folder.
//
// Not here: how one credential is verified (filters/authn), the protocol of issuers
// (filters/authn/jwt), certificates as such (filters/authn/pki), what users may do (server/access),
// the loop that signs requested certificates (server/loops/csr).
//
// Read: config.go, identity.go, authority.go, named.go, credentials.go, signers.go; accounts.go,
// externalsigner.go, issuers.go, openid.go, authenticators.go; then trust.go, which publishes the
// CAs for other servers of the cluster, and kubeconfigmaker.go.
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

// Needs is what New takes.
type Needs struct {
	DataDir string // its folder pki holds the server's own authority and keys
	TLS     TLS
	Secure  bool // there is a secure port; without one clients can only show tokens and passwords
	// BindAddress is the address at which the server listens. Addresses are further addresses for a
	// self-signed certificate in TLS.CertDir.
	BindAddress string
	Addresses   []net.IP
	// ProxyCertFile and ProxyKeyFile hold the client certificate that this server shows to servers
	// behind it; "" makes one with an authority of the server's own.
	ProxyCertFile, ProxyKeyFile string
	Authentication              *Config // as Complete returns it
	Metrics                     prometheus.Registerer
}

// authority reports whether the server signs certificates itself.
func (n *Needs) authority() bool { return n.Secure && n.TLS.CertDir == "" }

// path returns the path of a file in the folder of the server's own authority.
func (n *Needs) path(name string) string { return filepath.Join(n.DataDir, "pki", name) }

// Identity holds the certificates that the server shows and the CAs that it trusts. Their files are
// read again when they change. All methods may be called at once.
type Identity struct {
	tls        TLS
	kubeconfig string     // path of the administrator's kubeconfig; "" if there is none
	own        *authority //  nil if the server signs no certificates
	admin      *pki.Pair  // nil without own
	givenFile  string     // file of the serving certificate; "" if own has signed it

	proxyIdentity
	serving *reload.Value[tls.Certificate]
	byName  *reload.Value[namedCertificates] // nil if there are none
	authorities
	// Loopback is the token by which the server calls itself. It is random, new at each start and
	// only in memory. Its user is system:apiserver, a member of system:masters.
	Loopback string
	Accounts *Accounts
	Signers  *Signers
}

// proxyIdentity is what this server shows to servers behind it.
type proxyIdentity struct {
	proxyPair *reload.Value[tls.Certificate] // the client certificate; nil for none
	proxyCA   *x509.Certificate              // the CA that signed it, if that CA is the server's own
}

// authorities are the CAs of client certificates and of front proxies. A pool changes as a whole
// when one of its files changes.
type authorities struct {
	clientCAFile string
	proxyCAFile  string                       // "" if there are no front proxies
	clients      *reload.Value[x509.CertPool] // nil: client certificates authenticate nobody
	proxies      *reload.Value[x509.CertPool] // nil if there are no front proxies
	wanted       *reload.Value[x509.CertPool] // both: the CAs that the TLS handshake names to clients
}

// New reads or makes certificates and keys. If the caller does not call Accounts.Follow it must
// call Accounts.Close.
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
	if err := id.openProxyPair(&n); err != nil {
		return nil, fmt.Errorf("server: certificate for servers behind this one: %w", err)
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
	if id.Signers, err = newSigners(&n.TLS.Signing, id.own); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if !n.Secure {
		return id, nil
	}
	if err := id.openServing(&n); err != nil {
		return nil, fmt.Errorf("server: serving certificate: %w", err)
	}
	if err := id.readAuthorities(c.FrontProxy.AllowedNames); err != nil {
		return nil, err
	}
	return id, nil
}

// openServing reads the serving certificate: the configured one, else one that the server's own
// authority signs, else a self-signed one in TLS.CertDir.
func (id *Identity) openServing(n *Needs) (err error) {
	certFile, keyFile := n.TLS.CertFile, n.TLS.KeyFile
	id.givenFile = certFile
	switch {
	case certFile != "":
	case id.own != nil:
		names, ips := n.names()
		certFile, keyFile = n.path("apiserver.crt"), n.path("apiserver.key")
		_, err = id.own.serving(names, ips)
	default:
		certFile, keyFile, err = openSelfSigned(n)
		id.givenFile = certFile
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

// openProxyPair reads the client certificate for servers behind this one: the configured one, or
// one that openProxyPair makes with a CA of its own. That CA signs nothing else, so that servers
// which trust it trust only this server to speak for users; this server itself does not trust it.
// If the configuration names a CA of front proxies, publishTrust announces that CA and no other, so
// openProxyPair makes no certificate.
func (id *Identity) openProxyPair(n *Needs) (err error) {
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
	id.proxyPair, err = readPair(certFile, keyFile)
	return err
}

// Proxy returns the client certificate that this server shows to servers behind it, or nil if it
// has none.
func (id *Identity) Proxy() *tls.Certificate {
	if id.proxyPair == nil {
		return nil
	}
	return id.proxyPair.Get()
}

// readAuthorities reads the CAs of clients and of front proxies. names are the common names that
// front proxies must have; none allows all.
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

// clientCAs reads the CAs of client certificates: the server's own and those of the configured
// file.
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

// proxyCAs reads the CAs of front proxies. If the server's own authority is among them, names must
// not be empty: otherwise every client with a certificate of that authority could speak for any
// user.
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
		return nil, errors.New("the server's own authority, which signs client certificates, too, is among them: name the front proxies by --requestheader-allowed-names")
	}
	return all, nil
}

// poolOf returns a function that reads certificates with all reads and puts them into one pool.
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

// names returns the DNS names and IP addresses of a self-made serving certificate: those by which
// pods find the Service "kubernetes", this machine's, BindAddress and the SANs.
func (n *Needs) names() (names []string, ips []net.IP) {
	names = []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local",
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

// TLSConfig returns the configuration of the secure port, which offers protocols by ALPN. It
// requests a client certificate and does not verify it: the authenticators do, so that a client
// with an unknown certificate gets a Status. The configuration is copied when the CAs have changed,
// not for each handshake.
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
