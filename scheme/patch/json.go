package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/meter"
)

// JSON applies a JSON patch, a list of operations. The error is that of the Meter, or an *Error of kind Malformed, TooLarge
// or Inapplicable.
func JSON(doc, patch []byte, m *meter.Meter) ([]byte, error) {
	if err := m.Step(len(doc) + len(patch)); err != nil {
		return nil, err
	}
	ops, n, err := operations(patch)
	if err != nil {
		return nil, err
	}
	if n > maxOperations {
		return nil, &Error{TooLarge, fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, n)}
	}
	root := &node{raw: trim(doc)}
	if !root.openAt(startDepth(len(doc)), m) {
		return nil, inapplicable("Invalid JSON Document")
	}
	e := editor{root: root, m: m}
	for i := range ops {
		err := e.apply(&ops[i])
		if over := m.Err(); over != nil {
			return nil, over
		}
		if err != nil {
			return nil, err
		}
	}
	out := e.root.append(make([]byte, 0, len(doc)+len(patch)))
	return out, m.Step(len(out))
}

// operation is one step. A nil field is absent or null.
type operation struct {
	op, path, from []byte
	value          []byte // as written, null included; nil if absent
}

// operations reads a patch with the checks and words of kube-apiserver, which decodes into []handlers.jsonPatchOp. It
// returns how many there are, and no more than maxOperations of them.
func operations(patch []byte) (ops []operation, n int, err error) {
	refuse := func(value []byte, into string) error {
		return malformed("error decoding patch: json: cannot unmarshal " + wordFor(value) + " into Go " + into)
	}
	syntax, number := check(patch)
	if syntax != nil {
		return nil, 0, malformed("error decoding patch: " + syntax.Error())
	}
	patch = trim(patch)
	if isNull(patch) {
		return nil, 0, nil
	}
	items, ok := elements(patch, 0, nil)
	if !ok {
		return nil, 0, refuse(patch, "value of type []handlers.jsonPatchOp")
	}
	ops = make([]operation, min(len(items), maxOperations))
	var beyond operation
	var space [inline]member
	for i, item := range items {
		if isNull(item) {
			continue
		}
		op := &beyond
		if i < len(ops) {
			op = &ops[i]
		}
		ms, ok := fields(item, 1, space[:0])
		if !ok {
			return nil, 0, refuse(item, "value of type handlers.jsonPatchOp")
		}
		for _, m := range ms {
			var target *[]byte
			switch string(m.key) {
			case "op":
				target = &op.op
			case "path":
				target = &op.path
			case "from":
				target = &op.from
			case "value":
				op.value = m.value
				if number != nil && m.traits&huge != 0 {
					if _, err := check(m.value); err != nil {
						return nil, 0, malformed("error decoding patch: " + strings.Replace(err.Error(), "Go value", "Go struct field jsonPatchOp.value", 1))
					}
				}
				continue
			default:
				continue
			}
			switch {
			case m.value[0] == '"':
				*target = unquote(m.value)
			case isNull(m.value):
				*target = nil
			default:
				return nil, 0, refuse(m.value, "struct field jsonPatchOp."+string(m.key)+" of type string")
			}
		}
	}
	return ops, len(items), nil
}

// node is a value of the document. It stays raw until an operation looks into it; then it is a map or a list whose
// elements are nodes. A nil *node is a null.
type node struct {
	raw  []byte // compact or not; nil once opened
	keys map[string]*node
	list []*node
	kind byte // 0 raw, '{' or '['
}

// open turns a raw object or array into its members and reports whether the node is one. It must have been scanned.
// Nothing is opened any more once the Meter has ended.
func (n *node) open(m *meter.Meter) bool { return n.openAt(0, m) }

// openAt is open for an input that may nest less the greater depth is.
func (n *node) openAt(depth int, m *meter.Meter) bool {
	if n.kind != 0 {
		return true
	}
	if len(n.raw) == 0 || m.Step(len(n.raw)) != nil {
		return false
	}
	switch n.raw[0] {
	case '{':
		var space [inline]member
		ms, ok := fields(n.raw, depth, space[:0])
		if !ok {
			return false
		}
		n.keys = make(map[string]*node, len(ms))
		for _, m := range ms {
			n.keys[string(m.key)] = newNode(m.value)
		}
	case '[':
		es, ok := elements(n.raw, depth, nil)
		if !ok {
			return false
		}
		n.list = make([]*node, len(es))
		for i, e := range es {
			n.list[i] = newNode(e)
		}
	default:
		return false
	}
	n.kind, n.raw = n.raw[0], nil
	return true
}

func newNode(raw []byte) *node {
	if raw == nil || isNull(raw) {
		return nil
	}
	return &node{raw: raw}
}

// append writes the node: keys sorted where it was opened, else as it was.
func (n *node) append(dst []byte) []byte {
	switch {
	case n == nil:
		return append(dst, "null"...)
	case n.kind == '{':
		keys := make([]string, 0, len(n.keys))
		for k := range n.keys {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		dst = append(dst, '{')
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, []byte(k)), ':')
			dst = n.keys[k].append(dst)
		}
		return append(dst, '}')
	case n.kind == '[':
		dst = append(dst, '[')
		for i, e := range n.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.append(dst)
		}
		return append(dst, ']')
	}
	return appendValue(dst, n.raw, spaced|escaped)
}

// equal compares as kube-apiserver does: objects and lists by their elements, everything else as text. It opens what
// it compares.
func (n *node) equal(o *node, m *meter.Meter) bool {
	if n == nil || o == nil {
		return n == o
	}
	if m.Step(1) != nil {
		return false
	}
	if !n.open(m) {
		return o.kind == 0 && bytes.Equal(n.raw, o.raw)
	}
	if !o.open(m) || n.kind != o.kind {
		return false
	}
	if n.kind == '[' {
		return slices.EqualFunc(n.list, o.list, func(a, b *node) bool { return a.equal(b, m) })
	}
	if len(n.keys) != len(o.keys) {
		return false
	}
	for k, v := range n.keys {
		if other, ok := o.keys[k]; !ok || !v.equal(other, m) {
			return false
		}
	}
	return true
}

