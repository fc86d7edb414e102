package robust

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// never is the end time of an operation whose answer was lost.
const never = time.Duration(math.MaxInt64 / 4)

// decide bounds the search for an order of the operations on one object. If there is an order, the
// search takes milliseconds; to find out that there is none may take exponential time.
const decide = 30 * time.Second

// state is the state of one object in the model. The uid and revision that a write with a lost
// answer has set are unknown until an answer shows them.
type state struct {
	exists bool
	v, uid string // uid may be ""
	rv     int64
	above  bool // the revision is unknown, but above rv
}

// at reports whether the state can have a revision.
func (s state) at(rv int64) bool { return rv == s.rv && !s.above || rv > s.rv && s.above }

// is reports whether the state can be the shown one, and returns the state with the uid and
// revision that are then known.
func (s state) is(o *Object) (bool, state) {
	if !s.exists || s.v != o.V || !s.at(o.RV) || s.uid != "" && s.uid != o.UID {
		return false, s
	}
	return true, state{exists: true, v: s.v, uid: o.UID, rv: o.RV}
}

// holds reports whether the conditions of a write can hold.
func (s state) holds(op *Op) bool {
	return (op.PreRV == 0 || s.at(op.PreRV)) && (op.PreUID == "" || s.uid == "" || s.uid == op.PreUID) &&
		(op.Verb != jsonPatch || s.v == op.TestV)
}

// fails reports whether the conditions of a write can fail.
func (s state) fails(op *Op) bool {
	return op.PreRV != 0 && (s.above || s.rv != op.PreRV) || op.PreUID != "" && s.uid != op.PreUID
}

// after returns the state after a write.
func (s state) after(op *Op) state {
	switch {
	case op.Noop:
		return s
	case op.Verb == remove:
		return state{rv: s.rv, above: true}
	case op.Verb == create:
		return state{exists: true, v: op.V, rv: s.rv, above: true}
	}
	return state{exists: true, v: op.V, uid: s.uid, rv: s.rv, above: true}
}

// step reports whether an operation can have its answer in a state, and returns the state after it.
// With a shared store two clients may both be told that they deleted an object, if the answer of
// the store to one of them was lost.
func (s state) step(op *Op, shared bool) (bool, state) {
	possible := s.exists != (op.Verb == create) && s.holds(op)
	switch op.Result {
	case notFound:
		return !s.exists && op.Verb != create, s
	case exists:
		return s.exists && op.Verb == create, s
	case conflict:
		return s.exists && s.fails(op), s
	case invalid:
		return s.exists && op.Verb == jsonPatch && s.v != op.TestV, s
	case inDoubt:
		if possible {
			return true, s.after(op)
		}
		return true, s
	}
	switch {
	case op.Verb == get:
		return s.is(op.Object)
	case op.Verb == remove && !s.exists:
		return shared, s
	case op.Verb == remove:
		return possible && (s.uid == "" || s.uid == op.UID), s.after(op)
	case !possible:
		return false, s
	}
	return s.after(op).is(op.Object)
}

// linearizable searches, for each object, an order of its operations that explains every answer. An
// operation that ended before another began must also come before it in the order.
func (c *checker) linearizable() {
	model := porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, _ any) (bool, any) {
			possible, next := s.(state).step(in.(*Op), c.rec.Shared)
			return possible, next
		},
	}
	objects := c.byObject()
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		ops := objects[key]
		var history []porcupine.Operation
		for _, op := range ops {
			history = append(history, porcupine.Operation{ClientId: op.Client, Input: op, Call: int64(op.Call), Return: int64(c.done(op))})
		}
		switch result, info := porcupine.CheckOperationsVerbose(model, history, decide); result {
		case porcupine.Illegal:
			c.report("linearizability", "no order of the %d operations on %s explains their answers%s", len(ops), key, c.stuck(info, ops))
		case porcupine.Unknown:
			c.report("linearizability", "no order of the %d operations on %s was found in %v%s", len(ops), key, decide, c.stuck(info, ops))
		}
	}
}

// done is the time by which an operation must have happened: its answer, or the first sight of its
// effect if that is earlier.
func (c *checker) done(op *Op) time.Duration {
	end := op.Return
	if op.Result == inDoubt {
		end = never
	}
	seen, is := c.hist.gone[op.UID]
	if op.changes() {
		seen, is = c.hist.first[op.V]
	}
	if is && op.happened() {
		return max(min(end, seen), op.Call)
	}
	return end
}

// byObject returns the operations of the model, by object. A list counts as a read of each object
// that it shows. It also counts as a read of a missing object if the object stays for the whole
// run, if an operation on it ran at the same time, or if the list is the last one.
func (c *checker) byObject() map[string][]*Op {
	objects := map[string][]*Op{}
	var lists []*Op
	for _, op := range c.rec.Ops {
		if _, whole := op.listed(); whole && op.Match == "" && op.Scope.Selector == 0 {
			lists = append(lists, op)
		} else if op.Verb != list && !c.idle(op) {
			objects[op.Key] = append(objects[op.Key], op)
		}
	}
	for i, op := range lists {
		seen := map[string]*Object{}
		items, _ := op.listed()
		for _, o := range items {
			seen[o.Key] = o
		}
		for key, ops := range objects {
			if o := seen[key]; o != nil || i == len(lists)-1 || slices.Contains(c.rec.Stay, key) || used(ops, op) {
				read := &Op{ID: op.ID, Client: op.Client, Verb: get, Key: key, Call: op.Call, Return: op.Return, Result: notFound, Object: o}
				if o != nil {
					read.Result = acked
				}
				objects[key] = append(ops, read)
			}
		}
	}
	return objects
}

// idle reports whether an operation says nothing about its object and had no effect. A lost write
// had none if the history is complete and does not have it.
func (c *checker) idle(op *Op) bool {
	switch op.Result {
	case unsent, refused, expired:
		return true
	case inDoubt:
		_, seen := c.hist.first[op.V]
		return op.Verb == get || op.Noop || op.changes() && !seen && len(c.hist.spans) == 1
	}
	return op.Match == "any"
}

// used reports whether one of the operations on an object ran while another did.
func used(ops []*Op, while *Op) bool {
	return slices.ContainsFunc(ops, func(op *Op) bool { return op.Call < while.Return && while.Call < op.Return })
}

// stuck returns the operations at which the longest order ends, as text.
func (c *checker) stuck(info porcupine.LinearizationInfo, ops []*Op) string {
	var longest []int
	for _, part := range info.PartialLinearizations() {
		for _, order := range part {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[int]bool{}
	text := ""
	for i, n := range longest {
		placed[n] = true
		if i >= len(longest)-4 {
			text += fmt.Sprintf("\n\tplaced: %v", ops[n]) + c.early(ops[n])
		}
	}
	var next *Op
	for i, op := range ops {
		if !placed[i] && (next == nil || c.done(op) < c.done(next)) {
			next = op
		}
	}
	return fmt.Sprintf("%s\n\tstuck:  %v", text, next) + c.early(next)
}

// early returns a note if an operation had happened before its answer came.
func (c *checker) early(op *Op) string {
	if t := c.done(op); t < op.Return {
		return fmt.Sprintf(" (seen by others at %v)", t)
	}
	return ""
}
