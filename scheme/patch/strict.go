package patch

import (
	"strconv"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// What field validation has to say about the patch itself. What it says about the patched object is the decoder's.

const (
	maxFindings     = 100     // of one patch; more are dropped, as in Kubernetes
	maxFindingsText = 4 << 20 // bytes of messages made, repeated ones too; they hold keys that the client chose
)

// CheckJSON returns the unknown and repeated fields in the operations of a JSON patch, as the warnings or the strict
// decoding errors name them. A patch that cannot be read has none: JSON refuses it. The list is not complete if the Meter
// has ended.
func CheckJSON(patch []byte, m *meter.Meter) []string {
	if m.Step(len(patch)) != nil {
		return nil
	}
	if syntax, _ := check(patch); syntax != nil {
		return nil
	}
	ops, ok := jsontext.RawOf(patch).Elements(0, nil)
	if !ok {
		return nil
	}
	f := findings{prefix: "json patch ", m: m}
	for i, op := range ops {
		ms, _ := op.Members(0, nil)
		at := f.enter("[" + strconv.Itoa(i) + "]")
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
					f.walkAt("."+key, m.Value)
				}
			default:
				f.add("unknown", key)
			}
		}
		f.leave(at)
	}
	return f.found
}

// CheckMerge returns the repeated fields in a merge patch or strategic merge patch, as the warnings or the strict
// decoding errors name them. A patch that cannot be read has none. The list is not complete if the Meter has ended.
func CheckMerge(patch []byte, m *meter.Meter) []string {
	if m.Step(len(patch)) != nil {
		return nil
	}
	if syntax, _ := check(patch); syntax != nil {
		return nil
	}
	f := findings{m: m}
	f.walk(jsontext.RawOf(patch))
	return f.found
}

// findings collects messages, each once. path is where the walk stands; keys are joined with dots without quoting.
type findings struct {
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
	if !f.seen[message] {
		f.seen[message] = true
		f.found = append(f.found, message)
	}
}

func (f *findings) walkAt(part string, value raw) {
	at := f.enter(part)
	f.walk(value)
	f.leave(at)
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
				if f.depth > 0 {
					key = "." + key
				}
				f.walkAt(key, m.Value)
			}
		}
	case '[':
		var space [inline]raw
		es, _ := value.Elements(0, space[:0])
		for i, e := range es {
			if c := e[0]; c == '{' || c == '[' {
				f.walkAt("["+strconv.Itoa(i)+"]", e)
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
