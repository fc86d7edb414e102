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

// TestCrash kills the server repeatedly while many clients write. After each restart every
// acknowledged write is there, revisions go on, and watchers resume from the last revision that
// they saw: they miss no write and see none twice.
func TestCrash(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    []string
		history bool // survives a restart, so that watches can resume
	}{
		{"embedded", nil, true},
		{"protobuf", []string{"--storage-media-type=application/vnd.kubernetes.protobuf"}, true},
		{"file", []string{"--storage=file"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			crashes(t, newServer(t, tt.args...), tt.history)
		})
	}
}

const (
	crashRounds  = 4
	crashWriters = 8
)

func crashes(t *testing.T, s *server, history bool) {
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
		if !history {
			break
		}
		f := &follower{client: s.protobuf(t), ns: ns}
		followers = append(followers, f)
		stops = append(stops, background(t, func(ctx context.Context) { f.follow(ctx, list.ResourceVersion) }))
	}
	var last uint64
	for round := range crashRounds {
		crash(t, s, log, fmt.Sprintf("r%d", round), ns)
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
		state, err := c.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		log.checkStored(t, state.Items)
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
	for _, f := range followers {
		log.check(t, f)
		checkState(t, f, state.Items)
		if f.resumed < crashRounds {
			t.Errorf("a watcher has resumed %d times, want %d", f.resumed, crashRounds)
		}
	}
	writes, _ := log.count()
	t.Logf("%d crashes, %d acknowledged writes, %d objects left", crashRounds, writes, len(state.Items))
	if writes < crashRounds*crashWriters {
		t.Errorf("only %d writes were acknowledged", writes)
	}
}

// crash kills the server while writers write, and starts it again.
func crash(t *testing.T, s *server, log *ledger, prefix, ns string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for i := range crashWriters {
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
