package codec

import (
	"bytes"
	"errors"

	gojson "github.com/goccy/go-json"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This is the only file that imports goccy/go-json. It writes the JSON of what has no descriptor:
// objects are written by their plans (see encode.go). Its decoder matches names in any case and is
// lenient with malformed input, and decoding through the descriptors is quicker (see decode.go). It
// compiles the encoder of a type on first use, which it does safely in many goroutines at once
// (TestEncodeAtOnce watches over that).

// AppendJSON appends v as compact JSON, without a newline, as encoding/json would write it: fields in the order of
// declaration, map keys sorted, HTML characters escaped. It is the form in which objects are stored.
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

// appendAny is AppendJSON of a type of which nothing more is known.
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

// AppendIndent appends the well-formed JSON in src, indented by two spaces as encoding/json does, without a newline.
func AppendIndent(dst, src []byte) []byte {
	var n Indenter
	return n.Append(dst, src)
}

// Indenter indents JSON that comes in parts, as AppendIndent does.
type Indenter struct {
	depth int
	open  bool // a bracket was opened and nothing came after it
}

// newline begins a line.
func (n *Indenter) newline(dst []byte) []byte {
	dst = append(dst, '\n')
	for range n.depth {
		dst = append(dst, "  "...)
	}
	return dst
}

// Append appends the next part, which ends between two tokens.
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

// errNoMetadata is returned when there is nothing to show of an object.
var errNoMetadata = errors.New("codec: object has no metadata")

// AppendPartial appends the metadata of an object encoded as JSON as a PartialObjectMetadata of meta.k8s.io in the
// given version ("v1" or "v1beta1"), as compact JSON without a newline. Nothing is decoded.
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
