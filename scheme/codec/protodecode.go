package codec

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Decoding of protobuf messages into Go values. decodeProto in proto.go calls protoReader.message
// with the message inside the envelope; ProtoPeeker uses protoReader.field for the few fields it
// has to decode. The decoder is as lenient as gogo/protobuf: fields in any order, unknown fields
// skipped, packed scalars accepted.

// errDepth refuses messages that are nested deeper than JSON may be.
var errDepth = errors.New("proto: message exceeds the maximum depth")

// stepsPerField is how many steps of a Meter the decoding of one field counts, without what is
// inside the field.
const stepsPerField = 8

// protoReader decodes messages. If a struct field is repeated, its occurrences are merged, as
// protobuf demands.
type protoReader struct {
	budget
	// The input never changes, so strings may refer to it.
	shared bool
	depth  int // of nested messages
	meter  *meter.Meter
}

// message decodes the message in data into the value that at points to. Fields that data does not
// have keep their value.
func (r *protoReader) message(m *message, data []byte, at typeinfo.Pointer) error {
	if m.custom != nil {
		return typeinfo.InterfaceAt(m.custom, at).ParseProto(data)
	}
	if r.depth++; r.depth > jsontext.MaxDepth {
		return errDepth
	}
	defer func() { r.depth-- }()
	for len(data) > 0 {
		if err := r.meter.Step(stepsPerField); err != nil {
			return err
		}
		number, typ, n := consumeTag(data)
		if n < 0 {
			return wireError(n)
		}
		data = data[n:]
		f := m.field(number)
		if f == nil {
			if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
				return wireError(n)
			}
			data = data[n:]
			continue
		}
		n, err := r.field(f, typ, data, at.Add(f.offset))
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// field decodes a field, whose tag has been consumed, into at. It returns the number of bytes
// consumed.
func (r *protoReader) field(f *protoField, typ protowire.Type, data []byte, at typeinfo.Pointer) (int, error) {
	switch {
	case f.isMap:
		if typ != protowire.BytesType {
			return 0, f.wrongType(typ)
		}
		entry, n := consumeBytes(data)
		if n < 0 {
			return 0, wireError(n)
		}
		return n, r.entry(f, entry, at)
	case f.list:
		return r.element(f, typ, data, at)
	case f.pointer:
		slot := at.Slot()
		if f.always && typ == protowire.BytesType && len(data) > 0 && data[0] == 0 {
			return 1, nil
		}
		if slot.IsNil() {
			*slot = f.typ.New()
		}
		at = *slot
	}
	return r.value(f, typ, data, at)
}

// wrongType returns the error for a field with an unexpected wire type, in gogo/protobuf's words.
func (f *protoField) wrongType(typ protowire.Type) error {
	return fmt.Errorf("proto: wrong wireType = %d for field %s", typ, f.name)
}

// element appends one element to the list that at points to, or several if data holds packed
// scalars. It returns the number of bytes consumed.
func (r *protoReader) element(f *protoField, typ protowire.Type, data []byte, at typeinfo.Pointer) (int, error) {
	if typ == protowire.BytesType && f.wire() != protowire.BytesType {
		packed, n := consumeBytes(data)
		if n < 0 {
			return 0, wireError(n)
		}
		for len(packed) > 0 {
			elem, err := r.grow(f, at)
			if err != nil {
				return 0, err
			}
			m, err := r.value(f, f.wire(), packed, elem)
			if err != nil {
				return 0, err
			}
			packed = packed[m:]
		}
		return n, nil
	}
	elem, err := r.grow(f, at)
	if err != nil {
		return 0, err
	}
	return r.value(f, typ, data, elem)
}

// grow appends a zero element to the list that at points to. It returns the address of the element
// or, if elements are pointers, of a new value that the element points to. The memory counts
// against maxMemory.
func (r *protoReader) grow(f *protoField, at typeinfo.Pointer) (typeinfo.Pointer, error) {
	list := at.Slice()
	cost := f.behind
	if list.Len == list.Cap {
		cost += f.size * uintptr(max(list.Len, 1))
	}
	if err := r.spend(cost); err != nil {
		return typeinfo.Pointer{}, err
	}
	if list.Len == list.Cap {
		at.Value(f.named).Grow(1)
	}
	list.Len++
	elem := list.Elem(list.Len-1, f.size)
	if f.pointer {
		slot := elem.Slot()
		*slot = f.typ.New()
		elem = *slot
	}
	return elem, nil
}

// value decodes one value into at and returns the number of bytes consumed.
func (r *protoReader) value(f *protoField, typ protowire.Type, data []byte, at typeinfo.Pointer) (int, error) {
	if typ != f.wire() {
		return 0, f.wrongType(typ)
	}
	switch typ {
	case protowire.VarintType:
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return 0, wireError(n)
		}
		switch f.kind {
		case typeinfo.Bool:
			*typeinfo.As[bool](at) = v != 0
		case typeinfo.Int32:
			*typeinfo.As[int32](at) = int32(v)
		default:
			*typeinfo.As[int64](at) = int64(v)
		}
		return n, nil
	case protowire.Fixed64Type:
		v, n := protowire.ConsumeFixed64(data)
		if n < 0 {
			return 0, wireError(n)
		}
		*typeinfo.As[float64](at) = math.Float64frombits(v)
		return n, nil
	}
	v, n := consumeBytes(data)
	if n < 0 {
		return 0, wireError(n)
	}
	switch f.kind {
	case typeinfo.String:
		*typeinfo.As[string](at) = r.string(v)
	case typeinfo.Bytes:
		*typeinfo.As[[]byte](at) = append([]byte{}, v...)
	default:
		if f.nilable && at.Slice().Data.IsNil() {
			at.Value(f.typ.Go).Set(reflect.MakeSlice(f.typ.Go, 0, 0))
		}
		return n, r.message(f.msg, v, at)
	}
	return n, nil
}

