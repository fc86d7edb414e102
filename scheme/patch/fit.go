package patch

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// fit.go checks the result of a strategic merge against the Go type. The PATCH handler calls
// CheckStrategicResult for the warnings and errors of field validation.

// CheckStrategicResult checks whether the result of a strategic merge is an object of type t.
// Kubernetes converts the merged tree to the Go object without encoding it as JSON, so the errors
// have words of their own. misfit says why that conversion would fail; it is empty if it would
// succeed. Then unknown lists the fields that t does not have, sorted, at most 100. As in
// Kubernetes, paths in unknown leave out the keys of maps, so the same message may occur several
// times. Neither result is complete if the Meter has ended.
//
// Fields are visited in the order of the type, maps in the order of their keys.
func CheckStrategicResult(merged []byte, t *typeinfo.Type, m *meter.Meter) (unknown []string, misfit string) {
	if m.Step(len(merged)) != nil {
		return nil, ""
	}
	if syntax, _ := check(merged); syntax != nil {
		return nil, syntax.Error()
	}
	f := fitting{findings{every: true, m: m}}
	if misfit = f.value(jsontext.RawOf(merged), t); misfit != "" {
		return nil, misfit
	}
	slices.Sort(f.found)
	return f.found, ""
}

// fitting is a walk that collects unknown fields and ends at the first misfit.
type fitting struct{ findings }

// value checks one value against its type. Null fits every type.
func (f *fitting) value(value raw, t *typeinfo.Type) (misfit string) {
	if f.m.Step(len(value)) != nil || value.IsNull() {
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
	case typeinfo.Struct:
		return f.fields(value, t)
	case typeinfo.Map:
		return f.entries(value, t)
	case typeinfo.List:
		return f.elements(value, t)
	case typeinfo.Bytes:
		return bytesMisfit(value)
	}
	return scalarMisfit(value, t)
}

// fields checks the fields of a struct, then collects the fields that the type does not have.
func (f *fitting) fields(value raw, t *typeinfo.Type) (misfit string) {
	var space [inline]member
	ms, ok := members(value, 0, space[:0])
	if !ok {
		return "cannot restore struct from: " + goKind(value)
	}
	byKey := make(map[string]raw, len(ms))
	for _, m := range ms {
		byKey[m.Key] = m.Value
	}
	for _, field := range t.Fields {
		v, ok := byKey[field.Name]
		if !ok {
			continue
		}
		delete(byKey, field.Name)
		at := f.enterField(field.Name)
		misfit = f.value(v, field.Type)
		if f.leave(at); misfit != "" {
			return misfit
		}
	}
	for _, m := range ms {
		if _, left := byKey[m.Key]; left {
			f.add("unknown", m.Key)
		}
	}
	return ""
}

// entries checks the values of a map. It adds no key to the path.
func (f *fitting) entries(value raw, t *typeinfo.Type) (misfit string) {
	var space [inline]member
	ms, ok := members(value, 0, space[:0])
	if !ok {
		return "cannot restore map from " + goKind(value)
	}
	for _, m := range ms {
		if misfit = f.value(m.Value, t.Elem); misfit != "" {
			return misfit
		}
	}
	return ""
}

// elements checks the elements of a list.
func (f *fitting) elements(value raw, t *typeinfo.Type) (misfit string) {
	es, ok := value.Elements(0, nil)
	if !ok {
		return "cannot restore slice from " + goKind(value)
	}
	for i, e := range es {
		at := f.enterIndex(i)
		misfit = f.value(e, t.Elem)
		if f.leave(at); misfit != "" {
			return misfit
		}
	}
	return ""
}

// bytesMisfit checks a value for a []byte, which JSON writes as base64.
func bytesMisfit(value raw) string {
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

// scalarMisfit checks a value for a scalar. Kubernetes' converter goes by
// reflect.Type.ConvertibleTo and refuses lossy conversions: integers and floats convert to each
// other if no fraction is lost, an integer does not become a string, and any other type is
// unrecognized.
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

// goName returns the name of a Go type as Kubernetes' messages write it, with the version as its
// package: corev1.Protocol is "v1.Protocol". The types of package meta are in a v1 there as well,
// except UID, which is in a package called types.
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
