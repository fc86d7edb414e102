package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// distant is a store whose events come late, and whose questions are counted.
type distant struct {
	storage.Store
	late  time.Duration
	asked atomic.Int64
}

func (d *distant) Close() error { return nil }

func (d *distant) Revision(ctx context.Context) (storage.Revision, error) {
	d.asked.Add(1)
	return d.Store.Revision(ctx)
}

func (d *distant) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	c, err := d.Store.Watch(ctx, req)
	return &distantCursor{c, d.late}, err
}

type distantCursor struct {
	storage.Cursor
	late time.Duration
}

func (c *distantCursor) Next(ctx context.Context) (storage.Batch, error) {
	batch, err := c.Cursor.Next(ctx)
	time.Sleep(c.late)
	return batch, err
}

// twoQuays are two servers on one store; the second hears of everything late.
func twoQuays(t testing.TB, late time.Duration) (near, far *quay, there *distant) {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	there = &distant{Store: store, late: late}
	near = newQuay(t, server.Config{Storage: server.StorageConfig{Store: &distant{Store: store}}})
	far = newQuay(t, server.Config{Storage: server.StorageConfig{Store: there}})
	return near, far, there
}

// TestDefinitionSecondServer asks another server for a resource as soon as the first has told of it.
func TestDefinitionSecondServer(t *testing.T) {
	t.Parallel() // it waits
	near, far, there := twoQuays(t, 30*time.Millisecond)
	for i := range 5 {
		plural := fmt.Sprintf("ships%d", i)
		near.define(plural, fmt.Sprintf("Ship%d", i), version("v1", true))
		far.want(201, "POST", far.path(plural, "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship%d","metadata":{"name":"a"}}`, i), nil)
	}
	end := time.Now().Add(5 * time.Second)
	for _, data := far.raw("GET", "/apis", ""); !strings.Contains(string(data), far.group); _, data = far.raw("GET", "/apis", "") {
		if time.Now().After(end) {
			t.Fatal("the group does not appear on the second server")
		}
	}

	// Requests for what does not exist share their questions.
	before, began := there.asked.Load(), time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				if code, _ := far.raw("GET", far.path(fmt.Sprintf("none%d", i), "v1"), ""); code != 404 {
					t.Errorf("what does not exist: got %d", code)
				}
			}
		})
	}
	wg.Wait()
	if asked, most := there.asked.Load()-before, 20+int64(time.Since(began)/(2*time.Millisecond)); asked > most || asked > 300 {
		t.Errorf("400 requests for what does not exist asked the store %d times, want at most %d", asked, min(most, 300))
	}
	near.want(200, "DELETE", definitions+"/ships0."+near.group, "", nil)
	far.gone(far.path("ships0", "v1"))
}

// served waits until a version of a resource is there.
func (q *quay) served(plural, version string) {
	q.t.Helper()
	code := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if code, _ = q.raw("GET", q.path(plural, version), ""); code == 200 {
			return
		}
	}
	q.t.Errorf("%s %s: got %d, want it served", plural, version, code)
}

// listed waits until discovery has a version of a resource.
func (q *quay) listed(plural, version string) {
	q.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, data := q.raw("GET", "/apis/"+q.group+"/"+version, ""); strings.Contains(string(data), `"name":"`+plural+`"`) {
			return
		}
	}
	q.t.Errorf("%s %s is not in discovery", plural, version)
}

// settles waits until a document does not name the group any more.
func (q *quay) settles(path string) {
	q.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, data := q.raw("GET", path, ""); !strings.Contains(string(data), q.group) {
			return
		}
	}
	q.t.Errorf("%s still names the group", path)
}
