package codec

import (
	"errors"
	"slices"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Peek is what a Peeker finds in an object encoded as JSON, or a ProtoPeeker in one encoded as protobuf. Strings refer to
// the data looked at, unless they hold escapes. Head, Splice, Metadata and Version are places in JSON, and zero for
// protobuf.
type Peek struct {
	Kind            string
	APIVersion      string
	Name            string
	GenerateName    string
	Namespace       string
	UID             string
	ResourceVersion string
	Generation      int64
	// Deleting says that there is a deletionTimestamp.
	Deleting bool

	// Head is the length of the leading `{"kind":"...","apiVersion":"...",`, with the two in any order, and 1 if the
	// object does not begin with them: data[Head:] goes on with the next member.
	Head int
	// Splice is the offset in metadata at which `"resourceVersion":"...",` is to be inserted: where Kubernetes writes it.
	// It is the beginning of a member of metadata, and 0 if metadata is missing or empty.
	Splice int
	// Metadata is where the value of metadata begins and ends, zero if it is missing.
	Metadata Span
	// Version is the resourceVersion member together with one comma, so that data without it is well-formed; zero if
	// there is none.
	Version Span

	// Labels are in the order of the data; those of protobuf are sorted and each there once. The slice is reused when the
	// Peek is.
	Labels []Label
	// Fields are the values at the Peeker's paths: strings without quotes, numbers and booleans as written, "" for
	// all else and for what is missing.
	Fields []string
	// Lacks says that the object may lack something, or have something unusual, that completing it with
	// defaults changes. It is false if the Peeker is not one of Needs.
	Lacks bool
}

// Span is a part of some data: data[Start:End].
type Span struct{ Start, End int }

// Label is a key with its value.
type Label struct{ Key, Value string }

// Peeker looks into encoded objects without decoding them: one pass over the JSON, no types, no allocation (unless
// strings hold escapes). It is immutable.
type Peeker struct {
	root  pathNode
	count int
	needs func() *needNode // what objects need; nil: nobody asks
}

// pathNode is a level of the paths looked for. The few children of one are searched in turn.
type pathNode struct {
	children []pathChild
}

type pathChild struct {
	name  string
	field int // index into Peek.Fields, -1 if no path ends here
	node  pathNode
}

// NewPeeker returns a Peeker that also reads the members at paths, such as "spec.nodeName". Names in a path are
// separated by dots; lists are not looked into.
func NewPeeker(paths ...string) *Peeker {
	p := &Peeker{count: len(paths)}
	for i, path := range paths {
		p.root.add(path, i)
	}
	return p
}

func (n *pathNode) add(path string, field int) {
	name, rest := path, ""
	for i := range len(path) {
		if path[i] == '.' {
			name, rest = path[:i], path[i+1:]
			break
		}
	}
	child := n.find(name)
	if child == nil {
		n.children = append(n.children, pathChild{name: name, field: -1})
		child = &n.children[len(n.children)-1]
	}
	if rest == "" {
		child.field = field
		return
	}
	child.node.add(rest, field)
}

func (n *pathNode) find(name string) *pathChild {
	for i := range n.children {
		if n.children[i].name == name {
			return &n.children[i]
		}
	}
	return nil
}

// errNoObject is returned for data that is not a JSON object.
var errNoObject = errors.New("codec: encoded object is malformed")

// peeker is one look.
type peeker struct {
	jsontext.Scanner
	out *Peek
	// frames are the facts that were found in each object that the peeker is in and that something is
	// needed of.
	frames [maxFrames]uint64
	inside int // how many frames are in use
}

// Peek looks into an object encoded as JSON and stores what it finds in out, all of which it overwrites. The error is
// for data that is no well-formed JSON object. data must not change while out is in use.
func (p *Peeker) Peek(data []byte, out *Peek) error {
	*out = Peek{Labels: out.Labels[:0], Fields: out.Fields[:0], Head: 1}
	out.reserve(p.count)
	l := peeker{Scanner: jsontext.NewScanner(data, true, nil), out: out}
	if l.Next() != '{' {
		return errNoObject
	}
	var need *needNode
	if p.needs != nil {
		need = p.needs()
	}
	if err := l.top(&p.root, need); err != nil {
		return errNoObject
	}
	if l.End() != nil {
		return errNoObject
	}
	out.Lacks = out.Lacks || need.unnamed(out)
	return nil
}

// reserve makes room for n fields, which are empty.
func (p *Peek) reserve(n int) {
	p.Fields = slices.Grow(p.Fields, n)[:n]
	clear(p.Fields)
}

func (l *peeker) top(node *pathNode, need *needNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	look := l.enter(need)
	heads := 0 // members of the head seen, as long as nothing else was
	for n := 0; ; n++ {
		key, at, more, err := l.Member(n == 0)
		if err != nil {
			return err
		}
		if !more {
			l.leave(&look)
			return nil
		}
		if n == 2 && heads == 2 {
			l.out.Head = at
		}
		l.Next()
		start, field := l.Pos, look.find(key)
		switch key {
		case "kind":
			heads++
			err = l.take(node, key, &l.out.Kind)
		case "apiVersion":
			heads++
			err = l.take(node, key, &l.out.APIVersion)
		case "metadata":
			if l.Next() != '{' {
				err = l.Skip()
				break
			}
			err = l.metadata(node.below(key), field.node())
			l.out.Metadata = Span{start, l.Pos}
		default:
			err = l.member(node, field, key)
		}
		if err != nil {
			return err
		}
		l.found(&look, field, start)
	}
}

var noPaths pathNode

// below is where the paths through a member go on.
func (n *pathNode) below(name string) *pathNode {
	if c := n.find(name); c != nil {
		return &c.node
	}
	return &noPaths
}

// take reads a member that the Peek has a place for, and that a path may name as well.
func (l *peeker) take(node *pathNode, key string, to *string) error {
	if l.Next() == '"' {
		s, err := l.Str()
		if err != nil {
			return err
		}
		*to = s
		if c := node.find(key); c != nil && c.field >= 0 {
			l.out.Fields[c.field] = s
		}
		return nil
	}
	return l.visit(node, key)
}

// visit reads a member that only paths can name.
func (l *peeker) visit(node *pathNode, key string) error {
	if len(node.children) == 0 {
		return l.Skip()
	}
	child := node.find(key)
	if child == nil {
		return l.Skip()
	}
	c := l.Next()
	if c == '{' && len(child.node.children) > 0 {
		return l.descend(&child.node)
	}
	if child.field < 0 {
		return l.Skip()
	}
	var err error
	value := ""
	switch c {
	case '"':
		value, err = l.Str()
	case '{', '[', 'n':
		err = l.Skip()
	default:
		start := l.Pos
		err = l.Skip()
		value = l.Text[start:l.Pos]
	}
	l.out.Fields[child.field] = value
	return err
}

func (l *peeker) descend(node *pathNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		key, _, more, err := l.Member(first)
		if err != nil || !more {
			return err
		}
		if err := l.visit(node, key); err != nil {
			return err
		}
	}
}

