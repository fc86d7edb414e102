package codec

import (
	"bytes"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Whether an object in protobuf may lack something that defaulting would add: the counterpart of
// peekneeds.go, with the same facts and frames. ProtoPeeker.Peek calls lacksProto. TestProofs and
// FuzzProof hold the answer to real defaulting.

// protoNeeds is a walk over the messages that have needs. It skips all other messages by their
// length. It is separate from protoLook because the two mostly walk different messages.
type protoNeeds struct {
	frames [maxFrames]uint64 // the facts found in each message around the current one
	inside int               // the number of frames in use
	lacks  bool
}

// protoRelated holds the two members that a relation is about. For a list or map it holds all its
// fields with their tags.
type protoRelated struct{ one, other []byte }

// lacksProto reports whether the message data may lack something that n says. n is nil if nothing
// is needed.
func lacksProto(n *needNode, data []byte) bool {
	if n == nil {
		return false
	}
	var l protoNeeds
	l.message(n, data)
	return l.lacks
}

// message looks at one message. It expects what all servers write: fields in ascending order of
// number, and no field twice unless it is a list or map. Any other message counts as lacking
// something.
func (l *protoNeeds) message(n *needNode, data []byte) {
	if n.lacking || l.inside == len(l.frames) {
		l.lacks = true
		return
	}
	l.frames[l.inside] = 0
	l.inside++
	var related protoRelated
	last := uint64(0)
	for i := 0; i < len(data) && !l.lacks; {
		// Tags and lengths of one byte are read here, because most are that short and calling
		// protowire takes twice as long.
		start := i
		tag, at := uint64(data[i]), i+1
		if tag >= 0x80 {
			tag, at = longVarint(data, i)
		}
		if at >= len(data) {
			l.lacks = true
			return
		}
		value, from := uint64(data[at]), at+1 // the number, or the length of the bytes that follow
		if value >= 0x80 {
			value, from = longVarint(data, at)
		}
		if tag&5 != 0 { // neither a varint nor length-delimited
			value, from = 0, afterFixed(data, tag, at)
		}
		// Only a length-delimited field (wire type 2, bit 1 of the tag) has bytes after value.
		i = from + int(min(value*(tag>>1&1), uint64(len(data))))
		var f *needField
		if tag>>3 < uint64(len(n.numbers)) {
			f = n.numbers[tag>>3]
		}
		if i > len(data) || tag>>3 < last || tag>>3 == last && f != nil && !f.several {
			l.lacks = true
			return
		}
		switch last = tag >> 3; {
		case f == nil:
		case f.simple && tag&7 == f.wire && value < 0x80:
			if value != 0 || f.tests[0].kind == nullableValue {
				l.frames[l.inside-1] |= f.tests[0].bit
			}
		case f.into && tag&7 == uint64(protowire.BytesType):
			l.message(f.below, data[from:i])
		default:
			l.field(f, &protoValue{
				typ: protowire.Type(tag & 7), varint: value, bytes: data[from:i], field: data[start:i],
			}, &related)
		}
	}
	l.inside--
	if n.lacks(l.frames[l.inside]) || n.relation.set && !related.holds(&n.relation) {
		l.lacks = true
	}
}

// afterFixed returns the index after a fixed-size number of eight bytes. For all other wire types
// it returns an index beyond the end of data, which fails.
func afterFixed(data []byte, tag uint64, at int) int {
	if protowire.Type(tag&7) != protowire.Fixed64Type {
		return len(data) + 1
	}
	return at + 8
}

// longVarint reads the varint at index i and returns the index after it, which is beyond the end of
// data if the varint is malformed.
func longVarint(data []byte, i int) (v uint64, end int) {
	v, n := protowire.ConsumeVarint(data[i:])
	if n < 0 {
		return 0, len(data) + 1
	}
	return v, i + n
}

// field looks at one field of a message.
func (l *protoNeeds) field(f *needField, v *protoValue, related *protoRelated) {
	switch {
	case f.opaque:
		l.lacks = true
		return
	case f.below == nil:
	case v.typ != protowire.BytesType:
		l.lacks = true
		return
	case f.kind == typeinfo.Map:
		l.entry(f.below, v.bytes)
	default:
		l.message(f.below, v.bytes)
	}
	for i := range f.tests {
		l.test(&f.tests[i], v, related)
	}
}

// entry looks at an entry of a map of strings. The needs treat such a map as an object with the
// keys as its members.
func (l *protoNeeds) entry(n *needNode, data []byte) {
	key, value, err := parseStringEntry(data)
	if err != nil || l.inside == len(l.frames) {
		l.lacks = true
		return
	}
	i := -1
	for j := range n.fields {
		if n.fields[j].name == string(key) {
			i = j
		}
	}
	if i < 0 {
		return
	}
	l.inside++ // the tests count the map as a frame
	v := protoValue{typ: protowire.BytesType, bytes: value}
	for j := range n.fields[i].tests {
		l.test(&n.fields[i].tests[j], &v, nil)
	}
	l.inside--
}

// test runs one test on a value and notes the fact.
func (l *protoNeeds) test(t *needTest, v *protoValue, related *protoRelated) {
	holds := false
	switch t.op {
	case testFull:
		holds = v.fullness(t.kind) == full
	case testSome:
		holds = v.fullness(t.kind) != empty
	case testEqual:
		holds = v.typ == protowire.BytesType && string(v.bytes) == t.text
	case testMilli:
		if !milliEntry(v) {
			l.lacks = true
		}
	case testOne:
		related.one = v.joined(related.one, t.kind)
	case testOther:
		related.other = v.joined(related.other, t.kind)
	}
	if holds {
		l.frames[l.inside-1-t.up] |= t.bit
	}
}

// protoValue is a field as it is encoded.
type protoValue struct {
	number protowire.Number
	typ    protowire.Type
	varint uint64
	bytes  []byte // the content, without the length
	field  []byte // the whole field, with tag and length
}

// consumeField parses the field that data begins with.
func consumeField(data []byte) (v protoValue, ok bool) {
	tag, n := protowire.ConsumeVarint(data)
	if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
		return v, false
	}
	v.number, v.typ = protowire.Number(tag>>3), protowire.Type(tag&7)
	switch v.typ {
	case protowire.VarintType:
		value, m := protowire.ConsumeVarint(data[n:])
		v.varint, n, ok = value, n+m, m > 0
	case protowire.BytesType:
		size, m := protowire.ConsumeVarint(data[n:])
		if ok = m > 0 && size <= uint64(len(data)-n-m); ok {
			v.bytes = data[n+m : n+m+int(size)]
			n += m + int(size)
		}
	default:
		m := protowire.ConsumeFieldValue(v.number, v.typ, data[n:])
		n, ok = n+m, m >= 0
	}
	if ok {
		v.field = data[:n]
	}
	return v, ok
}

