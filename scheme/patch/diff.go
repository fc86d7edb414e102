package patch

import (
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// diff.go finds the JSON patch between two states of an object, for people who want to know what
// has changed.

// Diff returns a JSON patch that turns the object from into the object to, nil if they are equal:
// JSON(from, patch) has the content of to. Numbers are compared as text. Of two lists it keeps the
// equal elements at their beginnings and ends, compares the others by their places, and then
// removes or adds elements. So the patch need not be the shortest one.
//
// most bounds the length of the patch in bytes. Operations that would exceed it, and all after
// them, are left out; left is their number.
func Diff(from, to []byte, most int) (patch []byte, left int) {
	d := differ{most: most}
	d.value(jsontext.RawOf(from), jsontext.RawOf(to), startDepth(max(len(from), len(to))))
	if len(d.patch) == 0 {
		return nil, d.left
	}
	return append(d.patch, ']'), d.left
}

// differ writes a patch.
type differ struct {
	path  []byte // of the present value, a JSON pointer
	patch []byte // without its closing bracket
	most  int
	left  int
}

// value writes what turns one value into another. depth is the nesting of both. Values that nest
// too deeply are replaced as a whole.
func (d *differ) value(from, to raw, depth int) {
	if from == to {
		return
	}
	var mine, theirs [inline]member
	if a, ok := members(from, depth, mine[:0]); ok {
		if b, ok := members(to, depth, theirs[:0]); ok {
			d.members(a, b, depth+1)
			return
		}
	}
	if a, ok := from.Elements(depth, nil); ok {
		if b, ok := to.Elements(depth, nil); ok {
			d.elements(a, b, depth+1)
			return
		}
	}
	a, isText := from.Str()
	if b, isTextToo := to.Str(); !isText || !isTextToo || a != b { // else only the escapes differ
		d.write("replace", to)
	}
}

// members joins the sorted members of two objects.
func (d *differ) members(from, to []member, depth int) {
	for len(from) > 0 || len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Key < to[0].Key:
			d.at(pointerEscaper.Replace(from[0].Key), func() { d.write("remove", "") })
			from = from[1:]
		case len(from) == 0 || to[0].Key < from[0].Key:
			d.at(pointerEscaper.Replace(to[0].Key), func() { d.write("add", to[0].Value) })
			to = to[1:]
		default:
			d.at(pointerEscaper.Replace(to[0].Key), func() { d.value(from[0].Value, to[0].Value, depth) })
			from, to = from[1:], to[1:]
		}
	}
}

// elements compares two lists.
func (d *differ) elements(from, to []raw, depth int) {
	first := 0
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to, first = from[1:], to[1:], first+1
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	both := min(len(from), len(to))
	for i := range both {
		d.at(strconv.Itoa(first+i), func() { d.value(from[i], to[i], depth) })
	}
	for range from[both:] { // each removal moves the next element to the same place
		d.at(strconv.Itoa(first+both), func() { d.write("remove", "") })
	}
	for i := both; i < len(to); i++ {
		d.at(strconv.Itoa(first+i), func() { d.write("add", to[i]) })
	}
}

// pointerEscaper writes a key as a part of a JSON pointer.
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// at calls do one level below the present path.
func (d *differ) at(key string, do func()) {
	length := len(d.path)
	d.path = append(append(d.path, '/'), key...)
	do()
	d.path = d.path[:length]
}

// write writes an operation about the present path, if there is room. value is empty for a removal.
func (d *differ) write(op string, value raw) {
	before := len(d.patch)
	separator := byte(',')
	if before == 0 {
		separator = '['
	}
	d.patch = append(append(append(d.patch, separator), `{"op":"`...), op...)
	d.patch = jsontext.AppendString(append(d.patch, `","path":`...), string(d.path), jsontext.Plain)
	if value != "" {
		d.patch = jsontext.AppendRaw(append(d.patch, `,"value":`...), value, jsontext.Plain)
	}
	d.patch = append(d.patch, '}')
	if d.left > 0 || len(d.patch) >= d.most { // the closing bracket needs a byte, too
		d.patch = d.patch[:before]
		d.left++
	}
}
