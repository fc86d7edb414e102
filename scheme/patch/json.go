package patch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// json.go applies JSON patches (RFC 6902) for the PATCH handler. The operations change a lazy tree
// in place: only objects and lists on the way to a target are decoded.

// JSON applies a JSON patch, a list of operations, and returns the new document. It accepts what
// kube-apiserver accepts without field validation; CheckJSON finds what strict validation refuses.
// The error is that of the Meter, or an *Error of kind Malformed, TooLarge, Inapplicable or Untrue.
func JSON(doc, patch []byte, m *meter.Meter) ([]byte, error) {
	if err := m.Step(len(doc) + len(patch)); err != nil {
		return nil, err
	}
	ops, n, err := operations(patch)
	if err != nil {
		return nil, err
	}
	if n > maxOperations {
		return nil, &Error{TooLarge,
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, n)}
	}
	e := editor{root: jsontext.RawOf(doc), m: m}
	if !e.open(&e.root, startDepth(len(doc))) {
		return nil, inapplicable("Invalid JSON Document")
	}
	for i := range ops {
		err := e.apply(&ops[i])
		if over := m.Err(); over != nil {
			return nil, over
		}
		if err != nil {
			return nil, err
		}
	}
	out := appendTree(make([]byte, 0, len(doc)+len(patch)), e.root)
	return out, m.Step(len(out))
}

// Length returns the number of operations of a JSON patch. The error is an *Error of kind
// Malformed.
func Length(patch []byte) (int, error) {
	_, n, err := operations(patch)
	return n, err
}

// operation is one operation of a JSON patch.
type operation struct {
	op         string // unknownOp if it is absent or is not a string
	path, from pointer
	value      any // raw; nil if it is null or absent
}

// unknownOp is how messages call an operation that does not say which it is.
const unknownOp = "unknown"

// pointer is a JSON pointer; set is false if it is absent or null.
type pointer struct {
	text string
	set  bool
}

// operations reads a patch, with the checks and messages of evanphx/json-patch, the library that
// kube-apiserver uses. n is the number of operations in the patch; ops has at most maxOperations.
func operations(patch []byte) (ops []operation, n int, err error) {
	if syntax, _ := check(patch); syntax != nil {
		return nil, 0, malformed(syntax.Error())
	}
	all := jsontext.RawOf(patch)
	if all.IsNull() {
		return nil, 0, nil
	}
	items, ok := all.Elements(0, nil)
	if !ok {
		return nil, 0, malformed(cannotUnmarshal(all, "value of type jsonpatch.Patch"))
	}
	ops = make([]operation, min(len(items), maxOperations))
	var space [inline]member
	for i := range ops {
		ops[i].op = unknownOp
	}
	for i, item := range items {
		if item.IsNull() {
			continue
		}
		ms, ok := item.Members(0, space[:0])
		if !ok {
			return nil, 0, malformed(cannotUnmarshal(item, "value of type jsonpatch.Operation"))
		}
		if i < len(ops) {
			ops[i].read(ms)
		}
	}
	return ops, len(items), nil
}

// read sets the fields of an operation from its members. A member that should be a string but is
// not counts as absent.
func (op *operation) read(ms []member) {
	for _, m := range ms {
		var text pointer
		if m.Value[0] == '"' {
			text.text, text.set = m.Value.Str()
		}
		switch m.Key {
		case "op":
			if op.op = unknownOp; text.set {
				op.op = text.text
			}
		case "path":
			op.path = text
		case "from":
			op.from = text
		case "value":
			op.value = m.Value.Lazy()
		}
	}
}

// index parses the index of an element in a list of a size. As in kube-apiserver, and not in the
// RFC, -1 is the last element.
func index(key string, size int) (int, error) {
	i, err := strconv.Atoi(key)
	if err != nil {
		return 0, inapplicable(err.Error())
	}
	asked := i
	if i < 0 {
		i += size
	}
	if i < 0 || i >= size {
		return 0, inapplicable(fmt.Sprintf("Unable to access invalid index: %d: invalid index referenced", asked))
	}
	return i, nil
}

// editor applies operations to a document, a lazy tree. Objects and lists are opened when an
// operation's path leads into them; all other values stay raw and are compared as text.
type editor struct {
	root    any
	copied  int // bytes that copy operations have added; at most maxCopyBytes
	shifted int // the sum of the lengths of the lists that were targets; at most maxShifts
	m       *meter.Meter
}

