package cel

import (
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// A tally counts the cost of a run. It keeps the values of the steps so far on a stack, where calls
// find their arguments: what a call costs depends on their sizes. Steps do not tell when they
// begin, so entries that nobody takes stay until one below them is dropped; a loop may leave some
// with every turn. The rules are those of the tracker in cel-go, because the costs are part of the
// API. That one looks for an entry by going through the stack, which makes loops over long lists
// quadratic. Here each entry knows the one below it of the same expression, and top knows the
// highest: finding an entry takes one step, and each entry is removed once.
type tally struct {
	cost  uint64
	stack []entry
	top   []int32   // by expression, how high the stack is with its highest entry; 0 if it has none
	args  []ref.Val // of the call that is being counted
}

// An entry is the value that an expression had.
type entry struct {
	value ref.Val
	id    int32 // of the expression
	below int32 // what top was before
}

// push adds what an expression came to, and ends the run if that is too dear.
func (t *tally) push(id int64, v ref.Val) {
	t.stack = append(t.stack, entry{v, int32(id), t.top[id]})
	t.top[id] = int32(len(t.stack))
	if t.cost > CallLimit {
		panic(interpreter.EvalCancelledError{Message: ErrCallLimit.Error(), Cause: interpreter.CostLimitExceeded})
	}
}

// drop removes the highest entry of an expression, if it has one, and all entries above it.
func (t *tally) drop(id int64) {
	if height := t.top[id]; height > 0 {
		t.cut(int(height) - 1)
	}
}

func (t *tally) cut(height int) {
	for i := len(t.stack) - 1; i >= height; i-- {
		e := &t.stack[i]
		t.top[e.id] = e.below
	}
	t.stack = t.stack[:height]
}

// take drops entries of expressions, the last one first, and returns their values until the next
// call of take. It returns false as soon as one of them has no entry.
func (t *tally) take(ids []int64) ([]ref.Val, bool) {
	t.args = append(t.args[:0], make([]ref.Val, len(ids))...)
	for i := len(ids) - 1; i >= 0; i-- {
		height := t.top[ids[i]]
		if height == 0 {
			return nil, false
		}
		t.args[i] = t.stack[height-1].value
		t.cut(int(height) - 1)
	}
	return t.args, true
}
