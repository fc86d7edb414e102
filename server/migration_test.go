package server_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server/upkeep"
)

// TestMigrationSecondServer migrates while another server of the store has not heard of the new storage version, and goes on writing in
// the old one: when that is taken away, all objects can be read.
func TestMigrationSecondServer(t *testing.T) {
	t.Parallel() // it waits
	near, far, _ := twoQuays(t, 100*time.Millisecond)
	near.define("ships", "Ship", version("v1", true), version("v2", false))
	far.want(201, "POST", far.path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"changed"}}`, nil)

	listed := func() string { // with the hash of the version that the server stores
		_, list := far.raw("GET", "/apis/quay.example.com/v1", "")
		return string(list)
	}
	before := listed()
	var writing sync.WaitGroup
	begun := make(chan struct{})
	writing.Go(func() {
		for i := 0; listed() == before; i++ {
			if i == 1 {
				close(begun)
			}
			far.want(201, "POST", far.path("ships", "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"new%d"}}`, i), nil)
			far.want(200, "PATCH", far.path("ships", "v1")+"/changed", fmt.Sprintf(`{"n":%d}`, i), nil, "Content-Type", merge)
		}
	})
	<-begun
	near.change(`{"spec":{"versions":[` + version("v1", false) + "," + version("v2", true) + `]}}`)
	done, err := upkeep.Migration{Kubeconfig: near.Server.Kubeconfig, Resource: "ships.quay.example.com"}.Run(t.Context())
	if err != nil || fmt.Sprint(done.StoredVersions) != "[v2]" {
		t.Fatalf("got %v, %v, want all stored as v2", done, err)
	}
	writing.Wait()
	near.change(`{"spec":{"versions":[` + version("v2", true) + `]}}`)
	near.gone(near.path("ships", "v1"))
	for _, q := range []*quay{near, far} {
		_, tree := q.do("GET", q.path("ships", "v2"), "")
		items, _ := value(tree, "items").([]any)
		if len(items) < 3 || len(items) != done.Objects {
			t.Errorf("%d objects can be read of %d that were migrated", len(items), done.Objects)
		}
	}
}
