package codec

import (
	"bytes"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// How a peeker finds out whether an object in JSON may lack something (Peek.MayNeedDefaults). top
// and metadata in peek.go call enter, found and leave for each object they walk. The tree of
// needNodes says which members matter; needs.go compiles it. protopeekneeds.go does the same for
// protobuf.
//
// Each object with needs has a frame, a set of bits. Reading a member sets the bits of the facts
// that its value proves, in the frame of the object that asked for the fact, which may be several
// levels up. When the object ends, needNode.lacks evaluates its frame. Anything doubtful sets
// Lacks, which only costs a decoding; to leave Lacks unset is the claim that defaulting changes
// nothing. TestProofs and FuzzProof hold that claim to real defaulting.

// maxFrames is the depth to which objects with needs may be nested. A deeper object counts as
// lacking something.
const maxFrames = 24

// needLook is the state of a look at one object. If node is nil, the object has no needs.
type needLook struct {
	node *needNode
	seen uint64 // the fields seen so far, one bit each
	// one and other are the values of the two members that the node's relation is about, empty if
	// they are missing.
	one, other Span
}

// enter begins the look at an object. n is nil if the object has no needs.
func (l *peeker) enter(n *needNode) needLook {
	if n == nil || l.out.MayNeedDefaults {
		return needLook{}
	}
	if n.lacking || l.inside == len(l.frames) {
		l.out.MayNeedDefaults = true
		return needLook{}
	}
	l.frames[l.inside] = 0
	l.inside++
	return needLook{node: n}
}

// leave ends the look at an object and evaluates what was found.
func (l *peeker) leave(look *needLook) {
	n := look.node
	if n == nil {
		return
	}
	l.inside--
	if n.lacks(l.frames[l.inside]) || n.relation.set && !l.related(look) {
		l.out.MayNeedDefaults = true
	}
}

// find returns the field of a member, nil if no need is about the member.
func (look *needLook) find(key string) *needField {
	if look.node == nil {
		return nil
	}
	return look.node.names.find(key)
}

// node returns the node of the value of a field. f may be nil.
func (f *needField) node() *needNode {
	if f == nil {
		return nil
	}
	return f.below
}

// member reads a member that paths lead to, or that has needs below it; f is the field of the
// member, or nil.
func (l *peeker) member(paths *pathNode, f *needField, key string) error {
	if f == nil || f.below == nil || l.out.MayNeedDefaults {
		return l.visit(paths, key)
	}
	switch c := l.Next(); {
	case f.kind == typeinfo.List && c == '[':
		return l.elements(f.below)
	case f.kind != typeinfo.List && c == '{':
		return l.object(paths.below(key), f.below)
	case c != 'n': // a value of the wrong type
		l.out.MayNeedDefaults = true
	}
	return l.visit(paths, key)
}

// object reads an object that has needs, paths into it, or both.
func (l *peeker) object(paths *pathNode, need *needNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	look := l.enter(need)
	for first := true; ; first = false {
		key, _, more, err := l.Member(first)
		if err != nil {
			return err
		}
		if !more {
			l.leave(&look)
			return nil
		}
		f := look.find(key)
		if c := l.Next(); f != nil && f.simple && l.simple(&look, f, c) {
			f = nil // simple noted everything
		}
		switch {
		case f != nil:
			start := l.Pos
			if err = l.member(paths, f, key); err == nil {
				l.found(&look, f, start)
			}
		case len(paths.children) > 0:
			err = l.visit(paths, key)
		default:
			err = l.Skip()
		}
		if err != nil {
			return err
		}
	}
}

// simple handles a field with one test before its value is read: the first byte c of the value is
// often enough to tell that the value is not empty. It reports false if the whole value must be
// read.
func (l *peeker) simple(look *needLook, f *needField, c byte) bool {
	is := false
	switch f.tests[0].kind {
	case stringValue:
		is = c == '"' && l.Pos+1 < len(l.Data) && l.Data[l.Pos+1] != '"'
	case nullableValue:
		is = c != 'n' && c != '-'
	case boolValue:
		is = c == 't'
	default:
		return false
	}
	if is && look.seen&f.seen == 0 {
		look.seen |= f.seen
		l.frames[l.inside-1] |= f.tests[0].bit
		return true
	}
	return false
}

// elements reads a list of objects that have needs.
func (l *peeker) elements(need *needNode) error {
	if err := l.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := l.More(']', first)
		if err != nil || !more {
			return err
		}
		if l.Next() == '{' {
			err = l.object(&noPaths, need)
		} else {
			l.out.MayNeedDefaults = true
			err = l.Skip()
		}
		if err != nil {
			return err
		}
	}
}

// found notes the facts that the value of a field proves. The value begins at start and has just
// been read.
func (l *peeker) found(look *needLook, f *needField, start int) {
	if f == nil {
		return
	}
	if look.seen&f.seen != 0 {
		l.out.MayNeedDefaults = true // a repeated field: it is not worth knowing which one counts
	}
	look.seen |= f.seen
	value := l.Data[start:l.Pos]
	if f.opaque && fullness(value, anyValue) != empty {
		l.out.MayNeedDefaults = true
	}
	for i := range f.tests {
		t := &f.tests[i]
		holds := false
		switch t.op {
		case testFull:
			holds = fullness(value, t.kind) == full
		case testSome:
			holds = fullness(value, t.kind) != empty
		case testEqual:
			holds = len(value) == len(t.text)+2 && value[0] == '"' && string(value[1:len(value)-1]) == t.text
		case testMilli:
			if !milliText(value) {
				l.out.MayNeedDefaults = true
			}
		case testOne:
			look.one = Span{start, l.Pos}
		case testOther:
			look.other = Span{start, l.Pos}
		}
		if holds {
			l.frames[l.inside-1-t.up] |= t.bit
		}
	}
}

