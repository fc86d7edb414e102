package apply

import (
	"fmt"
	"strings"
	"sync"

	limits "github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meter"
)

// walker walks through one tree or two, by a schema. One is had from newWalker and given back by done.
type walker struct {
	reader
	at       Path // where it stands
	problems problems
	builders [changes]builder // of what it finds
}

// walkers keeps what walkers need while they walk, none of more than maxKept values of a sort.
var walkers = sync.Pool{New: func() any { return new(walker) }}

const maxKept = 1 << 8

// newWalker returns a walker at the top. Once m, which may be nil, has ended it goes no further,
// and what it returns is of no use.
func newWalker(m *meter.Meter) *walker {
	w := walkers.Get().(*walker)
	w.meter = m
	return w
}

// stepsPerValue is the work of a visit to a value, by the measure of package meter.
const stepsPerValue = 100

// ends counts a visit to a value, and reports whether the walk has to end.
func (w *walker) ends() bool { return w.meter.Step(stepsPerValue) != nil }

// err returns the error of the walk: that of its Meter, or what is wrong with the trees.
func (w *walker) err() error {
	if err := w.meter.Err(); err != nil {
		return err
	}
	return w.problems.err()
}

// done gives a walker back, which keeps nothing of the trees. What it has built stays.
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

// emptied returns the room of a slice without what is in it.
func emptied[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
}

// enter goes to a part, and leave back.
func (w *walker) enter(e Element) { w.at = append(w.at, e) }
func (w *walker) leave()          { w.at = w.at[:len(w.at)-1] }

// depth is how deep the value at hand lies.
func (w *walker) depth() int { return len(w.at) }

// maxFields is how deep fields may lie. What is further down belongs to the one there: a set has to fit, as FieldsV1, into an
// object that clients can still read.
const maxFields = 1000

// given is that of the shape of the value at hand.
func (w *walker) given(sh shape, c class) shape {
	if w.depth() >= maxFields {
		sh.list, sh.object = min(sh.list, atomic), min(sh.object, atomic)
	}
	return sh.given(c)
}

// fail notes what is wrong with the value at hand.
func (w *walker) fail(format string, args ...any) {
	if !w.problems.full() {
		text := limits.Cut(fmt.Sprintf(format, args...), limits.MaxText)
		w.problems = append(w.problems, problem{limits.Cut(w.at.String(), limits.MaxText), text})
	}
}

// failShape notes that the value at hand has a schema that allows none, such as that of a field which is not declared.
func (w *walker) failShape() { w.fail("schema error: invalid atom: inlined") }

// scalars reports whether at least one of two values is a scalar as the schema has it.
func (w *walker) scalars(a, b part, s scalar) bool {
	problemA, problemB := w.misfit(a, s), w.misfit(b, s)
	if problemA == "" || problemB == "" {
		return true
	}
	w.fail("lhs: %s", problemA)
	w.fail("rhs: %s", problemB)
	return false
}

// problem is something wrong with a tree.
type problem struct{ path, text string }

// problems are what is wrong with a tree.
type problems []problem

// full reports whether there are enough.
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

func (p problem) String() string {
	if p.path == "" {
		return p.text
	}
	return p.path + ": " + p.text
}
