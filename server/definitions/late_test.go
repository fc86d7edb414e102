package definitions_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server/servertest/quaytest"
)

// TestDefinitionSecondServer asks a second server for a resource as soon as the first server serves
// it.
func TestDefinitionSecondServer(t *testing.T) {
	t.Parallel() // it waits
	near, far, there := quaytest.Two(t, 30*time.Millisecond)
	for i := range 5 {
		plural := fmt.Sprintf("ships%d", i)
		near.Define(plural, fmt.Sprintf("Ship%d", i), quaytest.Version("v1", true))
		far.Want(201, "POST", far.Path(plural, "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship%d","metadata":{"name":"a"}}`, i), nil)
	}
	end := time.Now().Add(5 * time.Second)
	for _, data := far.Raw("GET", "/apis", ""); !strings.Contains(string(data), far.Group); _, data = far.Raw("GET", "/apis", "") {
		if time.Now().After(end) {
			t.Fatal("the group does not appear on the second server")
		}
	}

	// Requests for resources that do not exist share their questions to the store.
	before, began := there.Asked.Load(), time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				if code, _ := far.Raw("GET", far.Path(fmt.Sprintf("none%d", i), "v1"), ""); code != 404 {
					t.Errorf("what does not exist: got %d", code)
				}
			}
		})
	}
	wg.Wait()
	if asked, most := there.Asked.Load()-before, 20+int64(time.Since(began)/(2*time.Millisecond)); asked > most || asked > 300 {
		t.Errorf("400 requests for what does not exist asked the store %d times, want at most %d", asked, min(most, 300))
	}
	near.Want(200, "DELETE", quaytest.Definitions+"/ships0."+near.Group, "", nil)
	far.Gone(far.Path("ships0", "v1"))
}

// served waits until a version of a resource is served.
func served(q *quaytest.Quay, plural, version string) {
	q.T.Helper()
	code := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if code, _ = q.Raw("GET", q.Path(plural, version), ""); code == 200 {
			return
		}
	}
	q.T.Errorf("%s %s: got %d, want it served", plural, version, code)
}

// listed waits until discovery lists a version of a resource.
func listed(q *quaytest.Quay, plural, version string) {
	q.T.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, data := q.Raw("GET", "/apis/"+q.Group+"/"+version, ""); strings.Contains(string(data), `"name":"`+plural+`"`) {
			return
		}
	}
	q.T.Errorf("%s %s is not in discovery", plural, version)
}

// settles waits until the document at a path no longer names the group.
func settles(q *quaytest.Quay, path string) {
	q.T.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, data := q.Raw("GET", path, ""); !strings.Contains(string(data), q.Group) {
			return
		}
	}
	q.T.Errorf("%s still names the group", path)
}
