package patch

import (
	"bytes"

	"github.com/coracle-project/coracle/scheme/meter"
)

// Merge applies a JSON merge patch: objects merge key by key, null removes a key, everything else replaces.
// The error is that of the Meter, or an *Error of kind Malformed, or Inapplicable if doc is not a JSON object.
func Merge(doc, patch []byte, m *meter.Meter) ([]byte, error) {
	if err := m.Step(len(doc) + len(patch)); err != nil {
		return nil, err
	}
	if err := checkMerge(patch); err != nil {
		return nil, err
	}
	w := merger{out: make([]byte, 0, len(doc)+len(patch)), docStart: startDepth(len(doc)), m: m}
	merged := w.merge(trim(doc), patch, 0)
	if err := m.Err(); err != nil {
		return nil, err
	}
	if !merged {
		return nil, inapplicable("Invalid JSON Document")
	}
	return w.out, nil
}

// checkMerge refuses what is not an object. Kubernetes first decodes into a map, which accepts null.
func checkMerge(patch []byte) error {
	syntax, number := check(patch)
	if syntax != nil {
		return malformed("error decoding patch: " + syntax.Error())
	}
	switch patch = trim(patch); {
	case isNull(patch):
		return malformed("Invalid JSON Patch")
	case patch[0] != '{':
		return malformed("error decoding patch: " + notObject(patch))
	case number != nil:
		return malformed("error decoding patch: " + number.Error())
	}
	return nil
}

// notObject is the message of encoding/json for a value that should have been an object.
func notObject(value []byte) string {
	return "json: cannot unmarshal " + wordFor(value) + " into Go value of type map[string]interface {}"
}

// wordFor names the shape of a value as encoding/json's messages do.
func wordFor(value []byte) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	default:
		return "number"
	}
}

// merger writes the merged document to out, in one pass and without a tree.
type merger struct {
	out      []byte
	docStart int // depth of the document's outermost object; the patch has been checked, so it counts from 0
	m        *meter.Meter
}

// inline is how many members of an object are kept on the stack.
const inline = 12

// merge appends the merge of two objects. Both sides are sorted by key, so they are walked like sorted lists. It
// reports false if one of them is not a well-formed object, or the Meter has ended.
func (m *merger) merge(doc, patch []byte, depth int) bool {
	if m.m.Step(len(doc)+len(patch)) != nil {
		return false
	}
	var docSpace, patchSpace [inline]member
	old, ok := members(doc, m.docStart+depth, docSpace[:0])
	if !ok {
		return false
	}
	changes, ok := members(patch, depth, patchSpace[:0])
	if !ok {
		return false
	}
	m.out = append(m.out, '{')
	start := len(m.out)
	for len(old) > 0 || len(changes) > 0 {
		order := compare(old, changes)
		switch {
		case order < 0:
			m.key(old[0].key, start)
			m.out = appendValue(m.out, old[0].value, old[0].traits)
		case isNull(changes[0].value):
		case order > 0:
			m.key(changes[0].key, start)
			m.add(changes[0], depth+1)
		default:
			m.key(changes[0].key, start)
			if !m.change(old[0], changes[0], depth+1) {
				return false
			}
		}
		if order <= 0 {
			old = old[1:]
		}
		if order >= 0 {
			changes = changes[1:]
		}
	}
	m.out = append(m.out, '}')
	return true
}

// compare orders the first members of two sorted lists; the end of a list comes last.
func compare(a, b []member) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	}
	return bytes.Compare(a[0].key, b[0].key)
}

// change appends what a value becomes that both sides have.
func (m *merger) change(old, change member, depth int) bool {
	if old.value[0] != '{' {
		m.add(change, depth)
		return true
	}
	if change.value[0] != '{' {
		// As in Kubernetes, nulls within a list survive where the list replaces an object.
		m.out = appendValue(m.out, change.value, change.traits)
		return true
	}
	return m.merge(old.value, change.value, depth)
}

// key appends a key, after a comma unless it is the first of the object that starts at start.
func (m *merger) key(key []byte, start int) {
	if len(m.out) > start {
		m.out = append(m.out, ',')
	}
	m.out = append(appendQuoted(m.out, key), ':')
}

// add appends a value of the patch without the nulls in its objects. The patch has been checked, so splitting it
// cannot fail. Nothing is appended any more once the Meter has ended.
func (m *merger) add(v member, depth int) {
	if m.m.Step(len(v.value)) != nil {
		return
	}
	switch v.value[0] {
	case '{':
		var space [inline]member
		ms, _ := members(v.value, depth, space[:0])
		m.out = append(m.out, '{')
		start := len(m.out)
		for i := range ms {
			if !isNull(ms[i].value) {
				m.key(ms[i].key, start)
				m.add(ms[i], depth+1)
			}
		}
		m.out = append(m.out, '}')
	case '[':
		var space [inline][]byte
		es, _ := elements(v.value, depth, space[:0])
		m.out = append(m.out, '[')
		for i, e := range es {
			if i > 0 {
				m.out = append(m.out, ',')
			}
			m.add(member{value: e, traits: v.traits}, depth+1)
		}
		m.out = append(m.out, ']')
	default:
		m.out = appendValue(m.out, v.value, v.traits)
	}
}
