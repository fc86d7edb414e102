package meta

import (
	"bytes"
	"slices"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// UID is the identity of an object over its whole life. Two objects of one name never share it.
type UID string

// RawExtension is any JSON value, kept as it was written.
type RawExtension struct {
	Raw []byte // never changed in place, so copying the struct is a deep copy; null if empty
}

// MarshalJSON writes the value.
func (r RawExtension) MarshalJSON() ([]byte, error) { return marshalRaw(r.Raw), nil }

// UnmarshalJSON keeps a copy of the value; null leaves r unset.
func (r *RawExtension) UnmarshalJSON(data []byte) error {
	unmarshalRaw(&r.Raw, data)
	return nil
}

// EqualTo implements equality for typeinfo: it compares values as they are stored, without white
// space between tokens. So a client that sends an object back unchanged has not changed it.
func (r *RawExtension) EqualTo(other any) bool {
	o := other.(*RawExtension)
	return bytes.Equal(r.Raw, o.Raw) || bytes.Equal(compact(r.Raw), compact(o.Raw))
}

// compact returns a JSON value in the form in which it is stored.
func compact(raw []byte) []byte { return jsontext.AppendRaw(nil, jsontext.RawOf(raw), jsontext.HTML) }

// AppendProto appends the message of r, whose only field is the value.
func (r RawExtension) AppendProto(b []byte) []byte { return appendRaw(b, r.Raw) }

// ParseProto parses the message of a RawExtension.
func (r *RawExtension) ParseProto(data []byte) error { return parseRaw(&r.Raw, data) }

// FieldsV1 is a set of fields, as a tree in JSON: "f:name" holds a field, "k:{...}", "v:..." and
// "i:..." hold an item of a list by its keys, value or index, and "." stands for the field or item
// itself.
type FieldsV1 struct {
	Raw []byte // never changed in place, so copying the struct is a deep copy; null if empty
}

// MarshalJSON writes the tree.
func (f FieldsV1) MarshalJSON() ([]byte, error) { return marshalRaw(f.Raw), nil }

// UnmarshalJSON keeps a copy of the tree; null leaves f unset.
func (f *FieldsV1) UnmarshalJSON(data []byte) error {
	unmarshalRaw(&f.Raw, data)
	return nil
}

// AppendProto appends the message of f, whose only field is the tree.
func (f FieldsV1) AppendProto(b []byte) []byte { return appendRaw(b, f.Raw) }

// ParseProto parses the message of a FieldsV1.
func (f *FieldsV1) ParseProto(data []byte) error { return parseRaw(&f.Raw, data) }

// marshalRaw returns raw, or null if it is empty.
func marshalRaw(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// unmarshalRaw sets raw to a copy of data, because the decoder reuses its buffer. null leaves raw
// alone.
func unmarshalRaw(raw *[]byte, data []byte) {
	if string(data) == "null" {
		return
	}
	*raw = slices.Clone(data)
}

// appendRaw appends raw as field 1, nothing if raw is nil.
func appendRaw(b, raw []byte) []byte {
	if raw == nil {
		return b
	}
	return appendBytes(b, 1, raw)
}

// parseRaw sets raw to a copy of field 1.
func parseRaw(raw *[]byte, data []byte) error {
	*raw = nil
	return eachField(data, func(f wireField) error {
		if f.number != 1 {
			return nil
		}
		content, err := f.bytes()
		*raw = append(make([]byte, 0, len(content)), content...)
		return err
	})
}
