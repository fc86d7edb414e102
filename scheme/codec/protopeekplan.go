package codec

import (
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The tree that a ProtoPeeker walks: its paths compiled into field numbers, once per ProtoPeeker.
// NewProtoPeeker calls makePeekMessage.

// peekMessage is a message type that a ProtoPeeker walks into.
type peekMessage struct {
	typ     *typeinfo.Type
	fields  []*peekField // the fields that are read
	numbers []*peekField // the same by number, for numbers below smallNumbers
	// empty holds the texts that Peek.Fields gets for an empty message, unless they are "": JSON
	// writes a false boolean without omitempty, while an absent field of a message means the same.
	empty []emptyField
	// decoded are the paths to values that cannot be read off the wire.
	decoded pathNode
}

// emptyField is a value for Peek.Fields.
type emptyField struct {
	field int
	text  string
}

// peekField is a field that is read, not skipped.
type peekField struct {
	*protoField
	slot   slot
	at     int          // index into Peek.Fields, -1 if no path ends here
	zero   string       // the JSON text of 0
	inside *peekMessage // the message of a struct
	// decoded says that the value must be decoded to get the text that JSON has: types with their
	// own JSON form, floats, byte strings, and maps that paths lead into.
	decoded bool
}

// slot names the field of Peek that a field of metadata is stored in.
type slot uint8

const (
	slotNone slot = iota
	slotName
	slotGenerateName
	slotNamespace
	slotUID
	slotResourceVersion
	slotGeneration
	slotDeletionTimestamp
	slotLabels
)

// slotNames are the JSON names of the fields with a slot.
var slotNames = [...]string{
	slotName: "name", slotGenerateName: "generateName", slotNamespace: "namespace", slotUID: "uid",
	slotResourceVersion: "resourceVersion", slotGeneration: "generation", slotDeletionTimestamp: "deletionTimestamp",
	slotLabels: "labels",
}

// put stores a string in the field of a Peek that the slot names.
func (p *Peek) put(at slot, s string) {
	switch at {
	case slotName:
		p.Name = s
	case slotGenerateName:
		p.GenerateName = s
	case slotNamespace:
		p.Namespace = s
	case slotUID:
		p.UID = s
	case slotResourceVersion:
		p.ResourceVersion = s
	}
}

// slotOf returns the slot of a field of t. Only the metadata of the object itself, at depth 1, has
// slots; that of a template has none.
func slotOf(t *typeinfo.Type, depth int, name string) slot {
	if depth != 1 || t.Go != reflect.TypeFor[meta.ObjectMeta]() {
		return slotNone
	}
	return slot(max(0, slices.Index(slotNames[:], name)))
}

// field returns the field with a number, nil if the field is skipped.
func (m *peekMessage) field(number protowire.Number) *peekField {
	if int(number) < len(m.numbers) {
		return m.numbers[number]
	}
	if int(number) < smallNumbers {
		return nil
	}
	for _, f := range m.fields {
		if f.number == number {
			return f
		}
	}
	return nil
}

// makePeekMessage compiles the paths that lead into the struct t. depth counts the structs around
// t; the object itself is at 0.
func makePeekMessage(t *typeinfo.Type, depth int, paths *pathNode) *peekMessage {
	m := &peekMessage{typ: t}
	// In JSON the members of an inlined struct stand beside those of t; in protobuf the inlined
	// struct is one field of t. So its paths are gathered under that field.
	inlined := map[*typeinfo.Field]*pathNode{}
	for i := range paths.children {
		child := &paths.children[i]
		switch f := memberWith(t, child.name); {
		case f == nil:
		case !f.Inline:
			m.add(t, depth, f, child)
		case inlined[f] == nil:
			inlined[f] = &pathNode{children: []pathChild{*child}}
		default:
			inlined[f].children = append(inlined[f].children, *child)
		}
	}
	for f, node := range inlined {
		m.add(t, depth, f, &pathChild{field: -1, node: *node})
	}
	return m
}

// memberWith returns the member of t that is the JSON field called name, or that inlines it; nil if
// there is none.
func memberWith(t *typeinfo.Type, name string) *typeinfo.Field {
	f := t.Field(name)
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(t.Members, func(m *typeinfo.Field) bool { return m.Index[0] == f.Index[0] })
	return t.Members[i]
}

// add compiles the paths that lead to the member f of t or through it. Lists, and objects that no
// path leads into, have no text and are left out.
func (m *peekMessage) add(t *typeinfo.Type, depth int, f *typeinfo.Field, child *pathChild) {
	pf := &peekField{slot: slotOf(t, depth, f.Name), at: child.field}
	through := len(child.node.children) > 0
	switch f.Type.Kind {
	case typeinfo.Struct:
		pf.at, pf.inside, pf.decoded = -1, makePeekMessage(f.Type, depth+1, &child.node), through && f.Type.Proto != nil
		if !f.Pointer {
			m.empty = append(m.empty, pf.inside.empty...)
		}
	case typeinfo.Map:
		pf.at, pf.decoded = -1, through
	case typeinfo.Bytes, typeinfo.Float64, typeinfo.Custom:
		pf.decoded = pf.at >= 0 || through
	case typeinfo.List, typeinfo.Any:
		return
	}
	if pf.zero = emptyText(f); pf.zero != "" && pf.at >= 0 {
		m.empty = append(m.empty, emptyField{pf.at, pf.zero})
	}
	pf.protoField = messageFor(t).field(protowire.Number(f.Number))
	if pf.protoField == nil || !pf.wanted() {
		return
	}
	if pf.decoded {
		m.decoded.children = append(m.decoded.children, *child)
	}
	m.fields = append(m.fields, pf)
	if n := int(f.Number); n < smallNumbers {
		m.numbers = append(m.numbers, make([]*peekField, max(0, n+1-len(m.numbers)))...)
		m.numbers[n] = pf
	}
}

// wanted reports whether the field has to be read at all.
func (f *peekField) wanted() bool {
	return f.at >= 0 || f.slot != slotNone || f.decoded || f.inside != nil && f.inside.wanted()
}

// wanted reports whether a look into the message can find anything.
func (m *peekMessage) wanted() bool { return len(m.fields) > 0 || len(m.empty) > 0 }

// emptyText returns the text that JSON has for a scalar field that is not set, "" if JSON leaves
// the field out.
func emptyText(f *typeinfo.Field) string {
	if f.Pointer || f.OmitEmpty && f.Type.Go.Kind() != reflect.Struct {
		return ""
	}
	switch f.Type.Kind {
	case typeinfo.Bool:
		return "false"
	case typeinfo.Int32, typeinfo.Int64, typeinfo.Float64:
		return "0"
	case typeinfo.Custom:
		out := Peek{Fields: []string{""}}
		data, err := AppendJSON([]byte(`{"value":`), reflect.New(f.Type.Go).Interface())
		if err == nil {
			err = peekInside(append(data, '}'), &emptyValue, &out)
		}
		if err == nil {
			return out.Fields[0]
		}
	}
	return ""
}

// emptyValue is the path to the member "value".
var emptyValue = pathNode{children: []pathChild{{name: "value"}}}
