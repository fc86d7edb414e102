package codec

import (
	"unsafe"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// DecodeTree decodes JSON into plain values: map[string]any, []any, string, bool, int64 (float64 for what is no
// integer or too large), nil. strict lists repeated fields if wanted. Errors read as encoding/json's.
func DecodeTree(data []byte, strict bool) (v any, warnings []string, err error) { return nil, nil, nil }

// DecodeInto decodes JSON into a value of the Go type that t describes, to which p points; what is there already is
// merged as encoding/json does. It serves parts of objects, such as the metadata of custom resources.
// Data may not be empty; it is copied.
func DecodeInto(data []byte, t *typeinfo.Type, p unsafe.Pointer, strict bool) (warnings []string, err error) {
	return nil, nil
}

// AppendTree appends a plain value (as DecodeTree returns it) as compact JSON with sorted keys and HTML characters
// escaped.
func AppendTree(dst []byte, v any) ([]byte, error) { return dst, nil }
