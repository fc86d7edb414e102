// Package codec turns objects into bytes and back: JSON, YAML and Kubernetes' protobuf, driven by the descriptors
// of package typeinfo.
//
// It guarantees that
//   - decoding accepts what kube-apiserver accepts and words errors as it does: field names are case-sensitive,
//     unknown and repeated fields are found with their paths, syntax and type errors read as encoding/json's;
//   - encoding gives the bytes that encoding/json would give, kind and apiVersion first;
//   - input of any kind ends in a value or an error: depth, alias expansion and the memory of lists are bounded, and
//     decoding ends soon after its Meter has;
//   - decoded objects share no memory with the input, unless the caller says that the input never changes.
//
// A Factory and everything it returns are safe for concurrent use; a Peek result belongs to its caller.
//
// Not here: the tokens of JSON (jsontext), conversion between versions and defaults (package scheme), what to do about
// unknown fields (router).
//
// Read: media.go and negotiate.go (which form), factory.go and object.go (entry points), plan.go, decode.go,
// collection.go, tree.go and misfit.go (JSON in), json.go (JSON out; the one file that imports goccy/go-json),
// status.go (the same for refusals), peek.go (looking into encoded objects), managedfields.go (cutting out of them), yaml.go,
// proto*.go (protopeek.go is peek.go for protobuf), frame.go (watch events).
package codec

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Kinds is what a Factory needs to know of a Scheme.
type Kinds interface {
	// Type returns the descriptor of a kind, or nil if the kind is not registered.
	Type(gvk meta.GroupVersionKind) *typeinfo.Type
	// NewObject returns an empty object, or an error that says that no such kind is registered.
	NewObject(gvk meta.GroupVersionKind) (meta.Typed, error)
}

// Factory decodes and encodes the objects of one Scheme.
type Factory struct {
	kinds Kinds
}

// NewFactory returns a Factory for the kinds of a Scheme, which must be complete.
func NewFactory(kinds Kinds) *Factory {
	return &Factory{kinds: kinds}
}

// DecodeRequest is what Decode needs to know.
type DecodeRequest struct {
	// Data is the encoded object.
	Data []byte
	// Type is how Data is encoded.
	Type Type
	// Default fills in what Data does not say about its kind. With the zero value Data must name its kind itself.
	Default meta.GroupVersionKind
	// As, if it is set, is the kind that JSON or YAML is taken for, whatever it calls itself.
	As meta.GroupVersionKind
	// Unpruned leaves an object without a Go type as it is, whatever of it its schema does not know.
	Unpruned bool
	// Strict asks for unknown and repeated fields.
	Strict bool
	// Shared says that Data will never change, so that the object may refer to it instead of copying it.
	Shared bool
	// Meter counts the bytes that are decoded. When it ends, its error is returned. It may be nil.
	Meter *meter.Meter
}

// Decoded is a decoded object.
type Decoded struct {
	Object meta.Typed
	// GVK is what the data, completed by the default, calls its kind; it is set as far as known if there was an error.
	GVK meta.GroupVersionKind
	// Strict lists unknown and repeated fields as messages, at most 100, in the order of the input; see StrictError
	// and Warnings.
	Strict []string
}

// Decode decodes an object into the Go type of the kind that the data names (not necessarily the default's). Unknown
// fields are skipped and of repeated fields the last counts, as in encoding/json; with Strict they are reported as well.
// apiVersion and kind of the object are set. Use BodyError to turn the error into an answer.
func (f *Factory) Decode(req DecodeRequest) (Decoded, error) {
	return f.decode(req)
}

// DecodeStored decodes an object from storage, which is JSON or, behind the k8s\0 prefix, protobuf.
// data must never change. Unknown fields are skipped.
func (f *Factory) DecodeStored(data []byte) (Decoded, error) {
	req := DecodeRequest{Data: data, Shared: true}
	if IsProtobuf(data) {
		req.Type = Protobuf
	}
	return f.decode(req)
}

// Append appends obj in the given form to dst. JSON that is not pretty, and YAML, end in a newline. The object says
// itself what it is: its kind and apiVersion are written as they are. m.As is ignored: transforming is the caller's
// job (see AppendPartial). The error is a *meta.StatusError with code 406 if the kind has no protobuf form.
func (f *Factory) Append(dst []byte, obj meta.Typed, m Media) ([]byte, error) {
	if m.Type == Protobuf {
		return AppendProto(dst, obj)
	}
	if m.Type == JSON && !m.Pretty {
		out, err := AppendJSON(dst, obj)
		if err != nil {
			return dst, err
		}
		return append(out, '\n'), nil
	}
	data, err := AppendJSON(nil, obj)
	if err != nil {
		return dst, err
	}
	return f.Transcode(dst, data, m)
}

// Transcode appends the object encoded as JSON in data to dst in another form. As Append, it ends JSON that is not
// pretty, and YAML, in one newline, whether data has one or not. For protobuf the object is decoded on the way.
func (f *Factory) Transcode(dst, data []byte, m Media) ([]byte, error) {
	data = trimNewline(data)
	switch {
	case m.Type == YAML:
		return AppendYAML(dst, data)
	case m.Type == Protobuf:
		decoded, err := f.DecodeStored(data)
		if err != nil {
			return dst, err
		}
		return AppendProto(dst, decoded.Object)
	case m.Pretty:
		return AppendIndent(dst, data), nil
	}
	return append(append(dst, data...), '\n'), nil
}

func trimNewline(data []byte) []byte {
	if n := len(data); n > 0 && data[n-1] == '\n' {
		return data[:n-1]
	}
	return data
}

// BodyError returns the 400 that kube-apiserver answers when a body does not decode. gvk is Decoded.GVK, want the
// kind that the endpoint takes.
func BodyError(err error, gvk meta.GroupVersionKind, want string, body []byte) *meta.StatusError {
	msg := fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want, err, summary(body))
	if gvk.Kind != "" {
		msg = fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, want, err)
	}
	return meta.NewBadRequest(msg)
}

// summary shows the beginning of a body: as text if it looks like JSON, else in hex.
func summary(body []byte) string {
	const limit = 30
	more := ""
	if len(body) == 0 {
		return "<empty>"
	}
	if len(body) > limit {
		body, more = body[:limit], " ..."
	}
	if body[0] == '{' {
		return string(body) + more
	}
	return fmt.Sprintf("%x", body) + more
}

// StrictError returns the error for unknown and repeated fields, or nil if there are none.
func StrictError(strict []string) error {
	if len(strict) == 0 {
		return nil
	}
	return fmt.Errorf("strict decoding error: %s", strings.Join(strict, ", "))
}

// Warnings returns the warnings for unknown and repeated fields, one for each; YAML's messages hold several.
func Warnings(strict []string) []string {
	var out []string
	for _, s := range strict {
		lines, ok := strings.CutPrefix(s, "yaml: unmarshal errors:\n")
		if !ok {
			out = append(out, s)
			continue
		}
		for _, line := range strings.Split(lines, "\n") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// TypeOf returns the descriptor of a kind, or nil if it has no Go type.
func (f *Factory) TypeOf(gvk meta.GroupVersionKind) *typeinfo.Type { return f.kinds.Type(gvk) }

// NewObject returns an empty object of a kind, or an error that says that no such kind is registered.
func (f *Factory) NewObject(gvk meta.GroupVersionKind) (meta.Typed, error) {
	return f.kinds.NewObject(gvk)
}