// fillState says whether a value is empty. doubtful means that neither is certain: the value may be
// empty in an unusual spelling.
type fillState uint8

const (
	empty fillState = iota
	doubtful
	full
)

// fullness returns whether a JSON value is empty by its kind. Only the usual spelling of an empty
// value counts as empty; values that may be empty in another spelling, such as -0 or [ ], are
// doubtful.
func fullness(value []byte, kind valueKind) fillState {
	c := value[0]
	switch {
	case c == 'n':
		return empty
	case c == '-':
		return doubtful
	case kind == nullableValue:
		return full
	case c == '"' && (kind == stringValue || kind == intOrStringValue):
		return filled(len(value) > len(`""`))
	case (c == 't' || c == 'f') && kind == boolValue:
		return filled(c == 't')
	case kind == numberValue || kind == intOrStringValue:
		for _, c := range value {
			if c < '0' || '9' < c {
				return doubtful
			}
		}
		return filled(c != '0')
	case (c == '[' || c == '{') && kind == anyValue:
		if len(value) > len(`[]`) && (value[1] <= ' ') {
			return doubtful
		}
		return filled(len(value) > len(`[]`))
	case c == '"' && kind == anyValue:
		return filled(len(value) > len(`""`))
	}
	return doubtful
}

// filled turns a boolean into a fillState.
func filled(is bool) fillState {
	if is {
		return full
	}
	return empty
}

// milliText reports whether all values of a JSON object are quantities without digits finer than
// thousandths. null has no values.
func milliText(value []byte) bool {
	s := jsontext.NewScanner(value, true, nil)
	if s.Next() == 'n' {
		return true
	}
	if s.Next() != '{' || s.Open() != nil {
		return false
	}
	for first := true; ; first = false {
		more, err := s.More('}', first)
		if err != nil || !more {
			return err == nil
		}
		if s.Next() != '"' {
			return false
		}
		if _, _, _, err := s.Quoted(); err != nil || s.Colon() != nil || s.Next() != '"' {
			return false
		}
		start, end, _, err := s.Quoted()
		if err != nil || !milli(value[start:end]) {
			return false
		}
	}
}

// milli reports whether a quantity has no digits finer than thousandths. It knows only the form
// that servers write: an integer with an optional suffix.
func milli(text []byte) bool {
	i := 0
	if i < len(text) && text[i] == '-' {
		i++
	}
	digits := i
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	if i == digits {
		return false
	}
	switch suffix := text[i:]; len(suffix) {
	case 0:
		return true
	case 1:
		return bytes.IndexByte([]byte("mkMGTPE"), suffix[0]) >= 0
	case 2:
		return suffix[1] == 'i' && bytes.IndexByte([]byte("KMGTPE"), suffix[0]) >= 0
	}
	return false
}

// related reports whether the relation of an object holds between the two members.
func (l *peeker) related(look *needLook) bool {
	r, one, other := &look.node.relation, l.Data[look.one.Start:look.one.End], l.Data[look.other.Start:look.other.End]
	switch r.op {
	case typeinfo.NeedSame:
		return bytes.Equal(one, other)
	case typeinfo.NeedFirst:
		if len(one) == 0 || len(other) == 0 {
			return len(one) == len(other)
		}
		rest, ok := bytes.CutPrefix(other, r.before)
		if rest, ok = bytes.CutPrefix(rest, one); !ok || len(rest) == 0 {
			return false
		}
		return rest[0] == ']' || rest[0] == ',' && len(r.before) == 1 || rest[0] == '}'
	}
	return len(one) == 0 || keysWithin(one, other)
}

// keysWithin reports whether each key of the JSON object one is a key of the JSON object other. The
// keys must be in the same order: servers write maps sorted, and anything else is taken for a
// violation.
func keysWithin(one, other []byte) bool {
	if string(one) == "null" || string(one) == "{}" {
		return true
	}
	a, b := jsontext.NewScanner(one, true, nil), jsontext.NewScanner(other, true, nil)
	if a.Next() != '{' || a.Open() != nil || b.Next() != '{' || b.Open() != nil {
		return false
	}
	firstB := true
	for first := true; ; first = false {
		key, more, err := nextKey(&a, first)
		if err != nil || !more {
			return err == nil
		}
		for found := false; !found; firstB = false {
			have, more, err := nextKey(&b, firstB)
			if err != nil || !more {
				return false
			}
			found = bytes.Equal(have, key)
		}
	}
}

// nextKey consumes a member and returns its key as it is spelled.
func nextKey(s *jsontext.Scanner, first bool) ([]byte, bool, error) {
	more, err := s.More('}', first)
	if err != nil || !more {
		return nil, false, err
	}
	if s.Next() != '"' {
		return nil, false, errNoObject
	}
	start, end, _, err := s.Quoted()
	if err == nil {
		err = s.Colon()
	}
	if err == nil {
		err = s.Skip()
	}
	return s.Data[start:end], true, err
}
