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

// Looking into objects in protobuf: the counterpart of peek.go. A look walks only the messages on
// the way to metadata and to the paths. Fields whose JSON text cannot be read off the wire are
// decoded and encoded as JSON at the end (finish). protopeekplan.go compiles the paths, and
// FuzzProtoPeek holds the result to that of a Peeker on the same object in JSON.

// ProtoPeeker looks into objects of one type that are encoded as protobuf. It walks the messages on
// the way to metadata and to its paths, and skips all others by their length. It finds what a
// Peeker finds in the JSON of the same object. It is safe for concurrent use. Its paths are
// compiled when it is first used.
type ProtoPeeker struct {
	typ  func() *typeinfo.Type
	root func() *peekMessage // nil if the type has no protobuf form
	// kind and apiVersion are indices into Peek.Fields for paths of these names, -1 if there is no
	// such path. Both values are in the envelope.
	kind, apiVersion int
	count            int              // of Peek.Fields
	needs            func() *needNode // returns what objects need; nil if Needs did not make the ProtoPeeker
}

// NewProtoPeeker returns a ProtoPeeker for objects of the type that typ returns. It also reads the
// values at paths; see NewPeeker for their form. typ is called when the ProtoPeeker is first used,
// not before.
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

// Peek looks into an object encoded as protobuf, in its envelope, and overwrites all of out with
// what it finds. It returns an error if data is malformed as far as it was walked, or if the type
// has no protobuf form. The caller checks that out.Kind and out.APIVersion are those of the type:
// for another kind only the metadata is right. data must not change while out is in use. Peek
// allocates only if slices of out must grow, for integers of more than two digits, and for values
// that have to be decoded: types with their own JSON form, floats, byte strings, and map entries.
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
		out.MayNeedDefaults = lacksProto(need, e.raw) || need.unnamed(out)
	}
	return l.finish()
}

// sharedText returns b as a string that refers to b. Invalid UTF-8 is replaced, as in JSON, which
// copies.
func sharedText(b []byte) string {
	if !utf8.Valid(b) {
		return string([]rune(string(b)))
	}
	return alias.String(b)
}

// protoLook is the state of one look.
type protoLook struct {
	out      *Peek
	unsorted bool // the labels are not sorted, or one key is there twice
	reader   protoReader
	parts    []peekPart
}

// peekPart is a value of the type of a message, into which the fields that need decoding are
// decoded.
type peekPart struct {
	of *peekMessage
	at typeinfo.Pointer
}

// enter sets the Fields that JSON would have for an empty value of m's type, such as "false". It
// keeps values that were found already, in an earlier message that is merged with this one.
func (l *protoLook) enter(m *peekMessage) {
	for _, e := range m.empty {
		if to := &l.out.Fields[e.field]; *to == "" {
			*to = e.text
		}
	}
}

// message walks a message. A struct may be split over several messages, which are merged, so
// message may run more than once for it.
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

// field reads a field whose tag has been consumed, and returns the number of bytes consumed.
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

// part returns the value into which fields of m are decoded.
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

// number stores an integer or a boolean in the form that JSON has.
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

// bytes handles a length-delimited field: a label, a time, a message or a string.
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

// label stores an entry of metadata.labels.
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

// finish sorts the labels and reads the decoded fields. Both wait for the end of the object,
// because the last one of several repeated fields counts.
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

// sortLabels sorts labels by key and keeps the last value of each key, as a decoded map would.
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

// peekInside fills out.Fields with the values of a JSON object at the paths of node.
func peekInside(data []byte, node *pathNode, out *Peek) error {
	l := peeker{Scanner: jsontext.NewScanner(data, true, nil), out: out}
	if l.Next() != '{' || l.descend(node) != nil {
		return errNoObject
	}
	return nil
}
