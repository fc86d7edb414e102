package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/identity"
)

// identityNeeds selects from the configuration what identity.New takes. Addresses, which a
// self-signed certificate in TLS.CertDir names, are the advertised address and the first address of
// the service range: the cluster IP of the Service "kubernetes".
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

// Kubeconfig returns the path of the administrator's kubeconfig, or "" if the server has no
// certificate authority that could sign an administrator's certificate. The file is written when
// the server listens.
func (s *Server) Kubeconfig() string { return s.identity.Kubeconfig() }

// CA returns, as PEM, the certificates that clients must trust to reach the secure port, or nil if
// there is no secure port.
func (s *Server) CA() ([]byte, error) { return s.identity.Trusted() }

// NewUser returns credentials for a user who is a member of groups: a client certificate that the
// server's own authority has signed and that is valid for a year. The server does not store the
// certificate, and nobody can revoke it. NewUser fails if the server does not listen on a secure
// port or has no authority.
func (s *Server) NewUser(name string, groups ...string) (*identity.Credentials, error) {
	return s.identity.NewUser(s.Address(), name, groups...)
}

// addAuthenticationTrust adds the hook that keeps the ConfigMap
// kube-system/extension-apiserver-authentication, from which other servers of the cluster learn
// which client CAs and front proxies to trust.
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
