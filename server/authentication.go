package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/identity"
)

// identityNeeds is what the identity of a server is made of.
func (c *completed) identityNeeds(self *addresses.Self, reg prometheus.Registerer) identity.Needs {
	n := identity.Needs{
		DataDir:        c.DataDir,
		TLS:            c.Serving.TLS,
		Secure:         c.Serving.SecurePort != NoPort,
		BindAddress:    c.Serving.BindAddress,
		ProxyCertFile:  c.API.Aggregation.CertFile,
		ProxyKeyFile:   c.API.Aggregation.KeyFile,
		Authentication: &c.Authentication,
		Metrics:        reg,
	}
	if ip, err := self.Advertised(); err == nil {
		n.Addresses = append(n.Addresses, ip.AsSlice())
	}
	if ranges, err := c.API.Services.Ranges(); err == nil {
		n.Addresses = append(n.Addresses, iprange.New(ranges[0]).First().AsSlice())
	}
	return n
}

// Kubeconfig returns the path of the administrator's kubeconfig, which is written when the server
// listens, or "" if the server has no authority to sign an administrator's certificate.
func (s *Server) Kubeconfig() string { return s.identity.Kubeconfig() }

// CA returns, as PEM, what clients must trust to reach the secure port, or nil if there is none.
func (s *Server) CA() ([]byte, error) { return s.identity.Trusted() }

// NewUser returns credentials for a user, who is a member of some groups: a certificate, good for a
// year, that the server's own authority has signed. Nothing is kept of it, and nobody can take it
// back. The server must listen on a secure port, and have an authority.
func (s *Server) NewUser(name string, groups ...string) (*identity.Credentials, error) {
	return s.identity.NewUser(s.Address(), name, groups...)
}

// addAuthenticationTrust has a config map kept from which other servers of the cluster learn whom
// to trust.
func (s *Server) addAuthenticationTrust(c *identity.FrontProxy) error {
	if s.Store(configMaps) == nil || s.Store(namespaces) == nil {
		return nil
	}
	publisher := s.identity.Publisher(c, s.client, s.loopLog("authentication-trust"))
	if publisher == nil {
		return nil
	}
	return s.AddPostStartHook(Hook{
		Name: "start-cluster-authentication-info-controller",
		Run: func(context.Context, *Server) error {
			s.life.controllers.Run(publisher.Run)
			return nil
		},
	})
}
