//go:build !race

package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

// TestKillWhileSaving is TestKill with so many bytes that the process often changes the segment of
// the log and saves snapshots.
func TestKillWhileSaving(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 20_000, 500_000} {
		t.Run(fmt.Sprintf("size=%d", size), func(t *testing.T) {
			t.Parallel()
			dir, last := t.TempDir(), map[string]storage.Entry{}
			for range 4 {
				killAfter(t, dir, size, 1+rand.IntN(min(6000, 80_000_000/size)), last)
				checkSurvived(t, dir, size, last)
			}
		})
	}
}
