package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// inPlace returns the configuration of a server that replaces a kube-apiserver: it has a folder for
// its certificate and no data folder.
func inPlace(t testing.TB, tlsConfig identity.TLS, change func(*server.Config)) server.Config {
	t.Helper()
	c := server.Config{
		DataDir: filepath.Join(t.TempDir(), "data"),
		Serving: server.ServingConfig{TLS: tlsConfig, AdvertiseAddress: "192.0.2.7"},
	}
	c.Authentication.ServiceAccounts.SigningKeyFile = pkitest.KeyFile(t)
	if change != nil {
		change(&c)
	}
	return c
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// shown connects to a server, which the client trusts if its certificate is in the file roots. It
// returns the server's certificate, and the CAs that the handshake names.
func shown(t testing.TB, s *servertest.Server, roots string) (cert *x509.Certificate, asked [][]byte) {
	t.Helper()
	trusted, err := os.ReadFile(roots)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{
		RootCAs: pool(t, trusted), ServerName: "kubernetes.default.svc",
		GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = info.AcceptableCAs
			return new(tls.Certificate), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0], asked
}

// TestCertDir starts servers with a folder for their certificate: the first one writes a
// certificate, which the second one uses. Neither creates a CA or a data folder.
func TestCertDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "var", "kubernetes")
	file := filepath.Join(dir, "apiserver.crt")
	var first *x509.Certificate
	for range 2 {
		t.Run("", func(t *testing.T) {
			c := inPlace(t, identity.TLS{CertDir: dir}, nil)
			s := servertest.Start(t, c)
			cert, _ := shown(t, s, file)
			if first != nil && !first.Equal(cert) {
				t.Error("the second start made another certificate")
			}
			first = cert
			for _, name := range []string{"localhost", "127.0.0.1", "192.0.2.7", "10.0.0.1", "kubernetes.default.svc.cluster.local"} {
				if err := cert.VerifyHostname(name); err != nil {
					t.Error(err)
				}
			}
			if s.Kubeconfig != "" || exists(c.DataDir) {
				t.Errorf("got a kubeconfig %q, or a data folder: %v", s.Kubeconfig, exists(c.DataDir))
			}
		})
	}
	wantFiles(t, dir, "apiserver.crt", "apiserver.key")
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if (err != nil && len(want) > 0) || !slices.Equal(got, want) {
		t.Errorf("in the folder: got %q, %v, want %q", got, err, want)
	}
}

// TestCertDirIsLeftAlone: a server with a configured certificate does not touch the folder.
func TestCertDirIsLeftAlone(t *testing.T) {
	t.Parallel()
	made, dir := t.TempDir(), filepath.Join(t.TempDir(), "none")
	tlsConfig := identity.TLS{CertFile: filepath.Join(made, "apiserver.crt"), KeyFile: filepath.Join(made, "apiserver.key")}
	t.Run("", func(t *testing.T) { servertest.Start(t, inPlace(t, identity.TLS{CertDir: made}, nil)) })
	c := inPlace(t, tlsConfig, nil)
	c.Serving.TLS.CertDir = dir
	s := servertest.Start(t, c)
	shown(t, s, tlsConfig.CertFile)
	if exists(dir) || exists(c.DataDir) {
		t.Errorf("the folder for certificates was made: %v, or that for data: %v", exists(dir), exists(c.DataDir))
	}
}

// TestHalfAPair: a certificate without its key is refused, and so is a key without its certificate.
func TestHalfAPair(t *testing.T) {
	t.Parallel()
	for present, missing := range map[string]string{"apiserver.crt": "apiserver.key", "apiserver.key": "apiserver.crt"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, present), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c := inPlace(t, identity.TLS{CertDir: dir}, func(c *server.Config) { c.Storage.Engine = server.StorageMemory })
		s, err := servertest.New(t, c)
		want := "error reading " + filepath.Join(dir, missing) + ", certificate and key must be supplied as a pair"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %s alone: got %v, want %q", present, err, want)
		}
		if s != nil {
			s.Close()
		}
		wantFiles(t, dir, present)
	}
}

// TestUnreadablePair: a file that exists but cannot be read is not overwritten, and the error names
// it.
func TestUnreadablePair(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"apiserver.crt", "apiserver.key"} {
		dir := t.TempDir()
		file := filepath.Join(dir, name)
		if err := os.Symlink(name, file); err != nil { // a link to itself: not even root can read it
			t.Fatal(err)
		}
		c := inPlace(t, identity.TLS{CertDir: dir}, func(c *server.Config) { c.Storage.Engine = server.StorageMemory })
		if s, err := servertest.New(t, c); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("with %s that cannot be read: got %v, want it named", name, err)
			if s != nil {
				s.Close()
			}
		}
		wantFiles(t, dir, name)
	}
}

// TestClientCAs: the TLS handshake names the CAs of --client-ca-file and of front proxies to
// clients, also after the files have changed. Certificates of other CAs are not accepted.
func TestClientCAs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clients, proxies, later := pkitest.NewAuthority(t, "clients"), pkitest.NewAuthority(t, "proxies"), pkitest.NewAuthority(t, "later")
	s := servertest.Start(t, inPlace(t, identity.TLS{CertDir: dir}, func(c *server.Config) {
		c.Authentication.ClientCAFile = clients.File
		c.Authentication.FrontProxy.ClientCAFile = proxies.File
		c.Authentication.FrontProxy.Headers.Names = []string{"X-Remote-User"}
	}))
	file := filepath.Join(dir, "apiserver.crt")
	tells := func(who ...*pkitest.Authority) bool {
		_, asked := shown(t, s, file)
		return len(asked) == len(who) && !slices.ContainsFunc(who, func(of *pkitest.Authority) bool {
			return !slices.ContainsFunc(asked, func(subject []byte) bool { return string(subject) == string(of.Cert.RawSubject) })
		})
	}
	if !tells(clients, proxies) {
		_, asked := shown(t, s, file)
		t.Errorf("clients are asked for certificates of %q", asked)
	}
	admin := []tls.Certificate{clients.Client("root", "system:masters").TLS()}
	if code, body := ask(t, s, "/api/v1/secrets", admin); code != http.StatusOK {
		t.Errorf("an administrator: %d %s", code, body)
	}
	get := func() int {
		code, _ := ask(t, s, "/api/v1/secrets", []tls.Certificate{later.Client("root", "system:masters").TLS()})
		return code
	}
	if code := get(); code != http.StatusUnauthorized {
		t.Errorf("a client with a certificate of another CA: got %d, want 401", code)
	}
	pkitest.Write(t, clients.File, later.CertPEM)
	if err := os.Chtimes(clients.File, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "clients are asked for the certificates of another authority", func() bool { return tells(later, proxies) })
	eventually(t, "they are let in", func() bool { return get() == http.StatusOK })
}

// TestNoClientCAs: a server without any CA requests client certificates, names no CAs and
// authenticates nobody by them.
func TestNoClientCAs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := servertest.Start(t, inPlace(t, identity.TLS{CertDir: dir}, nil))
	if _, asked := shown(t, s, filepath.Join(dir, "apiserver.crt")); len(asked) != 0 {
		t.Errorf("clients are asked for certificates of %q", asked)
	}
	if code, body := ask(t, s, "/api/v1/secrets", []tls.Certificate{pkitest.NewAuthority(t, "any").Client("root", "system:masters").TLS()}); code != http.StatusForbidden {
		t.Errorf("got %d %s, want 403, as for anonymous clients", code, body)
	}
	if code, body := do(t, s, "GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", ""); code != http.StatusNotFound {
		t.Errorf("got %d %s, want nothing published", code, body)
	}
}
