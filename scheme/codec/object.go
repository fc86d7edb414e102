package codec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// How a Factory decodes one object: it finds the kind and fills a Go value. Factory.Decode and
// Factory.DecodeStored call decode; decodeYAML in yaml.go comes back to decodeJSON.

// decode decodes an object by its encoding.
func (f *Factory) decode(req DecodeRequest) (Decoded, error) {
	switch req.Type {
	case Protobuf:
		return f.decodeProto(req)
	case YAML:
		return f.decodeYAML(req)
	}
	return f.decodeJSON(req, req.Data)
}

// decodeJSON first guesses that data is of the default kind, or of the kind that data begins with,
// and decodes data in one pass. If the guess was wrong, or anything is unusual, it takes the steps
// of kube-apiserver in their order, so that the same error comes first: find the kind, check it,
// decode carefully. Errors quote written, the object before it became JSON.
func (f *Factory) decodeJSON(req DecodeRequest, written []byte) (Decoded, error) {
	if req.As.Kind != "" {
		return f.decodeAs(req.As, req)
	}
	guess := req.Default
	if guess.Kind == "" {
		guess, _ = leadingKind(req.Data)
	}
	if guess.Kind != "" {
		out, err := f.decodeQuickly(req, guess)
		if err == nil || final(err, req.Meter) {
			return out, err
		}
	}
	gvk, err := interpret(req.Data)
	if err != nil {
		return Decoded{}, err
	}
	gvk = complete(gvk, req.Default)
	if err := named(gvk, written); err != nil {
		return Decoded{GVK: gvk}, err
	}
	return f.decodeAs(gvk, req)
}

// decodeAs decodes JSON into a new object of the given kind.
func (f *Factory) decodeAs(gvk meta.GroupVersionKind, req DecodeRequest) (Decoded, error) {
	out := Decoded{GVK: gvk}
	obj, err := f.kinds.NewObject(gvk)
	if err != nil {
		return out, err
	}
	if out.Strict, err = f.fill(obj, gvk, req); err != nil {
		return out, err
	}
	out.Object = obj
	obj.GetTypeMeta().SetGroupVersionKind(gvk)
	return out, nil
}

// decodeQuickly decodes data as an object of the kind guess. Unless its error is final (see final),
// data must be decoded carefully. After decoding it checks that data states the kind guess.
func (f *Factory) decodeQuickly(req DecodeRequest, guess meta.GroupVersionKind) (Decoded, error) {
	t := f.kinds.Type(guess)
	if t == nil {
		return Decoded{}, errAgain
	}
	obj, err := f.kinds.NewObject(guess)
	if err != nil || reflect.TypeOf(obj).Elem() != t.Go {
		return Decoded{}, errAgain
	}
	d := newDecoder(req.Data, req.Shared, req.Strict, req.Meter)
	if err := d.document(planOf(t), pointer(obj)); err != nil {
		return Decoded{GVK: guess}, err
	}
	tm := obj.GetTypeMeta()
	gv, ok := meta.ParseGroupVersion(tm.APIVersion)
	if !ok || complete(gv.WithKind(tm.Kind), req.Default) != guess || guess.Version == "" {
		return Decoded{}, errAgain
	}
	tm.SetGroupVersionKind(guess)
	return Decoded{Object: obj, GVK: guess}, nil
}

// fill decodes JSON into obj and returns the unknown and repeated fields. The JSON is known to be
// well-formed unless req.As is set. An object without a Go type decodes itself by its
// UnmarshalJSON. Then only repeated fields are reported, because the schema of the kind, which is
// not at hand here, tells which fields are unknown.
func (f *Factory) fill(obj meta.Typed, gvk meta.GroupVersionKind, req DecodeRequest) ([]string, error) {
	t := f.kinds.Type(gvk)
	if t != nil && reflect.TypeOf(obj).Elem() == t.Go {
		if req.As.Kind != "" {
			return decodeInto(req.Data, planOf(t), pointer(obj), req)
		}
		return decodeCarefully(req.Data, planOf(t), pointer(obj), req)
	}
	if u, ok := obj.(json.Unmarshaler); ok {
		var repeated []string
		if req.Strict {
			var err error
			if _, repeated, err = DecodeTree(req.Data, true, req.Meter); err != nil {
				return nil, err
			}
		}
		return repeated, u.UnmarshalJSON(req.Data)
	}
	return nil, fmt.Errorf("codec: kind %s has no descriptor and %T no UnmarshalJSON", gvk, obj)
}

