package server

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"slices"
)

// Kubeconfig returns the path of the administrator's kubeconfig, which is written when the server listens.
func (s *Server) Kubeconfig() string { return s.identity.kubeconfig }

// CA returns, as PEM, what clients must trust to reach the secure port, or nil if there is none.
func (s *Server) CA() ([]byte, error) {
	if s.identity.own == nil {
		return nil, nil
	}
	return s.identity.trusted()
}

// trusted is the authority, and with it a serving certificate of somebody else's, which is trusted as it is.
func (id *identity) trusted() ([]byte, error) {
	trusted := slices.Clone(id.own.ca.certPEM)
	if id.tls.CertFile == "" {
		return trusted, nil
	}
	given, err := os.ReadFile(id.tls.CertFile)
	return append(trusted, given...), err
}

// writeKubeconfig writes the administrator's kubeconfig for a server at addr. It holds a private key.
func (id *identity) writeKubeconfig(addr net.Addr) error {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	trusted, err := id.trusted()
	if err != nil {
		return err
	}
	b64 := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: coracle
clusters:
- name: coracle
  cluster:
    server: https://%s
    certificate-authority-data: %s
contexts:
- name: coracle
  context:
    cluster: coracle
    user: admin
users:
- name: admin
  user:
    client-certificate-data: %s
    client-key-data: %s
`, host, b64(trusted), b64(id.admin.certPEM), b64(id.admin.keyPEM))
	return writeFile(id.kubeconfig, []byte(text))
}
