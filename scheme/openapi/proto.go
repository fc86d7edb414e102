package openapi

import (
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// The protobuf form of documents. Tables of messages (protov2.go, protov3.go) say how each object
// of the JSON document maps to a message of gnostic's openapi.v2 or openapi.v3; this file walks the
// JSON by such a table. V2Proto and V3Proto call toProto.
//
// The entry "description": {1, text} of a table says that the member description is a string in
// field 1. in(2, boolean) says that the value is a boolean in field 2 of a message that has nothing
// else; gnostic has such messages where a value can have one of several forms.

// A message says how a JSON object of a document is written as a protobuf message.
type message struct {
	fields map[string]field
	// extension is the number of the field for members that begin with x-, each a message of a name
	// (1) and any value (2). 0 means that they are left out.
	extension protowire.Number
	// entry is the field for all other members, for objects whose keys are names: each is a message
	// of a name (1) and a value (2).
	entry field
}

// field is a field of a message: its number and the way to write its value. The zero field is no
// field.
type field struct {
	number protowire.Number
	write  func(w *protoWriter, number protowire.Number, value jsontext.Raw)
}

// protoWriter appends protobuf messages to b.
type protoWriter struct {
	b []byte
}

// object writes the members of a JSON object as fields of a message. Members without a field are
// left out.
func (w *protoWriter) object(m *message, value jsontext.Raw) {
	members, _ := value.Members(0, nil)
	for _, member := range members {
		f, ok := m.fields[member.Key]
		switch {
		case ok:
			f.write(w, f.number, member.Value)
		case m.extension != 0 && strings.HasPrefix(member.Key, "x-"):
			w.named(field{m.extension, anyValue}, member)
		case m.entry.number != 0:
			w.named(m.entry, member)
		}
	}
}

// named writes a message of a name and a value.
func (w *protoWriter) named(f field, member jsontext.Member) {
	w.sub(f.number, func() {
		w.text(1, member.Key)
		f.write(w, 2, member.Value)
	})
}

// sub writes a nested message, even if it is empty. Its length is inserted after its content is
// written.
func (w *protoWriter) sub(number protowire.Number, fill func()) {
	w.b = protowire.AppendTag(w.b, number, protowire.BytesType)
	start := len(w.b)
	fill()
	size := len(w.b) - start
	var length [10]byte
	prefix := protowire.AppendVarint(length[:0], uint64(size))
	w.b = append(w.b, prefix...)
	copy(w.b[start+len(prefix):], w.b[start:start+size])
	copy(w.b[start:], prefix)
}

// text writes a string field.
func (w *protoWriter) text(number protowire.Number, value string) {
	w.b = protowire.AppendTag(w.b, number, protowire.BytesType)
	w.b = protowire.AppendString(w.b, value)
}

// Functions of type way, for the tables: each writes a value as a field.

// text writes a JSON string.
func text(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	s, _ := value.Str()
	w.text(number, s)
}

// boolean writes true or false.
func boolean(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	w.b = protowire.AppendTag(w.b, number, protowire.VarintType)
	w.b = protowire.AppendVarint(w.b, protowire.EncodeBool(value == "true"))
}

// integer writes an integer as a varint.
func integer(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	n, _ := strconv.ParseInt(string(value), 10, 64)
	w.b = protowire.AppendTag(w.b, number, protowire.VarintType)
	w.b = protowire.AppendVarint(w.b, uint64(n))
}

// double writes a number as a float64.
func double(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	f, _ := strconv.ParseFloat(string(value), 64)
	w.b = protowire.AppendTag(w.b, number, protowire.Fixed64Type)
	w.b = protowire.AppendFixed64(w.b, math.Float64bits(f))
}

// anyValue writes any value as YAML text, which JSON is.
func anyValue(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	w.sub(number, func() { w.text(2, string(value)+"\n") })
}

// A way is a function that writes a JSON value as the field with the given number.
type way = func(w *protoWriter, number protowire.Number, value jsontext.Raw)

// list writes each element of an array as a field.
func list(element way) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		elements, _ := value.Elements(0, nil)
		for _, e := range elements {
			element(w, number, e)
		}
	}
}

// oneOrMore writes a value, or each element of an array, as a field.
func oneOrMore(write way) way {
	each := list(write)
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		if strings.HasPrefix(string(value), "[") {
			each(w, number, value)
			return
		}
		write(w, number, value)
	}
}

// of writes an object as a message.
func of(m *message) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		w.sub(number, func() { w.object(m, value) })
	}
}

// in writes a message whose only field, with number inner, is the value.
func in(inner protowire.Number, write way) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		w.sub(number, func() { write(w, inner, value) })
	}
}

// either writes true and false in one way and every other value in another.
func either(flag, other way) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		if value == "true" || value == "false" {
			flag(w, number, value)
			return
		}
		other(w, number, value)
	}
}

// orReference writes a message whose only field is either the value (1) or, if the value is a
// reference, the reference (2).
func orReference(write way) way {
	reference := of(&message{fields: map[string]field{"$ref": {1, text}}})
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		w.sub(number, func() {
			if strings.HasPrefix(string(value), `{"$ref":`) {
				reference(w, 2, value)
				return
			}
			write(w, 1, value)
		})
	}
}

// toProto returns the protobuf form of a JSON document.
func toProto(m *message, document []byte) []byte {
	w := protoWriter{make([]byte, 0, len(document)*3/4)}
	w.object(m, jsontext.RawOf(document))
	return w.b
}
