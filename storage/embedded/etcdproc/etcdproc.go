// Package etcdproc runs an etcd server in a process of its own, for tests of clients of a remote
// etcd.
//
// The process is the test binary itself, started a second time: TestMain calls Main, which in that
// process serves etcd until its standard input ends, and in all others returns at once. So nothing
// has to be installed.
//
// The server is etcd with its own defaults, on free loopback ports, without fsync. Its data is in
// the test's temporary folder. It ends with the test, also if the test is killed, because its
// standard input ends then.
//
// Only tests use this package. It is below storage/embedded because only there may etcd's server be
// imported.
package etcdproc

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// dirVariable is the environment variable that makes a process an etcd. Its value is the data
// directory.
const dirVariable = "CORACLE_ETCDPROC_DIR"

// readyPrefix begins the line on standard output that names the address of the server.
const readyPrefix = "etcd at "

// Main must be the first call of a TestMain whose tests use Start. In the process that serves etcd
// it does not return.
func Main() {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		return
	}
	if err := serve(dir); err != nil {
		fmt.Fprintln(os.Stderr, "etcdproc:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs etcd until standard input ends.
func serve(dir string) error {
	cfg := embed.NewConfig()
	cfg.Dir, cfg.UnsafeNoFsync, cfg.LogLevel = dir, true, "error"
	any, err := url.Parse("http://127.0.0.1:0")
	if err != nil {
		return err
	}
	cfg.ListenClientUrls, cfg.ListenPeerUrls = []url.URL{*any}, []url.URL{*any}
	cfg.AdvertiseClientUrls, cfg.AdvertisePeerUrls = cfg.ListenClientUrls, cfg.ListenPeerUrls
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs, cfg.ElectionMs = 10, 100
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return err
	case <-e.Server.StopNotify():
		return fmt.Errorf("the server stopped while starting")
	}
	fmt.Println(readyPrefix + e.Clients[0].Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Start runs an etcd until the end of the test, and returns its client URL once it answers.
func Start(t testing.TB) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+t.TempDir())
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(startTime, func() { cmd.Process.Kill() })
	lines, endpoint := bufio.NewScanner(stdout), ""
	for endpoint == "" && lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), readyPrefix); ok {
			endpoint = at
		}
	}
	late.Stop()
	t.Cleanup(func() {
		stdin.Close()
		late := time.AfterFunc(startTime, func() { cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("etcdproc: the server ended with %v", err)
		}
	})
	if endpoint == "" {
		t.Fatal("etcdproc: the server did not start")
	}
	return "http://" + endpoint
}

// startTime bounds the start of the server, and again its end.
const startTime = 30 * time.Second
