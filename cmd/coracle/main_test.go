package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// asCoracle makes a process of the test binary the program itself.
const asCoracle = "TEST_AS_CORACLE"

func TestMain(m *testing.M) {
	if os.Getenv(asCoracle) != "" {
		main()
		os.Exit(0)
	}
	etcdproc.Main()
	goleak.VerifyTestMain(m)
}

// run runs the command with args and returns what it printed.
func run(ctx context.Context, out io.Writer, args ...string) error {
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	return cmd.ExecuteContext(ctx)
}

// TestHelp checks the help, and that an unknown command or flag is an error that says where to read
// on.
func TestHelp(t *testing.T) {
	version := "coracle " + server.Version + " (Kubernetes API " + server.KubernetesVersion
	for _, tt := range []struct{ args, out, err string }{
		{"version", version, ""},
		{"--version", version, ""},
		{"", "Available Commands:", ""},
		{"-h", "Available Commands:", ""},
		{"help", "Available Commands:", ""},
		{"help serve", "--data-dir string", ""},
		{"serve -h", "--data-dir string", ""},
		{"help kube-apiserver", "--etcd-servers strings", ""},
		{"help etcd", "--listen-client-urls", ""},
		{"etcd -h", "--listen-client-urls", ""},
		{"help help", "help [COMMAND]", ""},
		{"help migrate", "migrate RESOURCE", ""},
		{"help nope", "", `unknown command "nope" for "coracle"`},
		{"help serve nope", "", `unknown command "nope" for "coracle serve"`},
		{"nope", "", `unknown command "nope" for "coracle"`},
		{"serv", "", "Did you mean this?\n\tserve"},
		{"--nope", "", "unknown flag: --nope\nSee 'coracle --help' for usage."},
		{"serve --nope", "", "unknown flag: --nope\nSee 'coracle serve --help' for usage."},
		{"migrate", "", "give one argument, RESOURCE: got 0\nSee 'coracle migrate --help' for usage."},
		{"envtest a b", "", "give one argument, DIR: got 2\nSee 'coracle envtest --help' for usage."},
	} {
		var out bytes.Buffer
		err := run(t.Context(), &out, strings.Fields(tt.args)...)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("coracle %s: got error %v, want %q", tt.args, err, tt.err)
		}
		if !strings.Contains(out.String(), tt.out) {
			t.Errorf("coracle %s: got %q, want %q", tt.args, out.String(), tt.out)
		}
	}
}

// TestRawVersion checks that --version=raw prints the version as kube-apiserver prints it.
func TestRawVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "kube-apiserver", "--version=raw"); err != nil {
		t.Fatal(err)
	}
	const want = `version.Info{Major:"1", Minor:"36", EmulationMajor:"1", EmulationMinor:"36", MinCompatibilityMajor:"1", MinCompatibilityMinor:"35", GitVersion:"v1.36.3", `
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "}\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--storage=floppy"},
		{"--runtime-config=no.io/v1=true"},
		{"--profile=none"},
		{"--storage-media-type=text/plain"},
		{"--log-level=loud"},
		{"--logging-format=xml"},
		{"--authorization-mode=Maybe"},
		{"--controllers=nope"},
		{"--bind-address=here"},
		{"--service-account-issuer=https://a", "--service-account-issuer=https://a"},
		{"--service-account-issuer="},
		{"--service-account-issuer=https://a:b"},
		{"--service-account-jwks-uri=http://a"},
		{"--service-account-max-token-expiration=59m"},
		{"--service-account-signing-key-file=none"},
		{"--service-account-key-file=none"},
		{"--tls-cert-file=only-half"},
		{"--oidc-issuer-url=https://alone"},
		{"--oidc-required-claim=no-value"},
		{"--authentication-config=none"},
		{"--no-such-flag"},
		{"argument"},
	} {
		args = append([]string{"serve", "--data-dir", t.TempDir(), "--storage=memory"}, args...)
		if err := run(t.Context(), io.Discard, args...); err == nil {
			t.Errorf("%v: got no error", args)
		}
	}
}

// anyPort is the value of a port's flag that takes a free port.
var anyPort = strconv.Itoa(server.AnyPort)

// TestServe starts the server as a user does, waits for its greeting, and stops it.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, write, "serve", "--data-dir", dir, "--storage=memory", "--log-level=error", "--secure-port", anyPort)
		write.Close()
	}()
	greeting := make([]byte, 4096)
	n, err := read.Read(greeting)
	if err != nil {
		t.Fatalf("greeting: %v, %v", err, <-done)
	}
	go io.Copy(io.Discard, read)
	kubeconfig := filepath.Join(dir, "admin.kubeconfig")
	if got := string(greeting[:n]); !strings.Contains(got, "export KUBECONFIG="+kubeconfig) {
		t.Errorf("greeting: got %q, want it to name %s", got, kubeconfig)
	}
	if info, err := os.Stat(kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: got %v, %v, want a file for its owner alone", info, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
}
