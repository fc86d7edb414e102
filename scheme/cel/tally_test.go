package cel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// TestTally compares a tally with a plain stack that is searched from its top.
func TestTally(t *testing.T) {
	const ids = 8
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		got := tally{top: make([]int32, ids)}
		var want []entry
		find := func(id int64) int {
			for i, e := range slices.Backward(want) {
				if int64(e.id) == id {
					return i
				}
			}
			return -1
		}
		for step := range 300 {
			id := rnd.Int64N(ids)
			switch rnd.IntN(4) {
			case 0, 1:
				v := types.Int(step)
				got.push(id, v)
				want = append(want, entry{value: v, id: int32(id)})
			case 2:
				got.drop(id)
				if i := find(id); i >= 0 {
					want = want[:i]
				}
			case 3:
				args := []int64{id, rnd.Int64N(ids), rnd.Int64N(ids)}
				values, all := make([]ref.Val, len(args)), true
				for n, arg := range slices.Backward(args) {
					i := find(arg)
					if all = i >= 0; !all {
						break
					}
					values[n], want = want[i].value, want[:i]
				}
				taken, ok := got.take(args)
				if ok != all || ok && !slices.Equal(taken, values) {
					t.Fatalf("take(%v): got %v, %v, want %v, %v", args, taken, ok, values, all)
				}
			}
			if !slices.EqualFunc(got.stack, want, func(a, b entry) bool { return a.id == b.id && a.value == b.value }) {
				t.Fatalf("got %v, want %v", got.stack, want)
			}
		}
	}
}
