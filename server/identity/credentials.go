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

// Credentials are the address, the CAs and the client certificate that a client needs to be a
// certain user of a server. The fields have the names that they have in a rest.Config of client-go,
// and in its TLSClientConfig.
type Credentials struct {
	// Host is the URL of the server: "https://127.0.0.1:6443".
	Host string
	// CAData are the CAs of the server, CertData and KeyData the user's certificate and its key,
	// all as PEM.
	CAData, CertData, KeyData []byte

	user string
}

// Kubeconfig returns the credentials as the text of a kubeconfig file.
func (c *Credentials) Kubeconfig() []byte {
	return kubeconfigText(c.Host, c.CAData, c.user, "", certificateText(c.CertData, c.KeyData))
}

// NewUser returns credentials for a user who is a member of groups, at the server that listens at
// addr: a client certificate that the server's own authority signs and that is valid for a year.
// The server does not store the certificate, and nobody can revoke it.
func (id *Identity) NewUser(addr net.Addr, name string, groups ...string) (*Credentials, error) {
	if addr == nil || id.own == nil {
		return nil, errors.New("server: cannot make a user: the server has no secure port, does not listen yet, or has no authority (CertDir is set)")
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

// newCredentials returns the credentials of a user with a certificate, at the server that listens
// at addr.
func newCredentials(addr net.Addr, trusted []byte, user string, pair *pki.Pair) *Credentials {
	return &Credentials{Host: "https://" + Reachable(addr), CAData: trusted, CertData: pair.CertPEM, KeyData: pair.KeyPEM, user: user}
}

// Reachable returns the host and port by which clients on this machine reach a listener at addr:
// 127.0.0.1 if it listens at all addresses.
func Reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}).String()
	}
	return addr.String()
}

// Kubeconfig returns the path of the administrator's kubeconfig, or "" if the server makes none.
func (id *Identity) Kubeconfig() string { return id.kubeconfig }

// Trusted returns, as PEM, the certificates that clients must trust to reach the secure port: the
// server's own authority, and the serving certificate itself if that authority has not signed it.
func (id *Identity) Trusted() (trusted []byte, err error) {
	if id.own != nil {
		trusted = slices.Clone(id.own.ca.CertPEM)
	}
	if id.givenFile == "" {
		return trusted, nil
	}
	given, err := configfile.Read(id.givenFile)
	return append(trusted, given...), err
}

// WriteKubeconfig writes the administrator's kubeconfig, for a server that listens at addr. It does
// nothing if the server has no authority. The file holds a private key, so its mode is 0600.
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

// kubeconfigText returns a kubeconfig for one user. namespace is the default namespace of its
// context, "" for none. credentials holds the indented YAML lines of the user's entry.
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

// certificateText returns the lines of a kubeconfig's user entry for a client certificate.
func certificateText(certPEM, keyPEM []byte) string {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("    client-certificate-data: %s\n    client-key-data: %s\n", b64(certPEM), b64(keyPEM))
}
