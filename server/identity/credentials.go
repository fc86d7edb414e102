package identity

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/scheme/configfile"
)

// Credentials are what a client needs to be a user of a server. The fields have the names that they
// have in a rest.Config of client-go, and in its TLSClientConfig.
type Credentials struct {
	// Host is where the server is: "https://127.0.0.1:6443".
	Host string
	// CAData is whom to trust there, CertData and KeyData are the user's certificate and its key,
	// all as PEM.
	CAData, CertData, KeyData []byte

	user string
}

// Kubeconfig returns the credentials as the text of a kubeconfig.
func (c *Credentials) Kubeconfig() []byte {
	return kubeconfigText(c.Host, c.CAData, c.user, "", certificateText(c.CertData, c.KeyData))
}

// NewUser returns credentials for a user, who is a member of some groups, at a server that is
// reached at addr: a certificate, good for a year, that the server's own authority has signed.
// Nothing is kept of it, and nobody can take it back.
func (id *Identity) NewUser(addr net.Addr, name string, groups ...string) (*Credentials, error) {
	if addr == nil || id.own == nil {
		return nil, errors.New("server: there is no secure port to which users could show certificates, or no authority that signs them")
	}
	trusted, err := id.Trusted()
	if err != nil {
		return nil, err
	}
	pair, err := id.own.client(name, groups, time.Now().Add(certLife))
	if err != nil {
		return nil, err
	}
	return newCredentials(addr, trusted, name, pair), nil
}

// newCredentials are those of a user with a certificate, of a server at addr.
func newCredentials(addr net.Addr, trusted []byte, user string, pair *pki.Pair) *Credentials {
	return &Credentials{Host: "https://" + Reachable(addr), CAData: trusted, CertData: pair.CertPEM, KeyData: pair.KeyPEM, user: user}
}

// Reachable is the address, with its port, under which clients on this machine reach a listener at
// addr.
func Reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}).String()
	}
	return addr.String()
}

// Kubeconfig returns the path of the administrator's kubeconfig, "" if there is none.
func (id *Identity) Kubeconfig() string { return id.kubeconfig }

// Trusted is, as PEM, what clients must trust to reach the secure port: the authority, and with it
// a serving certificate that it has not signed, which is trusted as it is.
func (id *Identity) Trusted() (trusted []byte, err error) {
	if id.own != nil {
		trusted = slices.Clone(id.own.ca.CertPEM)
	}
	if id.given == "" {
		return trusted, nil
	}
	given, err := configfile.Read(id.given)
	return append(trusted, given...), err
}

// WriteKubeconfig writes the administrator's kubeconfig for a server at addr, if the server has an
// authority to sign the administrator's certificate. It holds a private key.
func (id *Identity) WriteKubeconfig(addr net.Addr) error {
	if id.admin == nil {
		return nil
	}
	trusted, err := id.Trusted()
	if err != nil {
		return err
	}
	return writeFile(id.kubeconfig, newCredentials(addr, trusted, "admin", id.admin).Kubeconfig())
}

// kubeconfigText is a kubeconfig for one user, in a namespace that may be "". credentials are lines
// about who that is.
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
