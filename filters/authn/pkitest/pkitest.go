// Package pkitest makes keys and certificates for tests, valid for an hour. Errors end the test.
// Only tests import it.
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

// Authority is a certificate authority for a test.
type Authority struct {
	*pki.Pair
	Pool *x509.CertPool // contains only the authority
	File string         // path of its certificate, as PEM
	t    testing.TB
}

// NewAuthority makes an authority called name.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	pair, err := pki.NewAuthority(name, time.Now().Add(life))
	a := &Authority{must(t, pair, err), x509.NewCertPool(), "", t}
	a.Pool.AddCert(a.Cert)
	a.File = Write(t, filepath.Join(t.TempDir(), "ca.crt"), a.CertPEM)
	return a
}

// Sign makes a certificate from template; see pki.Pair.Sign.
func (a *Authority) Sign(template *x509.Certificate) *pki.Pair {
	a.t.Helper()
	pair, err := a.Pair.Sign(template)
	return must(a.t, pair, err)
}

// Server makes a server's certificate for hosts.
func (a *Authority) Server(hosts ...string) *pki.Pair {
	a.t.Helper()
	return a.Sign(pki.ForServer("server", hosts...))
}

// Client makes a client's certificate for a user with groups.
func (a *Authority) Client(user string, groups ...string) *pki.Pair {
	a.t.Helper()
	return a.Sign(pki.ForClient(user, groups...))
}

// SelfSigned makes a self-signed server certificate for hosts. A client trusts it by having it
// among its roots.
func SelfSigned(t testing.TB, hosts ...string) *pki.Pair {
	t.Helper()
	template := pki.ForServer("self", hosts...)
	template.NotAfter = time.Now().Add(life)
	pair, err := pki.SelfSigned(template)
	return must(t, pair, err)
}

// Key makes a private key.
func Key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := pki.NewKey()
	return must(t, key, err)
}

// KeyFile makes a private key and returns the path of a file with it.
func KeyFile(t testing.TB) string {
	t.Helper()
	text, err := pki.EncodeKey(Key(t))
	return Write(t, filepath.Join(t.TempDir(), "key"), must(t, text, err))
}

// Files writes the certificate and the key of a pair and returns the paths.
func Files(t testing.TB, pair *pki.Pair) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	return Write(t, filepath.Join(dir, "crt"), pair.CertPEM), Write(t, filepath.Join(dir, "key"), pair.KeyPEM)
}

// Write writes a file that only its owner may read and returns its path.
func Write(t testing.TB, file string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// must returns v, or ends the test if err is not nil.
func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
