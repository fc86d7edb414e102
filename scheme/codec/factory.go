// Package codec turns objects into bytes and back, as JSON, YAML and Kubernetes' protobuf, driven
// by the descriptors of package typeinfo.
//
// Words:
//   - A plan is a descriptor prepared for JSON, a message one prepared for protobuf. Both are
//     made once per type, on first use, and never change afterwards.
//   - The quick decoder reads a document in one pass and gives up at anything unusual. The
//     careful decoder reads it again, to word the error or to list unknown and repeated fields.
//   - To peek is to read a few facts out of an encoded object without decoding it (Peek).
//     Peek.MayNeedDefaults says that defaulting might change the object.
//   - The envelope is the message runtime.Unknown that surrounds each object in protobuf,
//     behind the prefix k8s\0.
//   - Strict decoding (fieldValidation=Strict or Warn) lists unknown and repeated fields.
//
// Laws:
//   - Decoding accepts what kube-apiserver accepts and words errors as kube-apiserver does:
//     field names are case-sensitive, unknown and repeated fields are reported with their
//     paths, syntax and type errors read as encoding/json's.
//   - Encoding gives the bytes that encoding/json would give, kind and apiVersion first.
//   - Any input ends in a value or an error: nesting, the expansion of YAML aliases and the
//     memory of lists are bounded, and decoding ends soon after its Meter has ended.
//   - A decoded object shares no memory with the input, unless the caller states that the input
//     never changes.
//
// All packages above scheme may call a Factory and the functions here. They are safe for concurrent
// use. A Peek belongs to its caller and refers to the data that was looked at.
//
// Not here: the tokens of JSON (jsontext), conversion between versions and defaulting (package
// scheme), the reaction to unknown fields (router).
//
// Read: media.go, negotiate.go and page.go (which encoding), factory.go and object.go (entry
// points), plan.go, decode.go, collection.go, tree.go and typeerror.go (JSON in), encode.go,
// json.go (JSON out; json.go is the only file that imports goccy/go-json), status.go (the same for
// Status), peek.go, needs.go and peekneeds.go (looking into encoded objects), peekowners.go and
// managedfields.go (the same for the garbage collector and for managedFields), yaml.go and
// yamljson.go, protoplan.go, protodecode.go, protoencode.go and proto.go, protopeek*.go (peek.go
// for protobuf), frame.go (watch events).
package codec

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Kinds is what a Factory needs from a Scheme.
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

// DecodeRequest holds the arguments of Factory.Decode.
type DecodeRequest struct {
	// Data is the encoded object.
	Data []byte
	// Type is the encoding of Data.
	Type Type
	// Default completes the kind that Data states. With the zero value Data must state kind and
	// apiVersion itself.
	Default meta.GroupVersionKind
	// As, if set, is the kind that JSON or YAML is decoded as, whatever kind Data states. Protobuf
	// ignores it.
	As meta.GroupVersionKind
	// Unpruned keeps the unknown fields of an object without a Go type, which its schema would
	// prune.
	Unpruned bool
	// Strict asks for the list of unknown and repeated fields.
	Strict bool
	// Shared states that Data never changes, so that strings of the object may refer to it instead
	// of copying.
	Shared bool
	// Meter counts the bytes that are decoded. When the Meter has ended, Decode returns its error.
	// It may be nil.
	Meter *meter.Meter
}

// Decoded is the result of decoding an object.
type Decoded struct {
	// Object is the decoded object, nil if there was an error.
	Object meta.Typed
	// GVK is the kind that the data states, completed by DecodeRequest.Default. After an error it
	// holds what was found out.
	GVK meta.GroupVersionKind
	// Strict lists the unknown and repeated fields as messages in the order of the input, at most
	// 100. StrictError and Warnings turn the list into an error or into warnings.
	Strict []string
}

// Decode decodes an object into the Go type of the kind that the data states, which may differ from
// the default's. Unknown fields are skipped, and of a repeated field the last one counts, as in
// encoding/json; with Strict both are listed as well. Decode sets apiVersion and kind of the
// object. BodyError turns the error into a Status.
func (f *Factory) Decode(req DecodeRequest) (Decoded, error) {
	return f.decode(req)
}

// DecodeStored decodes an object from storage: protobuf if data begins with the prefix k8s\0, else
// JSON. data must never change, since the object refers to it. Unknown fields are skipped.
func (f *Factory) DecodeStored(data []byte) (Decoded, error) {
	req := DecodeRequest{Data: data, Shared: true}
	if IsProtobuf(data) {
		req.Type = Protobuf
	}
	return f.decode(req)
}

// Append appends obj to dst in the form that m describes. YAML, and JSON that is not pretty, end in
// a newline. kind and apiVersion are written as obj has them. m.As is ignored: the caller
// transforms the object first (see AppendPartial). The error is a *meta.StatusError with code 406
// if the kind has no protobuf form.
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

// Transcode appends an object, given as JSON in data, to dst in the form that m describes. YAML,
// and JSON that is not pretty, end in exactly one newline, whether data ends in one or not. For
// protobuf the object is decoded and encoded again.
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

// trimNewline removes one final newline.
func trimNewline(data []byte) []byte {
	if n := len(data); n > 0 && data[n-1] == '\n' {
		return data[:n-1]
	}
	return data
}

// BodyError returns the 400 with which kube-apiserver answers a body that does not decode. gvk is
// Decoded.GVK, and want is the kind that the endpoint accepts.
func BodyError(err error, gvk meta.GroupVersionKind, want string, body []byte) *meta.StatusError {
	msg := fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want, err, summary(body))
	if gvk.Kind != "" {
		msg = fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, want, err)
	}
	return meta.NewBadRequest(msg)
}

// summary returns the beginning of a body for an error message: as text if it looks like JSON, else
// in hexadecimal.
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

// StrictError returns the error that lists the given unknown and repeated fields, or nil if there
// are none.
func StrictError(strict []string) error {
	if len(strict) == 0 {
		return nil
	}
	return fmt.Errorf("strict decoding error: %s", strings.Join(strict, ", "))
}

// Warnings returns one warning for each unknown or repeated field. A message of package yaml about
// repeated keys holds several lines and becomes one warning per line.
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

// NewObject returns an empty object of a kind, or an error that says that no such kind is
// registered.
func (f *Factory) NewObject(gvk meta.GroupVersionKind) (meta.Typed, error) {
	return f.kinds.NewObject(gvk)
}
