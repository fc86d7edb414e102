package field

import (
	"strconv"
	"strings"
)

// Path is a place inside an object, such as spec.containers[0].name. Paths are immutable and share their parents,
// so they may be kept and extended freely. A nil *Path is the root.
type Path struct {
	parent *Path
	name   string // a field name, or the text between the brackets
	index  bool   // name stands in brackets
}

// NewPath returns the path of a field, the first name being the outermost.
func NewPath(name string, more ...string) *Path {
	return (*Path)(nil).Child(name, more...)
}

// Child returns the path of a field below p.
func (p *Path) Child(name string, more ...string) *Path {
	c := &Path{parent: p, name: name}
	for _, m := range more {
		c = &Path{parent: c, name: m}
	}
	return c
}

// Index returns the path of element i of the list at p.
func (p *Path) Index(i int) *Path {
	return &Path{parent: p, name: strconv.Itoa(i), index: true}
}

// Key returns the path of the map entry key, or of the list element with that key, at p.
func (p *Path) Key(key string) *Path {
	return &Path{parent: p, name: key, index: true}
}

// String returns the form used in messages: names joined by dots, indexes and keys in brackets. A long one is cut.
// The root, a nil path, is "<nil>".
func (p *Path) String() string {
	if p == nil {
		return "<nil>"
	}
	var room [16]*Path // deeper paths than this are rare
	elems := room[:0]
	for e := p; e != nil; e = e.parent {
		elems = append(elems, e)
	}
	var b strings.Builder
	for i := len(elems) - 1; i >= 0 && b.Len() <= MaxText; i-- {
		e := elems[i]
		name := Cut(e.name, MaxText)
		if e.index || e.name == "" { // an empty name, the object as a whole, is "[]"
			b.WriteByte('[')
			b.WriteString(name)
			b.WriteByte(']')
			continue
		}
		if e.parent != nil {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return Cut(b.String(), MaxText)
}
