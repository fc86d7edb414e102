package apply

import (
	"fmt"
	"strings"

	limits "github.com/coracle-project/coracle/scheme/field"
)

// walker walks through one tree or two, by a schema.
type walker struct {
	reader
	at       Path // where it stands
	problems problems
}

// newWalker returns a walker at the top.
func newWalker() walker { return walker{at: make(Path, 0, 8)} }

// enter goes to a part, and leave back.
func (w *walker) enter(e Element) { w.at = append(w.at, e) }
func (w *walker) leave()          { w.at = w.at[:len(w.at)-1] }

// depth is how deep the value at hand lies.
func (w *walker) depth() int { return len(w.at) }

// fail notes what is wrong with the value at hand.
func (w *walker) fail(format string, args ...any) {
	if !w.problems.full() {
		w.problems = append(w.problems, problem{w.at.String(), limits.Cut(fmt.Sprintf(format, args...), limits.MaxText)})
	}
}

// failShape notes that the value at hand has a schema that allows none, such as that of a field which is not declared.
func (w *walker) failShape() { w.fail("schema error: invalid atom: inlined") }

// scalars reports whether at least one of two values is a scalar as the schema has it.
func (w *walker) scalars(a, b part, s scalar) bool {
	problemA, problemB := s.misfit(a, w.depth()), s.misfit(b, w.depth())
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
