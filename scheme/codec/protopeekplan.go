package codec

import (
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// peekMessage is a message that a ProtoPeeker walks.
type peekMessage struct {
	typ     *typeinfo.Type
	fields  []*peekField // those not skipped
	numbers []*peekField // by number, as far as numbers are small
	// empty is what JSON says of a value of which nothing is in the message, where that is not "": a false boolean is
	// written unless it is omitempty.
	empty []emptyField
	// decoded are the paths to what cannot be read off the wire.
	decoded pathNode
}

// emptyField is a value in Peek.Fields.
type emptyField struct {
	field int
	text  string
}

// peekField is a field of a message that is not skipped.
type peekField struct {
	*protoField
	slot   slot
	at     int          // index into Peek.Fields, -1 if no path ends here
	zero   string       // what JSON says of 0
	inside *peekMessage // of a struct
	// decoded says that the way to find the value as JSON has it is to decode it: types with a JSON form of their own,
	// floats, byte strings, maps with paths into them.
	decoded bool
}

// slot is what a field of metadata is to a Peek.
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

var slotNames = [...]string{
	slotName: "name", slotGenerateName: "generateName", slotNamespace: "namespace", slotUID: "uid",
	slotResourceVersion: "resourceVersion", slotGeneration: "generation", slotDeletionTimestamp: "deletionTimestamp",
	slotLabels: "labels",
}

// put stores a string that has a place of its own.
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

// slotOf returns the slot of a field of t, which stands at a depth. Metadata that are deeper, such as those of templates, have
// none.
func slotOf(t *typeinfo.Type, depth int, name string) slot {
	if depth != 1 || t.Go != reflect.TypeFor[meta.ObjectMeta]() {
		return slotNone
	}
	return slot(max(0, slices.Index(slotNames[:], name)))
}

// field returns the field with a number, or nil if it is to be skipped.
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

// makePeekMessage compiles the paths below a struct, which stands at a depth; the object itself is at 0.
func makePeekMessage(t *typeinfo.Type, depth int, paths *pathNode) *peekMessage {
	m := &peekMessage{typ: t}
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

// memberWith returns the member of t that is, or inlines, the JSON field called name, nil if there is none.
func memberWith(t *typeinfo.Type, name string) *typeinfo.Field {
	f := t.Field(name)
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(t.Members, func(m *typeinfo.Field) bool { return m.Index[0] == f.Index[0] })
	return t.Members[i]
}

// add compiles the paths that lead to or through a member of t. What JSON has as an array, or as an object that no path
// leads into, is nothing to look for.
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

// wanted reports whether there is anything to do about the field.
func (f *peekField) wanted() bool {
	return f.at >= 0 || f.slot != slotNone || f.decoded || f.inside != nil && f.inside.wanted()
}

func (m *peekMessage) wanted() bool { return len(m.fields) > 0 || len(m.empty) > 0 }

// emptyText is the scalar that JSON has for a field which was not set, "" if there is none.
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

var emptyValue = pathNode{children: []pathChild{{name: "value"}}}