// string returns b as a string, which refers to the input if the input is shared.
func (r *protoReader) string(b []byte) string {
	if r.shared {
		return alias.String(b)
	}
	return string(b)
}

// entry decodes an entry of a map, a message of key and value. A missing key or value is zero.
func (r *protoReader) entry(f *protoField, data []byte, at typeinfo.Pointer) error {
	if f.kind == typeinfo.String && !f.pointer {
		return r.stringEntry(data, typeinfo.As[map[string]string](at))
	}
	if err := r.spend(f.behind); err != nil {
		return err
	}
	m := at.Value(f.named)
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.named))
	}
	var k string
	value := reflect.New(f.named.Elem()).Elem()
	to := typeinfo.AddressOf(value)
	if f.pointer {
		slot := to.Slot()
		*slot = f.typ.New()
		to = *slot
	}
	if f.kind == typeinfo.Bytes || f.nilable { // never nil, even if the value is missing
		to.Value(f.typ.Go).Set(reflect.MakeSlice(f.typ.Go, 0, 0))
	}
	for len(data) > 0 {
		number, typ, n := consumeTag(data)
		if n < 0 {
			return wireError(n)
		}
		data = data[n:]
		switch {
		case number == 1 && typ == protowire.BytesType:
			b, l := consumeBytes(data)
			if l < 0 {
				return wireError(l)
			}
			k, n = r.string(b), l
		case number == 2:
			var err error
			if n, err = r.value(f, typ, data, to); err != nil {
				return err
			}
		default:
			if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
				return wireError(n)
			}
		}
		data = data[n:]
	}
	m.SetMapIndex(typeinfo.PointerTo(&k).Value(f.named.Key()), value)
	return nil
}

// stringEntry is entry for a map[string]string, without reflection.
func (r *protoReader) stringEntry(data []byte, at *map[string]string) error {
	k, v, err := parseStringEntry(data)
	if err != nil {
		return err
	}
	if *at == nil {
		*at = map[string]string{}
	}
	(*at)[r.string(k)] = r.string(v)
	return nil
}

// parseStringEntry returns the key and the value of an entry of a map of strings. Both are parts of
// data.
func parseStringEntry(data []byte) (k, v []byte, err error) {
	for len(data) > 0 {
		number, typ, n := consumeTag(data)
		if n < 0 {
			return nil, nil, wireError(n)
		}
		data = data[n:]
		if number > 2 || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
				return nil, nil, wireError(n)
			}
			data = data[n:]
			continue
		}
		b, n := consumeBytes(data)
		if n < 0 {
			return nil, nil, wireError(n)
		}
		if data = data[n:]; number == 1 {
			k = b
		} else {
			v = b
		}
	}
	return k, v, nil
}
