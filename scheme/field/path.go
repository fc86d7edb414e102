package field

import (
	"strconv"
	"strings"
)

// Path names a field of an object, such as spec.containers[0].name. Paths are immutable and share
// their parents, so they may be kept and extended freely. A nil *Path is the root.
//
// Checks make many paths and print few. A new Path points at its parent, and nothing else does: an
// Error keeps the text of a Path and not the Path. Therefore a Path lives on the stack if it is
// passed to named functions only. A Path that is passed to a function value is allocated.
type Path struct {
	parent *Path
	name   string   // a field name, or the text between the brackets
	more   []string // the fields below name
	index  bool     // name stands in brackets
}

// NewPath returns the path of a field of the root, or below it: NewPath("spec", "template") is
// spec.template.
func NewPath(name string, more ...string) *Path {
	return &Path{name: name, more: more}
}

// Child returns the path of a field below p; further names go further down.
func (p *Path) Child(name string, more ...string) *Path {
	return &Path{parent: p, name: name, more: more}
}

// Index returns the path of element i of the list at p.
func (p *Path) Index(i int) *Path {
	return &Path{parent: p, name: strconv.Itoa(i), index: true}
}

// Key returns the path of the map entry key, or of the list element with that key, at p.
func (p *Path) Key(key string) *Path {
	return &Path{parent: p, name: key, index: true}
}

// String returns the path as messages write it: names joined by dots, indexes and keys in brackets.
// A long path is cut. The root, a nil *Path, is "<nil>".
func (p *Path) String() string {
	if p == nil {
		return "<nil>"
	}
	var b strings.Builder
	p.write(&b)
	return Cut(b.String(), MaxText)
}

// write appends the path to b, and stops when b has more than MaxText bytes.
func (p *Path) write(b *strings.Builder) {
	if p.parent != nil {
		p.parent.write(b)
	}
	p.writeName(b, p.name)
	for _, name := range p.more {
		p.writeName(b, name)
	}
}

func (p *Path) writeName(b *strings.Builder, name string) {
	if b.Len() > MaxText {
		return
	}
	name = Cut(name, MaxText)
	switch {
	case p.index || name == "": // an empty name, which stands for the whole object, is "[]"
		b.WriteByte('[')
		b.WriteString(name)
		b.WriteByte(']')
	case b.Len() > 0:
		b.WriteByte('.')
		fallthrough
	default:
		b.WriteString(name)
	}
}
