package codec

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// DecodeTree decodes JSON into plain values: map[string]any, []any, string, bool, int64 (float64 for what has a
// fraction or exponent or does not fit), nil. strict asks for repeated fields. Errors read as encoding/json's, or are that
// of the Meter, which counts the bytes; it may be nil.
func DecodeTree(data []byte, strict bool, m *meter.Meter) (v any, warnings []string, err error) {
	d := decoder{scanner: newScanner(data, false, m), strict: strict}
	if v, err = d.plain(); err == nil {
		err = d.end()
	}
	if err == nil {
		return v, nil, nil
	}
	if err := m.Err(); err != nil {
		return nil, nil, err
	}
	if err := checkSyntax(data); err != nil {
		return nil, nil, err
	}
	d = decoder{scanner: newScanner(data, false, m), strict: strict, careful: true}
	if v, err = d.plain(); err == nil {
		err = d.saved
	}
	if err != nil {
		return nil, nil, err
	}
	return v, d.found, nil
}

// decodeInto decodes quickly and, if that stops, carefully.
func decodeInto(data []byte, p *plan, at typeinfo.Pointer, req DecodeRequest) ([]string, error) {
	d := decoder{scanner: newScanner(data, req.Shared, req.Meter), strict: req.Strict}
	switch err := d.document(p, at); {
	case err == nil:
		return nil, nil
	case final(err, req.Meter):
		return nil, err
	}
	if err := checkSyntax(data); err != nil {
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
	d := decoder{scanner: newScanner(data, req.Shared, req.Meter), strict: req.Strict, careful: true}
	if err := d.document(p, at); err != nil {
		return nil, err
	}
	return d.found, nil
}

// checkSyntax returns the error that encoding/json has for malformed JSON.
func checkSyntax(data []byte) error {
	var raw json.RawMessage
	return json.Unmarshal(data, &raw)
}

// plain decodes a value of any kind.
func (d *decoder) plain() (any, error) {
	switch c := d.next(); c {
	case '"':
		return d.str()
	case '{':
		return d.plainObject()
	case '[':
		return d.plainArray()
	case 'n':
		return nil, d.literal("null")
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	case 0:
		return nil, errAgain
	}
	start, integer, err := d.number()
	if err != nil {
		return nil, err
	}
	return d.plainNumber(d.data[start:d.pos], integer)
}

// plainNumber converts a number. Kubernetes knows integers of 64 bits and floats.
func (d *decoder) plainNumber(text []byte, integer bool) (any, error) {
	if integer {
		if n, ok := atoi(text); ok {
			return n, nil
		}
		if d.unsigned {
			if n, err := strconv.ParseUint(string(text), 10, 64); err == nil {
				return n, nil
			}
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil, d.save(&typeError{value: "number " + string(text), want: reflect.TypeFor[float64]()})
	}
	return f, nil
}

func (d *decoder) plainArray() ([]any, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	out := []any{}
	for {
		more, err := d.more(']', len(out) == 0)
		if err != nil || !more {
			return out, err
		}
		d.push(place{index: len(out)})
		v, err := d.plain()
		if err != nil {
			return nil, err
		}
		d.pop()
		out = append(out, v)
	}
}

func (d *decoder) plainObject() (map[string]any, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if err != nil || !more {
			return out, err
		}
		if d.next() != '"' {
			return nil, errAgain
		}
		k, err := d.str()
		if err != nil {
			return nil, err
		}
		if d.strict {
			if _, ok := out[k]; ok {
				if err := d.report("duplicate", k); err != nil {
					return nil, err
				}
			}
		}
		if err := d.colon(); err != nil {
			return nil, err
		}
		d.push(place{key: k, isKey: true})
		v, err := d.plain()
		if err != nil {
			return nil, err
		}
		d.pop()
		out[k] = v
	}
}
