// Package sample makes objects for tests: any value that typeinfo describes, filled at random with
// what its tags allow. The same seed gives the same object.
//
//	for _, gvk := range s.AllKinds() {
//		obj, err := s.NewObject(gvk)
//		...
//		sample.New(seed).Fill(obj)
//	}
//
// Laws:
//   - Every value survives a round trip through each wire format: it has no empty lists, maps
//     or byte strings (protobuf cannot tell them from nil), times of the precision of their
//     type, quantities in canonical spelling, and strings of valid UTF-8.
//   - Enums, bounds, formats, list keys and sets in tags are respected. Rules that only code
//     checks are not.
//   - apiVersion and kind stay unset; the caller sets them.
//
// A Filler belongs to one goroutine.
//
// Not here: comparing objects (reflect.DeepEqual), and the round trips, which are tests of scheme
// and scheme/codec.
package sample

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Filler fills values at random. It belongs to one goroutine.
type Filler struct {
	rand *rand.Rand
	// Density is the probability, from 0 to 1, that an optional field is set. It falls with the
	// depth. New sets 0.6.
	Density float64
	// MaxDepth bounds the nesting of structs. New sets 12.
	MaxDepth int
}

// New returns a Filler that seed determines.
func New(seed uint64) *Filler {
	return &Filler{rand: rand.New(rand.NewPCG(seed, 2)), Density: 0.6, MaxDepth: 12}
}

// Fill fills the struct that v points to. It panics if v is anything else, or of a type that
// typeinfo cannot describe, because only tests call it.
func (f *Filler) Fill(v any) {
	rv := reflect.ValueOf(v)
	t := typeinfo.Of(rv.Type())
	if rv.Kind() != reflect.Pointer || t == nil || t.Kind != typeinfo.Struct {
		panic(fmt.Sprintf("sample: cannot fill %T", v))
	}
	f.fill(t, nil, rv.Elem(), 0)
}

// typeMeta is the type whose fields stay unset.
var typeMeta = reflect.TypeFor[meta.TypeMeta]()

// fill fills a value of type t. field is the field that holds the value or its list, nil if there
// is none.
func (f *Filler) fill(t *typeinfo.Type, field *typeinfo.Field, v reflect.Value, depth int) {
	switch t.Kind {
	case typeinfo.Struct:
		for _, m := range t.Fields {
			if m.Owner != typeMeta && f.wants(m, depth) {
				f.field(m, v.FieldByIndex(m.Index), depth+1)
			}
		}
	case typeinfo.List:
		f.list(t, field, v, depth)
	case typeinfo.Map:
		v.Set(reflect.MakeMap(t.Go))
		for range 1 + f.rand.IntN(2) {
			key := reflect.New(t.Key).Elem()
			key.SetString(f.label())
			elem := reflect.New(t.Go.Elem()).Elem()
			f.elem(t, field, elem, depth)
			v.SetMapIndex(key, elem)
		}
	case typeinfo.Bytes:
		b := make([]byte, 1+f.rand.IntN(8))
		for i := range b {
			b[i] = byte(f.rand.Uint32())
		}
		v.SetBytes(b)
	case typeinfo.Bool:
		v.SetBool(f.rand.IntN(4) > 0)
	case typeinfo.String:
		v.SetString(f.text(field))
	case typeinfo.Int32, typeinfo.Int64, typeinfo.Float64:
		f.number(t, field, v)
	case typeinfo.Any:
		v.Set(reflect.ValueOf([]any{"text", true, map[string]any{"a": []any{"b"}}}[f.rand.IntN(3)]))
	case typeinfo.Custom:
		f.custom(v)
	}
}

// wants decides whether a field is set. Required fields are set, except those at MaxDepth through
// which a type could contain itself without end.
func (f *Filler) wants(m *typeinfo.Field, depth int) bool {
	if m.Required && (depth < f.MaxDepth || !m.Pointer && m.Type.Elem == nil) {
		return true
	}
	if depth == 0 && m.Type.Kind == typeinfo.Struct && !m.Pointer {
		// Metadata, spec and status.
		return true
	}
	return depth < f.MaxDepth && f.rand.Float64() < f.Density*(1-float64(depth)/float64(f.MaxDepth))
}

// field fills the value of a field, behind its pointer if it has one.
func (f *Filler) field(m *typeinfo.Field, v reflect.Value, depth int) {
	if m.Pointer {
		v.Set(reflect.New(m.Type.Go))
		v = v.Elem()
	}
	f.fill(m.Type, m, v, depth)
}

// elem fills an element of a list or a value of a map.
func (f *Filler) elem(t *typeinfo.Type, field *typeinfo.Field, v reflect.Value, depth int) {
	if t.ElemPointer {
		v.Set(reflect.New(t.Elem.Go))
		v = v.Elem()
	}
	f.fill(t.Elem, field, v, depth+1)
}

// list fills a list. It leaves out elements that repeat a key, or an element of a set.
func (f *Filler) list(t *typeinfo.Type, field *typeinfo.Field, v reflect.Value, depth int) {
	n := 1 + f.rand.IntN(3)
	if depth > 5 {
		n = 1 // keeps objects small
	}
	var seen []string
	for range n {
		elem := reflect.New(t.Go.Elem()).Elem()
		f.elem(t, field, elem, depth)
		if id := identity(t, field, elem); id != "" {
			if slices.Contains(seen, id) {
				continue
			}
			seen = append(seen, id)
		}
		v.Set(reflect.Append(v, elem))
	}
}

