package patch

import (
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// This file has field validation of the patch itself: repeated and unknown fields, for warnings and
// strict errors. The decoder validates the patched object. The PATCH handler calls the Check
// functions.

const (
	maxFindings     = 100     // of one patch; more are dropped, as in Kubernetes
	maxFindingsText = 4 << 20 // bytes of messages made, repeated ones too; they hold keys that the client chose
)

// CheckJSON returns the unknown and repeated fields in the operations of a JSON patch, in the words
// of the warnings and strict decoding errors. The list is not complete if the Meter has ended. The
// error, an *Error of kind Malformed, says that the patch cannot be read as operations; this check
// is stricter than that of JSON, as in kube-apiserver.
func CheckJSON(patch []byte, m *meter.Meter) ([]string, error) {
	if m.Step(len(patch)) != nil {
		return nil, nil
	}
	syntax, number := check(patch)
	if syntax != nil {
		return nil, undecodable(syntax.Error())
	}
	all := jsontext.RawOf(patch)
	if all.IsNull() {
		return nil, nil
	}
	ops, ok := all.Elements(0, nil)
	if !ok {
		return nil, undecodable(cannotUnmarshal(all, "value of type []handlers.jsonPatchOp"))
	}
	f := findings{prefix: "json patch ", m: m}
	for i, op := range ops {
		if op.IsNull() {
			continue
		}
		ms, ok := op.Members(0, nil)
		if !ok {
			return nil, undecodable(cannotUnmarshal(op, "value of type handlers.jsonPatchOp"))
		}
		if err := checkOperation(ms, number != nil); err != nil {
			return nil, err
		}
		f.operation(i, ms)
	}
	return f.found, nil
}

// undecodable is the refusal of a patch that is not what it should be.
func undecodable(why string) error { return malformed("error decoding patch: " + why) }

// checkOperation refuses an operation with a member of a wrong type. wide says that there may be a
// number beyond a float64.
func checkOperation(ms []member, wide bool) error {
	for _, m := range ms {
		switch m.Key {
		case "op", "path", "from":
			if m.Value[0] != '"' && !m.Value.IsNull() {
				return undecodable(cannotUnmarshal(m.Value, "struct field jsonPatchOp."+m.Key+" of type string"))
			}
		case "value":
			if !wide {
				continue
			}
			if _, number := check([]byte(m.Value)); number != nil {
				return undecodable(strings.Replace(number.Error(), "Go value", "Go struct field jsonPatchOp.value", 1))
			}
		}
	}
	return nil
}

// operation looks at the members of an operation.
func (f *findings) operation(i int, ms []member) {
	at := f.enterIndex(i)
	seen := make(map[string]bool, len(ms))
	for _, m := range ms {
		key := m.Key
		switch key {
		case "op", "path", "from", "value":
			if seen[key] {
				f.add("duplicate", key)
			}
			seen[key] = true
			if key == "value" {
				value := f.enterField(key)
				f.walk(m.Value)
				f.leave(value)
			}
		default:
			f.add("unknown", key)
		}
	}
	f.leave(at)
}

// CheckMerge returns the repeated fields in a merge patch, in the words of the warnings and strict
// decoding errors. The list is not complete if the Meter has ended. The error, an *Error of kind
// Malformed, says that the patch is not an object; this check is stricter than that of Merge, as in
// kube-apiserver.
func CheckMerge(patch []byte, m *meter.Meter) ([]string, error) {
	if m.Step(len(patch)) != nil {
		return nil, nil
	}
	syntax, number := check(patch)
	if syntax != nil {
		return nil, undecodable(syntax.Error())
	}
	changes := jsontext.RawOf(patch)
	switch {
	case changes[0] != '{' && !changes.IsNull():
		return nil, undecodable(notObject(changes))
	case number != nil:
		return nil, undecodable(number.Error())
	}
	return repeated(changes, m), nil
}

// CheckStrategic returns the repeated fields in a strategic merge patch, in the words of the
// warnings and strict decoding errors. It returns none for a patch that cannot be read, as
// Strategic refuses it. The list is not complete if the Meter has ended.
func CheckStrategic(patch []byte, m *meter.Meter) []string {
	if m.Step(len(patch)) != nil {
		return nil
	}
	if syntax, _ := check(patch); syntax != nil {
		return nil
	}
	return repeated(jsontext.RawOf(patch), m)
}

func repeated(patch raw, m *meter.Meter) []string {
	f := findings{m: m}
	f.walk(patch)
	return f.found
}

// findings collects messages, each once unless every is set. path is the path of the value at hand;
// its keys are joined with dots, without quoting.
type findings struct {
	every  bool
	prefix string
	path   []byte
	depth  int // parts of path; a part may be empty
	found  []string
	seen   map[string]bool
	made   int // bytes of messages
	m      *meter.Meter
}

// enter appends to the path and returns what leave needs to undo it.
func (f *findings) enter(part string) int {
	at := len(f.path)
	f.path = append(f.path, part...)
	f.depth++
	return at
}

func (f *findings) enterField(name string) int {
	if f.depth > 0 {
		name = "." + name
	}
	return f.enter(name)
}

func (f *findings) enterIndex(i int) int { return f.enter("[" + strconv.Itoa(i) + "]") }

func (f *findings) leave(at int) {
	f.path = f.path[:at]
	f.depth--
}

func (f *findings) add(what, key string) {
	if len(f.found) >= maxFindings || f.made >= maxFindingsText {
		return
	}
	path := key
	if f.depth > 0 {
		path = string(f.path) + "." + key
	}
	message := f.prefix + what + " field " + strconv.Quote(path)
	f.made += len(message)
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	if f.every || !f.seen[message] {
		f.seen[message] = true
		f.found = append(f.found, message)
	}
}

// walk looks for repeated keys. Only containers are worth the look.
func (f *findings) walk(value raw) {
	if f.m.Step(len(value)) != nil {
		return
	}
	switch value[0] {
	case '{':
		var space [inline]member
		ms, _ := value.Members(0, space[:0])
		repeated := repeats(ms)
		var seen map[string]bool
		if repeated {
			seen = make(map[string]bool, len(ms))
		}
		for _, m := range ms {
			key := m.Key
			if repeated {
				if seen[key] {
					f.add("duplicate", key)
				}
				seen[key] = true
			}
			if c := m.Value[0]; c == '{' || c == '[' {
				at := f.enterField(key)
				f.walk(m.Value)
				f.leave(at)
			}
		}
	case '[':
		var space [inline]raw
		es, _ := value.Elements(0, space[:0])
		for i, e := range es {
			if c := e[0]; c == '{' || c == '[' {
				at := f.enterIndex(i)
				f.walk(e)
				f.leave(at)
			}
		}
	}
}

// repeats reports whether a key stands twice, without allocating for small objects.
func repeats(ms []member) bool {
	if len(ms) > inline {
		seen := make(map[string]bool, len(ms))
		for _, m := range ms {
			if seen[m.Key] {
				return true
			}
			seen[m.Key] = true
		}
		return false
	}
	for i := range ms {
		for j := range i {
			if ms[i].Key == ms[j].Key {
				return true
			}
		}
	}
	return false
}
