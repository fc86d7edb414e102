package cel

import (
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// A tally counts the cost of a run. The cost of a call depends on the sizes of its arguments and
// its result, so the tally keeps the values of evaluated expressions on a stack, where calls find
// their arguments.
//
// The rules are those of the tracker in cel-go, because costs are part of the API. The tally learns
// when the evaluation of an expression ends, not when it begins. So an entry that no call takes
// stays until an entry below it is dropped, and each turn of a loop may leave some.
//
// cel-go's tracker searches the stack for an entry, which makes loops over long lists quadratic.
// Here top knows the highest entry of each expression, and each entry knows the next lower one of
// the same expression. Finding an entry takes one step, and each entry is removed once.
type tally struct {
	// cost is the cost so far.
	cost  uint64
	stack []entry
	top   []int32   // by expression id: the height of the stack up to its highest entry, 0 if it has none
	args  []ref.Val // the result of take, reused
}

// An entry is the value of one evaluation of an expression.
type entry struct {
	value ref.Val
	id    int32 // of the expression
	below int32 // what top was before this entry was pushed
}

// push adds the value of an expression, and ends the run if the cost exceeds CallLimit.
func (t *tally) push(id int64, v ref.Val) {
	t.stack = append(t.stack, entry{v, int32(id), t.top[id]})
	t.top[id] = int32(len(t.stack))
	if t.cost > CallLimit {
		panic(interpreter.EvalCancelledError{Message: ErrCallLimit.Error(), Cause: interpreter.CostLimitExceeded})
	}
}

// drop removes the highest entry of an expression and all entries above it. It does nothing if
// there is none.
func (t *tally) drop(id int64) {
	if height := t.top[id]; height > 0 {
		t.cut(int(height) - 1)
	}
}

// cut removes all entries from a height upwards.
func (t *tally) cut(height int) {
	for i := len(t.stack) - 1; i >= height; i-- {
		e := &t.stack[i]
		t.top[e.id] = e.below
	}
	t.stack = t.stack[:height]
}

// take drops one entry for each of ids, in reverse order, and returns their values in the order of
// ids. The result is valid until the next call. It returns false as soon as an id has no entry.
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
