package flags

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
)

// The section "Secure serving": the addresses, the ports and the certificates of the server.
// Options.Finish calls finishServing among the checks of all sections, and applyServing after them.

// serving holds the values of the section "Secure serving" that do not go into the Config as they
// are.
type serving struct {
	suites     []string
	curves     []int32
	minVersion string
}

// bindServing declares the flags about the listener and its TLS.
func (o *Options) bindServing(s *section) {
	c := &o.config.Serving
	c.BindAddress = o.defaults.bindAddress
	s.Var(address{&c.BindAddress}, "bind-address", "IP address of all ports on which the server listens")
	s.IntVar(&c.SecurePort, "secure-port", 6443, "port for HTTPS; with coracle serve, 0 for none")
	s.BoolVar(&c.Share.Port, "permit-port-sharing", false, "let other processes listen on the same address and port (SO_REUSEPORT)")
	s.BoolVar(&c.Share.Address, "permit-address-sharing", false,
		"let another process listen on the same port at all addresses while this server listens at one, or the reverse (SO_REUSEADDR)")
	s.BoolVar(&c.HTTP.HTTP1Only, "disable-http2-serving", false, "serve HTTP/1.1 only, and no HTTP/2")
	s.IntVar(&c.HTTP.MaxStreams, "http2-max-streams-per-connection", 0,
		"number of requests that one HTTP/2 connection may have open at a time; 0 for 250")
	s.StringVar(&c.TLS.CertDir, "cert-dir", o.defaults.certDir,
		"folder of the serving certificate apiserver.crt and its key apiserver.key, which the server makes if both are missing; if empty, the server has a CA of its own under --data-dir, and signs its certificate with it")
	s.StringVar(&c.TLS.CertFile, "tls-cert-file", "", "file of the serving certificate and its chain; by default the certificate in --cert-dir")
	s.StringVar(&c.TLS.KeyFile, "tls-private-key-file", "", "file of the private key of --tls-cert-file")
	s.Var((*namedCertificates)(&c.TLS.ByName), "tls-sni-cert-key",
		"certificate and key for clients that ask for one of its names (SNI), as cert.pem,key.pem; for other names than those in the certificate, as cert.pem,key.pem:*.example.com,10.0.0.1; may be repeated")
	s.StringSliceVar(&o.serving.suites, "tls-cipher-suites", nil,
		"cipher suites of TLS 1.2, by their names in Go's crypto/tls, separated by commas; by default those of Go")
	s.Int32SliceVar(&o.serving.curves, "tls-curve-preferences", nil,
		"key exchange mechanisms of TLS, by their numbers in Go's crypto/tls, separated by commas; by default those of Go")
	s.StringVar(&o.serving.minVersion, "tls-min-version", "",
		"lowest version of TLS: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13; by default VersionTLS12")
}

// finishServing checks the port. In kube-apiserver's place HTTPS cannot be turned off.
func (o *Options) finishServing() error {
	c := &o.config.Serving
	if o.defaults.strict && (c.SecurePort < 1 || c.SecurePort > 65535) && c.SecurePort != server.AnyPort {
		return fmt.Errorf("--secure-port %d must be between 1 and 65535, inclusive. It cannot be turned off with 0",
			c.SecurePort)
	}
	portAtZero(&c.SecurePort)
	return nil
}

// applyServing translates the names of cipher suites, curves and the version of TLS. kube-apiserver
// does this only when it opens the listener, so their mistakes are reported after those of all
// sections.
func (o *Options) applyServing() error {
	c := &o.config.Serving
	for _, name := range o.serving.suites {
		id, known := cipherSuite(name)
		if !known {
			//lint:ignore ST1005 these are kube-apiserver's words
			return fmt.Errorf("Cipher suite %s not supported or doesn't exist", name)
		}
		c.TLS.CipherSuites = append(c.TLS.CipherSuites, id)
	}
	for _, id := range o.serving.curves {
		curve := tls.CurveID(id)
		switch {
		case id <= 0 || id > math.MaxUint16:
			return fmt.Errorf("curve preference %d is out of range (must be 1-%d)", id, math.MaxUint16)
		case slices.Contains(c.TLS.Curves, curve):
			return fmt.Errorf("duplicate curve preference %d", id)
		case strings.HasPrefix(curve.String(), "CurveID("): // so Go prints a curve that it does not know
			return fmt.Errorf("curve preference %d is not supported by the current Go version", id)
		}
		c.TLS.Curves = append(c.TLS.Curves, curve)
	}
	switch o.serving.minVersion {
	case "", "VersionTLS12":
		c.TLS.MinVersion = tls.VersionTLS12
	case "VersionTLS10":
		c.TLS.MinVersion = tls.VersionTLS10
	case "VersionTLS11":
		c.TLS.MinVersion = tls.VersionTLS11
	case "VersionTLS13":
		c.TLS.MinVersion = tls.VersionTLS13
	default:
		return fmt.Errorf("unknown tls version %q", o.serving.minVersion)
	}
	return nil
}

// cipherSuite returns the number of a cipher suite by its name in crypto/tls. Two suites also have
// an older name, without _SHA256.
func cipherSuite(name string) (uint16, bool) {
	switch name {
	case "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305":
		name += "_SHA256"
	}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if s.Name == name {
			return s.ID, true
		}
	}
	return 0, false
}

// portAtZero replaces port 0, which turns a listener off, by the Config's value for that.
func portAtZero(port *int) { noneAtZero(port, server.NoPort) }

// namedCertificates is the flag --tls-sni-cert-key. Each use adds a certificate: CERT,KEY or
// CERT,KEY:NAME,NAME.
type namedCertificates []identity.NamedCertificate

// String implements pflag.Value.
func (n *namedCertificates) String() string {
	all := make([]string, len(*n))
	for i, c := range *n {
		all[i] = c.CertFile + "," + c.KeyFile
		if len(c.Names) > 0 {
			all[i] += ":" + strings.Join(c.Names, ",")
		}
	}
	return "[" + strings.Join(all, ";") + "]"
}

// Set implements pflag.Value.
func (n *namedCertificates) Set(s string) error {
	files, names, named := strings.Cut(s, ":")
	if named && strings.TrimSpace(names) == "" {
		return errors.New("empty names list is not allowed")
	}
	cert, key, pair := strings.Cut(files, ",")
	if !pair || strings.Contains(key, ",") {
		return errors.New("expected comma separated certificate and key file paths")
	}
	c := identity.NamedCertificate{CertFile: strings.TrimSpace(cert), KeyFile: strings.TrimSpace(key)}
	if named {
		for name := range strings.SplitSeq(names, ",") {
			c.Names = append(c.Names, strings.TrimSpace(name))
		}
	}
	*n = append(*n, c)
	return nil
}

// Type implements pflag.Value.
func (*namedCertificates) Type() string { return "namedCertKey" }