// open decodes one level of *v if it is raw, and reports whether *v is an object or a list. depth
// is added to the nesting of *v, which is limited. Once the Meter has ended, nothing is decoded.
func (e *editor) open(v *any, depth int) bool {
	r, lazy := (*v).(raw)
	if !lazy {
		return *v != nil
	}
	if r == "" || r[0] != '{' && r[0] != '[' || e.m.Step(len(r)) != nil {
		return false
	}
	opened, ok := r.Look(depth)
	if ok {
		*v = opened
	}
	return ok
}

// target is the target of an operation: a key in an object or a list. It also says where the object
// or list itself is held, because a list that grows or shrinks is a new slice, which must be stored
// there.
type target struct {
	in  any
	key string
	// in is the value of holder at holderKey; if holder is nil, in is the root.
	holder    any
	holderKey string
}

// get returns the value at the target. It is nil for a missing key of an object.
func (p *target) get() (any, error) {
	if o, ok := p.in.(object); ok {
		return o[p.key], nil
	}
	l := p.in.(list)
	i, err := index(p.key, len(l))
	if err != nil {
		return nil, err
	}
	return l[i], nil
}

// set stores a value at the target. It adds a missing key of an object.
func (p *target) set(v any) error {
	if o, ok := p.in.(object); ok {
		o[p.key] = v
		return nil
	}
	l := p.in.(list)
	i, err := index(p.key, len(l))
	if err == nil {
		l[i] = v
	}
	return err
}

// add stores a value at the target; in a list it inserts the value before the element, or at the
// end for the key "-".
func (e *editor) add(p *target, v any) error {
	l, ok := p.in.(list)
	if !ok {
		return p.set(v)
	}
	i := len(l)
	if p.key != "-" {
		var err error
		if i, err = index(p.key, len(l)+1); err != nil {
			if _, malformed := strconv.Atoi(p.key); malformed != nil {
				return because(err, "value was not a proper array index: '", p.key, "'")
			}
			return err
		}
	}
	return e.hold(p, slices.Insert(l, i, v))
}

// remove deletes the target, which must exist.
func (e *editor) remove(p *target) error {
	if o, ok := p.in.(object); ok {
		if _, ok := o[p.key]; !ok {
			return inapplicable("Unable to remove nonexistent key: " + p.key + ": missing value")
		}
		delete(o, p.key)
		return nil
	}
	l := p.in.(list)
	i, err := index(p.key, len(l))
	if err != nil {
		return err
	}
	return e.hold(p, slices.Delete(l, i, i+1))
}

// hold stores l, the changed list of a target, in the object or list that holds it.
func (e *editor) hold(p *target, l list) error {
	if p.holder == nil {
		e.root = l
		return nil
	}
	return (&target{in: p.holder, key: p.holderKey}).set(l)
}