// pointer returns the address of the struct that obj points to.
func pointer(obj meta.Typed) typeinfo.Pointer { return typeinfo.PointerIn(reflect.ValueOf(obj)) }

// interpret finds the kind that data states. It uses encoding/json, which matches names in any
// letter case and words the errors, because kube-apiserver does the same at this step.
func interpret(data []byte) (meta.GroupVersionKind, error) {
	var found struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return meta.GroupVersionKind{}, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	gv, err := parseGroupVersion(found.APIVersion)
	return gv.WithKind(found.Kind), err
}

// parseGroupVersion parses an apiVersion as kube-apiserver does: "/" is the empty one.
func parseGroupVersion(apiVersion string) (meta.GroupVersion, error) {
	if apiVersion == "/" {
		return meta.GroupVersion{}, nil
	}
	gv, ok := meta.ParseGroupVersion(apiVersion)
	if !ok {
		return meta.GroupVersion{}, fmt.Errorf("unexpected GroupVersion string: %v", apiVersion)
	}
	return gv, nil
}

// complete fills the fields that gvk leaves empty from def.
func complete(gvk, def meta.GroupVersionKind) meta.GroupVersionKind {
	if gvk.Kind == "" {
		gvk.Kind = def.Kind
	}
	if gvk.Version == "" && gvk.Group == "" {
		gvk.Group, gvk.Version = def.Group, def.Version
	}
	if gvk.Version == "" && gvk.Group == def.Group {
		gvk.Version = def.Version
	}
	return gvk
}

// Interpret finds the kind that the JSON in data states, completed by def, which may be zero: then
// data must state a kind, but may leave out the version. The errors are kube-apiserver's. They
// quote written, the object as the client sent it, which may have been YAML.
func Interpret(data, written []byte, def meta.GroupVersionKind) (meta.GroupVersionKind, error) {
	gvk, err := interpret(data)
	if err != nil {
		return gvk, err
	}
	if gvk = complete(gvk, def); gvk.Kind == "" {
		err = named(gvk, written)
	}
	return gvk, err
}

// maxShown is how many characters of a body an error message quotes. It exceeds what an error
// response repeats, which is cut again later.
const maxShown = 128 << 10

// named returns the error for a gvk without kind or version, nil if gvk has both.
func named(gvk meta.GroupVersionKind, data []byte) error {
	if gvk.Kind == "" {
		//lint:ignore ST1005 clients know kube-apiserver's wording
		return fmt.Errorf("Object 'Kind' is missing in '%.*s'", maxShown, data)
	}
	if gvk.Version == "" {
		//lint:ignore ST1005 clients know kube-apiserver's wording
		return fmt.Errorf("Object 'apiVersion' is missing in '%.*s'", maxShown, data)
	}
	return nil
}

// leadingKind reads kind and apiVersion if the object begins with these two members, as stored
// objects do. It reports false otherwise.
func leadingKind(data []byte) (meta.GroupVersionKind, bool) {
	s := jsontext.NewScanner(data, true, nil)
	if s.Next() != '{' {
		return meta.GroupVersionKind{}, false
	}
	s.Pos++
	var kind, apiVersion string
	for range 2 {
		key, err := s.Key()
		if err != nil || s.Next() != '"' {
			return meta.GroupVersionKind{}, false
		}
		value, err := s.Str()
		if err != nil {
			return meta.GroupVersionKind{}, false
		}
		switch key {
		case "kind":
			kind = value
		case "apiVersion":
			apiVersion = value
		default:
			return meta.GroupVersionKind{}, false
		}
		if s.Next() == ',' {
			s.Pos++
		}
	}
	gv, ok := meta.ParseGroupVersion(strings.Clone(apiVersion))
	return gv.WithKind(strings.Clone(kind)), ok
}
