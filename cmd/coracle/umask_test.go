//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestSnapshotsArePrivate runs the program with an umask that forbids nothing, and writes until
// etcd has made a snapshot.
func TestSnapshotsArePrivate(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "serve", "--data-dir", dir, "--secure-port=0", "--http-port", anyPort,
		"--authorization-mode=AlwaysAllow", "--log-level=error")
	cmd.Env = processEnv()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	old := syscall.Umask(0)
	err = cmd.Start()
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	url := regexp.MustCompile(`http://\S+`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("got %q, %v, want a greeting", line, err)
	}
	const writers, each = 32, 160 // together above the SnapshotCount of storage/embedded
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				body := fmt.Sprintf(`{"metadata":{"name":"x-%d-%d"}}`, w, i)
				resp, err := client.Post(url+"/api/v1/namespaces/default/configmaps", "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	snapshots := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if strings.HasSuffix(path, ".snap") {
			snapshots++
		}
		return err
	})
	if err != nil || snapshots == 0 {
		t.Errorf("got %d snapshots, %v", snapshots, err)
	}
}
