package codec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// ProtoPeeker looks into objects of one type encoded as protobuf: it walks the messages on the way to metadata and to
// the paths, and skips all others by their length. What it finds is what a Peeker finds in the JSON of the same object.
// It is safe for concurrent use; its paths are compiled when it is first used.
type ProtoPeeker struct {
	typ  func() *typeinfo.Type
	root func() *peekMessage // nil if the type has no protobuf form
	// kind and apiVersion, which stand in the envelope, are where Peek.Fields has them, -1 if no path asks for them.
	kind, apiVersion int
	count            int              // of Peek.Fields
	needs            func() *needNode // what objects need; nil: nobody asks
}

// NewProtoPeeker returns a ProtoPeeker for objects of a type, which is not asked for before it is needed, that also reads the
// members at paths; see NewPeeker.
func NewProtoPeeker(typ func() *typeinfo.Type, paths ...string) *ProtoPeeker {
	var tree pathNode
	for _, name := range slotNames[1:] {
		tree.add("metadata."+name, -1)
	}
	for i, path := range paths {
		tree.add(path, i)
	}
	p := &ProtoPeeker{typ: typ, kind: -1, apiVersion: -1, count: len(paths)}
	if c := tree.find("kind"); c != nil {
		p.kind = c.field
	}
	if c := tree.find("apiVersion"); c != nil {
		p.apiVersion = c.field
	}
	p.root = sync.OnceValue(func() *peekMessage {
		t := typ()
		if messageFor(t).orNil() == nil {
			return nil
		}
		return makePeekMessage(t, 0, &tree)
	})
	return p
}

// Peek looks into an object encoded as protobuf, in its envelope, and stores what it finds in out, all of which it
// overwrites. The error is for data that is malformed as far as it was walked, and for a type without protobuf form.
// It is for the caller to see that Kind and APIVersion are those of the type: of another kind, only metadata is right.
// data must not change while out is in use. Nothing is allocated but what out's slices need to grow, integers with
// more than two digits, and the values of types with a JSON form of their own, floats, byte strings and map entries.
func (p *ProtoPeeker) Peek(data []byte, out *Peek) error {
	*out = Peek{Labels: out.Labels[:0], Fields: out.Fields[:0]}
	out.reserve(p.count)
	e, err := parseEnvelope(data)
	if err != nil {
		return err
	}
	root := p.root()
	if root == nil {
		return fmt.Errorf("codec: %v has no protobuf form", p.typ().Go)
	}
	out.Kind, out.APIVersion = sharedText(e.kind), sharedText(e.apiVersion)
	if p.kind >= 0 {
		out.Fields[p.kind] = out.Kind
	}
	if p.apiVersion >= 0 {
		out.Fields[p.apiVersion] = out.APIVersion
	}
	l := protoLook{out: out, reader: protoReader{shared: true}}
	l.enter(root)
	if err := l.message(root, e.raw); err != nil {
		return err
	}
	if p.needs != nil {
		need := p.needs()
		out.Lacks = lacksProto(need, e.raw) || need.unnamed(out)
	}
	return l.finish()
}

// sharedText returns b as a string that refers to it. Invalid UTF-8 is replaced, as it is in JSON.
func sharedText(b []byte) string {
	if !utf8.Valid(b) {
		return string([]rune(string(b)))
	}
	return alias.String(b)
}

// protoLook is one look.
type protoLook struct {
	out      *Peek
	unsorted bool // the labels are not in the order of their keys, or have one twice
	reader   protoReader
	parts    []peekPart
}

// peekPart is a value that holds those fields of a message that had to be decoded.
type peekPart struct {
	of *peekMessage
	at typeinfo.Pointer
}

// enter notes what an empty value of m's type would say, if it was not there before: what has been found already is
// never empty where that is not.
func (l *protoLook) enter(m *peekMessage) {
	for _, e := range m.empty {
		if to := &l.out.Fields[e.field]; *to == "" {
			*to = e.text
		}
	}
}

