package interop

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestEtcdOutage kills the etcd of a server while many clients write, and starts it again later.
// While etcd is down, the server is not ready. Afterwards the server works again without a restart.
// It has kept every acknowledged write, and its watches go on without a gap.
func TestEtcdOutage(t *testing.T) {
	t.Parallel()
	e := newEtcd(t)
	s := newServer(t, "--etcd-servers", e.url, "--request-timeout=2s")
	c := s.client(t)
	ns := namespace(t, c)
	list, err := c.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{client: s.client(t), ns: ns}
	stop := background(t, func(ctx context.Context) { f.follow(ctx, list.ResourceVersion) })
	log := newLedger()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { writeThroughFailures(ctx, t, log, s.protobuf(t), ns, fmt.Sprintf("w%d", i)) })
	}
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		e.kill()
		eventually(t, 10*time.Second, func() error { return readiness(t, s, http.StatusInternalServerError) })
		e.start(t)
		eventually(t, 20*time.Second, func() error { return readiness(t, s, http.StatusOK) })
		before, _ := log.count()
		eventually(t, 20*time.Second, func() error {
			if now, _ := log.count(); now < before+20 {
				return fmt.Errorf("writes do not go on: %d before, now %d", before, now)
			}
			return nil
		})
	}
	cancel()
	wg.Wait()
	_, last := log.count()
	eventually(t, 20*time.Second, func() error { return f.caughtUp(last) })
	state, err := c.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func() error { return f.caughtUp(revision(state.ResourceVersion)) })
	stop()
	log.check(t, f)
	log.checkStored(t, state.Items)
	checkState(t, f, state.Items)
	n, _ := log.count()
	t.Logf("%d acknowledged writes, %d watches", n, f.resumed)
}

// readiness returns an error if the status of a server's readyz differs from want.
func readiness(t *testing.T, s *server, want int) error {
	t.Helper()
	config := s.config(t)
	config.Timeout = 5 * time.Second
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	resp, err := client.Get(config.Host + "/readyz")
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != want {
		return fmt.Errorf("readyz: got %s, want %d", resp.Status, want)
	}
	return nil
}
