package codec

// AppendEvent appends a watch event to dst. object is the object encoded in the media's own type, for protobuf with its
// envelope; a final newline is dropped. YAML has no form for events: it is written as JSON.
func AppendEvent(dst []byte, typ string, object []byte, m Media) []byte { return dst }
