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

// decode finds the kind of an object and decodes it.
func (f *Factory) decode(req DecodeRequest) (Decoded, error) {
	switch req.Type {
	case Protobuf:
		return f.decodeProto(req)
	case YAML:
		return f.decodeYAML(req)
	}
	return f.decodeJSON(req)
}

// decodeJSON guesses that the data is of the default kind, or of the one that it begins with, and decodes it in one
// pass. Data that turns out to be something else, or to be wrong, is looked at again in the order in which
// kube-apiserver does, so that the same error comes first.
func (f *Factory) decodeJSON(req DecodeRequest) (Decoded, error) {
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
	if err := named(gvk, req.Data); err != nil {
		return Decoded{GVK: gvk}, err
	}
	return f.decodeAs(gvk, req)
}

// decodeAs decodes JSON into a new object of a kind.
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

// decodeQuickly decodes data on the assumption that it is of kind guess; the error is errAgain, or a final one, if that did
// not work out.
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

// fill decodes JSON into obj; it is known to be well-formed unless the request says what kind it is. An object without a
// Go type of its own brings an UnmarshalJSON; all that is reported of it are repeated fields, as only its schema knows
// which ones are unknown.
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

// interpret finds kind and apiVersion. encoding/json does it, because it matches names in any case, as kube-apiserver
// does at this place, and words the errors.
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

// complete fills in what gvk leaves open.
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

// Interpret finds the kind of an object, completed by def, which may be zero. The object has to say its kind then; a version it may
// leave out. The errors are those of kube-apiserver, and show the object as it was written, which may have been YAML.
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

// maxShown is how many characters of a body an error shows. It is more than an answer repeats.
const maxShown = 128 << 10

// named reports what gvk misses.
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

// leadingKind reads kind and apiVersion off an object that begins with them, as stored objects do.
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