// message walks a message, which may be one of several that are to be merged.
func (l *protoLook) message(m *peekMessage, data []byte) error {
	for len(data) > 0 {
		number, typ, n := consumeTag(data)
		if n < 0 {
			return wireError(n)
		}
		data = data[n:]
		if f := m.field(number); f != nil {
			var err error
			if n, err = l.field(m, f, typ, data); err != nil {
				return err
			}
		} else if n = consumeValue(number, typ, data); n < 0 {
			return wireError(n)
		}
		data = data[n:]
	}
	return nil
}

// field reads a field behind its tag and returns its length.
func (l *protoLook) field(m *peekMessage, f *peekField, typ protowire.Type, data []byte) (n int, err error) {
	if f.decoded {
		if n, err = l.reader.field(f.protoField, typ, data, l.part(m).Add(f.offset)); err != nil || f.slot == slotNone {
			return n, err
		}
	}
	if typ == protowire.VarintType && f.wire() == typ {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return 0, wireError(n)
		}
		l.number(f, v)
		return n, nil
	}
	if typ != protowire.BytesType || f.wire() != typ {
		return 0, f.wrongType(typ)
	}
	v, n := consumeBytes(data)
	if n < 0 {
		return 0, wireError(n)
	}
	return n, l.bytes(f, v)
}

// part returns the value that holds what is decoded of m.
func (l *protoLook) part(m *peekMessage) typeinfo.Pointer {
	for _, p := range l.parts {
		if p.of == m {
			return p.at
		}
	}
	at := m.typ.New()
	l.parts = append(l.parts, peekPart{m, at})
	return at
}

func (l *protoLook) number(f *peekField, v uint64) {
	n := int64(v)
	if f.kind == typeinfo.Int32 {
		n = int64(int32(v))
	}
	if f.slot == slotGeneration {
		l.out.Generation = n
	}
	if f.at < 0 {
		return
	}
	to := &l.out.Fields[f.at]
	switch {
	case n == 0 && !f.pointer:
		*to = f.zero
	case f.kind != typeinfo.Bool:
		*to = strconv.FormatInt(n, 10)
	case n != 0:
		*to = "true"
	default:
		*to = "false"
	}
}

func (l *protoLook) bytes(f *peekField, v []byte) error {
	switch {
	case f.slot == slotLabels:
		return l.label(v)
	case f.slot == slotDeletionTimestamp:
		var t meta.Time
		err := t.ParseProto(v)
		l.out.Deleting = !t.IsZero()
		return err
	case f.inside != nil:
		if f.pointer {
			l.enter(f.inside)
		}
		return l.message(f.inside, v)
	}
	s := sharedText(v)
	l.out.put(f.slot, s)
	if f.at >= 0 {
		l.out.Fields[f.at] = s
	}
	return nil
}

func (l *protoLook) label(entry []byte) error {
	k, v, err := parseStringEntry(entry)
	if err != nil {
		return err
	}
	label := Label{Key: sharedText(k), Value: sharedText(v)}
	if n := len(l.out.Labels); n > 0 && l.out.Labels[n-1].Key >= label.Key {
		l.unsorted = true
	}
	l.out.Labels = append(l.out.Labels, label)
	return nil
}

// finish does what had to wait for the end, because the last one counts.
func (l *protoLook) finish() error {
	if l.unsorted {
		l.out.Labels = sortLabels(l.out.Labels)
	}
	for _, p := range l.parts {
		data, err := AppendJSON(nil, p.at.Value(p.of.typ.Go).Addr().Interface())
		if err != nil {
			return err
		}
		if err := peekInside(data, &p.of.decoded, l.out); err != nil {
			return err
		}
	}
	return nil
}

// sortLabels makes of labels what a map would: each key once, with the last of its values, in order.
func sortLabels(labels []Label) []Label {
	slices.SortStableFunc(labels, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	kept := labels[:0]
	for i, label := range labels {
		if i+1 == len(labels) || labels[i+1].Key != label.Key {
			kept = append(kept, label)
		}
	}
	return kept
}

// peekInside fills out.Fields from a JSON object at the paths of node.
func peekInside(data []byte, node *pathNode, out *Peek) error {
	l := peeker{Scanner: jsontext.NewScanner(data, true, nil), out: out}
	if l.Next() != '{' || l.descend(node) != nil {
		return errNoObject
	}
	return nil
}
