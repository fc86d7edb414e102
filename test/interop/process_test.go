package interop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/coracle-project/coracle/server/servertest/leaks"
	"github.com/coracle-project/coracle/server/servertest/ports"
)

// process is a running program. It may be started again after it has ended.
type process struct {
	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when the process has ended
}

// run starts the program.
func (p *process) run(program string, args ...string) error {
	if p.log == nil {
		p.log = &tail{}
	}
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.done = make(chan struct{})
	go func() { p.cmd.Wait(); close(p.done) }() // ends with the process
	return nil
}

// server is a server process. It keeps its port and data when it is started again.
type server struct {
	dir  string   // --data-dir
	args []string // further flags
	port int      // chosen at the first start

	process
}

// newServer starts a server for one test.
func newServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{dir: filepath.Join(t.TempDir(), "data"), args: args}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", s.log)
		}
	})
	return s
}

// ownConfigMaps is for servers whose arguments do not choose controllers. It turns off the
// controller that would make a ConfigMap in each namespace of a test.
const ownConfigMaps = "--controllers=*,-root-ca-certificate-publisher-controller"

// start starts the process and waits until it is ready.
func (s *server) start() error {
	if s.port == 0 {
		var err error
		if s.port, err = ports.Free("127.0.0.1"); err != nil {
			return err
		}
	}
	args := []string{"serve", "--data-dir", s.dir, "--secure-port", strconv.Itoa(s.port), "--log-level=debug"}
	if !slices.ContainsFunc(s.args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers") }) {
		args = append(args, ownConfigMaps)
	}
	if err := s.run(programs.server, append(args, s.args...)...); err != nil {
		return err
	}
	config, err := s.waitConfig(30 * time.Second)
	if err != nil {
		return fmt.Errorf("%w; its log:\n%s", err, s.log)
	}
	return s.waitReady(config, 30*time.Second)
}

// waitConfig waits for the kubeconfig, which a server writes once it listens.
func (s *server) waitConfig(limit time.Duration) (*rest.Config, error) {
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig())
		switch {
		case err == nil:
			return config, nil
		case !s.running():
			return nil, errors.New("the server ended at once")
		case time.Now().After(end):
			return nil, err
		}
	}
}

func (p *process) waitReady(config *rest.Config, limit time.Duration) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		resp, err := client.Get(config.Host + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(resp.Status)
		}
		if !p.running() || time.Now().After(end) {
			return fmt.Errorf("the server did not become ready: %w; its log:\n%s", err, p.log)
		}
	}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process as a power cut would and waits for the end.
func (p *process) kill() {
	if p.done != nil {
		p.cmd.Process.Kill()
		<-p.done
	}
}

// terminate asks the process to end.
func (p *process) terminate(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// exit waits for the end of the process and returns its exit code.
func (p *process) exit(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		t.Fatalf("the server still runs after %v", limit)
		return -1
	}
}

func (s *server) url() string        { return fmt.Sprintf("https://127.0.0.1:%d", s.port) }
func (s *server) kubeconfig() string { return filepath.Join(s.dir, "admin.kubeconfig") }

// config returns a client configuration of the administrator without client-side throttling.
func (s *server) config(t testing.TB) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	leaks.Learn(config.BearerToken)
	leaks.Learn(string(config.KeyData))
	return config
}

func (s *server) client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	return clientset(t, s.config(t))
}

// protobuf returns a client that speaks protobuf both ways.
func (s *server) protobuf(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	config := s.config(t)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType
	return clientset(t, config)
}

func clientset(t testing.TB, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// namespace creates a namespace with a name of its own.
func namespace(t testing.TB, c kubernetes.Interface) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// etcd is an etcd of one member. It may be started again after it was killed.
type etcd struct {
	dir, url, peer string
	cmd            *exec.Cmd
}

// newEtcd starts an etcd for one test.
func newEtcd(t testing.TB) *etcd {
	t.Helper()
	var free [2]int
	for i := range free {
		var err error
		if free[i], err = ports.Free("127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	e := &etcd{
		dir:  filepath.Join(t.TempDir(), "etcd"),
		url:  fmt.Sprintf("http://127.0.0.1:%d", free[0]),
		peer: fmt.Sprintf("http://127.0.0.1:%d", free[1]),
	}
	e.start(t)
	t.Cleanup(e.kill)
	return e
}

func (e *etcd) start(t testing.TB) {
	t.Helper()
	e.cmd = exec.Command(programs.etcd, e.dir, e.url, e.peer)
	e.cmd.Stderr = os.Stderr
	out, err := e.cmd.StdoutPipe()
	if err == nil {
		err = e.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("etcd did not start: %q, %v", line, err)
	}
}

func (e *etcd) kill() {
	e.cmd.Process.Kill()
	e.cmd.Wait()
}

// tail keeps the end of the text that is written to it, and has all of it searched for credentials.
type tail struct {
	mu     sync.Mutex
	data   []byte
	unread int // bytes at the end of data that are not a whole line yet
}

const tailSize = 32 << 10 // bytes

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, p...)
	fresh := l.data[len(l.data)-len(p)-l.unread:]
	whole := bytes.LastIndexByte(fresh, '\n') + 1
	logs.Write(fresh[:whole])
	l.unread = min(len(fresh)-whole, tailSize)
	if n := len(l.data) - tailSize; n > tailSize {
		l.data = bytes.Clone(l.data[n:])
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data[max(0, len(l.data)-tailSize):])
}
