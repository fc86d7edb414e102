package quotas_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage"
)

// start runs a server with the controller.
func start(t *testing.T) *looptest.World {
	t.Helper()
	w := looptest.Start(t, server.Config{Controllers: []string{"resourcequota-controller"}})
	w.CreateNamespace()
	return w
}

// limit creates the quota "q" and waits until its status is known.
func limit(w *looptest.World, hard string) {
	w.T.Helper()
	list := corev1.ResourceList{}
	for _, pair := range strings.Fields(hard) {
		name, amount, _ := strings.Cut(pair, "=")
		q, err := meta.ParseQuantity(amount)
		if err != nil {
			w.T.Fatal(err)
		}
		list[corev1.ResourceName(name)] = q
	}
	q := &corev1.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: list}}
	looptest.Create(w, "resourcequotas", q)
	await(w, "", func(q *corev1.ResourceQuota) bool { return len(q.Status.Used) == len(list) })
}

// await waits until ok accepts the quota, for at most 20 seconds.
func await(w *looptest.World, what string, ok func(q *corev1.ResourceQuota) bool) {
	w.T.Helper()
	quotas := looptest.Of[*corev1.ResourceQuota](w, "resourcequotas")
	var q *corev1.ResourceQuota
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var err error
		if q, err = quotas.Get(w.T.Context(), "q", meta.GetOptions{}); err != nil {
			w.T.Fatal(err)
		}
		if ok(q) {
			return
		}
	}
	w.T.Fatalf("the quota is not as it should be (%s): %v of %v", what, q.Status.Used, q.Status.Hard)
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: name}}
}

// used returns an amount that the status of the quota has as used.
func used(q *corev1.ResourceQuota, name string) string {
	amount := q.Status.Used[corev1.ResourceName(name)]
	return amount.String()
}

// TestQuota creates objects up to a limit. Further ones are refused, until one is deleted.
func TestQuota(t *testing.T) {
	w := start(t)
	looptest.Create(w, "configmaps", configMap("before"))
	limit(w, "count/configmaps=3 configmaps=3 count/secrets=1")
	await(w, "one before", func(q *corev1.ResourceQuota) bool { return used(q, "count/configmaps") == "1" })
	maps := looptest.Of[*corev1.ConfigMap](w, "configmaps")
	create := func(name string, opts meta.CreateOptions) string {
		_, err := maps.Create(t.Context(), configMap(name), opts)
		return fmt.Sprint(err)
	}
	for _, name := range []string{"a", "b"} {
		if got := create(name, meta.CreateOptions{}); got != "<nil>" {
			t.Fatal(got)
		}
	}
	want := `configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1,count/configmaps=1, used: configmaps=3,count/configmaps=3, limited: configmaps=3,count/configmaps=3`
	for _, opts := range []meta.CreateOptions{{}, {DryRun: []string{"All"}}} {
		if got := create("c", opts); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := create("a", meta.CreateOptions{}); !strings.Contains(got, "exceeded quota") {
		t.Errorf("a second one of a name: got %s", got)
	}
	looptest.Delete(w, maps, "b")
	await(w, "one deleted", func(q *corev1.ResourceQuota) bool { return used(q, "count/configmaps") == "2" })
	if got := create("d", meta.CreateOptions{DryRun: []string{"All"}}); got != "<nil>" {
		t.Error(got)
	}
	if got := create("a", meta.CreateOptions{}); got != `configmaps "a" already exists` {
		t.Error(got)
	}
	await(w, "what failed was given back", func(q *corev1.ResourceQuota) bool { return used(q, "count/configmaps") == "2" })
	if got := create("c", meta.CreateOptions{}); got != "<nil>" {
		t.Error(got)
	}
	looptest.Patch(w, "resourcequotas", "", "q", `{"spec":{"hard":{"count/configmaps":"1","count/secrets":null,"services":"4"}}}`)
	await(w, "of another limit", func(q *corev1.ResourceQuota) bool {
		return used(q, "count/configmaps") == "3" && used(q, "services") == "0" && len(q.Status.Used) == 3
	})
}

// TestQuotaUnderLoad: many clients create and delete at the same time. The number of stored objects
// never exceeds the limit, and in the end the quota has the right number.
func TestQuotaUnderLoad(t *testing.T) {
	w := start(t)
	underLoad(t, w, w)
}

// TestQuotaOnTwoServers is TestQuotaUnderLoad with two servers on one store. One of them gets its
// events late.
func TestQuotaOnTwoServers(t *testing.T) {
	near := quaytest.NewStore(t)
	far := &quaytest.DelayedStore{Store: near.Store, Late: 20 * time.Millisecond}
	var list []*looptest.World
	for _, store := range []storage.Store{near, far} {
		list = append(list, looptest.Start(t, server.Config{
			Storage: server.StorageConfig{Store: store}, Controllers: []string{"resourcequota-controller"},
		}))
	}
	list[0].CreateNamespace()
	underLoad(t, list...)
}

func underLoad(t *testing.T, servers ...*looptest.World) {
	const most = 20
	limit(servers[0], fmt.Sprintf("count/configmaps=%d", most))
	maps := looptest.Of[*corev1.ConfigMap](servers[0], "configmaps")
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	var wg sync.WaitGroup
	var made, refused atomic.Int64
	for client := range 16 {
		maps := looptest.Of[*corev1.ConfigMap](servers[client%len(servers)], "configmaps")
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for ctx.Err() == nil {
				name := fmt.Sprintf("m-%d-%d", client, random.IntN(4))
				if random.IntN(3) == 0 {
					_ = maps.Delete(t.Context(), name, meta.DeleteOptions{})
					continue
				}
				_, err := maps.Create(t.Context(), configMap(name), meta.CreateOptions{})
				switch {
				case err == nil:
					made.Add(1)
				case meta.IsAlreadyExists(err):
				case strings.Contains(err.Error(), "exceeded quota"):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	watchCount(t, ctx, maps, most)
	wg.Wait()
	list, err := maps.List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d created, %d refused, %d are left", made.Load(), refused.Load(), len(list.Items))
	if made.Load() < most || refused.Load() == 0 {
		t.Error("too little has happened")
	}
	await(servers[0], fmt.Sprintf("%d are left", len(list.Items)), func(q *corev1.ResourceQuota) bool {
		return used(q, "count/configmaps") == fmt.Sprint(len(list.Items))
	})
}

// watchCount follows the config maps until ctx ends. It fails the test if there are more of them
// than the limit most at any revision.
func watchCount(t *testing.T, ctx context.Context, maps client.Resource[*corev1.ConfigMap], most int) {
	watch, err := maps.Watch(ctx, meta.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	names := map[string]bool{}
	for {
		e, err := watch.Next()
		if err != nil {
			return
		}
		switch e.Type {
		case "ADDED":
			names[e.Object.Name] = true
		case "DELETED":
			delete(names, e.Object.Name)
		}
		if len(names) > most {
			t.Errorf("%d objects exist, want at most %d", len(names), most)
			return
		}
	}
}
