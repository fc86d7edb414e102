package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coracle-project/coracle/server/servertest/leaks"
	"github.com/coracle-project/coracle/server/servertest/ports"
)

// process is a running server.
type process struct {
	cmd     *exec.Cmd
	address string
	cleanup func()
	log     *leaks.Log // of the coracle binary
}

// leaked returns an error if the log of a stopped server has credentials in it.
func (p *process) leaked() error {
	if found := p.log.CredentialLines(); len(found) > 0 {
		return fmt.Errorf("credentials in the server's log: %.300q", found)
	}
	return nil
}

// start starts cmd, which is killed when this process ends.
func start(cmd *exec.Cmd) (process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return process{cmd: cmd, cleanup: func() {}}, cmd.Start()
}

func (p *process) stop() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.cleanup()
}

// startServer starts the coracle binary on a free port, with data of its own, and waits until it is
// ready. It logs from level on, to out.
func startServer(ctx context.Context, binary, level string, out io.Writer) (*process, error) {
	dir, err := os.MkdirTemp("", "hostile-")
	if err != nil {
		return nil, err
	}
	tokens := filepath.Join(dir, "tokens")
	users := adminToken + ",admin,1,system:masters\n" + knownToken + ",known,2\n"
	if err := os.WriteFile(tokens, []byte(users), 0o600); err != nil {
		return nil, err
	}
	port, err := ports.Free("127.0.0.1")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "serve", "--log-level="+level, "--data-dir", filepath.Join(dir, "data"), "--secure-port", strconv.Itoa(port), "--token-auth-file", tokens)
	leaks.Learn(adminToken, knownToken)
	log := new(leaks.Log)
	cmd.Stderr = io.MultiWriter(out, log)
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	p.address = "127.0.0.1:" + strconv.Itoa(port)
	p.log, p.cleanup = log, func() { os.RemoveAll(dir) }
	ready := request{method: "GET", target: "/readyz", header: bearer(adminToken)}
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if a, err := newSender(&p, http1).once(ctx, &ready); err == nil && a.Status == 200 {
			return &p, nil
		}
	}
	p.stop()
	return nil, errors.New("the server did not become ready")
}

// cpu returns the processor time that the process has used so far.
func (p *process) cpu() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	if sum == 0 {
		return 0, errors.New("the server has ended")
	}
	return sum, nil
}
