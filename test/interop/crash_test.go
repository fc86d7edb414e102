package interop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCrash kills the server again and again while many write. Whatever was acknowledged is there after each restart,
// revisions go on, and watchers resume from the last revision they saw: no write is missed, none comes twice.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(t)
	ns := namespace(t, c)
	list, err := c.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log := newLedger()
	var followers []*follower
	var stops []func()
	for range 3 {
		f := &follower{client: s.protobuf(t), ns: ns}
		followers = append(followers, f)
		stops = append(stops, background(t, func(ctx context.Context) { f.follow(ctx, list.ResourceVersion) }))
	}
	const rounds, writers = 5, 8
	var last uint64
	for round := range rounds {
		crash(t, s, log, fmt.Sprintf("r%d", round), writers, ns)
		probe, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap(fmt.Sprintf("probe-%d", round), "n", "0"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, acked := log.count()
		if got := revision(probe.ResourceVersion); got <= acked || got <= last {
			t.Errorf("round %d: got revision %d after %d", round, got, max(acked, last))
		}
		last = revision(probe.ResourceVersion)
		log.ack(probe.Name, write{revision: last})
		for _, f := range followers {
			eventually(t, 20*time.Second, func() error { return f.caughtUp(last) })
		}
	}
	for _, stop := range stops {
		stop()
	}
	state, err := c.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var own int
	for i := range state.Items {
		if _, ok := state.Items[i].Data["n"]; ok {
			own++
		}
	}
	for _, f := range followers {
		log.check(t, f)
		checkState(t, f, state.Items)
		if f.resumed < rounds {
			t.Errorf("a watcher has resumed %d times, want %d", f.resumed, rounds)
		}
	}
	writes, _ := log.count()
	t.Logf("%d crashes, %d acknowledged writes, %d objects left", rounds, writes, own)
	if writes < rounds*writers {
		t.Errorf("only %d writes were acknowledged", writes)
	}
}

// crash kills the server while writers write, and starts it again.
func crash(t *testing.T, s *server, log *ledger, prefix string, writers int, ns string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for i := range writers {
		w := &writer{client: s.client(t), ns: ns, id: fmt.Sprintf("%s-w%d", prefix, i), ledger: log}
		wg.Go(func() {
			var refused errServer
			if err := w.run(ctx); errors.As(err, &refused) {
				t.Error(err)
			}
		})
	}
	time.Sleep(200*time.Millisecond + rand.N(400*time.Millisecond))
	s.kill()
	wg.Wait()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}
