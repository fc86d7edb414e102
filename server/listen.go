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

// connections returns the configuration of the listeners.
func (c *ServingConfig) connections(tls *tls.Config, longest time.Duration, bursts *connections.Bursts,
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
		SharePort: c.Share.Port, ShareAddress: c.Share.Address,
		Streams: c.HTTP.MaxStreams, AnswerTimeout: longest, Bursts: bursts, Log: log,
	}
}

// self returns the addresses under which others reach the server.
func (c *ServingConfig) self() *addresses.Self {
	return &addresses.Self{
		Bind: c.BindAddress, Advertise: c.AdvertiseAddress, Hostname: c.ExternalHostname,
		Port: c.SecurePort, Secure: c.SecurePort != NoPort,
	}
}

// protocols are the protocols that the secure port offers by ALPN, the preferred one first.
func (c *ServingConfig) protocols() []string {
	if c.HTTP.HTTP1Only {
		return []string{"http/1.1"}
	}
	return []string{"h2", "http/1.1"}
}

// longest bounds the time of a request with its answer. Watches lift the bound for themselves.
func (c *LimitsConfig) longest() time.Duration { return c.RequestTimeout + writeGrace }

// writeGrace is the time that a client may take to read an answer after RequestTimeout.
const writeGrace = 10 * time.Second

// listen opens the configured ports, and writes the administrator's kubeconfig, which contains the
// address of the secure port.
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

// Address returns the address at which the server listens for HTTPS. It is nil before Run listens,
// and if there is no secure port.
func (s *Server) Address() net.Addr {
	secure, _ := s.listeners.Addresses()
	return secure
}

// PlainAddress returns the address at which the server listens for plain HTTP. It is nil before Run
// listens, and if there is no such port.
func (s *Server) PlainAddress() net.Addr {
	_, plain := s.listeners.Addresses()
	return plain
}
