package codec

import (
	"reflect"

	"encoding/json"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// DecodeTree decodes JSON into a tree of maps, lists and scalars, as jsontext.Decode does. If
// strict is set it also returns a message for each repeated field. m, which may be nil, counts the
// bytes. The error is that of m if m has ended; otherwise it reads as encoding/json's.
func DecodeTree(data []byte, strict bool, m *meter.Meter) (v any, warnings []string, err error) {
	d := newDecoder(data, false, strict, m)
	if v, err = d.Document(); err == nil {
		return v, nil, nil
	}
	if err := m.Err(); err != nil {
		return nil, nil, err
	}
	if err := jsontext.SyntaxError(data); err != nil {
		return nil, nil, err
	}
	careful := newCarefulDecoder(data, false, strict, m)
	if v, err = careful.Tree(); err == nil {
		err = careful.saved
	}
	if err != nil {
		return nil, nil, err
	}
	return v, careful.found, nil
}

// DecodeResource decodes a custom resource in one pass: metadata into head and all other members
// into a tree. If shared is set, strings share the memory of data. It returns nil if the object
// needs a closer look, and then head holds nothing useful: data is not well-formed or no object,
// metadata has a wrong type, a field is repeated, or (with strict) metadata has unknown fields.
func DecodeResource(data []byte, shared, strict bool, m *meter.Meter, head *meta.ObjectMeta) map[string]any {
	d := newDecoder(data, shared, strict, m)
	if d.Next() != '{' {
		return nil
	}
	tree, err := d.resource(head)
	if err != nil || d.End() != nil {
		return nil
	}
	return tree
}

// resource reads the members of a custom resource.
func (d *decoder) resource(head *meta.ObjectMeta) (map[string]any, error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	tree := map[string]any{}
	headed := false
	for first := true; ; first = false {
		more, err := d.More('}', first)
		if err != nil || !more {
			return tree, err
		}
		name, err := d.Key()
		if err != nil {
			return nil, err
		}
		if _, again := tree[name]; again || headed && name == "metadata" {
			return nil, errAgain
		}
		if name == "metadata" {
			headed = true
			err = d.value(planOf(typeinfo.For[meta.ObjectMeta]()), typeinfo.PointerIn(reflect.ValueOf(head)))
		} else {
			tree[name], err = d.Tree()
		}
		if err != nil {
			return nil, err
		}
	}
}

// DecodeJSON decodes JSON into a struct by its JSON tags, in the way that objects are decoded:
// names match exactly, unknown fields are ignored, and errors read as kube-apiserver's.
func DecodeJSON[T any](data []byte, to *T) error {
	t := typeinfo.For[T]()
	_, err := decodeInto(data, planOf(t), typeinfo.PointerIn(reflect.ValueOf(to)), DecodeRequest{Data: data})
	return err
}

// DecodeStrict decodes JSON into a struct as DecodeJSON does, and also lists unknown and repeated
// fields; StrictError turns the list into an error.
func DecodeStrict[T any](data []byte, to *T) (strict []string, err error) {
	t := typeinfo.For[T]()
	return decodeInto(data, planOf(t), typeinfo.PointerIn(reflect.ValueOf(to)), DecodeRequest{Data: data, Strict: true})
}

// decodeInto decodes data into the value that at points to: with the quick decoder and, if it gives
// up, with the careful decoder.
func decodeInto(data []byte, p *plan, at typeinfo.Pointer, req DecodeRequest) ([]string, error) {
	d := newDecoder(data, req.Shared, req.Strict, req.Meter)
	switch err := d.document(p, at); {
	case err == nil:
		return nil, nil
	case final(err, req.Meter):
		return nil, err
	}
	if err := jsontext.SyntaxError(data); err != nil {
		return nil, err
	}
	return decodeCarefully(data, p, at, req)
}

// final reports whether the error of the quick decoder is the answer, because the input was too
// much work already: too much memory, or the Meter has ended. Decoding again would do the work
// twice.
func final(err error, m *meter.Meter) bool { return err == errMemory || m.Err() != nil }

// decodeCarefully decodes well-formed JSON with the careful decoder.
func decodeCarefully(data []byte, p *plan, at typeinfo.Pointer, req DecodeRequest) ([]string, error) {
	// The quick decoder may have stored values, which would look like earlier values of the same
	// fields.
	at.Value(p.goType).SetZero()
	d := newCarefulDecoder(data, req.Shared, req.Strict, req.Meter)
	if err := d.document(p, at); err != nil {
		return nil, err
	}
	return d.found, nil
}

// EnterKey, EnterIndex, Leave, Repeated and Beyond implement jsontext.Observer: the careful decoder
// observes the untyped trees inside of an object. EnterKey says that the value of a key comes next.
func (d *decoder) EnterKey(key string) { d.push(pathStep{key: key, isKey: true}) }

// EnterIndex says that the element i of a list comes next.
func (d *decoder) EnterIndex(i int) { d.push(pathStep{index: i}) }

// Leave says that the value of the last EnterKey or EnterIndex has ended.
func (d *decoder) Leave() { d.pop() }

// Repeated reports a repeated key.
func (d *decoder) Repeated(key string) error { return d.report("duplicate", key) }

// Beyond saves the type error of a number out of range.
func (d *decoder) Beyond(err *json.UnmarshalTypeError) error {
	return d.save(&typeError{value: err.Value, want: err.Type})
}
