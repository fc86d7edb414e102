package codec

import "encoding/binary"

// AppendEvent appends a watch event to dst. typ is the event type, such as "ADDED". object is the
// encoded object in the encoding m.Type, with its envelope for protobuf; one final newline is
// dropped. YAML has no streaming form, so for YAML the event and its object are JSON.
func AppendEvent(dst []byte, typ string, object []byte, m Media) []byte {
	if m.Type == Protobuf {
		return appendProtoEvent(dst, typ, object)
	}
	dst = append(dst, `{"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, `","object":`...)
	dst = append(dst, trimNewline(object)...)
	return append(dst, "}\n"...)
}

// appendProtoEvent appends the frame of an event: its length as four bytes, big-endian, then a
// meta.v1 WatchEvent without envelope. The field object of a WatchEvent is a RawExtension, whose
// raw bytes are the enveloped object.
func appendProtoEvent(dst []byte, typ string, object []byte) []byte {
	raw := 1 + sizeVarint(uint64(len(object))) + len(object)
	size := 1 + sizeVarint(uint64(len(typ))) + len(typ) + 1 + sizeVarint(uint64(raw)) + raw
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	dst = append(dst, 1<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(typ)))
	dst = append(dst, typ...)
	dst = append(dst, 2<<3|2)
	dst = binary.AppendUvarint(dst, uint64(raw))
	dst = append(dst, 1<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(object)))
	return append(dst, object...)
}
