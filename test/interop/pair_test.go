package interop

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// newPair starts two servers on one etcd.
func newPair(t *testing.T) [2]*server {
	t.Helper()
	url := newEtcd(t).url
	return [2]*server{newServer(t, "--etcd-servers", url), newServer(t, "--etcd-servers", url)}
}

// TestPairReadsOwnWrites writes through one server and at once reads through the other. The read
// must show the write.
func TestPairReadsOwnWrites(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	clients := [2]*kubernetes.Clientset{pair[0].protobuf(t), pair[1].protobuf(t)}
	ns := namespace(t, clients[0])
	const workers, each = 4, 500
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			name := fmt.Sprintf("w%d", worker)
			for i := range each {
				if err := writeAndRead(t.Context(), clients[(worker+i)%2], clients[(worker+i+1)%2], ns, name, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// writeAndRead makes the i-th change of an object through one client and looks for it through
// another.
func writeAndRead(ctx context.Context, to, from *kubernetes.Clientset, ns, name string, i int) error {
	value := strconv.Itoa(i)
	w, r := to.CoreV1().ConfigMaps(ns), from.CoreV1().ConfigMaps(ns)
	cm, err := w.Get(ctx, name, metav1.GetOptions{})
	switch {
	case i == 0:
		cm, err = w.Create(ctx, configMap(name, "n", value), metav1.CreateOptions{})
	case err == nil && cm.Data["n"] != strconv.Itoa(i-1):
		return fmt.Errorf("%s before change %d: got %s", name, i, cm.Data["n"])
	case err == nil:
		cm.Data["n"] = value
		cm, err = w.Update(ctx, cm, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("%s, change %d: %w", name, i, err)
	}
	if i%10 == 9 {
		list, err := r.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			if item.Name == name && item.Data["n"] == value {
				return nil
			}
		}
		return fmt.Errorf("%s: a list at %s does not show change %d, made at %s", name, list.ResourceVersion, i, cm.ResourceVersion)
	}
	got, err := r.Get(ctx, name, metav1.GetOptions{})
	if err != nil || got.Data["n"] != value {
		return fmt.Errorf("%s: got %v, %v after change %d, made at %s", name, got, err, i, cm.ResourceVersion)
	}
	return nil
}

// TestPairRolls stops each server of a pair in turn while many clients write. Watches of both
// servers see one order, resume at the other server, and miss nothing.
func TestPairRolls(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	ns := namespace(t, pair[0].client(t))
	list, err := pair[1].client(t).CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log := newLedger()
	var followers []*follower
	var stops []func()
	for _, s := range pair {
		f := &follower{client: s.client(t), ns: ns}
		followers = append(followers, f)
		stops = append(stops, background(t, func(ctx context.Context) { f.follow(ctx, list.ResourceVersion) }))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { writeThroughFailures(ctx, t, log, pair[i%2].protobuf(t), ns, fmt.Sprintf("w%d", i)) })
	}
	for _, s := range pair {
		time.Sleep(300 * time.Millisecond)
		s.terminate(t)
		if code := s.exit(t, 20*time.Second); code != 0 {
			t.Errorf("a server ended with code %d", code)
		}
		time.Sleep(100 * time.Millisecond)
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	wg.Wait()
	_, last := log.count()
	state, err := pair[0].client(t).CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range followers {
		eventually(t, 20*time.Second, func() error { return f.caughtUp(last) })
		stops[i]()
	}
	for _, f := range followers {
		log.check(t, f)
		checkState(t, f, state.Items)
	}
	if n := min(len(followers[0].order), len(followers[1].order)); !slices.Equal(followers[0].order[:n], followers[1].order[:n]) {
		t.Error("the watches of two servers see different orders")
	}
	n, _ := log.count()
	t.Logf("%d acknowledged writes", n)
}
