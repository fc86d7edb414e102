package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// AppendTree appends a tree, the keys of its objects sorted. The only errors are those of encoding/json about what is no
// tree.
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
		if abs := math.Abs(v); abs == 0 || 1e-6 <= abs && abs < 1e21 { // written without an exponent
			return strconv.AppendFloat(dst, v, 'f', -1, 64), nil
		}
	case nil:
		return append(dst, "null"...), nil
	}
	return appendOther(dst, tree, style)
}

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

// appendOther leaves what is rare to encoding/json.
func appendOther(dst []byte, v any, style Style) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(style == HTML)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}
