package server

import (
	"fmt"
	"net"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
)

// addIssuerPaths serves what others need to verify tokens of service accounts. An issuer that is no URL cannot say where that is:
// then there is nothing, as in kube-apiserver.
func (s *Server) addIssuerPaths(c completed) error {
	sa, keys := c.Authentication.ServiceAccounts, s.identity.accounts.keys
	issuer := sa.Issuers[0]
	if err := authn.CheckIssuer(issuer); err != nil {
		s.log.Info("others cannot discover the issuer of service account tokens", zap.Error(err))
		return nil
	}
	set, err := keys.KeySet()
	if err != nil {
		return err
	}
	err = s.HandleGet(authn.KeysPath, func(w http.ResponseWriter, _ *http.Request) error {
		return writePublic(w, "application/jwk-set+json", set)
	})
	if err != nil {
		return err
	}
	return s.HandleGet(authn.DiscoveryPath, func(w http.ResponseWriter, _ *http.Request) error {
		url := sa.KeysURL
		if url == "" {
			url = "https://" + s.external(&c.Serving) + authn.KeysPath
		}
		body, err := keys.Discovery(issuer, url)
		if err != nil {
			return err
		}
		return writePublic(w, "application/json", body)
	})
}

// writePublic writes what anybody may keep for an hour.
func writePublic(w http.ResponseWriter, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", 60*60))
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
