//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestDefrag defragments the store of a running server, and a store without a server.
func TestDefrag(t *testing.T) {
	t.Parallel()
	defrag := func(args ...string) (before, after int, err error) {
		t.Helper()
		var out bytes.Buffer
		if err := run(context.Background(), &out, append([]string{"defrag"}, args...)...); err != nil {
			return 0, 0, err
		}
		if _, err := fmt.Sscanf(out.String(), "the database file had %d bytes before and has %d bytes after\n", &before, &after); err != nil {
			t.Errorf("got %q", out.String())
		}
		return before, after, nil
	}
	dir := t.TempDir()
	s := servertest.Start(t, server.Config{DataDir: dir, Storage: server.StorageConfig{Engine: server.StorageEmbedded}})
	l := &callServer{s, t}
	body := fmt.Sprintf(`{"metadata":{"generateName":"c"},"data":{"k":%q}}`, strings.Repeat("v", 500_000))
	for range 20 {
		l.call(201, "POST", "/api/v1/namespaces/default/configmaps", "application/json", body)
	}
	metric := func(name string) float64 {
		t.Helper()
		text := string(l.call(200, "GET", "/metrics", "", ""))
		var v float64
		_, rest, _ := strings.Cut(text, "\n"+name+`{storage_cluster_id="etcd-0"} `)
		if _, err := fmt.Sscan(rest, &v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return v
	}
	before, after, err := defrag("--kubeconfig", s.Kubeconfig)
	if err != nil || before == 0 || after < 20*500_000 {
		t.Errorf("the running server: got %d, %d, %v", before, after, err)
	}
	used, file := metric("coracle_storage_size_in_use_bytes"), metric("apiserver_storage_size_bytes")
	if file < float64(after) || used > file || used < 20*500_000 {
		t.Errorf("of %.0f bytes %.0f are in use, and there were said to be %d", file, used, after)
	}
	l.call(405, "GET", "/debug/defragment", "", "")
	l.call(http.StatusOK, "GET", "/api/v1/namespaces/default/configmaps", "", "")
	if _, _, err := defrag("--data-dir", dir); err == nil {
		t.Error("the store of a running server was defragmented as one at rest")
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if before, after, err = defrag("--data-dir", dir); err != nil || before < 20*500_000 || after < 20*500_000 {
		t.Errorf("at rest: got %d, %d, %v", before, after, err)
	}

	other := servertest.Start(t)
	for _, args := range [][]string{{"--kubeconfig", other.Kubeconfig}, {"--data-dir", t.TempDir()}} {
		if _, _, err := defrag(args...); err == nil || !strings.Contains(err.Error(), "etcdctl defrag") {
			t.Errorf("%v: got %v", args, err)
		}
	}
	if _, _, err := defrag("--data-dir", dir, "--kubeconfig", other.Kubeconfig); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("both flags: got %v", err)
	}
}
