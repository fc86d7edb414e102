package server

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/codec"
)

// keySetType is the media type of the keys that verify tokens.
const keySetType = "application/jwk-set+json"

// addIssuerPaths serves what others need to verify tokens of service accounts. An issuer that is no URL cannot say where that is:
// then there is nothing, as in kube-apiserver.
func (s *Server) addIssuerPaths(c completed) error {
	sa, keys := c.Authentication.ServiceAccounts, s.identity.Accounts.Keys
	issuer := sa.Issuers[0]
	if err := authn.CheckIssuer(issuer); err != nil {
		s.Log().Info("others cannot discover the issuer of service account tokens", zap.Error(err))
		return nil
	}
	err := s.Core.Paths.Handle(authn.KeysPath, router.Produces(keySetType, router.Plain(func(w http.ResponseWriter, _ *http.Request) error {
		set, err := keys.Keys().KeySet()
		if err != nil {
			return err
		}
		return writePublic(w, keySetType, set, keys.MaxAge())
	})))
	if err != nil {
		return err
	}
	return s.Core.Paths.Handle(authn.DiscoveryPath, router.Produces(codec.JSONType, router.Plain(func(w http.ResponseWriter, _ *http.Request) error {
		url := sa.KeysURL
		if url == "" {
			url = "https://" + s.external(&c.Serving) + authn.KeysPath
		}
		body, err := keys.Keys().Discovery(issuer, url)
		if err != nil {
			return err
		}
		return writePublic(w, codec.JSONType, body, keys.MaxAge())
	})))
}

// writePublic writes what anybody may keep for a while.
func writePublic(w http.ResponseWriter, contentType string, body []byte, maxAge time.Duration) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", maxAge/time.Second))
	w.Write(body)
	return nil
}

// external is the host and port by which others reach the secure port.
func (s *Server) external(c *ServingConfig) string {
	port := c.SecurePort
	if addr, ok := s.Address().(*net.TCPAddr); ok {
		port = addr.Port
	}
	host := c.BindAddress
	if c.ExternalHostname != "" {
		host = c.ExternalHostname
	} else if ip, err := c.advertised(); err == nil {
		host = ip.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
