package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Objects in protobuf: their envelope, decoding one, and the parts of a list. A message inside the
// envelope is decoded by protodecode.go and encoded by protoencode.go, by the plan that
// protoplan.go makes of the type. Factory.Append and Factory.decode call this file; the router
// calls the list functions.

// protoPrefix precedes each object in protobuf. The message after it is runtime.Unknown, the
// envelope:
//
//	1 typeMeta { 1 apiVersion, 2 kind }   2 raw (the message of the object)
//	3 contentEncoding   4 contentType
//
// contentEncoding and contentType are written empty. Kubernetes' messages are proto2 as
// gogo/protobuf writes it: fields in ascending order; scalars and structs are always written;
// pointers, lists and maps are written only if they hold something.
var protoPrefix = []byte("k8s\x00")

// envelopeEnd is the encoding of an empty contentEncoding and an empty contentType.
var envelopeEnd = []byte{3<<3 | 2, 0, 4<<3 | 2, 0}

// IsProtobuf reports whether data begins with the prefix of objects in protobuf.
func IsProtobuf(data []byte) bool { return bytes.HasPrefix(data, protoPrefix) }

// AppendProto appends obj as protobuf, in its envelope, to dst. The error is a *meta.StatusError
// with code 406 if the type of obj has no protobuf form.
func AppendProto(dst []byte, obj meta.Typed) ([]byte, error) {
	m := messageOf(obj)
	if m == nil {
		return dst, notMarshalable(obj)
	}
	tm := obj.GetTypeMeta()
	dst = appendEnvelope(dst, tm.APIVersion, tm.Kind)
	dst, at := beginLength(dst)
	dst = m.append(dst, pointer(obj))
	dst = endLength(dst, at)
	return append(dst, envelopeEnd...), nil
}

// appendEnvelope appends the envelope up to and including the tag of the field raw.
func appendEnvelope(dst []byte, apiVersion, kind string) []byte {
	dst = append(dst, protoPrefix...)
	dst = append(dst, 1<<3|2)
	dst, at := beginLength(dst)
	dst = append(dst, 1<<3|2)
	dst = protowire.AppendString(dst, apiVersion)
	dst = append(dst, 2<<3|2)
	dst = protowire.AppendString(dst, kind)
	dst = endLength(dst, at)
	return append(dst, 2<<3|2)
}

// beginLength reserves one byte for the length of what is appended next, and endLength writes the
// length there. If the content has more than 127 bytes, its length takes more than one byte: then
// endLength moves the content to make room.
func beginLength(dst []byte) (out []byte, at int) { return append(dst, 0), len(dst) }

// endLength writes the length of everything after index at, which beginLength returned.
func endLength(dst []byte, at int) []byte {
	n := len(dst) - at - 1
	if n < 0x80 {
		dst[at] = byte(n)
		return dst
	}
	more := sizeVarint(uint64(n)) - 1
	dst = append(dst, "12345678"[:more]...)
	copy(dst[at+1+more:], dst[at+1:at+1+n])
	protowire.AppendVarint(dst[:at], uint64(n))
	return dst
}

// sizeVarint returns the number of bytes of n as a varint.
func sizeVarint(n uint64) int { return protowire.SizeVarint(n) }

// notMarshalable returns the 406 for an object without a protobuf form, in kube-apiserver's words.
func notMarshalable(obj any) error {
	return &meta.StatusError{Status: meta.Status{
		Status: "Failure",
		Code:   http.StatusNotAcceptable,
		Reason: "NotAcceptable",
		Message: fmt.Sprintf("object %T does not implement the protobuf marshalling interface and cannot be encoded "+
			"to a protobuf message", obj),
	}}
}

// messageOf returns the message of the type of obj, nil if the type has no protobuf form.
func messageOf(obj meta.Typed) *message {
	v := reflect.TypeOf(obj)
	if v == nil || v.Kind() != reflect.Pointer {
		return nil
	}
	if m, ok := messagesByGo.Load(v); ok {
		return m.(*message).orNil()
	}
	m := &message{}
	if t := typeinfo.Of(v.Elem()); t != nil && t.Kind == typeinfo.Struct {
		m = messageFor(t)
	}
	messagesByGo.Store(v, m)
	return m.orNil()
}

// envelope holds the parts of a parsed envelope. They refer to the data.
type envelope struct {
	apiVersion, kind []byte
	raw              []byte
}

// parseEnvelope parses an object in protobuf as far as its envelope. The errors are
// kube-apiserver's.
func parseEnvelope(data []byte) (envelope, error) {
	var e envelope
	switch {
	case len(data) == 0:
		return e, errors.New("empty data")
	case !IsProtobuf(data):
		return e, fmt.Errorf("provided data does not appear to be a protobuf message, expected prefix %v", protoPrefix)
	case len(data) == len(protoPrefix):
		return e, errors.New("empty body")
	}
	err := eachField(data[len(protoPrefix):], func(num protowire.Number, value []byte) error {
		switch num {
		case 1:
			return eachField(value, func(num protowire.Number, value []byte) error {
				switch num {
				case 1:
					e.apiVersion = value
				case 2:
					e.kind = value
				}
				return nil
			})
		case 2:
			e.raw = value
		}
		return nil
	})
	return e, err
}

