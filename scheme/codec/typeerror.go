package codec

import (
	"reflect"
	"strings"
)

// typeError is the error for a JSON value of the wrong type. Its text is that of
// json.UnmarshalTypeError with the type names of Kubernetes.
type typeError struct {
	value     string       // the kind of JSON value; for a number out of range, with its text
	want      reflect.Type // the Go type of the destination
	in, field string       // the innermost struct, and the dotted path of field names
}

// Error returns the text of encoding/json, with the type names of Kubernetes.
func (e *typeError) Error() string {
	if e.in == "" && e.field == "" {
		return "json: cannot unmarshal " + e.value + " into Go value of type " + wireName(e.want)
	}
	return "json: cannot unmarshal " + e.value + " into Go struct field " + e.in + "." + e.field +
		" of type " + wireName(e.want)
}

// wireName names a Go type as errors of Kubernetes do. Packages of API types are called by their
// version there: corev1.Pod is v1.Pod.
func wireName(t reflect.Type) string {
	if t.PkgPath() == "" {
		switch t.Kind() {
		case reflect.Slice:
			return "[]" + wireName(t.Elem())
		case reflect.Pointer:
			return "*" + wireName(t.Elem())
		case reflect.Map:
			return "map[" + wireName(t.Key()) + "]" + wireName(t.Elem())
		}
		return t.String()
	}
	pkg, name, _ := strings.Cut(t.String(), ".")
	if pkg != "meta" || !strings.HasSuffix(t.PkgPath(), "/scheme/meta") {
		return versionPart(pkg) + "." + name
	}
	switch name {
	case "UID":
		return "types." + name
	case "Quantity":
		return "resource." + name
	case "IntOrString":
		return "intstr." + name
	case "RawExtension":
		return "runtime." + name
	}
	return "v1." + name
}

// versionPart cuts the group off the name of an API package: corev1 gives v1. A name that does not
// end in a version is returned as it is.
func versionPart(pkg string) string {
	i := strings.LastIndexByte(pkg, 'v')
	if i <= 0 || i+1 == len(pkg) || pkg[i+1] < '1' || pkg[i+1] > '9' {
		return pkg
	}
	rest := strings.TrimLeft(pkg[i+1:], "0123456789")
	for _, stage := range []string{"alpha", "beta"} {
		if n, ok := strings.CutPrefix(rest, stage); ok {
			rest = strings.TrimLeft(n, "0123456789")
		}
	}
	if rest != "" {
		return pkg
	}
	return pkg[i:]
}
