package codec

import (
	"math"
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Encoding of Go values as protobuf messages. AppendProto in proto.go calls message.append. The
// output equals that of gogo/protobuf byte for byte: fields in ascending order of number, map
// entries sorted by key.

// append appends the message of the value that at points to, without a length.
func (m *message) append(dst []byte, at typeinfo.Pointer) []byte {
	if m.custom != nil {
		return typeinfo.InterfaceAt(m.custom, at).AppendProto(dst)
	}
	for i := range m.fields {
		dst = m.fields[i].append(dst, at.Add(m.fields[i].offset))
	}
	return dst
}

// append appends a field with its tag to dst, or nothing if the field is left out.
func (f *protoField) append(dst []byte, at typeinfo.Pointer) []byte {
	switch {
	case f.list:
		return f.appendList(dst, at)
	case f.isMap:
		return f.appendMap(dst, at)
	case f.pointer:
		at = *at.Slot()
		if at.IsNil() && f.always {
			return append(append(dst, f.tag...), 0)
		}
		if at.IsNil() {
			return dst
		}
	case f.nilable, f.kind == typeinfo.Bytes:
		if at.Slice().Data.IsNil() {
			return dst
		}
	}
	return f.appendValue(append(dst, f.tag...), at)
}

// appendValue appends one value without its tag.
func (f *protoField) appendValue(dst []byte, at typeinfo.Pointer) []byte {
	switch f.kind {
	case typeinfo.String:
		return protowire.AppendString(dst, *typeinfo.As[string](at))
	case typeinfo.Bytes:
		return protowire.AppendBytes(dst, *typeinfo.As[[]byte](at))
	case typeinfo.Bool:
		return append(dst, *typeinfo.As[byte](at))
	case typeinfo.Int32:
		return protowire.AppendVarint(dst, uint64(*typeinfo.As[int32](at)))
	case typeinfo.Int64:
		return protowire.AppendVarint(dst, uint64(*typeinfo.As[int64](at)))
	case typeinfo.Float64:
		return protowire.AppendFixed64(dst, math.Float64bits(*typeinfo.As[float64](at)))
	}
	dst, begin := beginLength(dst)
	return endLength(f.msg.append(dst, at), begin)
}

// appendList appends one field per element. nil pointers among the elements are skipped.
func (f *protoField) appendList(dst []byte, at typeinfo.Pointer) []byte {
	list := at.Slice()
	for i := range list.Len {
		elem := list.Elem(i, f.size)
		if f.pointer {
			if elem = *elem.Slot(); elem.IsNil() {
				continue
			}
		}
		dst = f.appendValue(append(dst, f.tag...), elem)
	}
	return dst
}

// Tags of the two fields of a map entry.
const (
	entryKey = 1<<3 | 2
	// entryValue lacks the wire type of the value.
	entryValue = 2 << 3
)

// appendMap appends one entry per key, sorted by key.
func (f *protoField) appendMap(dst []byte, at typeinfo.Pointer) []byte {
	if f.kind == typeinfo.String && !f.pointer {
		m := *typeinfo.As[map[string]string](at)
		if len(m) == 0 {
			return dst
		}
		for _, k := range sortedKeys(m) {
			v := m[k]
			dst = append(dst, f.tag...)
			dst = protowire.AppendVarint(dst, uint64(ProtoItemSize(len(k))+ProtoItemSize(len(v))))
			dst = protowire.AppendString(append(dst, entryKey), k)
			dst = protowire.AppendString(append(dst, entryValue|byte(protowire.BytesType)), v)
		}
		return dst
	}
	m := at.Value(f.named)
	if m.Len() == 0 {
		return dst
	}
	keys := make([]string, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		keys = append(keys, it.Key().String())
	}
	slices.Sort(keys)
	var (
		k     string
		key   = typeinfo.PointerTo(&k).Value(f.named.Key())
		value = reflect.New(f.named.Elem()).Elem()
	)
	for _, k = range keys {
		value.Set(m.MapIndex(key))
		v := typeinfo.AddressOf(value)
		if f.pointer {
			v = *v.Slot()
		}
		dst = f.appendEntry(dst, k, v)
	}
	return dst
}

// sortedKeys returns the keys of a map in order.
func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// appendEntry appends one entry of a map. v is nil if the value is a nil pointer; then the entry
// has no value.
func (f *protoField) appendEntry(dst []byte, k string, v typeinfo.Pointer) []byte {
	dst, begin := beginLength(append(dst, f.tag...))
	dst = protowire.AppendString(append(dst, entryKey), k)
	if !v.IsNil() && (f.kind != typeinfo.Bytes || !v.Slice().Data.IsNil()) {
		dst = f.appendValue(append(dst, entryValue|byte(f.wire())), v)
	}
	return endLength(dst, begin)
}

// wire returns the wire type of one value of the field.
func (f *protoField) wire() protowire.Type {
	switch f.kind {
	case typeinfo.Bool, typeinfo.Int32, typeinfo.Int64:
		return protowire.VarintType
	case typeinfo.Float64:
		return protowire.Fixed64Type
	}
	return protowire.BytesType
}
