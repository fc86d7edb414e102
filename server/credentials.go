package server

import (
	"errors"
	"net"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
)

// Credentials are what a client needs to be a user of a server. The fields have the names that they have in a rest.Config of client-go,
// and in its TLSClientConfig.
type Credentials struct {
	// Host is where the server is: "https://127.0.0.1:6443".
	Host string
	// CAData is whom to trust there, CertData and KeyData are the user's certificate and its key, all as PEM.
	CAData, CertData, KeyData []byte

	user string
}

// Kubeconfig returns the credentials as the text of a kubeconfig.
func (c *Credentials) Kubeconfig() []byte {
	return kubeconfigText(c.Host, c.CAData, c.user, "", certificateText(c.CertData, c.KeyData))
}

// NewUser returns credentials for a user, who is a member of some groups: a certificate, good for a year, that the server's own
// authority has signed. Nothing is kept of it, and nobody can take it back. The server must listen on a secure port, and have an authority.
func (s *Server) NewUser(name string, groups ...string) (*Credentials, error) {
	addr := s.Address()
	if addr == nil || s.identity.own == nil {
		return nil, errors.New("server: there is no secure port to which users could show certificates, or no authority that signs them")
	}
	trusted, err := s.identity.trusted()
	if err != nil {
		return nil, err
	}
	pair, err := s.identity.own.client(name, groups, time.Now().Add(certLife))
	if err != nil {
		return nil, err
	}
	return newCredentials(addr, trusted, name, pair), nil
}

// newCredentials are those of a user with a certificate, of a server at addr.
func newCredentials(addr net.Addr, trusted []byte, user string, pair *pki.Pair) *Credentials {
	return &Credentials{Host: "https://" + Reachable(addr), CAData: trusted, CertData: pair.CertPEM, KeyData: pair.KeyPEM, user: user}
}

// Reachable is the address, with its port, under which clients on this machine reach a listener at addr.
func Reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}).String()
	}
	return addr.String()
}
