package kind

import (
	"errors"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decodes and encodes the objects of dynamic kinds, for Kind.Decode and Kind.Append. The
// order of its steps is the order in which kube-apiserver finds errors, so that clients see the
// same error first.

// errNotObject is the error for a body that is JSON but not an object.
var errNotObject = errors.New("the value is not an object")

// Decode implements Kind. The kind that data states is checked before the error of decoding is
// returned, because kube-apiserver reports a wrong kind first. Unknown fields are pruned by the
// schema of the version, unless the request says Unpruned.
func (k *dynamic) Decode(req codec.DecodeRequest) (codec.Decoded, error) {
	var out codec.Decoded
	data := req.Data
	switch req.Type {
	case codec.Protobuf:
		return out, errors.New("the kind has no protobuf form")
	case codec.YAML:
		var repeated string
		var err error
		if data, repeated, err = codec.YAMLToJSON(data, req.Strict, req.Meter); err != nil {
			return out, err
		}
		if repeated != "" {
			out.Strict = append(out.Strict, repeated)
		}
	}
	u := &scheme.Unstructured{}
	tree, repeated, err := decodeObject(data, &req, u)
	if err != nil && req.Meter.Err() != nil {
		return out, err
	}
	if err := req.Meter.Step(len(data)); err != nil { // for what follows
		return out, err
	}
	if req.As != (meta.GroupVersionKind{}) {
		out.GVK = req.As
	} else if gvk, wrong := k.kindOf(tree, data, req.Data, req.Default); wrong != nil {
		return out, wrong
	} else {
		out.GVK = gvk
	}
	if err != nil {
		return out, err
	}
	version := In(k, out.GVK.Version)
	switch served := version != nil && out.GVK == version.GVK; {
	case served && req.Unpruned:
	case served:
		unknown, err := version.prune(req.Meter, tree)
		if err != nil {
			return out, err
		}
		if req.Strict {
			out.Strict = slices.Concat(out.Strict, repeated, headFirst(unknown))
		}
	case k.hubless && req.Strict:
		out.Strict = slices.Concat(out.Strict, repeated)
	case !k.hubless: // the caller refuses objects of hubless kinds, with another message
		return out, k.notRegistered(out.GVK)
	}
	u.Content = tree
	if err := takeHead(u); err != nil {
		return out, err
	}
	u.SetGroupVersionKind(out.GVK)
	out.Object = u
	return out, nil
}

// decodeObject decodes an object into a tree. If its metadata is in the usual form, it is decoded
// straight into u and not into the tree. repeated lists fields that occur twice.
func decodeObject(data []byte, req *codec.DecodeRequest, u *scheme.Unstructured) (tree map[string]any,
	repeated []string, err error) {
	if tree = codec.DecodeResource(data, req.Shared, req.Strict, req.Meter, &u.ObjectMeta); tree != nil {
		return tree, nil, nil
	}
	u.ObjectMeta = meta.ObjectMeta{}
	value, repeated, err := codec.DecodeTree(data, req.Strict, req.Meter)
	if err != nil {
		return nil, nil, err
	}
	tree, ok := value.(map[string]any)
	if !ok {
		err = errNotObject
	}
	return tree, repeated, err
}

// takeHead moves apiVersion, kind and metadata from the content of u to its fields.
func takeHead(u *scheme.Unstructured) error {
	head := u.Content["metadata"]
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(u.Content, name)
	}
	if head != nil {
		text, err := jsontext.AppendTree(nil, head, jsontext.Plain)
		if err != nil {
			return err
		}
		if err := codec.DecodeJSON(text, &u.ObjectMeta); err != nil {
			return err
		}
	}
	if len(u.ManagedFields) == 0 {
		u.ManagedFields = nil // an empty list means the same as no list
	}
	return nil
}

// headFirst sorts unknown fields in the object's own metadata to the front, in place.
func headFirst(unknown []string) []string {
	slices.SortStableFunc(unknown, func(a, b string) int { return order(a) - order(b) })
	return unknown
}

// order returns 0 for a message about metadata, 1 for all others.
func order(unknown string) int {
	if strings.HasPrefix(unknown, `unknown field "metadata.`) {
		return 0
	}
	return 1
}

// kindOf returns the kind that tree, which was decoded from data, states. If it does not state both
// kind and apiVersion as strings, codec.Interpret reads data again, so that errors come in
// kube-apiserver's order. Objects of a hubless kind have to name their kind.
func (k *dynamic) kindOf(tree map[string]any, data, written []byte, def meta.GroupVersionKind) (meta.GroupVersionKind,
	error) {
	apiVersion, _ := tree["apiVersion"].(string)
	name, _ := tree["kind"].(string)
	if gv, ok := meta.ParseGroupVersion(apiVersion); ok && apiVersion != "" && name != "" {
		return gv.WithKind(name), nil
	}
	if k.hubless {
		def = meta.GroupVersionKind{}
	}
	return codec.Interpret(data, written, def)
}

// Append implements Kind. Fields are in alphabetical order, and JSON ends without a newline.
func (k *dynamic) Append(dst []byte, obj meta.Typed, m codec.Media) ([]byte, error) {
	if m.Type == codec.Protobuf {
		return codec.AppendProto(dst, obj) // returns the error for a kind without a protobuf form
	}
	var space [2 << 10]byte // most objects fit; the caller gets a copy without spare capacity
	data, err := appendObject(space[:0], obj.(*scheme.Unstructured))
	if err != nil {
		return dst, err
	}
	switch {
	case m.Type == codec.YAML:
		return codec.AppendYAML(dst, data)
	case m.Pretty:
		return codec.AppendIndent(dst, data), nil
	}
	return append(slices.Grow(dst, len(data)), data...), nil
}

// appendObject appends the JSON of an object with its fields in alphabetical order.
func appendObject(dst []byte, u *scheme.Unstructured) ([]byte, error) {
	var space [16]string
	names := append(space[:0], "apiVersion", "kind", "metadata")
	for name := range u.Content {
		if !slices.Contains(names[:3], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	sep := byte('{')
	for _, name := range names {
		before := len(dst)
		dst = append(jsontext.AppendString(append(dst, sep), name, jsontext.Plain), ':')
		empty := false
		var err error
		switch name {
		case "apiVersion":
			dst, empty = jsontext.AppendString(dst, u.APIVersion, jsontext.Plain), u.APIVersion == ""
		case "kind":
			dst, empty = jsontext.AppendString(dst, u.Kind, jsontext.Plain), u.Kind == ""
		case "metadata":
			at := len(dst)
			dst, err = codec.AppendJSON(dst, &u.ObjectMeta)
			empty = string(dst[at:]) == "{}"
		default:
			dst, err = jsontext.AppendTree(dst, u.Content[name], jsontext.Plain)
		}
		if err != nil {
			return dst, err
		}
		if empty {
			dst = dst[:before]
			continue
		}
		sep = ','
	}
	if sep == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}'), nil
}