// fullness returns whether a value is empty by its kind. Negative numbers are doubtful, as in JSON.
func (v *protoValue) fullness(kind valueKind) fillState {
	switch {
	case v.typ == protowire.VarintType && (int64(v.varint) < 0 || int32(v.varint) < 0):
		return doubtful
	case kind == nullableValue:
		return full
	case v.typ == protowire.VarintType && (kind == numberValue || kind == boolValue) &&
		(v.varint == 0 || uint32(v.varint) != 0):
		return filled(v.varint != 0)
	case v.typ == protowire.BytesType && kind == stringValue:
		return filled(len(v.bytes) > 0)
	case v.typ == protowire.BytesType && kind == intOrStringValue:
		return intOrStringFullness(v.bytes)
	// An element of a list or an entry of a map is there, so the list or map is not empty.
	case v.typ == protowire.BytesType && kind == anyValue:
		return full
	}
	return doubtful
}

// intOrStringFullness returns whether an IntOrString is empty: its message has the fields 1 type, 2
// number, 3 string.
func intOrStringFullness(data []byte) fillState {
	is := empty
	for len(data) > 0 {
		v, ok := consumeField(data)
		if !ok {
			return doubtful
		}
		data = data[len(v.field):]
		if v.number == 2 && int32(v.varint) != 0 || v.number == 3 && len(v.bytes) > 0 {
			is = full
		}
	}
	return is
}

// joined returns a member of a relation after one more of its fields: for a string its content; for
// a list or map all its fields so far, before, extended by this one.
func (v *protoValue) joined(before []byte, kind valueKind) []byte {
	if kind == stringValue {
		return v.bytes
	}
	if len(before) == 0 {
		return v.field
	}
	return before[:len(before)+len(v.field)] // fields of one number are adjacent in data
}

// holds reports whether the relation r holds.
func (f *protoRelated) holds(r *relation) bool {
	switch r.op {
	case typeinfo.NeedSame:
		return bytes.Equal(f.one, f.other)
	case typeinfo.NeedFirst:
		if len(f.one) == 0 || len(f.other) == 0 {
			return len(f.one) == len(f.other)
		}
		first, ok := consumeField(f.other)
		value := first.bytes
		if ok && len(r.before) > 1 { // a struct, whose only field must be the string
			member, is := consumeField(value)
			ok, value = is && len(member.field) == len(value), member.bytes
		}
		return ok && bytes.Equal(value, f.one)
	}
	return protoKeysWithin(f.one, f.other)
}

// protoKeysWithin reports whether each key among the map entries one is a key among the map entries
// other. The keys must be in the same order.
func protoKeysWithin(one, other []byte) bool {
	for len(one) > 0 {
		key, n := keyOfEntry(one)
		if n == 0 {
			return false
		}
		one = one[n:]
		for found := false; !found; {
			have, m := keyOfEntry(other)
			if m == 0 {
				return false
			}
			other, found = other[m:], bytes.Equal(have, key)
		}
	}
	return true
}

// keyOfEntry returns the key of the map entry that data begins with, and the length of the entry; 0
// if data begins with none.
func keyOfEntry(data []byte) (key []byte, n int) {
	field, ok := consumeField(data)
	if !ok {
		return nil, 0
	}
	if key, _, ok = splitEntry(field.bytes); !ok {
		return nil, 0
	}
	return key, len(field.field)
}

// milliEntry reports whether the value of a map entry is a quantity without digits finer than
// thousandths. The message of a Quantity has its text in field 1.
func milliEntry(v *protoValue) bool {
	_, value, ok := splitEntry(v.bytes)
	if !ok {
		return false
	}
	text, rest, ok := shortField(value, 1)
	return ok && len(rest) == 0 && milli(text)
}

// splitEntry splits a map entry in the form that servers write: 1 key, 2 value, neither longer than
// 127 bytes.
func splitEntry(entry []byte) (key, value []byte, ok bool) {
	key, rest, ok := shortField(entry, 1)
	if !ok {
		return nil, nil, false
	}
	value, rest, ok = shortField(rest, 2)
	return key, value, ok && len(rest) == 0
}

// shortField returns the content of the field that data begins with, and the data after it. ok is
// false if the field has another number or wire type, or more than 127 bytes.
func shortField(data []byte, number byte) (value, rest []byte, ok bool) {
	if len(data) < 2 || data[0] != number<<3|byte(protowire.BytesType) ||
		data[1] >= 0x80 || int(data[1]) > len(data)-2 {
		return nil, nil, false
	}
	end := 2 + int(data[1])
	return data[2:end], data[end:], true
}
