package callout

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

// file writes a file and returns its path.
func file(t testing.TB, folder, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// config is a kubeconfig with the given lines about cluster and user.
func config(cluster, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: it
contexts:
- {name: other, context: {cluster: nowhere}}
- {name: it, context: {cluster: c, user: u}}
clusters:
- name: c
  cluster: {%s}
users:
- name: u
  user: {%s}
`, cluster, user)
}

func TestKubeconfig(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if certs := r.TLS.PeerCertificates; len(certs) > 0 {
			name = certs[0].Subject.CommonName
		}
		io.WriteString(w, name+" "+r.Header.Get("Authorization")+" "+r.URL.Path)
	}, "hook.example.com")
	folder := t.TempDir()
	alice := ca.Client("alice")
	file(t, folder, "ca.crt", ca.CertPEM)
	file(t, folder, "alice.crt", alice.CertPEM)
	file(t, folder, "alice.key", alice.KeyPEM)
	file(t, folder, "token", []byte("from-file\n"))
	b64 := base64.StdEncoding.EncodeToString
	server := "server: '" + hook.URL + "/check', certificate-authority: ca.crt"
	_, port, _ := strings.Cut(strings.TrimPrefix(hook.URL, "https://"), ":")
	for _, tt := range []struct{ name, cluster, user, want string }{
		{"nobody", server, "", "nobody  /check"},
		{"CA as data", "server: '" + hook.URL + "', certificate-authority-data: " + b64(ca.CertPEM), "", "nobody  /"},
		{"data before file", "server: '" + hook.URL + "', certificate-authority: none, certificate-authority-data: " + b64(ca.CertPEM), "", "nobody  /"},
		{"server name", "server: 'https://localhost:" + port + "', tls-server-name: hook.example.com, certificate-authority: ca.crt", "", "nobody  /"},
		{"insecure", "server: '" + hook.URL + "', insecure-skip-tls-verify: true", "", "nobody  /"},
		{"certificate", server, "client-certificate: alice.crt, client-key: alice.key", "alice  /check"},
		{"certificate as data", server, "client-certificate-data: " + b64(alice.CertPEM) + ", client-key-data: " + b64(alice.KeyPEM), "alice  /check"},
		{"token", server, "token: sesame", "nobody Bearer sesame /check"},
		{"token file", server, "token: sesame, tokenFile: token", "nobody Bearer from-file /check"},
		{"password", server, "username: alice, password: 'p w'", "nobody Basic YWxpY2U6cCB3 /check"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target, err := ReadKubeconfig(file(t, folder, "config", []byte(config(tt.cluster, tt.user))))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := client(t, Config{Target: target}).Post(t.Context(), nil); err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// TestKubeconfigPlain: a kubeconfig file may name an http server.
func TestKubeconfigPlain(t *testing.T) {
	target, err := parseKubeconfig([]byte(config("server: 'http://localhost:1'", "")), ".")
	if err != nil {
		t.Fatal(err)
	}
	client(t, Config{Target: target})
}

// TestKubeconfigFilesChange: tokens and certificates in files are read again.
func TestKubeconfigFilesChange(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.Header.Get("Authorization"))
	})
	folder := t.TempDir()
	write := func(name string) {
		pair := ca.Client(name)
		file(t, folder, "crt", pair.CertPEM)
		file(t, folder, "key", pair.KeyPEM)
		file(t, folder, "token", []byte(name+"-token"))
	}
	write("alice")
	file(t, folder, "ca", ca.CertPEM)
	target, err := ReadKubeconfig(file(t, folder, "config", []byte(config(
		"certificate-authority: ca, server: '"+hook.URL+"'", "client-certificate: crt, client-key: key, tokenFile: token"))))
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, Config{Target: target})
	for _, name := range []string{"alice", "bob"} {
		write(name)
		c.Close() // the next connection shows the new certificate
		if got, err := c.Post(t.Context(), nil); err != nil || string(got) != name+" Bearer "+name+"-token" {
			t.Errorf("got %q, %v, want %s", got, err, name)
		}
	}
	file(t, folder, "token", nil)
	if _, err := c.Post(t.Context(), nil); KindOf(err) != Unreachable || !strings.Contains(err.Error(), "the token is empty") {
		t.Errorf("without a token: got %v", err)
	}
}

func TestKubeconfigErrors(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	folder := t.TempDir()
	file(t, folder, "crt", ca.Client("alice").CertPEM)
	file(t, folder, "key", ca.Client("bob").KeyPEM)
	file(t, folder, "empty", nil)
	good := "server: 'https://h'"
	for _, tt := range []struct{ text, want string }{
		{"", "there is no current-context"},
		{"secret", "cannot unmarshal string"},
		{"{", "yaml: "},
		{"[secret]: a", "the file is not a YAML object"},
		{"~: secret", "the file is not a YAML object"},
		{"current-context: x", `there is no context "x"`},
		{"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", `there is no cluster "c"`},
		{"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c}]", `there is no user "u"`},
		{config("", ""), "server: exactly one of"},
		{config("server: 'ftp://h'", ""), "server: the URL does not begin with https://"},
		{config("server: 'https://u:secret@h'", ""), "server: the URL holds a user name or password"},
		{config("server: 'https://h?secret'", ""), "server: the URL has a query"},
		{config(good+", certificate-authority: none", ""), "no such file"},
		{config(good+", certificate-authority: empty, insecure-skip-tls-verify: true", ""), ""},
		{config(good+", certificate-authority: key", ""), "no certificate in PEM"},
		{config(good+", certificate-authority-data: '!'", ""), "illegal base64"},
		{config(good+", certificate-authority: crt, insecure-skip-tls-verify: true", ""), "must not be combined"},
		{config(good+", proxy-url: 'http://p'", ""), "proxy-url is not supported"},
		{config(good, "exec: {command: c}"), "exec is not supported"},
		{config(good, "exec: null"), ""},
		{config(good, "auth-provider: {name: n}"), "auth-provider is not supported"},
		{config(good, "as: alice"), "as is not supported"},
		{config(good, "token: secret, username: u"), "a token and a password must not"},
		{config(good, "token: \"secret\\n\""), "a character that is not allowed"},
		{config(good, "tokenFile: none"), "no such file"},
		{config(good, "tokenFile: empty"), "the token is empty"},
		{config(good, "client-certificate: crt"), "must be given together"},
		{config(good, "client-key: key"), "must be given together"},
		{config(good, "client-certificate: crt, client-key: key"), "private key does not match"},
		{config(good, "client-certificate: crt, client-key: empty"), "client certificate: "},
	} {
		_, err := ReadKubeconfig(file(t, folder, "config", []byte(tt.text)))
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: got %v", tt.text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", tt.text, err, tt.want)
		}
	}
	if _, err := ReadKubeconfig(filepath.Join(folder, "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing file: got %v", err)
	}
}

func FuzzKubeconfig(f *testing.F) {
	f.Add(config("server: 'https://h', insecure-skip-tls-verify: true", "token: t"))
	f.Add(config("server: 'http://h'", "username: u, password: p"))
	f.Add("current-context: [")
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		target, err := parseKubeconfig([]byte(text), folder)
		if err != nil {
			return
		}
		c, err := New(Config{Name: "x", Target: target})
		if err != nil {
			t.Fatalf("a Target was read that New refuses: %v", err)
		}
		c.Close()
	})
}
