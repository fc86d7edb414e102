package patch

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// merge.go applies JSON merge patches (RFC 7386) for the PATCH handler, in one pass over the sorted
// members of both objects, without a tree.

// Merge applies a JSON merge patch and returns the new document. Objects merge key by key, null
// removes a key, any other value replaces. It accepts what kube-apiserver accepts without field
// validation; CheckMerge finds what strict validation refuses. The error is that of the Meter, or
// an *Error of kind Malformed, or of kind Inapplicable if doc is not a JSON object.
func Merge(doc, patch []byte, m *meter.Meter) ([]byte, error) {
	if err := m.Step(len(doc) + len(patch)); err != nil {
		return nil, err
	}
	if syntax, _ := check(patch); syntax != nil {
		return nil, errNoMergePatch
	}
	changes := jsontext.RawOf(patch)
	w := merger{out: make([]byte, 0, len(doc)+len(patch)), m: m}
	merged := true
	switch changes[0] {
	case '{':
		merged = w.merge(jsontext.RawOf(doc), changes, startDepth(len(doc)))
	case '[': // a list replaces the document
		w.add(changes)
	default:
		return nil, errNoMergePatch
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	if !merged {
		return nil, inapplicable("Invalid JSON Document")
	}
	return w.out, nil
}

var errNoMergePatch = malformed("Invalid JSON Patch")

// notObject is the message of encoding/json for a value that should have been an object.
func notObject(value raw) string {
	return cannotUnmarshal(value, "value of type map[string]interface {}")
}

// cannotUnmarshal is the message of encoding/json for a value that should have been something else.
func cannotUnmarshal(value raw, into string) string {
	return "json: cannot unmarshal " + wordFor(value) + " into Go " + into
}

// wordFor names the shape of a value as encoding/json's messages do.
func wordFor(value raw) string {
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

// merger writes the merged document to out.
type merger struct {
	out []byte
	m   *meter.Meter
}

// inline is the number of members up to which an object is split without an allocation.
const inline = 12

// merge appends the merge of two objects. It walks their sorted members side by side, so the keys
// of the result are sorted. It returns false if one of them is not a well-formed object, or if the
// Meter has ended. depth is added to the nesting of the document; the nesting of the patch was
// checked before.
func (m *merger) merge(doc, patch raw, depth int) bool {
	if m.m.Step(len(doc)+len(patch)) != nil {
		return false
	}
	var docSpace, patchSpace [inline]member
	old, ok := members(doc, depth, docSpace[:0])
	if !ok {
		return false
	}
	changes, ok := members(patch, 0, patchSpace[:0])
	if !ok {
		return false
	}
	m.out = append(m.out, '{')
	start := len(m.out)
	for len(old) > 0 || len(changes) > 0 {
		order := compare(old, changes)
		switch {
		case order < 0:
			m.key(old[0].Key, start)
			m.out = old[0].AppendValue(m.out, jsontext.HTML)
		case changes[0].Value.IsNull():
		case order > 0:
			m.key(changes[0].Key, start)
			m.add(changes[0].Value)
		default:
			m.key(changes[0].Key, start)
			if !m.change(old[0].Value, changes[0].Value) {
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

// compare orders the first members of two sorted lists by key. An empty list comes last.
func compare(a, b []member) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	}
	return strings.Compare(a[0].Key, b[0].Key)
}

// change appends the merged value of a key that both sides have.
func (m *merger) change(old, change raw) bool {
	if old[0] != '{' {
		m.add(change)
		return true
	}
	if change[0] != '{' {
		// As in Kubernetes, nulls within a list survive where the list replaces an object.
		m.out = jsontext.AppendRaw(m.out, change, jsontext.HTML)
		return true
	}
	return m.merge(old, change, 0)
}

// key appends a key, after a comma unless it is the first of the object that starts at start.
func (m *merger) key(key string, start int) {
	if len(m.out) > start {
		m.out = append(m.out, ',')
	}
	m.out = append(jsontext.AppendString(m.out, key, jsontext.HTML), ':')
}

// add appends a value of the patch, without the nulls in its objects. The patch was checked, so
// splitting it cannot fail. Once the Meter has ended, add appends nothing.
func (m *merger) add(v raw) {
	if m.m.Step(len(v)) != nil {
		return
	}
	switch v[0] {
	case '{':
		var space [inline]member
		ms, _ := members(v, 0, space[:0])
		m.out = append(m.out, '{')
		start := len(m.out)
		for i := range ms {
			if !ms[i].Value.IsNull() {
				m.key(ms[i].Key, start)
				m.add(ms[i].Value)
			}
		}
		m.out = append(m.out, '}')
	case '[':
		var space [inline]raw
		es, _ := v.Elements(0, space[:0])
		m.out = append(m.out, '[')
		for i, e := range es {
			if i > 0 {
				m.out = append(m.out, ',')
			}
			m.add(e)
		}
		m.out = append(m.out, ']')
	default:
		m.out = jsontext.AppendRaw(m.out, v, jsontext.HTML)
	}
}
