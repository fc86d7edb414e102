package definitions_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
)

// definitionChurn runs clients, each with a definition of its own, against two servers of one
// store.
type definitionChurn struct {
	*testing.T
	near, far *quaytest.Quay
	store     *quaytest.DelayedStore
}

// TestDefinitionsAtRandom has clients create, use, change and delete definitions at random for 8 s,
// or as long as CHURN says. Afterwards nothing may be left: no goroutines, no memory, no metrics.
// SEED makes the clients do the same again.
func TestDefinitionsAtRandom(t *testing.T) {
	seed, length := rand.Uint64(), 8*time.Second
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = n
	}
	if d, err := time.ParseDuration(os.Getenv("CHURN")); err == nil {
		length = d
	}
	t.Logf("SEED=%d", seed)
	c := &definitionChurn{T: t}
	c.near, c.far, c.store = quaytest.Two(t, 0)
	c.run(seed, time.Now()) // the first run fills caches and pools that stay
	goroutines, heap := c.settled()
	c.run(seed, time.Now().Add(length))
	var more, grown int
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		nowRunning, nowHeap := c.settled()
		more, grown = nowRunning-goroutines, nowHeap-heap
		if more < 10 && grown < 8<<20 {
			return
		}
	}
	t.Errorf("when all definitions are gone there are %d goroutines more than before, and %d KiB of heap", more, grown>>10)
	var running strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&running, 1)
	t.Log(running.String())
}

// run lets each client take definitions through their lives, at least one, until the time is up.
func (c *definitionChurn) run(seed uint64, until time.Time) {
	const clients = 4
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for first := true; first || time.Now().Before(until); first = false {
				c.life(r, fmt.Sprintf("ships%d", i), fmt.Sprintf("Ship%d", i))
			}
		})
	}
	wg.Wait()
	for _, q := range []*quaytest.Quay{c.near, c.far} {
		for _, path := range []string{"/apis", "/metrics"} {
			settles(q, path)
		}
	}
}

// either returns both servers, in random order.
func (c *definitionChurn) either(r *rand.Rand) (one, other *quaytest.Quay) {
	if r.IntN(2) == 0 {
		return c.near, c.far
	}
	return c.far, c.near
}

// life takes a definition from its creation to its end.
func (c *definitionChurn) life(r *rand.Rand, plural, kind string) {
	one, other := c.either(r)
	one.Define(plural, kind, quaytest.Version("v1", true))
	other.Want(201, "POST", other.Path(plural, "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":%q,"metadata":{"name":"first"}}`, kind), nil)
	for i := range 2 + r.IntN(4) {
		one, other = c.either(r)
		switch r.IntN(6) {
		case 0:
			other.Want(201, "POST", other.Path(plural, "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":%q,"metadata":{"name":"s%d"}}`, kind, i), nil)
		case 1:
			c.change(r, one, plural, quaytest.Version("v1", true)+","+quaytest.Version("v2", false))
			served(one, plural, "v2")
			served(other, plural, "v2")
		case 2:
			c.change(r, one, plural, quaytest.Version("v1", true))
		case 3:
			c.watch(other, plural)
		case 4:
			listed(other, plural, "v1") // its OpenAPI document exists when discovery lists it
			other.Want(200, "GET", "/openapi/v3/apis/"+other.Group+"/v1", "", nil)
		case 5:
			one.Want(200, "PUT", one.Path(plural, "v1")+"/first", fmt.Sprintf(
				`{"apiVersion":"%s/v1","kind":%q,"metadata":{"name":"first","resourceVersion":%q},"n":%d}`, one.Group, kind, revision(one, plural), i), nil)
		}
	}
	one, other = c.either(r)
	one.Want(200, "DELETE", quaytest.Definitions+"/"+plural+"."+one.Group, "", nil)
	one.Gone(quaytest.Definitions + "/" + plural + "." + one.Group)
	one.Gone(one.Path(plural, "v1"))
	other.Gone(other.Path(plural, "v1"))
}

// change gives a definition other versions and another short name.
func (c *definitionChurn) change(r *rand.Rand, q *quaytest.Quay, plural, versions string) {
	q.Want(200, "PATCH", quaytest.Definitions+"/"+plural+"."+q.Group,
		fmt.Sprintf(`{"spec":{"names":{"shortNames":["x%d%s"]},"versions":[%s]}}`, r.IntN(2), plural, versions), nil,
		"Content-Type", "application/merge-patch+json")
}

// watch begins a watch and ends it after the first event.
func (c *definitionChurn) watch(q *quaytest.Quay, plural string) {
	r, err := http.NewRequestWithContext(c.Context(), "GET", q.URL+q.Path(plural, "v1")+"?watch=1", nil)
	if err != nil {
		c.Error(err)
		return
	}
	resp, err := q.Client.Do(r)
	if err != nil {
		c.Error(err)
		return
	}
	defer resp.Body.Close()
	if n, err := resp.Body.Read(make([]byte, 1)); n == 0 {
		c.Errorf("the watch of %s: %d, %v, want an event", plural, resp.StatusCode, err)
	}
}

// revision returns the resourceVersion of the instance first.
func revision(q *quaytest.Quay, plural string) string {
	q.T.Helper()
	_, tree := q.Do("GET", q.Path(plural, "v1")+"/first", "")
	return fmt.Sprint(quaytest.Value(tree, "metadata.resourceVersion"))
}

// settled returns the number of goroutines, without those of connections, and the bytes of heap in
// use.
func (c *definitionChurn) settled() (goroutines, heap int) {
	for _, q := range []*quaytest.Quay{c.near, c.far} {
		q.Client.CloseIdleConnections()
		_, data := q.Raw("GET", "/metrics", "")
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, q.Group) {
				c.Errorf("of the group that is gone: %s", line)
			}
		}
		q.Client.CloseIdleConnections()
	}
	rev, err := c.store.Revision(c.Context())
	if err == nil {
		err = c.store.Compact(c.Context(), rev) // the store's history does not count
	}
	if err != nil {
		c.Error(err)
	}
	runtime.GC()
	runtime.GC() // frees objects that pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	heap = int(m.HeapAlloc)
	for _, q := range []*quaytest.Quay{c.near, c.far} { // nor do the windows of the watch caches, which are bounded
		stats := q.Server.Server.Store(meta.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}).Objects().Stats()
		heap -= int(stats.WindowBytes + stats.HistoryBytes)
	}
	return runtime.NumGoroutine(), heap
}
