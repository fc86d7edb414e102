package codec

import (
	"errors"
	"slices"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Looking into objects encoded as JSON: the metadata that the registry needs of each stored object,
// and the values at a few paths. The registry calls Peeker.Peek for objects that it loads, instead
// of decoding them. peekneeds.go finds out Peek.MayNeedDefaults in the same pass; protopeek.go does
// all of this for protobuf.

// Peek holds what a Peeker finds in an object encoded as JSON, or a ProtoPeeker in one encoded as
// protobuf. Its strings refer to the data that was looked at, unless they contain escapes. The
// fields Head, Splice, Metadata and Version are offsets in JSON and stay zero for protobuf.
type Peek struct {
	Kind            string
	APIVersion      string
	Name            string
	GenerateName    string
	Namespace       string
	UID             string
	ResourceVersion string
	Generation      int64
	// Deleting says that metadata has a deletionTimestamp.
	Deleting bool

	// Head is the length of `{"kind":"...","apiVersion":"...",` if the object begins with these two
	// members, in any order, and has more. It is 1 otherwise. data[Head:] begins with the next
	// member.
	Head int
	// Splice is the offset in data at which the member `"resourceVersion":"...",` is to be
	// inserted: before the first member of metadata that follows name, generateName, namespace,
	// selfLink and uid, which is where Kubernetes writes it. If no member follows these, Splice is
	// where the last member begins. It is 0 if metadata is missing or has no member other than
	// resourceVersion.
	Splice int
	// Metadata is the span of the value of metadata, zero if metadata is missing.
	Metadata Span
	// Version is the span of the member resourceVersion and of one comma beside it: data without
	// this span is well-formed. It is zero if there is no resourceVersion.
	Version Span

	// Labels are in the order of the data for JSON; for protobuf they are sorted by key and unique.
	// The slice is reused if the Peek is.
	Labels []Label
	// Fields are the values at the Peeker's paths, in the order of the paths: strings without
	// quotes, numbers and booleans as written, "" for everything else and for missing values. The
	// slice is reused if the Peek is.
	Fields []string
	// MayNeedDefaults says that completing the object with defaults might change it: a value may be
	// missing, or something is unusual, so that nothing is proven. It is false if the Peeker was
	// not made by Needs.
	MayNeedDefaults bool
}

// Span is the range data[Start:End] of some data.
type Span struct{ Start, End int }

// Label is one label of an object.
type Label struct{ Key, Value string }

// Peeker looks into objects encoded as JSON without decoding them: one pass over the JSON, no
// types, no allocation unless strings contain escapes. It is immutable and safe for concurrent use.
type Peeker struct {
	root  pathNode
	count int
	needs func() *needNode // returns what objects need; nil if Needs did not make the Peeker
}

// pathNode is a node of the tree of all paths of a Peeker. A node has few children, which are
// searched in turn.
type pathNode struct {
	children []pathChild
}

// pathChild is a named child of a pathNode.
type pathChild struct {
	name  string
	field int // index into Peek.Fields, -1 if no path ends here
	node  pathNode
}

// NewPeeker returns a Peeker that also reads the values at the given paths, such as
// "spec.nodeName". Dots separate the names of a path. A path cannot lead through a list.
func NewPeeker(paths ...string) *Peeker {
	p := &Peeker{count: len(paths)}
	for i, path := range paths {
		p.root.add(path, i)
	}
	return p
}

// add adds a path, whose value goes to Peek.Fields[field].
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

// find returns the child called name, nil if there is none.
func (n *pathNode) find(name string) *pathChild {
	for i := range n.children {
		if n.children[i].name == name {
			return &n.children[i]
		}
	}
	return nil
}

// errNoObject is returned for data that is no JSON object.
var errNoObject = errors.New("codec: encoded object is malformed")

// peeker is the state of one look at JSON.
type peeker struct {
	jsontext.Scanner
	out *Peek
	// frames[:inside] are the facts found so far in each object around the current position,
	// outermost first, for objects whose defaulting has needs. See peekneeds.go.
	frames [maxFrames]uint64
	inside int // the number of frames in use
}

// Peek looks into an object encoded as JSON and overwrites all of out with what it finds. It
// returns an error if data is not a well-formed JSON object. data must not change while out is in
// use.
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
	out.MayNeedDefaults = out.MayNeedDefaults || need.unnamed(out)
	return nil
}

// reserve sets Fields to n empty strings.
func (p *Peek) reserve(n int) {
	p.Fields = slices.Grow(p.Fields, n)[:n]
	clear(p.Fields)
}

// top reads the members of the object itself.
func (l *peeker) top(node *pathNode, need *needNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	look := l.enter(need)
	// heads counts kind and apiVersion at the beginning of the object.
	heads := 0
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
			err = l.readString(node, key, &l.out.Kind)
		case "apiVersion":
			heads++
			err = l.readString(node, key, &l.out.APIVersion)
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

// noPaths is a node without paths.
var noPaths pathNode

// below returns the node of the paths that lead through the member name.
func (n *pathNode) below(name string) *pathNode {
	if c := n.find(name); c != nil {
		return &c.node
	}
	return &noPaths
}

// readString reads a string member into to, and into Peek.Fields if a path leads to it. A member of
// another type is only visited.
func (l *peeker) readString(node *pathNode, key string, to *string) error {
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

// visit reads a member that goes only to Peek.Fields, or skips it.
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

// descend reads an object that paths lead into.
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

// metadata reads the members of metadata. It also finds Splice: resourceVersion belongs before the
// first member behind the members that identify the object.
func (l *peeker) metadata(node *pathNode, need *needNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	look := l.enter(need)
	l.out.Splice = 0
	// after says that an identifying member was just read, last is where the last member other than
	// resourceVersion began, and comma where the last member ended.
	after, last, comma := false, 0, 0
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
			identifies, err = true, l.readString(node, key, &l.out.Name)
		case "generateName":
			identifies, err = true, l.readString(node, key, &l.out.GenerateName)
		case "namespace":
			identifies, err = true, l.readString(node, key, &l.out.Namespace)
		case "uid":
			identifies, err = true, l.readString(node, key, &l.out.UID)
		case "selfLink":
			identifies, err = true, l.visit(node, key)
		case "resourceVersion":
			err = l.readString(node, key, &l.out.ResourceVersion)
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

// version sets Peek.Version after the member resourceVersion was read, which began at index at. The
// span includes the comma after the member. If no comma follows, it includes the comma before the
// member. before is the index at which the previous member ended, 0 if there was none.
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

// generation reads metadata.generation.
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

// labels reads metadata.labels, an object.
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
		if err := l.readString(child, key, &label.Value); err != nil {
			return err
		}
		l.out.Labels = append(l.out.Labels, label)
	}
}

// plainPeeker is a Peeker without paths.
var plainPeeker = NewPeeker()
