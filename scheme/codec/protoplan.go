package codec

import (
	"reflect"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// How types map to protobuf messages: makeMessage turns a descriptor into a message, once per type,
// on first use. protodecode.go, protoencode.go and protopeekplan.go work by these messages.

// message says how a type is written as a protobuf message. If custom is set, the type encodes
// itself; otherwise fields describe it. Named lists of strings, such as Verbs, are messages, too:
// protobuf alone cannot tell an empty list from a missing one.
type message struct {
	custom  typeinfo.ProtoMessage
	fields  []protoField  // ascending by number
	numbers []*protoField // by number, below smallNumbers; all API types have only such numbers
}

// smallNumbers is the limit below which field numbers are looked up in a table.
const smallNumbers = 256

// protoField is a field of a message.
type protoField struct {
	name    string
	number  protowire.Number
	tag     []byte // with the wire type of one value
	offset  uintptr
	kind    typeinfo.Kind  // of the value; for a list of its elements, for a map of its values
	typ     *typeinfo.Type // of the same value
	pointer bool           // the field, the element or the map's value is a pointer
	list    bool
	isMap   bool
	named   reflect.Type // the Go type of a list or map
	size    uintptr      // bytes of an element, as the list holds it
	behind  uintptr      // see plan.behind
	msg     *message     // of kinds Struct and Custom
	// nilable says that the value is a slice with its own message, which is left out if the slice
	// is nil.
	nilable bool
	// always says that nil is written as an empty message, and an empty message is read as nil. The
	// field is a plain struct in Kubernetes but a pointer here, so that JSON can leave it out.
	always bool
}

// isAlways reports whether f is metadata.creationTimestamp, the only field with always set.
func isAlways(f *typeinfo.Field) bool {
	return f.GoName == "CreationTimestamp" && f.Owner == reflect.TypeFor[meta.ObjectMeta]() && f.Pointer
}

// messages holds the messages of all types.
var messages compiled[message]

// messagesByGo maps the reflect.Type of a pointer to an object to the *message of the object.
var messagesByGo sync.Map

// orNil returns nil for the message of a type that has no protobuf form.
func (m *message) orNil() *message {
	if m.custom == nil && len(m.fields) == 0 {
		return nil
	}
	return m
}

// messageFor returns the message of t.
func messageFor(t *typeinfo.Type) *message { return messages.get(t, makeMessage) }

// makeMessage makes the message of t; see compiled.get.
func makeMessage(t *typeinfo.Type, fresh map[*typeinfo.Type]*message) *message {
	if m := messages.lookup(t, fresh); m != nil {
		return m
	}
	m := &message{custom: t.Proto}
	fresh[t] = m
	if m.custom != nil {
		return m
	}
	if isWrapped(t) {
		m.fields = []protoField{{
			name: "Items", number: 1, tag: []byte{1<<3 | 2}, kind: typeinfo.String, typ: t.Elem,
			list: true, named: t.Go, size: t.Go.Elem().Size(),
		}}
		m.numbers = []*protoField{nil, &m.fields[0]}
		return m
	}
	for _, f := range t.Members {
		if f.Number != 0 {
			if pf, ok := makeField(f, fresh); ok {
				m.fields = append(m.fields, pf)
			}
		}
	}
	slices.SortFunc(m.fields, func(a, b protoField) int { return int(a.number) - int(b.number) })
	for i := range m.fields {
		if n := int(m.fields[i].number); n < smallNumbers {
			for len(m.numbers) <= n {
				m.numbers = append(m.numbers, nil)
			}
			m.numbers[n] = &m.fields[i]
		}
	}
	return m
}

// isWrapped reports whether a list is a message of its own: it is a named type of strings, such as
// Verbs or ExtraValue.
func isWrapped(t *typeinfo.Type) bool {
	return t.Kind == typeinfo.List && t.Go.Name() != "" && t.Elem.Kind == typeinfo.String && !t.ElemPointer
}

// makeField makes a field of a message. It reports false for a field whose type cannot stand in a
// message.
func makeField(f *typeinfo.Field, fresh map[*typeinfo.Type]*message) (protoField, bool) {
	t := f.Type
	pf := protoField{
		name: f.GoName, number: protowire.Number(f.Number), offset: f.Offset, pointer: f.Pointer, named: t.Go,
		always: isAlways(f),
	}
	switch {
	case t.Proto != nil, isWrapped(t):
	case t.Kind == typeinfo.List:
		pf.list, pf.pointer, pf.size, pf.behind = true, t.ElemPointer, t.Go.Elem().Size(), behind(t)
		t = t.Elem
	case t.Kind == typeinfo.Map:
		pf.isMap, pf.pointer, pf.behind = true, t.ElemPointer, behind(t)
		t = t.Elem
	}
	pf.kind, pf.typ = t.Kind, t
	wire := protowire.BytesType
	switch {
	case t.Proto != nil, isWrapped(t), t.Kind == typeinfo.Struct, t.Kind == typeinfo.Custom && len(t.Members) > 0:
		pf.kind, pf.nilable = typeinfo.Struct, t.Go.Kind() == reflect.Slice
		pf.msg = makeMessage(t, fresh)
	case t.Kind == typeinfo.String, t.Kind == typeinfo.Bytes:
	case t.Kind == typeinfo.Bool, t.Kind == typeinfo.Int32, t.Kind == typeinfo.Int64:
		wire = protowire.VarintType
	case t.Kind == typeinfo.Float64:
		wire = protowire.Fixed64Type
	default:
		return pf, false
	}
	if pf.isMap {
		wire = protowire.BytesType
	}
	pf.tag = protowire.AppendTag(nil, pf.number, wire)
	return pf, true
}

// field returns the field with a number, nil if there is none.
func (m *message) field(number protowire.Number) *protoField {
	if int(number) < len(m.numbers) {
		return m.numbers[number]
	}
	for i := range m.fields {
		if m.fields[i].number == number {
			return &m.fields[i]
		}
	}
	return nil
}

// appendListMeta appends the message of a ListMeta.
func appendListMeta(dst []byte, lm *meta.ListMeta) []byte {
	return messageFor(typeinfo.For[meta.ListMeta]()).append(dst, typeinfo.PointerTo(lm))
}
