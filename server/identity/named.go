package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/reload"
)

// namedCertificates maps the names that clients ask for (SNI) to certificates: domain names in
// lower case, which may begin with "*.", and IP addresses of the server.
type namedCertificates map[string]*tls.Certificate

// readNamed reads certificates with their names. If two certificates have the same name the first
// one is shown for it; names of the configuration take precedence over names in certificates.
func readNamed(all []NamedCertificate) (*namedCertificates, error) {
	given, found := namedCertificates{}, namedCertificates{}
	for _, c := range slices.Backward(all) {
		pair, err := configfile.KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.CertFile, err)
		}
		for _, name := range c.Names {
			given[strings.ToLower(name)] = &pair
		}
		if len(c.Names) == 0 {
			for _, name := range namesIn(pair.Leaf) {
				found[strings.ToLower(name)] = &pair
			}
		}
	}
	for name, pair := range given {
		found[name] = pair
	}
	return &found, nil
}

// namesIn returns the domain names of a certificate, its common name included if that is a domain
// name. IP addresses are left out, because SNI holds none.
func namesIn(c *x509.Certificate) []string {
	cn := c.Subject.CommonName
	if net.ParseIP(cn) == nil && (cn == "*" || len(names.IsDNS1123Subdomain(strings.TrimPrefix(cn, "*."))) == 0) {
		return append([]string{cn}, c.DNSNames...)
	}
	return c.DNSNames
}

// find returns the certificate for a client's hello, or nil if there is none. A client that asks
// for no name gets the certificate of the IP address to which it connected. A wildcard stands for
// one label.
func (n namedCertificates) find(hello *tls.ClientHelloInfo) *tls.Certificate {
	if hello.ServerName == "" {
		host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String())
		if err != nil {
			return nil
		}
		return n[host]
	}
	name := strings.ToLower(hello.ServerName)
	if c := n[name]; c != nil {
		return c
	}
	if _, parent, ok := strings.Cut(name, "."); ok {
		return n["*."+parent]
	}
	return nil
}

// certificate implements tls.Config.GetCertificate: a certificate by name, or the serving
// certificate.
func (id *Identity) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if id.byName != nil {
		if c := id.byName.Get().find(hello); c != nil {
			return c, nil
		}
	}
	return id.serving.Get(), nil
}

// readByName reads the certificates of TLS.ByName, and has them read again when one of their files
// changes.
func (id *Identity) readByName() error {
	all := id.tls.ByName
	if len(all) == 0 {
		return nil
	}
	var files []string
	for _, c := range all {
		files = append(files, c.CertFile, c.KeyFile)
	}
	var err error
	if id.byName, err = reload.NewValue(files,
		func() (*namedCertificates, error) { return readNamed(all) }); err != nil {
		return fmt.Errorf("certificates by name: %w", err)
	}
	return nil
}
