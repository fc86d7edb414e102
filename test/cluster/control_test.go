package cluster

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// plane holds what the servers and controllers of one cluster share: an etcd, keys, certificates
// and tokens.
type plane struct {
	t    *testing.T
	dir  string
	etcd string // URL
	port int    // of all servers, each on an address of its own, as in a cluster of several machines
	// emulated are arguments for the controllers of a server that emulates an older one: they may
	// use only what the older one serves.
	emulated []string
}

// newPlane returns a plane with an etcd of its own. It builds the programs that the test will run
// first, because servers and controllers must not wait for the build of others.
func newPlane(t *testing.T, programs ...string) *plane {
	t.Helper()
	for _, name := range programs {
		executable(t, name)
	}
	p := &plane{t: t, dir: t.TempDir(), etcd: etcdproc.Start(t), port: freePort(t)}
	p.writeKeys()
	p.write("tokens.csv", "admin,admin,1,system:masters\nkwok,kwok,2,system:masters\n"+
		"kube-controller-manager,system:kube-controller-manager,3\nkube-scheduler,system:kube-scheduler,4\n")
	p.write("encryption.yaml", encryption)
	return p
}

// freePort returns a port on which nobody listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// encryption is a configuration that encrypts secrets and config maps, each by another method. The
// keys are made up.
const encryption = `
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aescbc: {keys: [{name: one, secret: bWFkZSB1cCBmb3IgdGVzdHMsIHJlYWxseSB0cnVlISE=}]}
  - identity: {}
- resources: [configmaps]
  providers:
  - secretbox: {keys: [{name: two, secret: bWFkZSB1cCBmb3IgdGVzdHMsIHJlYWxseSB0cnVlISE=}]}
  - identity: {}
`

func (p *plane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *plane) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// writeKeys makes a self-signed certificate for all servers, and the key of service accounts.
func (p *plane) writeKeys() {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cluster"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2)}, DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		p.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("server.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	p.write("server.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
}

// server is a running kube-apiserver, theirs or ours.
type server struct {
	*process
	*client
}

// serve starts a server on the n-th address (0 or 1) and waits until it is ready. All programs get
// the same flags.
func (p *plane) serve(program string, n int, more ...string) *server {
	p.t.Helper()
	host := fmt.Sprintf("127.0.0.%d", n+1)
	args := append([]string{
		"--etcd-servers=" + p.etcd,
		"--bind-address=" + host, fmt.Sprintf("--secure-port=%d", p.port), fmt.Sprintf("--advertise-address=192.0.2.%d", n+1),
		"--tls-cert-file=" + p.path("server.crt"), "--tls-private-key-file=" + p.path("server.key"), "--cert-dir=" + p.dir,
		"--token-auth-file=" + p.path("tokens.csv"), "--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--service-account-issuer=https://cluster.example", "--service-account-key-file=" + p.path("server.key"),
		"--service-account-signing-key-file=" + p.path("server.key"), "--service-cluster-ip-range=10.0.0.0/16,fd00:10::/108",
		"--enable-bootstrap-token-auth=true", "--profiling=false",
	}, more...)
	s := &server{p.run(program, args...), newClient(fmt.Sprintf("https://%s:%d", host, p.port), "admin")}
	eventually(p.t, 90*time.Second, func() error {
		if !s.running() {
			return fmt.Errorf("%s has ended:\n%s", program, s.log)
		}
		return s.ready()
	})
	return s
}

// controlPrograms are the programs that control starts.
var controlPrograms = []string{"kube-controller-manager", "kube-scheduler", "kwok"}

// control starts the controllers, the scheduler and kwok as clients of servers, in turn, and
// returns a function that stops them.
func (p *plane) control(servers ...*server) (stop func()) {
	p.t.Helper()
	var running []*process
	for i, program := range controlPrograms {
		config := p.kubeconfig(program, program, servers[i%len(servers)].base)
		args := map[string][]string{
			"kube-controller-manager": {
				"--kubeconfig=" + config, "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500", "--use-service-account-credentials",
				"--service-account-private-key-file=" + p.path("server.key"), "--root-ca-file=" + p.path("server.crt"),
				"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms",
			},
			"kube-scheduler": {
				"--kubeconfig=" + config, "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500",
				"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms",
			},
			"kwok": {"--kubeconfig=" + config, "--manage-all-nodes=true"},
		}[program]
		if program != "kwok" {
			args = append(args, p.emulated...)
		}
		running = append(running, p.run(program, args...))
	}
	return func() {
		for _, r := range running {
			if !r.running() {
				p.t.Errorf("%s has ended by itself:\n%s", r.cmd.Path, r.log)
			}
			r.stop()
		}
	}
}

// kubeconfig writes the configuration of a client of a server.
func (p *plane) kubeconfig(user, token, url string) string {
	name := user + ".kubeconfig"
	p.write(name, fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: it, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: it, user: {token: %s}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
current-context: it
`, url, p.path("server.crt"), token))
	return p.path(name)
}

// process is a running program.
type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when the program has ended
}

// run starts a program, which ends with the test, and with this process.
func (p *plane) run(program string, args ...string) *process {
	p.t.Helper()
	r := &process{cmd: exec.Command(executable(p.t, program), args...), log: &tail{}, done: make(chan struct{})}
	r.cmd.Args[0] = filepath.Base(program) // by this name Coracle chooses its command
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { r.cmd.Wait(); close(r.done) }() // ends with the program
	p.t.Cleanup(func() {
		r.stop()
		if p.t.Failed() {
			p.t.Logf("the end of the log of %s:\n%s", program, r.log)
		}
	})
	return r
}

func (r *process) running() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// stop asks the program to end, and kills it if it does not.
func (r *process) stop() {
	r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(20 * time.Second):
		r.cmd.Process.Kill()
		<-r.done
	}
}

// tail is a writer that keeps the end of the text.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 8 << 10 // bytes

func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, b...)
	if n := len(l.data) - tailSize; n > tailSize {
		l.data = bytes.Clone(l.data[n:])
	}
	return len(b), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data[max(0, len(l.data)-tailSize):])
}

// eventually waits until check returns nil and fails the test with its last error after limit.
func eventually(t *testing.T, limit time.Duration, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("after %v: %v", limit, err)
}
