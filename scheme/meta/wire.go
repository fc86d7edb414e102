package meta

import (
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// The custom types of this package have messages of a few fields. This file reads and writes their
// fields; codec cannot do it, because it depends on this package.

// wireField is one field of a message: a varint, or length-delimited bytes.
type wireField struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
	data   []byte // aliases the message
}

// eachField calls fn for the fields of a message in order. Fields of other wire types are skipped.
func eachField(message []byte, fn func(wireField) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return wireError(n)
		}
		message = message[n:]
		f := wireField{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.data, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return wireError(n)
		}
		message = message[n:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			if err := fn(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// wireError returns the error for a negative length of package protowire.
func wireError(n int) error {
	err := protowire.ParseError(n)
	if err == io.ErrUnexpectedEOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// bytes returns the content of a length-delimited field.
func (f wireField) bytes() ([]byte, error) {
	if f.kind != protowire.BytesType {
		return nil, errWireType
	}
	return f.data, nil
}

// int returns the content of a varint field.
func (f wireField) int() (int64, error) {
	if f.kind != protowire.VarintType {
		return 0, errWireType
	}
	return int64(f.value), nil
}

// wireTypeError is the error for a field of another wire type than expected.
type wireTypeError struct{}

func (wireTypeError) Error() string { return "proto: wrong wireType for a field" }

var errWireType error = wireTypeError{}

// appendVarint appends a varint field.
func appendVarint(b []byte, number protowire.Number, v int64) []byte {
	b = protowire.AppendTag(b, number, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(v))
}

// appendString appends a string field.
func appendString(b []byte, number protowire.Number, s string) []byte {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendString(b, s)
}

// appendBytes appends a bytes field.
func appendBytes(b []byte, number protowire.Number, data []byte) []byte {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendBytes(b, data)
}
