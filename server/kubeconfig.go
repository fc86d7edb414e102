package server

import (
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/scheme/configfile"
)

// Kubeconfig returns the path of the administrator's kubeconfig, which is written when the server listens, or "" if the server has no
// authority to sign an administrator's certificate.
func (s *Server) Kubeconfig() string { return s.identity.kubeconfig }

// CA returns, as PEM, what clients must trust to reach the secure port, or nil if there is none.
func (s *Server) CA() ([]byte, error) {
	return s.identity.trusted()
}

// trusted is the authority, and with it a serving certificate that it has not signed, which is trusted as it is.
func (id *identity) trusted() (trusted []byte, err error) {
	if id.own != nil {
		trusted = slices.Clone(id.own.ca.CertPEM)
	}
	if id.given == "" {
		return trusted, nil
	}
	given, err := configfile.Read(id.given)
	return append(trusted, given...), err
}

// writeKubeconfig writes the administrator's kubeconfig for a server at addr. It holds a private key.
func (id *identity) writeKubeconfig(addr net.Addr) error {
	trusted, err := id.trusted()
	if err != nil {
		return err
	}
	return writeFile(id.kubeconfig, newCredentials(addr, trusted, "admin", id.admin).Kubeconfig())
}

// kubeconfigText is a kubeconfig for one user, in a namespace that may be "". credentials are lines about who that is.
func kubeconfigText(url string, trusted []byte, user, namespace, credentials string) []byte {
	if namespace != "" {
		namespace = "\n    namespace: " + strconv.Quote(namespace)
	}
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: coracle
clusters:
- name: coracle
  cluster:
    server: %s
    certificate-authority-data: %s
contexts:
- name: coracle
  context:
    cluster: coracle
    user: %s%s
users:
- name: %[3]s
  user:
%[5]s`, url, base64.StdEncoding.EncodeToString(trusted), strconv.Quote(user), namespace, credentials)
}

// certificateText are lines of a kubeconfig about who shows a certificate.
func certificateText(certPEM, keyPEM []byte) string {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("    client-certificate-data: %s\n    client-key-data: %s\n", b64(certPEM), b64(keyPEM))
}
