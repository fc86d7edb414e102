package apply

import (
	"fmt"
	"strings"
	"sync"

	limits "github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meter"
)

// What all walks over trees have in common. The collector (fields.go), comparer, merger, pruner
// (remove.go) and checker embed a walker; ParseFields borrows its builder.

// walker walks through one tree, or two at once, by a schema. It embeds a reader, knows the path of
// the value at hand, and collects problems and sets. newWalker returns one, and done gives it back
// to the pool.
type walker struct {
	reader
	at       Path // the path of the value at hand
	problems problems
	builders [changes]builder // of the sets that it collects; most walks use the first alone
}

// walkers pools walkers with the room of their stacks. A walker with a stack of more than maxKept
// values is dropped.
var walkers = sync.Pool{New: func() any { return new(walker) }}

// maxKept is the number of values in the largest stack that the pool keeps.
const maxKept = 1 << 8

// newWalker returns a walker that stands at the top. m may be nil. Once m has ended the walk stops
// early, and what it returned is of no use.
func newWalker(m *meter.Meter) *walker {
	w := walkers.Get().(*walker)
	w.meter = m
	return w
}

// stepsPerValue is what a visit to a value costs, in steps of package meter.
const stepsPerValue = 100

// ends counts a visit to a value, and reports whether the walk has to stop because its Meter has
// ended.
func (w *walker) ends() bool { return w.meter.Step(stepsPerValue) != nil }

// err returns the error of the walk's Meter, or else the problems that the walk found; nil if there
// are neither.
func (w *walker) err() error {
	if err := w.meter.Err(); err != nil {
		return err
	}
	return w.problems.err()
}

// done gives the walker back to the pool, without references to the trees. Sets that it built stay
// valid.
func (w *walker) done() {
	room := max(cap(w.entryStack), cap(w.partStack), cap(w.members), cap(w.elements), cap(w.at))
	for i := range w.builders {
		room = max(room, cap(w.builders[i].pushed))
	}
	if room > maxKept {
		return
	}
	w.meter, w.problems = nil, nil
	w.at = emptied(w.at)
	w.members, w.elements = emptied(w.members), emptied(w.elements)
	for i := range w.builders {
		w.builders[i] = builder{pushed: w.builders[i].pushed[:0]}
	}
	walkers.Put(w)
}

// emptied clears a slice, up to its capacity, and returns it with length 0.
func emptied[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
}

// enter goes down to a part of the value at hand, and leave goes back up.
func (w *walker) enter(e Element) { w.at = append(w.at, e) }
func (w *walker) leave()          { w.at = w.at[:len(w.at)-1] }

// depth returns how deep the value at hand lies: 0 at the top.
func (w *walker) depth() int { return len(w.at) }

// maxFields is the depth below which values count as atomic. A set has to fit, as FieldsV1, into an
// object that clients can still decode.
const maxFields = 1000

// given is shape.given for the value at hand, with the limit maxFields.
func (w *walker) given(sh shape, c class) shape {
	if w.depth() >= maxFields {
		sh.list, sh.object = min(sh.list, atomic), min(sh.object, atomic)
	}
	return sh.given(c)
}

// fail notes a problem with the value at hand. Long paths and texts are cut, and problems beyond
// the limit are dropped.
func (w *walker) fail(format string, args ...any) {
	if !w.problems.full() {
		text := limits.Cut(fmt.Sprintf(format, args...), limits.MaxText)
		w.problems = append(w.problems, problem{limits.Cut(w.at.String(), limits.MaxText), text})
	}
}

// failShape notes that the schema allows no value here, as for a field that is not declared. The
// text is structured-merge-diff's.
func (w *walker) failShape() { w.fail("schema error: invalid atom: inlined") }

// scalars reports whether at least one of two values is the scalar that the schema asks for. If
// neither is, it notes both.
func (w *walker) scalars(a, b part, s scalar) bool {
	problemA, problemB := w.misfit(a, s), w.misfit(b, s)
	if problemA == "" || problemB == "" {
		return true
	}
	w.fail("lhs: %s", problemA)
	w.fail("rhs: %s", problemB)
	return false
}

// problem is one thing that is wrong with a tree.
type problem struct{ path, text string }

// problems are all that a walk found wrong with a tree.
type problems []problem

// full reports whether no more problems are noted.
func (p problems) full() bool { return len(p) > limits.MaxErrors }

// err returns the problems as an error, nil if there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Error says what one problem is, or lists several.
func (p problems) Error() string {
	if len(p) == 1 {
		return p[0].String()
	}
	var b strings.Builder
	b.WriteString("errors:")
	for _, each := range p {
		b.WriteString("\n  " + each.String())
	}
	return b.String()
}

// String returns the text of the problem after its path, if it has one.
func (p problem) String() string {
	if p.path == "" {
		return p.text
	}
	return p.path + ": " + p.text
}
