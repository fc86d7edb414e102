package codec

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

var errDepth = errors.New("proto: message exceeds the maximum depth")

// stepsPerField is how many steps it takes to decode a field without what is in it.
const stepsPerField = 8

// protoReader decodes messages. Repeated fields of one struct are merged, as protobuf demands.
type protoReader struct {
	budget
	shared bool // strings may refer to the input
	depth  int
	meter  *meter.Meter
}

// message decodes data into the value of m's type at at.
func (r *protoReader) message(m *message, data []byte, at unsafe.Pointer) error {
	if m.custom != nil {
		return m.own(at).ParseProto(data)
	}
	if r.depth++; r.depth > maxDepth {
		return errDepth
	}
	defer func() { r.depth-- }()
	for len(data) > 0 {
		if err := r.meter.Step(stepsPerField); err != nil {
			return err
		}
		number, typ, n := protowire.ConsumeTag(data)
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
		n, err := r.field(f, typ, data, unsafe.Add(at, f.offset))
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// field decodes a field behind its tag and returns its length.
func (r *protoReader) field(f *protoField, typ protowire.Type, data []byte, at unsafe.Pointer) (int, error) {
	switch {
	case f.isMap:
		if typ != protowire.BytesType {
			return 0, f.wrongType(typ)
		}
		entry, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return 0, wireError(n)
		}
		return n, r.entry(f, entry, at)
	case f.list:
		return r.element(f, typ, data, at)
	case f.pointer:
		slot := (*unsafe.Pointer)(at)
		if f.always && typ == protowire.BytesType && len(data) > 0 && data[0] == 0 {
			return 1, nil
		}
		if *slot == nil {
			*slot = newOf(f.kind, f.goType)
		}
		at = *slot
	}
	return r.value(f, typ, data, at)
}

func newOf(kind typeinfo.Kind, t reflect.Type) unsafe.Pointer {
	return (&plan{kind: kind, goType: t}).newElem()
}

func (f *protoField) wrongType(typ protowire.Type) error {
	return fmt.Errorf("proto: wrong wireType = %d for field %s", typ, f.name)
}

// element appends one element to a list, or several if scalars are packed.
func (r *protoReader) element(f *protoField, typ protowire.Type, data []byte, at unsafe.Pointer) (int, error) {
	if typ == protowire.BytesType && f.wire() != protowire.BytesType {
		packed, n := protowire.ConsumeBytes(data)
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

// grow appends a zero element to the list at at and returns its address, or that of what it points to.
func (r *protoReader) grow(f *protoField, at unsafe.Pointer) (unsafe.Pointer, error) {
	list := (*sliceHeader)(at)
	cost := f.behind
	if list.len == list.cap {
		cost += f.size * uintptr(max(list.len, 1))
	}
	if err := r.spend(cost); err != nil {
		return nil, err
	}
	if list.len == list.cap {
		reflect.NewAt(f.named, at).Elem().Grow(1)
	}
	list.len++
	elem := unsafe.Add(list.data, uintptr(list.len-1)*f.size)
	if !f.pointer {
		return elem, nil
	}
	to := newOf(f.kind, f.goType)
	*(*unsafe.Pointer)(elem) = to
	return to, nil
}

// value decodes one value and returns its length.
func (r *protoReader) value(f *protoField, typ protowire.Type, data []byte, at unsafe.Pointer) (int, error) {
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
			*(*bool)(at) = v != 0
		case typeinfo.Int32:
			*(*int32)(at) = int32(v)
		default:
			*(*int64)(at) = int64(v)
		}
		return n, nil
	case protowire.Fixed64Type:
		v, n := protowire.ConsumeFixed64(data)
		if n < 0 {
			return 0, wireError(n)
		}
		*(*float64)(at) = math.Float64frombits(v)
		return n, nil
	}
	v, n := protowire.ConsumeBytes(data)
	if n < 0 {
		return 0, wireError(n)
	}
	switch f.kind {
	case typeinfo.String:
		*(*string)(at) = r.string(v)
	case typeinfo.Bytes:
		*(*[]byte)(at) = append([]byte{}, v...)
	default:
		if f.nilable && (*sliceHeader)(at).data == nil {
			reflect.NewAt(f.goType, at).Elem().Set(reflect.MakeSlice(f.goType, 0, 0))
		}
		return n, r.message(f.msg, v, at)
	}
	return n, nil
}

func (r *protoReader) string(b []byte) string {
	if r.shared && len(b) > 0 {
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	return string(b)
}

// entry decodes a map entry. A missing key or value is the zero one.
func (r *protoReader) entry(f *protoField, data []byte, at unsafe.Pointer) error {
	if f.kind == typeinfo.String && !f.pointer {
		return r.stringEntry(data, (*map[string]string)(at))
	}
	if err := r.spend(f.behind); err != nil {
		return err
	}
	m := reflect.NewAt(f.named, at).Elem()
	if m.IsNil() {
		m.Set(reflect.MakeMap(f.named))
	}
	var k string
	value := reflect.New(f.named.Elem()).Elem()
	to := value.Addr().UnsafePointer()
	if f.pointer {
		slot := (*unsafe.Pointer)(to)
		*slot = newOf(f.kind, f.goType)
		to = *slot
	}
	if f.kind == typeinfo.Bytes || f.nilable { // not nil, even if there is no value
		reflect.NewAt(f.goType, to).Elem().Set(reflect.MakeSlice(f.goType, 0, 0))
	}
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return wireError(n)
		}
		data = data[n:]
		switch {
		case number == 1 && typ == protowire.BytesType:
			b, l := protowire.ConsumeBytes(data)
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
	m.SetMapIndex(reflect.NewAt(f.named.Key(), unsafe.Pointer(&k)).Elem(), value)
	return nil
}

// stringEntry is entry for maps of strings.
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

// parseStringEntry returns the key and the value of an entry of a map of strings. They are parts of data.
func parseStringEntry(data []byte) (k, v []byte, err error) {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
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
		b, n := protowire.ConsumeBytes(data)
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
