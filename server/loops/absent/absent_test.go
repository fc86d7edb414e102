package absent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestForgets checks that nodes which have been missing for an hour are forgotten. The pass that
// forgets them runs rarely, and not for each new name.
func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n Nodes
		ask := func(round string) {
			for i := range 1000 {
				if left := n.Left(fmt.Sprint(round, i)); left != Quarantine {
					t.Fatalf("a node that is gone since now has %v left, want %v", left, Quarantine)
				}
			}
		}
		ask("a")
		first := n.tidied
		time.Sleep(Quarantine)
		ask("b")
		if !n.tidied.Equal(first) {
			t.Errorf("nodes were looked through again within %v", Quarantine)
		}
		time.Sleep(forget + time.Second)
		ask("c")
		if len(n.since) != 1000 {
			t.Errorf("%d nodes are remembered, want the 1000 of now", len(n.since))
		}
	})
}
