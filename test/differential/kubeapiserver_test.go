package differential

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/coracle-project/coracle/server/servertest/ports"
)

// kubeArgs is an environment variable. If it is set, a process of this test runs as a
// kube-apiserver with the arguments in it, one a line.
const kubeArgs = "DIFFERENTIAL_KUBE_APISERVER"

// serveKubernetes is the first call of TestMain. If kubeArgs is set it runs a kube-apiserver and
// does not return.
func serveKubernetes() {
	args := os.Getenv(kubeArgs)
	if args == "" {
		return
	}
	command := app.NewAPIServerCommand()
	command.SetArgs(strings.Split(args, "\n"))
	os.Exit(cli.Run(command))
}

// kubeAPIServer is a whole kube-apiserver in a process of its own.
type kubeAPIServer struct {
	url   string
	proxy *httputil.ReverseProxy
}

// kubeToken is the administrator's token at a kube-apiserver of a test.
const kubeToken = "judge-of-the-test"

// startKubernetes runs a kube-apiserver on an etcd until the end of the test. It has the admission
// plugins that Coracle has here, and everybody may do everything. more are further arguments.
func startKubernetes(t *testing.T, etcd string, more ...string) *kubeAPIServer {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	key := must1(x509.MarshalECPrivateKey(must1(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))))
	signer := write("tokens.key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}))
	port := must1(ports.Free("127.0.0.1"))
	args := append([]string{
		"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--advertise-address=127.0.0.1",
		"--cert-dir=" + dir, "--authorization-mode=AlwaysAllow", "--allow-privileged=true",
		"--token-auth-file=" + write("users.csv", []byte(kubeToken+`,admin,admin,"system:masters"`+"\n")),
		"--service-account-key-file=" + signer, "--service-account-signing-key-file=" + signer, "--service-account-issuer=https://issuer.example.com",
		"--service-cluster-ip-range=" + serviceRanges[0], "--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false",
	}, more...)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), kubeArgs+"="+strings.Join(args, "\n"))
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	at := &url.URL{Scheme: "https", Host: fmt.Sprintf("127.0.0.1:%d", port)}
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // it logs each watch that ends
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(proxy.Transport.(*http.Transport).CloseIdleConnections)
	k := &kubeAPIServer{at.String(), proxy}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("kube-apiserver ended:\n%s", output)
		default:
		}
		if a := ask(k, http.MethodGet, "/readyz", nil); a.Code == http.StatusOK {
			return k
		}
		if time.Now().After(deadline) {
			t.Fatalf("kube-apiserver is not ready:\n%s", output)
		}
	}
}

// ServeHTTP handles a request of the administrator's.
func (k *kubeAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+kubeToken)
	k.proxy.ServeHTTP(w, r)
}

// tail is a writer that keeps the end of the text.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text = append(l.text, p...); len(l.text) > 1<<15 {
		l.text = bytes.Clone(l.text[len(l.text)-1<<14:])
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
