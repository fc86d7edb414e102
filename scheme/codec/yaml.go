package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v2"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// YAML: it is converted to JSON and then decoded as JSON, as in kube-apiserver. Factory.decode
// calls decodeYAML, Factory.Transcode calls AppendYAML. Package yaml does the parsing; this file
// bounds what aliases expand to, and gives keys and errors the form of sigs.k8s.io/yaml.

// maxYAML bounds the total length, in bytes, of all keys and strings of a document after its
// aliases are expanded.
const maxYAML = 32 << 20

// errAliases refuses a document whose aliases expand to more than maxYAML.
var errAliases = errors.New("yaml: document contains excessive aliasing")

// checkAliases refuses documents whose aliases expand to too much text. Package yaml bounds the
// number of values that aliases add, but neither the length of those values nor its messages about
// repeated keys. Decoding into a yaml.MapSlice hashes no keys and keeps repeated ones, so it is
// cheap and complete.
func checkAliases(data []byte, m *meter.Meter) error {
	if bytes.IndexByte(data, '&') < 0 || bytes.IndexByte(data, '*') < 0 {
		return nil
	}
	var tree yaml.MapSlice
	if err := unmarshalYAML(data, &tree, false, m); err != nil {
		return err
	}
	if room := maxYAML; !fits(tree, &room) {
		return errAliases
	}
	return nil
}

// fits subtracts the length of all text in v from room and reports whether room sufficed.
func fits(v any, room *int) bool {
	switch v := v.(type) {
	case string:
		*room -= len(v)
	case []any:
		for _, e := range v {
			if !fits(e, room) {
				return false
			}
		}
	case yaml.MapSlice:
		for _, e := range v {
			if !fits(e.Key, room) || !fits(e.Value, room) {
				return false
			}
		}
	}
	return *room >= 0
}

// stepsPerByte is how many steps of a Meter the parsing of one byte of YAML counts.
const stepsPerByte = 16

// meteredReader reads data and counts the bytes with a Meter.
type meteredReader struct {
	bytes.Reader
	m *meter.Meter
}

// Read implements io.Reader. It fails when the Meter has ended, which ends package yaml, too.
func (r *meteredReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if over := r.m.Step(n * stepsPerByte); over != nil {
		return 0, over
	}
	return n, err
}

// unmarshalYAML is Unmarshal of package yaml, or UnmarshalStrict if strict is set. It ends when the
// Meter ends.
func unmarshalYAML(data []byte, into any, strict bool, m *meter.Meter) error {
	r := &meteredReader{m: m}
	r.Reset(data)
	d := yaml.NewDecoder(r)
	d.SetStrict(strict)
	err := d.Decode(into)
	if over := m.Err(); over != nil {
		return over
	}
	if err == io.EOF { // the stream is empty
		return nil
	}
	return err
}

// YAMLToJSON converts the first document of a YAML 1.1 stream to compact JSON with sorted keys. Of
// repeated keys the last one counts. If strict is set, repeated is the message about repeated keys,
// "" if there are none. A document whose aliases expand to more than 32 MiB of text is refused. m,
// which may be nil, counts the bytes.
func YAMLToJSON(data []byte, strict bool, m *meter.Meter) (out []byte, repeated string, err error) {
	if err := checkAliases(data, m); err != nil {
		return nil, "", err
	}
	var tree any
	err = unmarshalYAML(data, &tree, strict, m)
	if twice := (*yaml.TypeError)(nil); strict && errors.As(err, &twice) {
		repeated, tree = repeatedText(twice), nil
		err = unmarshalYAML(data, &tree, false, m)
	}
	if err != nil {
		return nil, "", err
	}
	if tree, err = plainYAML(tree); err != nil {
		return nil, "", err
	}
	if err := m.Step(len(data)); err != nil {
		return nil, "", err
	}
	// encoding/json writes numbers and refuses infinities in the way of sigs.k8s.io/yaml.
	out, err = json.Marshal(tree)
	return out, repeated, err
}

// repeatedText returns the message about repeated keys, which lists at most maxStrict of them.
func repeatedText(twice *yaml.TypeError) string {
	listed := twice.Errors[:min(len(twice.Errors), maxStrict)]
	for i, line := range listed {
		listed[i] = field.Cut(line, field.MaxText)
	}
	if more := len(twice.Errors) - len(listed); more > 0 {
		listed = append(listed, fmt.Sprintf("and %d more", more))
	}
	return (&yaml.TypeError{Errors: listed}).Error()
}

// plainYAML turns the maps of package yaml, whose keys have any type, into maps with string keys.
func plainYAML(v any) (any, error) {
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			name, err := yamlKey(key, value)
			if err != nil {
				return nil, err
			}
			if out[name], err = plainYAML(value); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = plainYAML(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// yamlKey returns a YAML key as a JSON name. A float is spelled with the precision of 32 bits, as
// sigs.k8s.io/yaml does.
func yamlKey(key, value any) (string, error) {
	switch k := key.(type) {
	case string:
		return k, nil
	case int:
		return strconv.Itoa(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case bool:
		return strconv.FormatBool(k), nil
	case float64:
		switch s := strconv.FormatFloat(k, 'g', -1, 32); s {
		case "+Inf":
			return ".inf", nil
		case "-Inf":
			return "-.inf", nil
		case "NaN":
			return ".nan", nil
		default:
			return s, nil
		}
	}
	return "", fmt.Errorf("unsupported map key of type: %s, key: %+#v, value: %+#v", reflect.TypeOf(key), key, value)
}

// AppendYAML appends well-formed JSON to dst as YAML with sorted keys, ending in a newline.
func AppendYAML(dst, data []byte) ([]byte, error) {
	s := jsontext.NewScanner(data, true, nil)
	s.Unsigned = true
	tree, err := s.Document()
	if err != nil {
		// A number out of every range stays text, as in kube-apiserver, where the parser of package
		// yaml reads the JSON.
		if err := yaml.Unmarshal(data, &tree); err != nil {
			return dst, err
		}
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		return dst, err
	}
	return append(dst, out...), nil
}

// decodeYAML decodes YAML by way of JSON. The conversion drops repeated keys, so their message
// comes first in the list of strict errors.
func (f *Factory) decodeYAML(req DecodeRequest) (Decoded, error) {
	data, repeated, err := YAMLToJSON(req.Data, req.Strict, req.Meter)
	if err != nil {
		return Decoded{}, err
	}
	written := req.Data
	req.Data, req.Type, req.Shared = data, JSON, true
	out, err := f.decodeJSON(req, written)
	if repeated != "" {
		out.Strict = append([]string{repeated}, out.Strict...)
	}
	return out, err
}
