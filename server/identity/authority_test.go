package identity

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
)

var loopback = []net.IP{net.IPv4(127, 0, 0, 1).To4()}

// open returns the authority in dir with the serving and the administrator's certificate.
func open(t testing.TB, dir string, names ...string) (p *authority, serving, admin *pki.Pair) {
	t.Helper()
	p, err := openAuthority(dir, "ca")
	if err != nil {
		t.Fatalf("openAuthority: %v", err)
	}
	if serving, err = p.serving(names, loopback); err != nil {
		t.Fatalf("serving: %v", err)
	}
	if admin, err = p.admin(); err != nil {
		t.Fatalf("admin: %v", err)
	}
	return p, serving, admin
}

func TestPKI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	p, serving, admin := open(t, dir, "localhost")
	roots := x509.NewCertPool()
	roots.AddCert(p.ca.Cert)
	for _, name := range []string{"localhost", "127.0.0.1"} {
		if _, err := serving.Cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("serving certificate for %s: %v", name, err)
		}
	}
	if _, err := admin.Cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("admin certificate: %v", err)
	}
	if got := admin.Cert.Subject.Organization; len(got) != 1 || got[0] != "system:masters" {
		t.Errorf("admin's groups: got %q, want system:masters", got)
	}
	if _, err := admin.Cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("admin certificate can serve")
	}
	for _, name := range []string{"ca.key", "apiserver.key", "admin.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v, want mode 0600", name, info, err)
		}
	}
}

// TestPKIAgain: a later start keeps valid certificates and replaces only those that are not.
func TestPKIAgain(t *testing.T) {
	dir := t.TempDir()
	p, serving, admin := open(t, dir, "localhost")

	p2, serving2, admin2 := open(t, dir, "localhost")
	if !p2.ca.Cert.Equal(p.ca.Cert) || !serving2.Cert.Equal(serving.Cert) || !admin2.Cert.Equal(admin.Cert) {
		t.Error("the second start made new certificates")
	}
	_, serving3, admin3 := open(t, dir, "localhost", "other.example.com")
	if serving3.Cert.Equal(serving.Cert) || !admin3.Cert.Equal(admin.Cert) {
		t.Error("another name: want a new serving certificate and nothing else")
	}
	if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
		t.Fatal(err)
	}
	p4, serving4, admin4 := open(t, dir, "localhost")
	if p4.ca.Cert.Equal(p.ca.Cert) || serving4.Cert.CheckSignatureFrom(p4.ca.Cert) != nil || admin4.Cert.CheckSignatureFrom(p4.ca.Cert) != nil {
		t.Error("lost authority: want everything new and signed by the new one")
	}
}

func TestPKIRenews(t *testing.T) {
	dir := t.TempDir()
	p, _, _ := open(t, dir, "localhost")
	soon := &x509.Certificate{NotAfter: time.Now().Add(renewBefore / 2), DNSNames: []string{"localhost"}, IPAddresses: loopback}
	old, err := p.make("apiserver", soon)
	if err != nil {
		t.Fatal(err)
	}
	_, serving, _ := open(t, dir, "localhost")
	if serving.Cert.Equal(old.Cert) || time.Until(serving.Cert.NotAfter) < certLife-time.Hour {
		t.Errorf("got a serving certificate until %v, want a new one", serving.Cert.NotAfter)
	}
}

func TestPKIBroken(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, "localhost")
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openAuthority(dir, "ca"); err == nil {
		t.Error("openAuthority of a broken authority: got no error; it must not be replaced in silence")
	}
}

// TestKubeconfig: a client that has only the kubeconfig is the administrator.
func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	p, serving, admin := open(t, dir, "localhost")
	path := filepath.Join(dir, "admin.kubeconfig")
	id := &Identity{kubeconfig: path, own: p, admin: admin}
	pair, err := tls.X509KeyPair(serving.CertPEM, serving.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	defer s.Close()

	if err := id.WriteKubeconfig(s.Listener.Addr()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: got %v, %v, want mode 0600", info, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data := func(key string) []byte {
		m := regexp.MustCompile(key + `: (\S+)`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("kubeconfig has no %s", key)
		}
		b, err := base64.StdEncoding.DecodeString(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data("certificate-authority-data"))
	client, err := tls.X509KeyPair(data("client-certificate-data"), data("client-key-data"))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{client}}}
	defer tr.CloseIdleConnections()
	url := regexp.MustCompile(`server: (\S+)`).FindSubmatch(text)
	r, err := http.NewRequestWithContext(t.Context(), "GET", string(url[1]), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "admin") {
		t.Errorf("got %q, %v, want the administrator's name", body, err)
	}
}

// BenchmarkPKI makes the keys and certificates of a first start.
func BenchmarkPKI(b *testing.B) {
	for b.Loop() {
		open(b, filepath.Join(b.TempDir(), "pki"), "localhost")
	}
}
