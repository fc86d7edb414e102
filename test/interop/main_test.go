// Package interop runs other projects' clients against the server: kubectl, client-go,
// controller-runtime. It also kills the server, stops it, and runs two servers on one etcd.
//
// All programs are built once per run. The server is built in its own module, with its own go.mod.
// The environment variables CORACLE, KUBECTL, ETCD and EXTENSION name programs to use instead of
// building them.
//
// The tests with Kubernetes' sample-apiserver and with controller-runtime have the build tag
// cluster, because building these takes long: sample-apiserver needs the libraries of
// kube-apiserver, and controller-runtime needs client-go's informers of all resources.
// `make cluster` runs these tests.
//
// Read: main_test.go and process_test.go (how programs are built and run), then any other.
package interop

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server/servertest/leaks"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// logs are the logs of all servers, at the highest verbosity. Like the logs of servers inside of
// tests, they are searched for credentials.
var logs leaks.Log

// programs are the paths of the server under test and of the programs that tests run with it.
var programs struct{ server, kubectl, etcd, extension string }

// program is a program that the tests run.
type program struct {
	path      *string // of the built program
	name, env string  // env names the variable that holds the path of a program to use instead
	in, pkg   string  // the module's directory, and the package in it
	flags     string  // for the linker
}

// built are the programs that a run builds, beside the server.
var built = []program{
	{&programs.kubectl, "kubectl", "KUBECTL", ".", "./kubectl", "-X k8s.io/component-base/version.gitVersion=v1.36.3"},
	{&programs.etcd, "etcd", "ETCD", ".", "./etcd", ""},
}

// shared is the server of all tests that do not stop it. Each test uses a namespace of its own.
var shared *server

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "interop-")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(dir)
	klog.SetLogger(logr.Discard()) // client-go logs every broken connection, and these tests break connections
	if err := buildAll(dir); err != nil {
		log.Print(err)
		return 1
	}
	shared = &server{dir: filepath.Join(dir, "shared")}
	if err := shared.start(); err != nil {
		log.Print(err)
		return 1
	}
	code := m.Run()
	shared.kill()
	for _, line := range logs.CredentialLines() {
		log.Printf("a credential in the log of a server: %s", line)
		code = 1
	}
	return code
}

// buildAll builds the programs into dir. The go command shares work between builds, so they run one
// after another.
func buildAll(dir string) error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	server := program{&programs.server, "coracle", "CORACLE", root, "./cmd/coracle", ""}
	for _, p := range append([]program{server}, built...) {
		if *p.path = os.Getenv(p.env); *p.path != "" {
			continue
		}
		*p.path = filepath.Join(dir, "bin", p.name)
		cmd := exec.Command("go", "build", "-ldflags=-s -w "+p.flags, "-o", *p.path, p.pkg)
		cmd.Dir = p.in
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", p.name, err, out)
		}
	}
	return nil
}

// eventually waits until check returns nil and fails the test with its last error after limit.
func eventually(t testing.TB, limit time.Duration, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("after %v: %v", limit, err)
}

// background runs work that ends when the test does, and waits for it.
func background(t testing.TB, work func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { work(ctx) })
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}
