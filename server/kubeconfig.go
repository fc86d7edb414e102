package server

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"slices"
)

// Kubeconfig returns the path of the administrator's kubeconfig, which is written when the server listens.
func (s *Server) Kubeconfig() string { return s.cfg.path("admin.kubeconfig") }

// writeKubeconfig writes the administrator's kubeconfig for a server at addr. It holds a private key.
func (id *identity) writeKubeconfig(path string, addr net.Addr) error {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	trusted := slices.Clone(id.own.ca.certPEM)
	if id.cfg.TLSCertFile != "" { // a certificate of somebody else's is trusted as it is
		given, err := os.ReadFile(id.cfg.TLSCertFile)
		if err != nil {
			return err
		}
		trusted = append(trusted, given...)
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
	return writeFile(path, []byte(text), 0o600)
}
