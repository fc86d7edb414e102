package interop

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// TestStalledWatchers opens watches whose clients do not read. These delay neither writers nor
// other watchers, and the server queues nothing for them.
func TestStalledWatchers(t *testing.T) {
	t.Parallel()
	const stalled, writes, size = 50, 400, 40_000 // 800 MB if each had a queue
	s := newServer(t, "--storage=memory")
	c := s.client(t)
	ns := namespace(t, c)
	maps := c.CoreV1().ConfigMaps(ns)
	if _, err := maps.Create(t.Context(), configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range stalled {
		openUnread(t, s.config(t), "/api/v1/namespaces/"+ns+"/configmaps?watch=1")
	}
	w, err := c.CoreV1().ConfigMaps(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := next(t, w); e.Type != watch.Added {
		t.Fatalf("got %s", e.Type)
	}
	fill := strings.Repeat("x", size)
	var slowest time.Duration
	for i := range writes {
		begin := time.Now()
		if _, err := maps.Patch(t.Context(), "a", types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d","fill":%q}}`, i, fill), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if e := next(t, w); e.Type != watch.Modified {
			t.Fatalf("got %s", e.Type)
		}
		slowest = max(slowest, time.Since(begin))
	}
	t.Logf("slowest write and event: %v; memory: %d MiB", slowest, residentMiB(s))
	if slowest > 5*time.Second {
		t.Errorf("the slowest write and event took %v", slowest)
	}
	if got := residentMiB(s); got > 512 {
		t.Errorf("the server has %d MiB resident", got)
	}
}

// openUnread sends a request and leaves the answer unread.
func openUnread(t *testing.T, config *rest.Config, path string) {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(config.Host, "https://"), tlsConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

// residentMiB returns the memory of a server, or 0 where there is no /proc.
func residentMiB(s *server) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kib, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return kib >> 10
}
