//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestEtcdFlags checks command lines of etcd that the stand-in accepts and refuses.
func TestEtcdFlags(t *testing.T) {
	for _, tt := range []struct{ args, wrong string }{
		{"--listen-peer-urls=http://localhost:0 --initial-cluster=a=http://localhost:1 --snapshot-count=5 -name a --pre-vote --cert-file= --auto-tls=false", ""},
		{"--no-such-flag", "flag provided but not defined: -no-such-flag"},
		{"--cert-file=a", "without TLS"},
		{"--client-cert-auth", "without TLS"},
		{"--initial-cluster=a=http://a:1,b=http://b:1", "only one member"},
		{"--discovery=http://a", "there are no other members"},
		{"gateway", `"gateway" is not a valid flag`},
	} {
		_, err := parseEtcdFlags(strings.Fields(tt.args), io.Discard)
		if tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: got %v, want %q", tt.args, err, tt.wrong)
		}
	}
	for _, urls := range []string{"https://127.0.0.1:1", "http://0.0.0.0:1", "http://127.0.0.1", "unix://x:1", "http://127.0.0.1:0,http://192.0.2.1:1"} {
		ports, err := (&etcdOptions{clientURLs: urls}).openListeners()
		if err == nil || !strings.Contains(err.Error(), "listen-client-urls") {
			t.Errorf("%s: got %v, %v", urls, ports, err)
		}
	}
}

// TestEtcdHelp searches the help for flags as envtest does: at the beginning of a line.
func TestEtcdHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "etcd", "--help"); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"unsafe-no-fsync", "data-dir", "listen-client-urls"} {
		if !regexp.MustCompile(`(?m)^\s*--` + flag + `\b`).MatchString(out.String()) {
			t.Errorf("--%s is not in the help:\n%s", flag, out.String())
		}
	}
	out.Reset()
	if err := run(t.Context(), &out, "etcd", "--version"); err != nil || !strings.HasPrefix(out.String(), "etcd Version: 3.") {
		t.Errorf("version: got %q, %v", out.String(), err)
	}
}

// service opens a socket on which a service manager listens.
func service(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	return conn
}

func notified(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	buf := make([]byte, 64)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// TestNotify starts the stand-in and a server as services, and checks that each reports when it is
// ready and when it stops. One socket is a file, the other abstract.
func TestNotify(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		filepath.Join(dir, "s"):           {"etcd", "--listen-client-urls=http://127.0.0.1:0", "--data-dir=" + filepath.Join(dir, "etcd")},
		"@" + filepath.Base(dir) + "/etc": {"serve", "--storage=memory", "--secure-port", anyPort, "--data-dir=" + filepath.Join(dir, "data")},
	} {
		conn := service(t, name)
		p := start(t, "NOTIFY_SOCKET='"+name+"'; export NOTIFY_SOCKET; ", args...)
		if got := notified(t, conn); got != "READY=1" {
			t.Errorf("%s: got %q", args[0], got)
		}
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := notified(t, conn); got != "STOPPING=1" {
			t.Errorf("%s: got %q", args[0], got)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
	}
}

// TestNotifyNobody checks that a missing or vanished service manager is no error. notify sends
// nothing to a socket whose name is neither an absolute path nor abstract, and makes no socket.
func TestNotifyNobody(t *testing.T) {
	t.Chdir(t.TempDir())
	relative := service(t, "relative")
	closed := service(t, "closed")
	closed.Close() // its file stays
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "relative", filepath.Join(dir, "gone"), filepath.Join(dir, "closed"), dir} {
		t.Setenv("NOTIFY_SOCKET", name)
		notify(readyState)
	}
	relative.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := relative.Read(make([]byte, 64)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes were sent to a socket with a relative name: %v", n, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("got %v, %v, want the two sockets", files, err)
	}
	manager := service(t, filepath.Join(dir, "manager"))
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "manager"))
	notify(readyState)
	if got := notified(t, manager); got != readyState {
		t.Errorf("the manager was told %q", got)
	}
}

// TestStandIn runs a server on a stand-in, and checks that the data is in the stand-in's folder and
// nowhere else.
func TestStandIn(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	log, write := io.Pipe()
	ended := make(chan error, 1)
	data := filepath.Join(dir, "etcd")
	go func() {
		ended <- standInForEtcd(ctx, []string{"--listen-client-urls=http://127.0.0.1:0", "--data-dir=" + data, "--unsafe-no-fsync=true"}, io.Discard, write)
		write.Close()
	}()
	line := make([]byte, 256)
	n, err := log.Read(line)
	if err != nil {
		t.Fatal(err, <-ended)
	}
	url := regexp.MustCompile(`http://127[^,]*`).FindString(string(line[:n]))
	resp, err := http.Get(url + "/health")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()

	p := start(t, "", "serve", "--etcd-servers", url, "--secure-port", anyPort, "--data-dir", filepath.Join(dir, "data"))
	for p.output.Scan() && !strings.Contains(p.output.Text(), "is ready") {
	}
	if _, err := os.Stat(filepath.Join(data, "member", "wal")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "etcd")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another store: %v", err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
}

// TestEnvtestLayout fills a folder three times: programs that are up to date stay, and an older one
// is replaced.
func TestEnvtestLayout(t *testing.T) {
	bin, dir := t.TempDir(), filepath.Join(t.TempDir(), "some", "where")
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(assetsVariable, "")
	t.Setenv("PATH", bin)
	for i := range 3 {
		var out bytes.Buffer
		if err := run(t.Context(), &out, "envtest", dir); err != nil {
			t.Fatal(err)
		}
		if want := "export KUBEBUILDER_ASSETS=" + dir + "\n"; out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"kube-apiserver": self, "etcd": self, "kubectl": filepath.Join(bin, "kubectl")} {
			if !same(t, filepath.Join(dir, name), want) {
				t.Errorf("%s is not %s", name, want)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 3 {
			t.Errorf("got %v, %v", entries, err)
		}
		if i == 0 { // the next run replaces it
			if err := errors.Join(os.Remove(filepath.Join(dir, "etcd")), os.WriteFile(filepath.Join(dir, "etcd"), []byte("old"), 0o755)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", "")
	if err := errors.Join(os.Remove(filepath.Join(dir, "kubectl")), run(t.Context(), io.Discard, "envtest", dir)); err != nil {
		t.Errorf("without kubectl: %v", err)
	}
}

// same reports whether two files have the same content.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(a)
	return err == nil && info.Mode().Perm()&0o100 != 0 && bytes.Equal(one, two)
}

// TestNames checks which command the program runs under which name.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{"coracle": "coracle", "kube-apiserver": "kube-apiserver", "etcd": "etcd", "etcd.exe": "etcd", "other": "coracle"} {
		if got := commandCalled(name).Name(); got != want {
			t.Errorf("called %s it is %s", name, got)
		}
	}
}

func TestShellQuoted(t *testing.T) {
	for text, want := range map[string]string{"/a-b/c.d": "/a-b/c.d", "/a b": "'/a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := shellQuoted(text); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}
