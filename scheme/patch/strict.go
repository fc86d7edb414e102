package patch

import (
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// strict.go has the field validation of a patch itself: duplicate and unknown fields. The PATCH
// handler calls the Check functions if the request's fieldValidation is Warn or Strict, and makes
// warnings or an error of the results. The decoder does the same for the patched object.

const (
	maxFindings = 100 // messages about one patch; more are dropped, as in Kubernetes
	// maxFindingsText bounds the bytes of all messages that are made, also of those that are not
	// kept because they repeat another: a client chooses the keys in them.
	maxFindingsText = 4 << 20
)

// CheckJSON returns a message for each unknown and duplicate field in the operations of a JSON
// patch, in the words of strict decoding. The list is not complete if the Meter has ended. The
// error, an *Error of kind Malformed, says that the patch is not a list of operations. As in
// kube-apiserver, CheckJSON refuses some patches that JSON accepts.
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

// undecodable is the refusal of a patch that does not decode.
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

// operation finds unknown and duplicate members of operation i, and duplicate fields in its value.
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

// CheckMerge returns a message for each duplicate field in a merge patch, in the words of strict
// decoding. The list is not complete if the Meter has ended. The error, an *Error of kind
// Malformed, says that the patch is not an object. As in kube-apiserver, CheckMerge refuses some
// patches that Merge accepts.
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

// CheckStrategic returns a message for each duplicate field in a strategic merge patch, in the
// words of strict decoding. It returns none for a patch that is not JSON, because Strategic refuses
// that. The list is not complete if the Meter has ended.
func CheckStrategic(patch []byte, m *meter.Meter) []string {
	if m.Step(len(patch)) != nil {
		return nil
	}
	if syntax, _ := check(patch); syntax != nil {
		return nil
	}
	return repeated(jsontext.RawOf(patch), m)
}

// repeated returns a message for each duplicate field in a patch, at any depth.
func repeated(patch raw, m *meter.Meter) []string {
	f := findings{m: m}
	f.walk(patch)
	return f.found
}

// findings collects the messages about one patch or merge result.
type findings struct {
	every  bool   // keep a message that repeats another
	prefix string // of each message
	path   []byte // of the current value: keys joined with dots, without quoting
	depth  int    // the number of parts of path, which may be empty strings
	found  []string
	seen   map[string]bool // the messages in found
	made   int             // bytes of all messages, at most a little over maxFindingsText
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

// add makes the message that a field of the current value is unknown or duplicate (what).
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

// walk finds duplicate keys in value and below it. It descends into objects and lists only.
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

// repeats reports whether two members have the same key. It allocates nothing for up to inline
// members.
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
