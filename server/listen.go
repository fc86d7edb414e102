package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/connections"
)

// connections is what listening needs of the configuration.
func (c *ServingConfig) connections(tls *tls.Config, longest time.Duration, crowd *connections.Crowd,
	log *zap.Logger) connections.Config {
	port := func(n int) *int {
		switch n {
		case NoPort:
			return nil
		case AnyPort:
			n = 0
		}
		return &n
	}
	return connections.Config{
		Address: c.BindAddress, Secure: port(c.SecurePort), Plain: port(c.HTTPPort), TLS: tls,
		SharePort: c.SharePort, ShareAddress: c.ShareAddress,
		Streams: c.HTTP.MaxStreams, AnswerTimeout: longest, Crowd: crowd, Log: log,
	}
}

// self is how others reach the server.
func (c *ServingConfig) self() *addresses.Self {
	return &addresses.Self{
		Bind: c.BindAddress, Advertise: c.AdvertiseAddress, Hostname: c.ExternalHostname,
		Port: c.SecurePort, Secure: c.SecurePort != NoPort,
	}
}

// protocols are what the secure port offers.
func (c *ServingConfig) protocols() []string {
	if c.HTTP.HTTP1Only {
		return []string{"http/1.1"}
	}
	return []string{"h2", "http/1.1"}
}

// longest is the time that a request and its answer may take. Watches lift it for themselves.
func (c *LimitsConfig) longest() time.Duration { return c.RequestTimeout + writeGrace }

// writeGrace is the time by which an answer may take longer than its request.
const writeGrace = 10 * time.Second

// listen opens the configured ports, and writes the kubeconfig that names the secure one.
func (s *Server) listen() error {
	if err := s.listeners.Open(); err != nil {
		return err
	}
	secure := s.Address()
	s.addresses.Self().Listen(secure)
	if secure != nil && s.identity.Kubeconfig() != "" {
		if err := s.identity.WriteKubeconfig(secure); err != nil {
			return fmt.Errorf("server: write the kubeconfig: %w", err)
		}
	}
	return nil
}

// Address returns where the server listens for HTTPS, or nil before Run listens or without that
// port.
func (s *Server) Address() net.Addr {
	secure, _ := s.listeners.Addresses()
	return secure
}

// PlainAddress is Address for plain HTTP.
func (s *Server) PlainAddress() net.Addr {
	_, plain := s.listeners.Addresses()
	return plain
}
