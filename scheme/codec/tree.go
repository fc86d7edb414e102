package codec

import (
	"reflect"

	"encoding/json"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// DecodeTree decodes JSON into a tree, as jsontext.Decode does, and if strict asks for that says which fields are there
// twice. Errors read as encoding/json's, or are that of the Meter, which counts the bytes; it may be nil.
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

// DecodeResource decodes an object in one pass: its metadata into head, and all else into a tree. It returns nil where that takes a
// closer look, behind which head says nothing: what is not well-formed or no object, has metadata of another type or fields that are
// there twice, or, if strict, fields in the metadata that nobody knows. If shared is set, the strings share the memory of data.
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

// DecodeJSON decodes JSON into a struct by its tags, as objects are decoded: names are matched exactly, those that it does not
// have are ignored, and errors read as kube-apiserver's.
func DecodeJSON[T any](data []byte, to *T) error {
	t := typeinfo.For[T]()
	_, err := decodeInto(data, planOf(t), typeinfo.PointerIn(reflect.ValueOf(to)), DecodeRequest{Data: data})
	return err
}

// DecodeStrictJSON is DecodeJSON for files that people write: what the struct does not have, and what is there twice, is an error.
func DecodeStrictJSON[T any](data []byte, to *T) error {
	t := typeinfo.For[T]()
	wrong, err := decodeInto(data, planOf(t), typeinfo.PointerIn(reflect.ValueOf(to)), DecodeRequest{Data: data, Strict: true})
	if err == nil && len(wrong) > 0 {
		err = StrictError(wrong)
	}
	return err
}

// decodeInto decodes quickly and, if that stops, carefully.
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

// final reports whether the error that has stopped the quick way is the one to answer with: the work is not to be done
// again where it was too much already.
func final(err error, m *meter.Meter) bool { return err == errMemory || m.Err() != nil }

// decodeCarefully decodes well-formed JSON.
func decodeCarefully(data []byte, p *plan, at typeinfo.Pointer, req DecodeRequest) ([]string, error) {
	// What the quick way has left behind would look like an earlier value of the same field.
	at.Value(p.goType).SetZero()
	d := newCarefulDecoder(data, req.Shared, req.Strict, req.Meter)
	if err := d.document(p, at); err != nil {
		return nil, err
	}
	return d.found, nil
}

// EnterKey implements jsontext.Observer, as do the other three: a careful decoder observes the trees in what it decodes.
func (d *decoder) EnterKey(key string) { d.push(place{key: key, isKey: true}) }

// EnterIndex says that an element of a list comes next.
func (d *decoder) EnterIndex(i int) { d.push(place{index: i}) }

// Leave says that it is over.
func (d *decoder) Leave() { d.pop() }

// Repeated reports a key.
func (d *decoder) Repeated(key string) error { return d.report("duplicate", key) }

// Beyond saves the error about a number.
func (d *decoder) Beyond(err *json.UnmarshalTypeError) error {
	return d.save(&typeError{value: err.Value, want: err.Type})
}
