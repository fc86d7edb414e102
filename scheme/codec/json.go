package codec

import (
	"bytes"
	"errors"

	gojson "github.com/goccy/go-json"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This is the only file that imports goccy/go-json. That package writes values without a
// descriptor; objects are written by their plans (see encode.go). Its decoder is not used: it
// matches names in any letter case, accepts some malformed input, and is slower than decode.go. It
// compiles the encoder of a type on first use, which is safe in many goroutines at once
// (TestEncodeAtOnce watches that).

// AppendJSON appends v as compact JSON without a newline, in the form of encoding/json: fields in
// the order of declaration, map keys sorted, HTML characters escaped. Objects are stored in this
// form.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	if status, ok := v.(*meta.Status); ok && status != nil {
		return appendStatus(dst, status)
	}
	if obj, ok := v.(meta.Typed); ok {
		if p := encodePlanOf(obj); p != nil {
			return p.encode(dst, pointer(obj))
		}
	}
	return appendAny(dst, v)
}

// appendAny is AppendJSON for types without a plan.
func appendAny(dst []byte, v any) ([]byte, error) {
	out, err := gojson.Marshal(v)
	if err != nil {
		return dst, err
	}
	if dst == nil {
		return out, nil
	}
	return append(dst, out...), nil
}

// AppendIndent appends the well-formed JSON in src to dst with an indentation of two spaces, as
// encoding/json writes it, without a final newline.
func AppendIndent(dst, src []byte) []byte {
	var n Indenter
	return n.Append(dst, src)
}

// Indenter indents JSON that arrives in parts, such as a list whose items are appended one by one.
// Together the parts give what AppendIndent gives for the whole. The zero Indenter is ready to use.
type Indenter struct {
	// depth is the number of open brackets.
	depth int
	open  bool // a bracket was opened and nothing has followed it: {} and [] stay on one line
}

// newline begins a line at the current depth.
func (n *Indenter) newline(dst []byte) []byte {
	dst = append(dst, '\n')
	for range n.depth {
		dst = append(dst, "  "...)
	}
	return dst
}

// Append appends the next part, src, to dst. A part must not end inside of a token, such as a
// string.
func (n *Indenter) Append(dst, src []byte) []byte {
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch c {
		case ' ', '\t', '\n', '\r':
			continue
		case '}', ']':
			n.depth--
			if !n.open {
				dst = n.newline(dst)
			}
			n.open = false
			dst = append(dst, c)
			continue
		}
		if n.open {
			dst = n.newline(dst)
			n.open = false
		}
		switch c {
		case '{', '[':
			dst = append(dst, c)
			n.depth++
			n.open = true
		case ',':
			dst = n.newline(append(dst, c))
		case ':':
			dst = append(dst, ": "...)
		case '"':
			end := jsontext.StringEnd(src, i)
			dst = append(dst, src[i:end]...)
			i = end - 1
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// errNoMetadata is returned by AppendPartial for an object without metadata.
var errNoMetadata = errors.New("codec: object has no metadata")

// AppendPartial appends a PartialObjectMetadata of meta.k8s.io in the given version ("v1" or
// "v1beta1") to dst, as compact JSON without a newline. data is an object encoded as JSON; its
// metadata is copied as it stands, without decoding.
func AppendPartial(dst, data []byte, version string) ([]byte, error) {
	var out Peek
	if err := plainPeeker.Peek(data, &out); err != nil {
		return dst, err
	}
	if out.Metadata.End == 0 {
		return dst, errNoMetadata
	}
	dst = append(dst, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`...)
	dst = append(dst, version...)
	dst = append(dst, `","metadata":`...)
	dst = append(dst, bytes.TrimSpace(data[out.Metadata.Start:out.Metadata.End])...)
	return append(dst, '}'), nil
}