// metadata reads the members of metadata. resourceVersion belongs before the first member behind the ones that
// identify the object.
func (l *peeker) metadata(node *pathNode, need *needNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	look := l.enter(need)
	l.out.Splice = 0
	after, last, comma := false, 0, 0 // an identifying member was just read; where the last member began; where it ended
	for n := 0; ; n++ {
		key, at, more, err := l.Member(n == 0)
		if err != nil {
			return err
		}
		if !more {
			if l.out.Splice == 0 {
				l.out.Splice = last
			}
			l.leave(&look)
			return nil
		}
		identifies := false
		l.Next()
		start, field := l.Pos, look.find(key)
		switch key {
		case "name":
			identifies, err = true, l.take(node, key, &l.out.Name)
		case "generateName":
			identifies, err = true, l.take(node, key, &l.out.GenerateName)
		case "namespace":
			identifies, err = true, l.take(node, key, &l.out.Namespace)
		case "uid":
			identifies, err = true, l.take(node, key, &l.out.UID)
		case "selfLink":
			identifies, err = true, l.visit(node, key)
		case "resourceVersion":
			err = l.take(node, key, &l.out.ResourceVersion)
			l.version(at, comma)
		case "generation":
			err = l.generation(node)
		case "deletionTimestamp":
			l.out.Deleting = l.Next() != 'n'
			err = l.visit(node, key)
		case "labels":
			if l.Next() == '{' {
				err = l.labels(node)
				if below := field.node(); err == nil && below != nil {
					l.Pos = start
					err = l.object(&noPaths, below)
				}
			} else {
				err = l.Skip()
			}
		default:
			err = l.member(node, field, key)
		}
		if err != nil {
			return err
		}
		l.found(&look, field, start)
		switch {
		case identifies:
			after, l.out.Splice = true, 0
		case after && key != "resourceVersion":
			after, l.out.Splice = false, at
		}
		if key != "resourceVersion" {
			last = at
		}
		comma = l.Pos
	}
}

// version notes where the resourceVersion member stands: with the comma behind it or, if it is the last one, the comma
// before it, where the member before it ended.
func (l *peeker) version(at, before int) {
	end := l.Pos
	if l.Next() == ',' {
		l.Pos++
		l.Next()
		end, l.Pos = l.Pos, end
	} else {
		l.Pos = end
		if before > 0 {
			at = before
		}
	}
	l.out.Version = Span{at, end}
}

func (l *peeker) generation(node *pathNode) error {
	l.Next()
	start := l.Pos
	if err := l.visit(node, "generation"); err != nil {
		return err
	}
	text := l.Data[start:l.Pos]
	if c := text[0]; c == '-' || '0' <= c && c <= '9' {
		l.out.Generation, _ = jsontext.Atoi(text)
	}
	return nil
}

func (l *peeker) labels(node *pathNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	paths := node.find("labels")
	for first := true; ; first = false {
		key, _, more, err := l.Member(first)
		if err != nil || !more {
			return err
		}
		label := Label{Key: key}
		child := &noPaths
		if paths != nil {
			child = &paths.node
		}
		if err := l.take(child, key, &label.Value); err != nil {
			return err
		}
		l.out.Labels = append(l.out.Labels, label)
	}
}

var plainPeeker = NewPeeker()
