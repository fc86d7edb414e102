package pods

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestPodGCForgetsNodes checks that nodes which have been missing for an hour are forgotten. The
// pass that forgets them runs rarely, and not for each new name.
func TestPodGCForgetsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &PodGC{absent: map[string]time.Time{}}
		ask := func(round string) {
			for i := range 1000 {
				if left := c.quarantined(fmt.Sprint(round, i)); left != quarantine {
					t.Fatalf("a node that is gone since now has %v left, want %v", left, quarantine)
				}
			}
		}
		ask("a")
		first := c.tidied
		time.Sleep(quarantine)
		ask("b")
		if !c.tidied.Equal(first) {
			t.Errorf("nodes were looked through again within %v", quarantine)
		}
		time.Sleep(forgetAbsent + time.Second)
		ask("c")
		if len(c.absent) != 1000 {
			t.Errorf("%d nodes are remembered, want the 1000 of now", len(c.absent))
		}
	})
}
