package openapi

import (
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// A message says how an object of a document in JSON is written as a message of the protobuf form.
type message struct {
	fields map[string]field
	// extension is the field of what begins with x-: messages of a name (1) and any value (2). 0 if there is none.
	extension protowire.Number
	// entry is the field of all else, for objects whose keys are names: messages of a name (1) and a value (2).
	entry field
}

// field is a field of a message: its number, and how its value is written. The zero field is none.
type field struct {
	number protowire.Number
	write  func(w *protoWriter, number protowire.Number, value jsontext.Raw)
}

// protoWriter appends messages, field by field.
type protoWriter struct {
	b []byte
}

// object writes the fields of a message. What the message has no field for is left out.
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

// sub writes a nested message, also an empty one. Its length is filled in behind it.
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

func (w *protoWriter) text(number protowire.Number, value string) {
	w.b = protowire.AppendTag(w.b, number, protowire.BytesType)
	w.b = protowire.AppendString(w.b, value)
}

// The ways to write a value.

func text(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	s, _ := value.Str()
	w.text(number, s)
}

func boolean(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	w.b = protowire.AppendTag(w.b, number, protowire.VarintType)
	w.b = protowire.AppendVarint(w.b, protowire.EncodeBool(value == "true"))
}

func integer(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	n, _ := strconv.ParseInt(string(value), 10, 64)
	w.b = protowire.AppendTag(w.b, number, protowire.VarintType)
	w.b = protowire.AppendVarint(w.b, uint64(n))
}

func double(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	f, _ := strconv.ParseFloat(string(value), 64)
	w.b = protowire.AppendTag(w.b, number, protowire.Fixed64Type)
	w.b = protowire.AppendFixed64(w.b, math.Float64bits(f))
}

// anyValue writes a value of any kind, as YAML; JSON is YAML.
func anyValue(w *protoWriter, number protowire.Number, value jsontext.Raw) {
	w.sub(number, func() { w.text(2, string(value)+"\n") })
}

// A way to write a value.
type way = func(w *protoWriter, number protowire.Number, value jsontext.Raw)

// list writes each element of a list.
func list(element way) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		elements, _ := value.Elements(0, nil)
		for _, e := range elements {
			element(w, number, e)
		}
	}
}

// oneOrMore writes a value, or each element of a list.
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

// of writes a message.
func of(m *message) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		w.sub(number, func() { w.object(m, value) })
	}
}

// in writes a message that has nothing but the value, in the field of a number.
func in(inner protowire.Number, write way) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		w.sub(number, func() { write(w, inner, value) })
	}
}

// either writes one of two: true or false in one way, and everything else in another.
func either(flag, other way) way {
	return func(w *protoWriter, number protowire.Number, value jsontext.Raw) {
		if value == "true" || value == "false" {
			flag(w, number, value)
			return
		}
		other(w, number, value)
	}
}

// orReference writes a message with one field, which is either what write makes of the value (1) or a reference (2).
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

// toProto returns the protobuf form of a document.
func toProto(m *message, document []byte) []byte {
	w := protoWriter{make([]byte, 0, len(document)*3/4)}
	w.object(m, jsontext.RawOf(document))
	return w.b
}
