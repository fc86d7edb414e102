package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server/servertest/ports"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// clusterPKI is a folder with the files that `kubeadm init phase certs` makes.
type clusterPKI struct {
	t   *testing.T
	dir string
	cas map[string]*pkitest.Authority
}

func newPKI(t *testing.T) *clusterPKI {
	p := &clusterPKI{t, t.TempDir(), map[string]*pkitest.Authority{}}
	for _, ca := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		p.cas[ca] = pkitest.NewAuthority(t, ca)
		p.write(ca+".crt", p.cas[ca].CertPEM)
	}
	p.issue("apiserver", "ca", pkix.Name{CommonName: "kube-apiserver"})
	p.issue("apiserver-kubelet-client", "ca", pkix.Name{CommonName: "kube-apiserver-kubelet-client"})
	p.issue("front-proxy-client", "front-proxy-ca", pkix.Name{CommonName: "front-proxy-client"})
	p.issue("apiserver-etcd-client", "etcd/ca", pkix.Name{CommonName: "kube-apiserver-etcd-client"})
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	p.write("sa.key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	p.write("sa.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	return p
}

func (p *clusterPKI) path(name string) string { return filepath.Join(p.dir, name) }

func (p *clusterPKI) write(name string, text []byte) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o700); err != nil {
		p.t.Fatal(err)
	}
	pkitest.Write(p.t, p.path(name), text)
}

// issue makes a certificate for the local machine and writes it with its key.
func (p *clusterPKI) issue(name, ca string, subject pkix.Name) *tls.Certificate {
	p.t.Helper()
	template := pki.ForServer("", "127.0.0.1")
	template.Subject, template.ExtKeyUsage = subject, append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	pair := p.cas[ca].Sign(template)
	p.write(name+".crt", pair.CertPEM)
	p.write(name+".key", pair.KeyPEM)
	shown := pair.TLS()
	return &shown
}

// etcd starts an etcd that accepts only clients with certificates of its own CA, and returns its
// URL.
func (p *clusterPKI) etcd() string {
	plain := strings.TrimPrefix(etcdproc.Start(p.t), "http://")
	serving := p.issue("etcd/server", "etcd/ca", pkix.Name{CommonName: "etcd"})
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{*serving}, ClientCAs: p.cas["etcd/ca"].Pool, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { pass(from, plain) })
		}
	})
	p.t.Cleanup(func() { listener.Close(); running.Wait() })
	return "https://" + listener.Addr().String()
}

// pass copies bytes in both directions until one side ends.
func pass(from net.Conn, address string) {
	defer from.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	var back sync.WaitGroup
	back.Go(func() { io.Copy(from, to); from.Close() })
	io.Copy(to, from)
	to.Close()
	back.Wait()
}

