package callout

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/names"
)

// Target is where to call and how both ends authenticate. Exactly one of URL and Service is set.
type Target struct {
	// URL is https://host[:port][/path], without user, query and fragment.
	URL string
	// Service is a service of this server's cluster.
	Service *Service

	// CABundle are the authorities, as PEM, that may sign the other end's certificate; nil means
	// the system's authorities.
	CABundle []byte
	// ServerName is the name that the other end's certificate must have. "" means the host of URL,
	// or name.namespace.svc.
	ServerName string
	// Insecure accepts every certificate. It cannot be combined with a CABundle.
	Insecure bool

	// Certificate, if set, returns the client certificate. It is called for each new connection.
	Certificate func() (*tls.Certificate, error)
	// Authorize, if set, adds credentials to each request. Its error must not contain them.
	Authorize func(h http.Header) error

	// Flawed, if set, is called for each request with each flaw of the other end's certificate.
	Flawed func(Flaw)

	// plain allows http. Only a kubeconfig file, which an operator writes, sets it.
	plain bool
}

// Service is a service and the path that is called there.
type Service struct {
	Namespace, Name string
	Port            int    // 0: 443
	Path            string // begins with a slash; "": "/"
}

// Resolver returns the address, host:port, of a service. It is called for each new connection.
type Resolver func(ctx context.Context, s Service) (address string, err error)

// address returns the URL of t, or an error that says what is wrong with t. Its errors do not
// repeat the URL, which may contain a password.
func (t *Target) address() (*url.URL, error) {
	if (t.URL == "") == (t.Service == nil) {
		return nil, errors.New("exactly one of a URL and a service is needed")
	}
	if t.Service != nil {
		return t.Service.address()
	}
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return nil, errors.New("the URL is malformed")
	case u.Scheme != "https" && (u.Scheme != "http" || !t.plain):
		return nil, errors.New("the URL does not begin with https://")
	case u.Host == "" || u.Hostname() == "":
		return nil, errors.New("the URL names no host")
	case u.User != nil:
		return nil, errors.New("the URL holds a user name or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("the URL has a query or fragment")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// address returns the URL of the service, with its DNS name as host.
func (s *Service) address() (*url.URL, error) {
	if len(names.IsDNS1123Label(s.Namespace)) > 0 || len(names.IsDNS1123Label(s.Name)) > 0 {
		return nil, fmt.Errorf("service %q in namespace %q has no valid name", s.Name, s.Namespace)
	}
	if s.Port < 0 || s.Port > 65535 {
		return nil, fmt.Errorf("service port %d is out of range", s.Port)
	}
	if s.Path != "" && !strings.HasPrefix(s.Path, "/") {
		return nil, fmt.Errorf("service path %q does not begin with a slash", s.Path)
	}
	port, path := s.Port, s.Path
	if port == 0 {
		port = 443
	}
	if path == "" {
		path = "/"
	}
	host := net.JoinHostPort(s.host(), strconv.Itoa(port))
	return &url.URL{Scheme: "https", Host: host, Path: path}, nil
}

// host returns the DNS name of the service, which its certificate must have.
func (s *Service) host() string { return s.Name + "." + s.Namespace + ".svc" }

// tls returns the TLS configuration for connections to t.
func (t *Target) tls() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.Insecure}
	if len(t.CABundle) > 0 {
		if t.Insecure {
			return nil, errors.New("a CA bundle must not be combined with accepting every certificate")
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(t.CABundle) {
			return nil, errors.New("the CA bundle holds no certificate in PEM")
		}
	}
	if t.Certificate != nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return t.Certificate()
		}
	}
	return cfg, nil
}
