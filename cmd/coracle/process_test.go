//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// process is the command in a process of its own.
type process struct {
	*exec.Cmd
	log    *bufio.Scanner // what it writes to standard error
	output *bufio.Scanner
}

// processEnv returns the environment for the command in a process of its own. The command then
// tunes its memory itself, whatever the environment of the tests says about that.
func processEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=")
	})
	return append(env, asCoracle+"=1")
}

// start starts the command in a shell, after the shell commands in first.
func start(t *testing.T, first string, args ...string) *process {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", first + `exec "$0" "$@"`, os.Args[0]}, args...)...)
	cmd.Env = processEnv()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &process{Cmd: cmd, log: bufio.NewScanner(stderr), output: bufio.NewScanner(stdout)}
}

// TestInterruptedStart interrupts a server that waits for its etcd. The server must end, and say
// briefly what it waited for.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	p := start(t, "", "serve", "--data-dir", filepath.Join(t.TempDir(), "data"), "--etcd-servers", "http://127.0.0.1:1")
	var lines []string
	for p.log.Scan() {
		lines = append(lines, p.log.Text())
		if strings.Contains(p.log.Text(), "etcd is unreachable") {
			if err := p.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	err := p.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("got %v, want exit code 1", err)
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, "admission plugins") }) // every start logs it
	if len(lines) != 2 || !strings.Contains(lines[1], "etcd: no answer from [http://127.0.0.1:1]: interrupt signal received") {
		t.Errorf("got %q, want a line when etcd is away and one at the end", lines)
	}
}

// TestToldTwice sends a second signal to a server that shuts down slowly. The process must end at
// once.
func TestToldTwice(t *testing.T) {
	t.Parallel()
	p := start(t, "", "serve", "--data-dir", t.TempDir(), "--storage=memory", "--secure-port", anyPort, "--shutdown-delay-duration=1h")
	go func() {
		for p.log.Scan() {
		}
	}()
	if !p.output.Scan() {
		t.Fatal("the server is not ready")
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	for {
		p.Process.Signal(syscall.SIGTERM) // until the end: signals have no effect before the server has handled the first
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
				t.Errorf("got %v, want the end by a signal", err)
			}
			return
		default:
		}
	}
}

// TestFewDescriptors gives a server fewer file descriptors than it has connections. It must close
// idle connections of strangers; the store and authenticated clients must not notice.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	const files, strangers = 200, 400
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("secret,admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, fmt.Sprintf("ulimit -n %d; ", files), "serve", "--data-dir", filepath.Join(dir, "data"), "--secure-port", anyPort, "--token-auth-file", tokens)
	var log bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() {
		for p.log.Scan() {
			if line := p.log.Text(); !strings.Contains(line, "\tINFO\trequest\t") { // slow requests are logged
				fmt.Fprintln(&log, line)
			}
		}
	})
	address, found := "", false
	for !found && p.output.Scan() {
		_, address, found = strings.Cut(p.output.Text(), "is ready at https://")
	}

	writers, idle := []*admin{newAdmin(address), newAdmin(address)}, newAdmin(address)
	for _, known := range append(writers, idle) {
		defer known.CloseIdleConnections()
		if err := known.get("/api/v1/namespaces"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var written atomic.Int64
	var writing sync.WaitGroup
	for _, writer := range writers {
		writing.Go(func() {
			for ctx.Err() == nil {
				if err := writer.write(); err != nil {
					t.Errorf("a write: %v", err)
					return
				}
				written.Add(1)
			}
		})
	}

	conns := make([]net.Conn, strangers)
	for i := range conns {
		conns[i] = dialStranger(t, address, i)
		defer conns[i].Close()
	}
	late := newAdmin(address)
	defer late.CloseIdleConnections()
	if err := late.get("/api/v1/namespaces"); err != nil {
		t.Errorf("an authenticated client that connects late: %v", err)
	}
	if err := idle.get("/api/v1/namespaces"); err != nil || idle.closed.Load() > 0 {
		t.Errorf("an authenticated client that was idle: %v, after %d connections, of which the server has closed %d",
			err, idle.dials.Load(), idle.closed.Load())
	}
	// The server has closed the connections of strangers that had been idle for longest.
	left := 0
	for i, c := range conns {
		if i < strangers-files/2 {
			c.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection of stranger %d is still open", i)
			}
			continue
		}
		c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			left++
		}
	}
	if left < files/4 {
		t.Errorf("%d connections of strangers are left, want more", left)
	}
	stop()
	writing.Wait()
	n, closed := writers[0].dials.Load()+writers[1].dials.Load(), writers[0].closed.Load()+writers[1].closed.Load()
	if written.Load() == 0 || closed > 0 {
		t.Errorf("%d writes by %d connections, of which the server has closed %d", written.Load(), n, closed)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	reading.Wait()
	if err := p.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if n := strings.Count(log.String(), "\n"); n > 3 || !strings.Contains(log.String(), "connections have reached their bound") {
		t.Errorf("got log\n%s", log.String())
	}
}

// dialStranger opens a connection without a client certificate. By i, it is silent, has made a TLS
// handshake, or has sent a request.
func dialStranger(t *testing.T, address string, i int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if i%3 == 0 {
		return c
	}
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err := s.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if i%3 == 1 {
		return s
	}
	if _, err := io.WriteString(s, "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	return s
}

// admin is an authenticated client. It counts the connections that it has opened, and those that
// the server has closed. The client itself gives up a connection if its own goroutines are late, as
// on a busy machine.
type admin struct {
	*http.Client
	url           string
	dials, closed atomic.Int64
}

// counted is a connection of an admin.
type counted struct {
	net.Conn
	by   *admin
	once sync.Once
}

// Read counts the connection if the server has closed it.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.once.Do(func() { c.by.closed.Add(1) })
	}
	return n, err
}

func newAdmin(address string) *admin {
	a := &admin{url: "https://" + address}
	a.Client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		MaxConnsPerHost: 1,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			a.dials.Add(1)
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &counted{Conn: conn, by: a}, nil
		},
	}}
	return a
}

func (a *admin) get(path string) error { return a.do("GET", path, "", http.StatusOK) }

func (a *admin) write() error {
	return a.do("POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"generateName":"x-"}}`, http.StatusCreated)
}

func (a *admin) do(method, path, body string, want int) error {
	req, err := http.NewRequest(method, a.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s %s", resp.Status, text)
	}
	return err
}
