package patch

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Misfit returns why the result of a strategic merge is no object of type t, in the words that Kubernetes has for it:
// it turns the merged tree into an object without going through JSON, so they are not those of a JSON decoder. The
// empty string means that everything fits. Fields are visited in the order of the type, maps in that of their keys.
func Misfit(merged []byte, t *typeinfo.Type) string {
	if syntax, _ := check(merged); syntax != nil {
		return syntax.Error()
	}
	return misfit(jsontext.RawOf(merged), t)
}

func misfit(value raw, t *typeinfo.Type) string {
	if value.IsNull() {
		return ""
	}
	switch t.Kind {
	case typeinfo.Any:
		return ""
	case typeinfo.Custom:
		if u, ok := reflect.New(t.Go).Interface().(json.Unmarshaler); ok {
			if err := u.UnmarshalJSON([]byte(value)); err != nil {
				return err.Error()
			}
		}
		return ""
	case typeinfo.Struct, typeinfo.Map:
		return objectMisfit(value, t)
	case typeinfo.List, typeinfo.Bytes:
		return listMisfit(value, t)
	}
	return scalarMisfit(value, t)
}

func objectMisfit(value raw, t *typeinfo.Type) string {
	var space [inline]member
	ms, ok := members(value, 0, space[:0])
	if !ok {
		if t.Kind == typeinfo.Struct {
			return "cannot restore struct from: " + goKind(value)
		}
		return "cannot restore map from " + goKind(value)
	}
	if t.Kind == typeinfo.Map {
		for _, m := range ms {
			if why := misfit(m.Value, t.Elem); why != "" {
				return why
			}
		}
		return ""
	}
	byKey := make(map[string]raw, len(ms))
	for _, m := range ms {
		byKey[m.Key] = m.Value
	}
	for _, f := range t.Fields {
		if v, ok := byKey[f.Name]; ok {
			if why := misfit(v, f.Type); why != "" {
				return why
			}
		}
	}
	return ""
}

func listMisfit(value raw, t *typeinfo.Type) string {
	if t.Kind == typeinfo.Bytes {
		switch value[0] {
		case '"':
		case '[':
			return "unrecognized type: uint8"
		default:
			return "cannot restore slice from " + goKind(value)
		}
		var data []byte
		if err := json.Unmarshal([]byte(value), &data); err != nil {
			return "error decoding from json: " + err.Error()
		}
		return ""
	}
	es, ok := value.Elements(0, nil)
	if !ok {
		return "cannot restore slice from " + goKind(value)
	}
	for _, e := range es {
		if why := misfit(e, t.Elem); why != "" {
			return why
		}
	}
	return ""
}

// scalarMisfit says what Go's conversion between kinds makes of the value: numbers convert to one another, an integer
// could become a string but must not, and everything else is of an unrecognized type.
func scalarMisfit(value raw, t *typeinfo.Type) string {
	from := goKind(value)
	switch t.Kind {
	case typeinfo.String:
		if from == "string" {
			return ""
		}
	case typeinfo.Bool:
		if from == "bool" {
			return ""
		}
	case typeinfo.Float64:
		if from == "int64" || from == "float64" {
			return ""
		}
	default:
		if from == "int64" {
			return ""
		}
		if f, ok := value.Number().(float64); ok && from == "float64" && f == float64(int64(f)) {
			return ""
		}
	}
	integer := t.Kind == typeinfo.Int32 || t.Kind == typeinfo.Int64
	if t.Kind == typeinfo.String && from == "int64" || integer && from == "float64" {
		return "cannot convert " + from + " to " + goName(t.Go)
	}
	return "unrecognized type: " + t.Go.Kind().String()
}

// goKind names the Go kind that Kubernetes decodes a value to.
func goKind(value raw) string {
	switch value[0] {
	case '{':
		return "map"
	case '[':
		return "slice"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	}
	return shapeOf(value)
}

// goName is the name of a type with its package as Kubernetes spells it: after the version, "v1.Protocol". What is shared
// by all groups is v1 there as well, but for UIDs, which have a package without a version.
func goName(t reflect.Type) string {
	path := t.PkgPath()
	if path == "" {
		return t.String()
	}
	pkg := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case pkg == "meta" && t.Name() == "UID":
		return "types.UID"
	case pkg == "meta":
		return "v1." + t.Name()
	}
	if at := apiVersion.FindStringIndex(pkg); at != nil {
		pkg = pkg[at[0]:]
	}
	return pkg + "." + t.Name()
}

// apiVersion is the beginning of the version in the name of a package.
var apiVersion = regexp.MustCompile("v[0-9]")
