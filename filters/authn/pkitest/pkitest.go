// Package pkitest makes keys and certificates for tests. They are good for an hour.
package pkitest

import (
	"crypto/ecdsa"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
)

const life = time.Hour

// Authority signs certificates.
type Authority struct {
	*pki.Pair
	Pool *x509.CertPool // trusts the authority alone
	File string         // holds its certificate, as PEM
	t    testing.TB
}

// NewAuthority returns an authority with a name.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	pair, err := pki.NewAuthority(name, time.Now().Add(life))
	a := &Authority{must(t, pair, err), x509.NewCertPool(), "", t}
	a.Pool.AddCert(a.Cert)
	a.File = Write(t, filepath.Join(t.TempDir(), "ca.crt"), a.CertPEM)
	return a
}

// Sign returns a certificate like template.
func (a *Authority) Sign(template *x509.Certificate) *pki.Pair {
	a.t.Helper()
	pair, err := a.Pair.Sign(template)
	return must(a.t, pair, err)
}

// Server returns a certificate that servers show as hosts.
func (a *Authority) Server(hosts ...string) *pki.Pair {
	a.t.Helper()
	return a.Sign(pki.ForServer("server", hosts...))
}

// Client returns a certificate of a user.
func (a *Authority) Client(user string, groups ...string) *pki.Pair {
	a.t.Helper()
	return a.Sign(pki.ForClient(user, groups...))
}

// SelfSigned returns a self-signed serving certificate for hosts. A client trusts it by having it
// among its roots.
func SelfSigned(t testing.TB, hosts ...string) *pki.Pair {
	t.Helper()
	template := pki.ForServer("self", hosts...)
	template.NotAfter = time.Now().Add(life)
	pair, err := pki.SelfSigned(template)
	return must(t, pair, err)
}

// Key returns a private key.
func Key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := pki.NewKey()
	return must(t, key, err)
}

// KeyFile returns a file with a private key.
func KeyFile(t testing.TB) string {
	t.Helper()
	text, err := pki.EncodeKey(Key(t))
	return Write(t, filepath.Join(t.TempDir(), "key"), must(t, text, err))
}

// Files returns a file with the certificate of a pair, and one with its key.
func Files(t testing.TB, pair *pki.Pair) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	return Write(t, filepath.Join(dir, "crt"), pair.CertPEM), Write(t, filepath.Join(dir, "key"), pair.KeyPEM)
}

// Write writes a file that its owner may read, and returns its name.
func Write(t testing.TB, file string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
