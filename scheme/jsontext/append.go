package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// AppendTree appends a tree to dst as JSON, with the keys of objects sorted. Its errors are those
// of encoding/json for values that are not part of a tree or have no JSON form, such as NaN.
func AppendTree(dst []byte, tree any, style Style) ([]byte, error) {
	switch v := tree.(type) {
	case map[string]any:
		return appendObject(dst, v, style)
	case []any:
		return appendArray(dst, v, style)
	case string:
		return AppendString(dst, v, style), nil
	case Raw:
		return AppendRaw(dst, v, style), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		if abs := math.Abs(v); abs == 0 || 1e-6 <= abs && abs < 1e21 { // has no exponent in encoding/json
			return strconv.AppendFloat(dst, v, 'f', -1, 64), nil
		}
	case nil:
		return append(dst, "null"...), nil
	}
	return appendOther(dst, tree, style)
}

// appendObject appends an object with sorted keys.
func appendObject(dst []byte, object map[string]any, style Style) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, k := range Keys(object) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, k, style), ':')
		if dst, err = AppendTree(dst, object[k], style); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendArray appends an array.
func appendArray(dst []byte, array []any, style Style) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, v := range array {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendTree(dst, v, style); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendOther lets encoding/json append a value that is rare: a uint64, a very large or small
// float, or a value that is not part of a tree.
func appendOther(dst []byte, v any, style Style) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(style == HTML)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}
