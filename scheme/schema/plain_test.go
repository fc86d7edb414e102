package schema

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// FuzzValidate validates random trees by random schemas. A tree that plainly refuses must not pass.
// An update that changes nothing must pass, apart from embedded resources.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(widget), []byte(widgetObject))
	f.Add([]byte(`{"type":"object","additionalProperties":{"x-kubernetes-int-or-string":true,"enum":[1,"a"]}}`), []byte(`{"a":1,"b":"c","c":1.5}`))
	f.Add([]byte(`{"type":"array","items":{"type":"number","multipleOf":0.5,"exclusiveMinimum":true,"minimum":1}}`), []byte(`[1,1.25,2]`))
	f.Add([]byte(`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`), []byte(`["a","b","a"]`))
	f.Add([]byte(`{"oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"required":["c"]}}`), []byte(`{"a":1,"b":2}`))
	f.Add([]byte(`{"anyOf":[{"maxLength":1},{"pattern":"^a"}],"allOf":[{"minLength":1}]}`), []byte(`"bb"`))
	f.Fuzz(func(t *testing.T, definition, data []byte) {
		s, errs := Parse(nil, definition)
		tree, err := jsontext.Decode(data, nil)
		if len(errs) > 0 || err != nil {
			return
		}
		if len(mistakes(s, tree, nil)) == 0 && !plainly(s, tree) {
			t.Fatalf("%s passes %s", data, definition)
		}
	})
}

// plainly reports whether a value fulfils a schema, in the simplest code. It leaves out formats,
// embedded resources, and numbers that kube-apiserver does not compare exactly.
func plainly(s *Schema, v any) bool {
	if s == nil {
		return true
	}
	typ, l := typeOf(v), s.Limits
	if l == nil {
		l = &noLimits
	}
	switch {
	case s.Forbidden:
		return false
	case v == nil:
		return s.Nullable || s.Type == "" && !s.IntOrString
	case s.IntOrString && typ != Integer && typ != String && !wholeNumber(v):
		return false
	case s.Format == "" && !s.IntOrString && s.Type != "" && s.Type != typ && !(s.Type == Number && typ == Integer) && !(s.Type == Integer && wholeNumber(v)):
		return false
	}
	switch v := v.(type) {
	case string:
		n := int64(utf8.RuneCountInString(v))
		if outside(n, l.MinLength, l.MaxLength) || l.Pattern != nil && !l.Pattern.MatchString(v) {
			return false
		}
	case int64:
		if f := float64(v); s.Type == Number && l.Minimum != nil && *l.Minimum == float64(int64(*l.Minimum)) && f < *l.Minimum {
			return false
		}
	case []any:
		if outside(int64(len(v)), l.MinItems, l.MaxItems) {
			return false
		}
		for i := range v {
			if !plainly(s.Items, v[i]) || s.ListType == "set" && repeats(v, i) {
				return false
			}
		}
	case map[string]any:
		if outside(int64(len(v)), l.MinProperties, l.MaxProperties) {
			return false
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok && !(s.Resource && isHead(name)) {
				return false
			}
		}
		for name, held := range v {
			if !plainly(s.Child(name), held) {
				return false
			}
		}
	}
	return combined(l, v)
}

// combined counts the schemas of a combination that a value fulfils.
func combined(l *Limits, v any) bool {
	fulfilled := func(all []*Schema) (n int) {
		for _, s := range all {
			if len(s.Validate(nil, nil, v, nil)) == 0 {
				n++
			}
		}
		return n
	}
	return fulfilled(l.AllOf) == len(l.AllOf) && (len(l.AnyOf) == 0 || fulfilled(l.AnyOf) > 0) &&
		(len(l.OneOf) == 0 || fulfilled(l.OneOf) == 1) && (l.Not == nil || fulfilled([]*Schema{l.Not}) == 0)
}

func outside(n int64, least, most *int64) bool {
	return least != nil && n < *least || most != nil && n > *most
}

func wholeNumber(v any) bool {
	f, ok := v.(float64)
	return ok && isWhole(f)
}

func repeats(list []any, i int) bool {
	for _, other := range list[:i] {
		if reflect.DeepEqual(other, list[i]) {
			return true
		}
	}
	return false
}
