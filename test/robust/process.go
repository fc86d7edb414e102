package robust

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience bounds the wait for starts, ends and the last event. It is far longer than a slow
// machine needs.
const patience = 90 * time.Second

// process is a program that is killed and started again. Only one goroutine at a time uses it.
type process struct {
	name    string
	path    string
	args    []string
	log     string // file
	ready   string // URL that answers 200 when the process is ready
	trouble func(format string, args ...any)

	cmd  *exec.Cmd
	over chan struct{} // closed at its end
	from int64         // where the log of the present process begins

	starts []time.Time // each before the start, and after the end of the process before
}

// start starts the process without waiting for it.
func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return err
	}
	p.from = before.Size()
	cmd, over := exec.Command(p.path, p.args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	tether(cmd)
	p.starts = append(p.starts, time.Now())
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.over = cmd, over
	go func() { // ends with the process
		cmd.Wait()
		close(over)
	}()
	return nil
}

var prober = &http.Client{
	Timeout:   5 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// wait waits until the process is ready.
func (p *process) wait() error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		resp, err := prober.Get(p.ready)
		if err == nil {
			if resp.Body.Close(); resp.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(resp.Status)
		}
		select {
		case <-p.over:
			return fmt.Errorf("%s ended before it was ready:\n%s", p.name, tail(p.log))
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is not ready after %v: %w\n%s", p.name, patience, err, tail(p.log))
		}
	}
}

// signal sends a signal to the process, which must run.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.over:
		p.trouble("%s ended by itself: %v\n%s", p.name, p.cmd.ProcessState, tail(p.log))
	default:
		p.cmd.Process.Signal(sig)
	}
}

// kill ends the process as a power cut would, also when it is stopped.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.over
}

// terminate asks the process to end (SIGTERM), and checks that its exit code is 0.
func (p *process) terminate() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.over:
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			p.trouble("%s ended with code %d after SIGTERM\n%s", p.name, code, tail(p.log))
		}
	case <-time.After(patience):
		p.trouble("%s still runs %v after SIGTERM\n%s", p.name, patience, tail(p.log))
		p.kill()
	}
}

// tail returns the end of a log.
func tail(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "\t" + strings.Join(lines[max(0, len(lines)-10):], "\n\t")
}