// equal compares objects and lists by their elements, and scalars as text: 1 and 1.0 differ. It
// decodes the parts of *a that it finds equal. kube-apiserver does so too, and the client can see
// it: decoded objects are written with sorted keys.
func (e *editor) equal(a *any, b any) bool {
	if *a == nil || b == nil {
		return *a == nil && b == nil
	}
	if e.m.Step(1) != nil || e.open(a, 0) != e.open(&b, 0) {
		return false
	}
	switch a := (*a).(type) {
	case object:
		b, ok := b.(object)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, v := range a {
			other, ok := b[key]
			if !ok || !e.equal(&v, other) {
				return false
			}
			a[key] = v
		}
		return true
	case list:
		b, ok := b.(list)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !e.equal(&a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return *a == b
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// because returns err with the parts of a text before its message. It returns other errors than
// inapplicable ones as they are.
func because(err error, parts ...string) error {
	if e, ok := err.(*Error); ok {
		return inapplicable(strings.Join(parts, "") + ": " + e.Message)
	}
	return err
}

// find returns the target that a JSON pointer names. what and quote stand before and after the path
// in the message if there is none. Like kube-apiserver it ignores text before the first slash.
func (e *editor) find(what, path, quote string) (at target, err error) {
	at.in = e.root
	_, rest, ok := strings.Cut(path, "/")
	for ok {
		at.key, rest, ok = strings.Cut(rest, "/")
		if strings.IndexByte(at.key, '~') >= 0 {
			at.key = pointerEscapes.Replace(at.key)
		}
		if !ok {
			l, _ := at.in.(list)
			if err := e.m.Step(1 + len(l)/shiftsPerStep); err != nil {
				return at, err
			}
			if e.shifted += len(l); e.shifted > maxShifts {
				return at, inapplicable("the operations change lists that are too long")
			}
			return at, nil
		}
		child, err := at.get()
		if err != nil || !e.open(&child, 0) || at.set(child) != nil {
			break
		}
		at = target{in: child, holder: at.in, holderKey: at.key}
	}
	return at, inapplicable(what + path + quote + ": missing value")
}

// apply carries out one operation. The order of its checks decides which message a client gets, and
// is that of kube-apiserver.
func (e *editor) apply(op *operation) error {
	switch op.op {
	case "add", "remove", "replace", "test":
	case "move", "copy":
		if !op.from.set {
			return inapplicable(op.op + " operation failed to decode from: operation, missing from field: missing value")
		}
	default:
		return inapplicable("Unexpected kind: " + op.op)
	}
	if !op.path.set {
		why := "operation missing path field: missing value"
		if op.op == "add" || op.op == "remove" || op.op == "copy" {
			why = "missing value"
		}
		return inapplicable(op.op + " operation failed to decode path: " + why)
	}
	if op.path.text == "" && (op.op == "replace" || op.op == "test") {
		return e.applyRoot(op)
	}
	if op.op == "move" || op.op == "copy" {
		return e.transfer(op)
	}
	path := op.path.text
	switch op.op {
	case "add":
		at, err := e.find(`add operation does not apply: doc is missing path: "`, path, `"`)
		if err != nil {
			return err
		}
		return because(e.add(&at, op.value), "error in add for path: '", path, "'")
	case "remove":
		at, err := e.find(`remove operation does not apply: doc is missing path: "`, path, `"`)
		if err != nil {
			return err
		}
		return because(e.remove(&at), "error in remove for path: '", path, "'")
	case "replace":
		at, err := e.find("replace operation does not apply: doc is missing path: ", path, "")
		if err != nil {
			return err
		}
		if err := at.set(op.value); err != nil {
			return inapplicable("replace operation does not apply: doc is missing key: " + path + ": missing value")
		}
		return nil
	}
	return e.test(op)
}

// test compares the value at a path with that of the operation.
func (e *editor) test(op *operation) error {
	at, err := e.find("test operation does not apply: is missing path: ", op.path.text, "")
	if err != nil {
		return err
	}
	found, err := at.get()
	if err != nil {
		return because(err, "error in test for path: '", op.path.text, "'")
	}
	if !e.equal(&found, op.value) {
		return &Error{Untrue, "testing value " + op.path.text + " failed: test failed"}
	}
	if found == nil { // set would add a key that may be absent
		return nil
	}
	return at.set(found)
}

// applyRoot replaces or tests the whole document.
func (e *editor) applyRoot(op *operation) error {
	switch {
	case op.op == "test" && !e.equal(&e.root, op.value):
		return &Error{Untrue, "testing value  failed: test failed"}
	case op.op == "replace" && !e.open(&op.value, 0):
		return inapplicable("replace operation value must be object or array")
	case op.op == "replace":
		e.root = op.value
	}
	return nil
}

// transfer moves or copies a value. A copy is made from the encoded form, so that the two values
// never share an object or a list.
func (e *editor) transfer(op *operation) error {
	moves := op.op == "move"
	missing := " operation does not apply: doc is missing "
	from, err := e.find(op.op+missing+"from path: ", op.from.text, "")
	if err != nil {
		return err
	}
	value, err := from.get()
	switch {
	case err != nil && moves:
		return because(err, "error in move for path: '", from.key, "'")
	case err != nil:
		return because(err, "error in copy for from: '", op.from.text, "'")
	case moves:
		if err := e.remove(&from); err != nil {
			return because(err, "error in move for path: '", from.key, "'")
		}
	}
	to, err := e.find(op.op+missing+"destination path: ", op.path.text, "")
	if err != nil {
		return err
	}
	if moves {
		return because(e.add(&to, value), "error in move for path: '", op.path.text, "'")
	}
	if value != nil {
		// The way to the other target may lead through the value; then find has decoded it.
		if value, err = from.get(); err != nil {
			return err
		}
		text := appendTree(nil, value)
		if err := e.m.Step(len(text)); err != nil {
			return err
		}
		if e.copied += len(text); e.copied > maxCopyBytes {
			return inapplicable(fmt.Sprintf(
				"Unable to complete the copy, the accumulated size increase of copy is %d, exceeding the limit %d",
				e.copied, maxCopyBytes))
		}
		value = jsontext.RawOf(text)
	}
	return because(e.add(&to, value), "error while adding value during copy")
}
