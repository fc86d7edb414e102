package codec

import (
	gojson "github.com/goccy/go-json"
)

// AppendJSON appends v as compact JSON, without a newline, as encoding/json would write it: fields in the order of
// declaration, map keys sorted, HTML characters escaped. It is the form in which objects are stored.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	out, err := gojson.Marshal(v)
	if err != nil {
		return dst, err
	}
	return append(dst, out...), nil
}

// AppendIndent appends the well-formed JSON in src, indented by two spaces as encoding/json does, without a newline.
func AppendIndent(dst, src []byte) []byte { return dst }

// AppendPartial appends the metadata of an object encoded as JSON as a PartialObjectMetadata of meta.k8s.io in the
// given version ("v1" or "v1beta1"), as compact JSON without a newline. Nothing is decoded.
func AppendPartial(dst, data []byte, version string) ([]byte, error) { return dst, nil }