// kubeadm returns the command line of the static pod that kubeadm makes (getAPIServerCommand,
// 1.36), in the same order.
func (p *clusterPKI) kubeadm(address, port, serviceSubnet string) []string {
	return []string{
		"--advertise-address=" + address,
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--client-ca-file=" + p.path("ca.crt"),
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth=true",
		"--etcd-cafile=" + p.path("etcd/ca.crt"),
		"--etcd-certfile=" + p.path("apiserver-etcd-client.crt"),
		"--etcd-keyfile=" + p.path("apiserver-etcd-client.key"),
		"--etcd-servers=" + p.etcd(),
		"--kubelet-client-certificate=" + p.path("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + p.path("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
		"--proxy-client-cert-file=" + p.path("front-proxy-client.crt"),
		"--proxy-client-key-file=" + p.path("front-proxy-client.key"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-client-ca-file=" + p.path("front-proxy-ca.crt"),
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--secure-port=" + port,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.path("sa.pub"),
		"--service-account-signing-key-file=" + p.path("sa.key"),
		"--service-cluster-ip-range=" + serviceSubnet,
		"--tls-cert-file=" + p.path("apiserver.crt"),
		"--tls-private-key-file=" + p.path("apiserver.key"),
	}
}

// kind returns the command line of a cluster that the tool kind makes by kubeadm (its
// ConfigTemplateBetaV3). kind adds a runtime-config, which is usually empty, and the feature gates
// of the cluster, here those of a rootless cluster.
func (p *clusterPKI) kind(address, port, serviceSubnet string) []string {
	return append(p.kubeadm(address, port, serviceSubnet), "--feature-gates=KubeletInUserNamespace=true", "--runtime-config=")
}

// TestClusterCommandLines starts a server with the command lines of kubeadm and of kind, and sends
// it the requests of the clients that such a cluster has.
func TestClusterCommandLines(t *testing.T) {
	for name, line := range map[string]func(p *clusterPKI, address, port, serviceSubnet string) []string{"kubeadm": (*clusterPKI).kubeadm, "kind": (*clusterPKI).kind} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			p := newPKI(t)
			free, err := ports.Free("127.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			port := strconv.Itoa(free)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			cmd := commandCalled(kubeAPIServer)
			cmd.SetArgs(append(line(p, "192.0.2.10", port, "10.96.0.0/16"), "--v=0"))
			cmd.SetOut(io.Discard)
			cmd.SetErr(io.Discard)
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(ctx) }()

			url := "https://127.0.0.1:" + port
			nobody := p.client(nil)
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				if code, _ := ask(nobody, "GET", url+"/readyz", ""); code == http.StatusOK {
					break
				}
				select {
				case err := <-ended:
					t.Fatalf("the server ended: %v", err)
				default:
				}
				if time.Now().After(deadline) {
					t.Fatal("the server is not ready")
				}
			}
			admin := p.client(p.issue("admin", "ca", pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}}))
			node := p.client(p.issue("kubelet", "ca", pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}}))
			proxy := p.client(p.issue("proxy", "front-proxy-ca", pkix.Name{CommonName: "front-proxy-client"}))
			const privileged = `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]}}`
			for _, tt := range []struct {
				who          *http.Client
				method, path string
				body         string
				code         int
				text         string
			}{
				{nobody, "GET", "/version", "", 200, `"gitVersion": "v1.36.3"`},
				{nobody, "GET", "/api/v1/namespaces", "", 403, "system:anonymous"},
				{admin, "GET", "/api/v1/namespaces/kube-system", "", 200, ""},
				{admin, "GET", "/api/v1/namespaces/default/services/kubernetes", "", 200, `"clusterIP":"10.96.0.1"`},
				{admin, "GET", "/api/v1/namespaces/default/endpoints/kubernetes", "", 200, `"ip":"192.0.2.10"`},
				{admin, "POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`, 201, ""},
				{admin, "POST", "/api/v1/namespaces/default/pods", privileged, 201, "kube-api-access-"},
				{node, "POST", "/api/v1/nodes", `{"metadata":{"name":"a"}}`, 201, ""},
				{node, "POST", "/api/v1/nodes", `{"metadata":{"name":"b"}}`, 403, "is not allowed to modify node"},
				{proxy, "GET", "/api/v1/namespaces", "", 403, `User \"jane\"`},
			} {
				code, body := ask(tt.who, tt.method, url+tt.path, tt.body)
				if code != tt.code || !strings.Contains(body, tt.text) {
					t.Errorf("%s %s: got %d %s, want %d with %s", tt.method, tt.path, code, body, tt.code, tt.text)
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

// client returns a client that trusts the cluster's CA and has the identity of a certificate.
func (p *clusterPKI) client(cert *tls.Certificate) *http.Client {
	config := &tls.Config{RootCAs: p.cas["ca"].Pool}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	p.t.Cleanup(c.CloseIdleConnections)
	return c
}

// ask sends a request with the headers by which a front proxy names the user jane. The server reads
// the headers only if the client has a front proxy's certificate.
func ask(c *http.Client, method, url, body string) (int, string) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Remote-User", "jane")
	answer, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}
