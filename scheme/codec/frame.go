package codec

import "encoding/binary"

// AppendEvent appends a watch event to dst. object is the object encoded in the media's own type, for protobuf with its
// envelope; a final newline is dropped. YAML has no form for events: it is written as JSON, of JSON.
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

// appendProtoEvent appends the frame of an event: four bytes of length, big-endian, then a meta.v1 WatchEvent without
// envelope, whose object is a RawExtension that holds the enveloped object.
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
