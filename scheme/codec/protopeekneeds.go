package codec

import (
	"bytes"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// protoNeeds is a look at messages for what they need. It walks those of which something is needed,
// and skips all others by their length, as the ProtoPeeker does that looks for paths, to other
// places mostly.
type protoNeeds struct {
	frames [maxFrames]uint64 // the facts that were found in each message that it is in
	inside int               // how many frames are in use
	lacks  bool
}

// protoRelated are the members of the relation of a message. Of a list or map they are all fields,
// with their tags.
type protoRelated struct{ one, other []byte }

// lacksProto reports whether a message may lack something that n, which may be nil, says.
func lacksProto(n *needNode, data []byte) bool {
	if n == nil {
		return false
	}
	var l protoNeeds
	l.message(n, data)
	return l.lacks
}

// message looks at a message. Fields are expected in the order of their numbers, as all servers
// write them, and one that holds one value is expected once.
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
		// Most tags and lengths take one byte. To read them here is twice as fast as to call protowire.
		start := i
		tag, at := uint64(data[i]), i+1
		if tag >= 0x80 {
			tag, at = longVarint(data, i)
		}
		if at >= len(data) {
			l.lacks = true
			return
		}
		value, from := uint64(data[at]), at+1 // a number, or the length of what follows
		if value >= 0x80 {
			value, from = longVarint(data, at)
		}
		if tag&5 != 0 { // neither a number nor bytes
			value, from = 0, afterFixed(data, tag, at)
		}
		i = from + int(min(value*(tag>>1&1), uint64(len(data)))) // a number is followed by nothing
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
			l.field(f, &protoValue{typ: protowire.Type(tag & 7), varint: value, bytes: data[from:i], field: data[start:i]}, &related)
		}
	}
	l.inside--
	if n.lacks(l.frames[l.inside]) || n.relation.set && !related.holds(&n.relation) {
		l.lacks = true
	}
}

// afterFixed returns the index behind a number of eight bytes, one beyond the end of data for all
// other types.
func afterFixed(data []byte, tag uint64, at int) int {
	if protowire.Type(tag&7) != protowire.Fixed64Type {
		return len(data) + 1
	}
	return at + 8
}

// longVarint reads a varint at an index and returns the index behind it, one beyond the end of data
// if it is malformed.
func longVarint(data []byte, i int) (v uint64, end int) {
	v, n := protowire.ConsumeVarint(data[i:])
	if n < 0 {
		return 0, len(data) + 1
	}
	return v, i + n
}

// field looks at a field.
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

// entry looks at an entry of a map of strings, which stands for an object with the keys as members.
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
	l.inside++ // tests count it
	v := protoValue{typ: protowire.BytesType, bytes: value}
	for j := range n.fields[i].tests {
		l.test(&n.fields[i].tests[j], &v, nil)
	}
	l.inside--
}

// test notes what a test finds.
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

// protoValue is a field as it was written.
type protoValue struct {
	number protowire.Number
	typ    protowire.Type
	varint uint64
	bytes  []byte // without the length
	field  []byte // with tag and length
}

// consumeField reads the field that data begins with.
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

// fullness says whether a value is empty.
func (v *protoValue) fullness(kind valueKind) fillState {
	switch {
	case v.typ == protowire.VarintType && (int64(v.varint) < 0 || int32(v.varint) < 0):
		return doubtful
	case kind == nullableValue:
		return full
	case v.typ == protowire.VarintType && (kind == numberValue || kind == boolValue) && (v.varint == 0 || uint32(v.varint) != 0):
		return filled(v.varint != 0)
	case v.typ == protowire.BytesType && kind == stringValue:
		return filled(len(v.bytes) > 0)
	case v.typ == protowire.BytesType && kind == intOrStringValue:
		return intOrStringFullness(v.bytes)
	case v.typ == protowire.BytesType && kind == anyValue: // an element or an entry
		return full
	}
	return doubtful
}

// intOrStringFullness says whether the message of an IntOrString, 1 type, 2 number, 3 string, is empty.
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

// joined is a member of a relation: a string without what is around it, or all the fields of a list
// or map so far and this one.
func (v *protoValue) joined(before []byte, kind valueKind) []byte {
	if kind == stringValue {
		return v.bytes
	}
	if len(before) == 0 {
		return v.field
	}
	return before[:len(before)+len(v.field)] // fields with one number follow each other
}

// holds reports whether a relation holds.
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
		if ok && len(r.before) > 1 { // a struct: the string is all that it has
			member, is := consumeField(value)
			ok, value = is && len(member.field) == len(value), member.bytes
		}
		return ok && bytes.Equal(value, f.one)
	}
	return protoKeysWithin(f.one, f.other)
}

// protoKeysWithin reports whether each key of the entries of a map is a key of another, in the same
// order.
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

// keyOfEntry returns the key of the entry of a map that data begins with, and the length of the
// entry; 0 if there is none.
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

// milliEntry reports whether the value of an entry of a map, which holds a text as its field 1, is
// a quantity that is no finer than thousandths.
func milliEntry(v *protoValue) bool {
	_, value, ok := splitEntry(v.bytes)
	if !ok {
		return false
	}
	text, rest, ok := shortField(value, 1)
	return ok && len(rest) == 0 && milli(text)
}

// splitEntry splits an entry of a map as servers write it: 1 key, 2 value, neither longer than 127
// bytes.
func splitEntry(entry []byte) (key, value []byte, ok bool) {
	key, rest, ok := shortField(entry, 1)
	if !ok {
		return nil, nil, false
	}
	value, rest, ok = shortField(rest, 2)
	return key, value, ok && len(rest) == 0
}

// shortField returns the bytes of the field that data begins with, and what follows it. ok is false
// if it has another number or type, or is longer than 127 bytes.
func shortField(data []byte, number byte) (value, rest []byte, ok bool) {
	if len(data) < 2 || data[0] != number<<3|byte(protowire.BytesType) || data[1] >= 0x80 || int(data[1]) > len(data)-2 {
		return nil, nil, false
	}
	end := 2 + int(data[1])
	return data[2:end], data[end:], true
}