// eachField calls f with the number and content of each length-delimited field of a message, and
// skips the other fields.
func eachField(data []byte, f func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		num, typ, n := consumeTag(data)
		if n < 0 {
			return wireError(n)
		}
		data = data[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, data); n < 0 {
				return wireError(n)
			}
			data = data[n:]
			continue
		}
		value, n := consumeBytes(data)
		if n < 0 {
			return wireError(n)
		}
		if err := f(num, value); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// consumeTag is protowire.ConsumeTag with a fast path for tags of one and two bytes.
func consumeTag(data []byte) (protowire.Number, protowire.Type, int) {
	if len(data) > 0 && 1<<3 <= data[0] && data[0] < 0x80 {
		return protowire.Number(data[0] >> 3), protowire.Type(data[0] & 7), 1
	}
	if len(data) > 1 && data[0] >= 0x80 && 0 < data[1] && data[1] < 0x80 {
		return protowire.Number(data[1])<<4 | protowire.Number(data[0]&0x7F>>3), protowire.Type(data[0] & 7), 2
	}
	return protowire.ConsumeTag(data)
}

// consumeValue is protowire.ConsumeFieldValue with a fast path for numbers and lengths below 128.
func consumeValue(number protowire.Number, typ protowire.Type, data []byte) int {
	if len(data) > 0 && data[0] < 0x80 {
		switch {
		case typ == protowire.VarintType:
			return 1
		case typ == protowire.BytesType && int(data[0]) < len(data):
			return 1 + int(data[0])
		}
	}
	return protowire.ConsumeFieldValue(number, typ, data)
}

// consumeBytes is protowire.ConsumeBytes with a fast path for less than 128 bytes.
func consumeBytes(data []byte) ([]byte, int) {
	if len(data) > 0 && data[0] < 0x80 && int(data[0]) < len(data) {
		n := 1 + int(data[0])
		return data[1:n], n
	}
	return protowire.ConsumeBytes(data)
}

// wireError turns a negative length, as protowire returns it, into an error in Kubernetes' words.
func wireError(n int) error {
	if err := protowire.ParseError(n); !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return io.ErrUnexpectedEOF
}

// decodeProto decodes an object in its envelope. Strict decoding finds nothing in protobuf: unknown
// field numbers are skipped and repeated fields are merged.
func (f *Factory) decodeProto(req DecodeRequest) (Decoded, error) {
	e, err := parseEnvelope(req.Data)
	if err != nil {
		return Decoded{}, err
	}
	gv, err := parseGroupVersion(string(e.apiVersion))
	if err != nil {
		gv = meta.GroupVersion{}
	}
	gvk := gv.WithKind(string(e.kind))
	if gvk.Kind == "" {
		gvk.Kind = req.Default.Kind
	}
	if gvk.Version == "" && req.Default.Version != "" {
		gvk.Group, gvk.Version = req.Default.Group, req.Default.Version
	}
	out := Decoded{GVK: gvk}
	if err := named(gvk, fmt.Appendf(nil,
		"runtime.TypeMeta{APIVersion:%q, Kind:%q}", e.apiVersion, e.kind)); err != nil {
		return out, err
	}
	obj, err := f.kinds.NewObject(gvk)
	if err != nil {
		return out, err
	}
	m := messageOf(obj)
	if m == nil {
		return out, notMarshalable(obj)
	}
	p := protoReader{shared: req.Shared, meter: req.Meter}
	if err := p.message(m, e.raw, pointer(obj)); err != nil {
		return out, err
	}
	obj.GetTypeMeta().SetGroupVersionKind(gvk)
	if n, ok := obj.(nester); ok {
		n.NameNested()
	}
	out.Object = obj
	return out, nil
}

// nester is an object with other objects in its fields, of which protobuf carries no kind and
// apiVersion. NameNested sets these after decoding.
type nester interface{ NameNested() }

// ProtoBody returns the message inside the envelope of an object: the form that the object has as
// an item of a list. It is a part of data.
func ProtoBody(data []byte) ([]byte, error) {
	e, err := parseEnvelope(data)
	return e.raw, err
}

// The parts of a list in protobuf. The items are encoded already, so the list is written as head,
// items and tail; the head needs the size of all items.

// ProtoItemSize returns how many bytes AppendProtoItem appends for a message of n bytes.
func ProtoItemSize(n int) int { return 1 + sizeVarint(uint64(n)) + n }

// AppendProtoListHead appends the envelope and the ListMeta of a list to dst. itemsSize is the sum
// of ProtoItemSize over the items.
func AppendProtoListHead(dst []byte, gvk meta.GroupVersionKind, lm *meta.ListMeta, itemsSize int) []byte {
	head := appendListMeta(nil, lm)
	dst = appendEnvelope(dst, gvk.GroupVersion().String(), gvk.Kind)
	dst = protowire.AppendVarint(dst, uint64(ProtoItemSize(len(head))+itemsSize))
	dst = append(dst, 1<<3|2)
	return protowire.AppendBytes(dst, head)
}

// AppendProtoItem appends one item of a list to dst. message is the item without its envelope, see
// ProtoBody.
func AppendProtoItem(dst, message []byte) []byte {
	dst = append(dst, 2<<3|2)
	return protowire.AppendBytes(dst, message)
}

// AppendProtoListTail appends what follows the items of a list to dst.
func AppendProtoListTail(dst []byte) []byte { return append(dst, envelopeEnd...) }