// identity returns the part of an element that must be unique in its list: the keys, or the element
// of a set; "" if nothing must be unique.
func identity(t *typeinfo.Type, field *typeinfo.Field, elem reflect.Value) string {
	if field == nil || field.Type != t {
		return ""
	}
	elem = reflect.Indirect(elem)
	switch field.ListType {
	case "set":
		return fmt.Sprintf("=%v", elem.Interface())
	case "map":
		var id strings.Builder
		for _, key := range field.ListKeys {
			fmt.Fprintf(&id, "%v|", reflect.Indirect(elem.FieldByIndex(t.Elem.Field(key).Index)))
		}
		return id.String()
	}
	return ""
}

// letters are the characters of labels.
const letters = "abcdefghijklmnopqrstuvwxyz"

// label returns a name that most rules for names accept.
func (f *Filler) label() string {
	b := make([]byte, 1+f.rand.IntN(8))
	for i := range b {
		b[i] = letters[f.rand.IntN(len(letters))]
	}
	return string(b)
}

// odd are strings that must be quoted or escaped in JSON or YAML.
var odd = []string{
	"ä ü", `q"\`, "<a&b>", "line\nline", "\u2028",
	"yes", "1e3", "null", "~", "0x10", "a: b", "- x", "# c", "é",
}

// text returns a string that the tags of a field allow.
func (f *Filler) text(field *typeinfo.Field) string {
	if field == nil {
		return f.label()
	}
	enum := field.Enum
	if field.Type.Elem != nil {
		enum = field.ItemEnum
	}
	if len(enum) > 0 {
		return enum[f.rand.IntN(len(enum))]
	}
	text := f.label()
	if len(field.Checks) == 0 && f.rand.IntN(6) == 0 {
		text = odd[f.rand.IntN(len(odd))]
	}
	for _, check := range field.Checks {
		switch n, _ := strconv.Atoi(check.Arg); check.Name {
		case "maxLength":
			text = text[:min(n, len(text))]
		case "minLength":
			text += strings.Repeat("x", max(0, n-len(text)))
		case "format":
			switch check.Arg {
			case "ip":
				text = "10.1.2." + strconv.Itoa(f.rand.IntN(256))
			case "cidr":
				text = "10.1." + strconv.Itoa(f.rand.IntN(256)) + ".0/24"
			}
		}
	}
	return text
}

// number sets a number that the tags of a field allow.
func (f *Filler) number(t *typeinfo.Type, field *typeinfo.Field, v reflect.Value) {
	low, high := -1000.0, 1e6
	if field != nil {
		for _, check := range field.Checks {
			limit, err := strconv.ParseFloat(check.Arg, 64)
			switch {
			case err != nil:
			case check.Name == "min":
				low = limit
				high = max(high, low+10)
			case check.Name == "max":
				high = limit
			}
		}
	}
	n := int64(low) + f.rand.Int64N(max(1, int64(high-low)))
	if t.Kind == typeinfo.Float64 {
		v.SetFloat(float64(n) + 0.25)
		return
	}
	v.SetInt(n)
}

// texts maps names of custom types to JSON texts that they accept. Other custom types get the first
// of anyTexts that they accept.
var texts = map[string][]string{
	"Time":      {`"2024-05-06T07:08:09Z"`, `"1999-12-31T23:59:59Z"`},
	"MicroTime": {`"2024-05-06T07:08:09.123456Z"`, `"1999-12-31T23:59:59.000001Z"`},
	"Duration":  {`"1h2m3s"`, `"500ms"`, `"0s"`},
	"Quantity":  {`"100m"`, `"1Gi"`, `"5"`, `"1500Ki"`, `"2k"`, `"0"`},

	"JSONSchemaPropsOrArray":       {`{"type":"string"}`, `[{"type":"string"},{}]`},
	"JSONSchemaPropsOrBool":        {`{"items":{"type":"string"}}`, `true`, `false`},
	"JSONSchemaPropsOrStringArray": {`{"additionalProperties":{}}`, `["a","b"]`},
}

// anyTexts are JSON texts of each form.
var anyTexts = []string{`{"a":"b"}`, `"text"`, `1`, `true`, `["a"]`}

// custom sets a value of a custom type by decoding a JSON text.
func (f *Filler) custom(v reflect.Value) {
	candidates := texts[v.Type().Name()]
	if candidates == nil {
		// Begin at a random text, so that a type that accepts several forms gets each of them.
		i := f.rand.IntN(len(anyTexts))
		candidates = slices.Concat(anyTexts[i:], anyTexts[:i])
	} else {
		candidates = []string{candidates[f.rand.IntN(len(candidates))]}
	}
	for _, text := range candidates {
		made := reflect.New(v.Type())
		if json.Unmarshal([]byte(text), made.Interface()) != nil {
			continue
		}
		// Some types accept every text. Keep only a value that encodes as the same text.
		if again, err := json.Marshal(made.Interface()); err == nil && string(again) == text {
			v.Set(made.Elem())
			return
		}
	}
}