// index parses an array index; negative ones count from size.
func index(key string, size int) (int, error) {
	i, err := strconv.Atoi(key)
	if err != nil {
		return 0, inapplicable(fmt.Sprintf("value was not a proper array index: '%s'", key))
	}
	if i < 0 {
		i += size
	}
	if i < 0 || i >= size {
		return 0, inapplicable(fmt.Sprintf("Unable to access invalid index: %s", key))
	}
	return i, nil
}

// get returns what an opened node holds at key. A missing key of an object reads as null.
func (n *node) get(key string) (*node, error) {
	if n.kind == '{' {
		return n.keys[key], nil
	}
	i, err := index(key, len(n.list))
	if err != nil {
		return nil, err
	}
	return n.list[i], nil
}

func (n *node) set(key string, v *node) error {
	if n.kind == '{' {
		n.keys[key] = v
		return nil
	}
	i, err := index(key, len(n.list))
	if err != nil {
		return err
	}
	n.list[i] = v
	return nil
}

func (n *node) add(key string, v *node) error {
	if n.kind == '{' {
		n.keys[key] = v
		return nil
	}
	if key == "-" {
		n.list = append(n.list, v)
		return nil
	}
	i, err := index(key, len(n.list)+1)
	if err != nil {
		return err
	}
	n.list = slices.Insert(n.list, i, v)
	return nil
}

func (n *node) remove(key string) error {
	if n.kind == '{' {
		if _, ok := n.keys[key]; !ok {
			return inapplicable("Unable to remove nonexistent key: " + key)
		}
		delete(n.keys, key)
		return nil
	}
	i, err := index(key, len(n.list))
	if err != nil {
		return err
	}
	n.list = slices.Delete(n.list, i, i+1)
	return nil
}

// editor applies operations to a document.
type editor struct {
	root    *node
	copied  int // bytes that copies have added
	shifted int // elements of lists that operations have looked into
	m       *meter.Meter
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// find returns the container that a pointer leads to, and the last key. What stands before the first slash of a
// pointer is ignored.
func (e *editor) find(what string, pointer []byte) (*node, string, error) {
	at := e.root
	_, rest, ok := strings.Cut(string(pointer), "/")
	for ok {
		var part string
		part, rest, ok = strings.Cut(rest, "/")
		if strings.IndexByte(part, '~') >= 0 {
			part = pointerEscapes.Replace(part)
		}
		if !ok {
			if err := e.m.Step(1 + len(at.list)/shiftsPerStep); err != nil {
				return nil, "", err
			}
			if e.shifted += len(at.list); e.shifted > maxShifts {
				return nil, "", inapplicable("the operations change lists that are too long")
			}
			return at, part, nil
		}
		child, err := at.get(part)
		if err != nil || child == nil || !child.open(e.m) {
			break
		}
		at = child
	}
	return nil, "", inapplicable(fmt.Sprintf("%s operation does not apply: doc is missing path: %s", what, pointer))
}

func (e *editor) apply(op *operation) error {
	kind := string(op.op)
	switch kind {
	case "add", "remove", "replace", "test":
	case "move", "copy":
		if op.from == nil {
			return inapplicable(kind + " operation, missing from field")
		}
	default:
		return inapplicable("Unexpected kind: " + kind)
	}
	if op.path == nil {
		return inapplicable(kind + " operation missing path field")
	}
	if len(op.path) == 0 && (kind == "replace" || kind == "test") {
		return e.applyRoot(kind, newNode(op.value))
	}
	if kind == "move" || kind == "copy" {
		return e.transfer(kind, op)
	}
	at, key, err := e.find(kind, op.path)
	if err != nil {
		return err
	}
	switch kind {
	case "add":
		return at.add(key, newNode(op.value))
	case "remove":
		return at.remove(key)
	case "replace":
		return at.set(key, newNode(op.value))
	}
	found, err := at.get(key)
	if err != nil {
		return err
	}
	if !found.equal(newNode(op.value), e.m) {
		return inapplicable("testing value " + string(op.path) + " failed")
	}
	return nil
}

// applyRoot replaces or tests the whole document.
func (e *editor) applyRoot(kind string, value *node) error {
	switch {
	case kind == "test" && !e.root.equal(value, e.m):
		return inapplicable("testing value  failed")
	case kind == "replace" && (value == nil || !value.open(e.m)):
		return inapplicable("replace operation value must be object or array")
	case kind == "replace":
		e.root = value
	}
	return nil
}

// transfer moves or copies. A copy is taken from the encoded form, so that the two never share a node.
func (e *editor) transfer(kind string, op *operation) error {
	from, key, err := e.find(kind, op.from)
	if err != nil {
		return err
	}
	value, err := from.get(key)
	if err != nil {
		return err
	}
	if kind == "move" {
		if err := from.remove(key); err != nil {
			return err
		}
	}
	to, toKey, err := e.find(kind, op.path)
	if err != nil {
		return err
	}
	if kind == "copy" && value != nil {
		raw := value.append(nil)
		if err := e.m.Step(len(raw)); err != nil {
			return err
		}
		if e.copied += len(raw); e.copied > maxCopyBytes {
			return inapplicable(fmt.Sprintf("Unable to complete the copy, the accumulated size increase of copy is %d, exceeding the limit %d", e.copied, maxCopyBytes))
		}
		value = &node{raw: raw}
	}
	return to.add(toKey, value)
}
