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

// maxYAML bounds the text of all keys and strings, in bytes, that a document with aliases stands for.
const maxYAML = 32 << 20

var errAliases = errors.New("yaml: document contains excessive aliasing")

// checkAliases refuses documents that aliases blow up. Package yaml bounds how many values aliases add, but neither how
// long those are nor what it says about each repeated key. A yaml.MapSlice hashes no keys and keeps repeated ones.
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

// fits takes the text in v off room and reports whether there was enough of it.
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

// stepsPerByte is how many steps it takes to parse a byte of YAML.
const stepsPerByte = 16

// meteredReader reads data and has a Meter count them.
type meteredReader struct {
	bytes.Reader
	m *meter.Meter
}

// Read implements io.Reader.
func (r *meteredReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if over := r.m.Step(n * stepsPerByte); over != nil {
		return 0, over
	}
	return n, err
}

// unmarshalYAML is package yaml's Unmarshal or UnmarshalStrict, which ends with the Meter while it parses.
func unmarshalYAML(data []byte, into any, strict bool, m *meter.Meter) error {
	r := &meteredReader{m: m}
	r.Reset(data)
	d := yaml.NewDecoder(r)
	d.SetStrict(strict)
	err := d.Decode(into)
	if over := m.Err(); over != nil {
		return over
	}
	if err == io.EOF { // there is no document
		return nil
	}
	return err
}

// YAMLToJSON converts the first document of a YAML 1.1 stream to compact JSON with sorted keys. Of repeated keys
// the last counts; if strict is set, repeated is the message about them, "" if there are none. Aliases may not blow
// the document up. The Meter, which may be nil, counts the bytes.
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
	// encoding/json writes numbers and refuses infinities as sigs.k8s.io/yaml does.
	out, err = json.Marshal(tree)
	return out, repeated, err
}

// repeatedText is the message about repeated keys, of which the first are listed.
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

// plainYAML turns the maps of package yaml, whose keys are anything, into maps of strings.
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

// yamlKey spells a key. Floats are spelt with the digits of 32 bits, which is what clients of Kubernetes know.
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

// AppendYAML appends well-formed JSON as YAML with sorted keys, ending in a newline.
func AppendYAML(dst, data []byte) ([]byte, error) {
	s := jsontext.NewScanner(data, true, nil)
	s.Unsigned = true
	tree, err := s.Document()
	if err != nil {
		// A number out of all range stays text, as it does in kube-apiserver, where YAML's own parser reads the JSON.
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

// decodeYAML converts to JSON first. Repeated keys, gone by then, head the list of what is wrong.
func (f *Factory) decodeYAML(req DecodeRequest) (Decoded, error) {
	data, repeated, err := YAMLToJSON(req.Data, req.Strict, req.Meter)
	if err != nil {
		return Decoded{}, err
	}
	req.Data, req.Type, req.Shared = data, JSON, true
	out, err := f.decodeJSON(req)
	if repeated != "" {
		out.Strict = append([]string{repeated}, out.Strict...)
	}
	return out, err
}
