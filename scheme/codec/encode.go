package codec

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// JSON out: objects are written by the same plans that decode them. AppendJSON in json.go calls
// plan.encode.
//
// goccy/go-json, which writes everything that has no plan, would compile an encoder for each object
// type that takes as much memory as the plan does (TestEncodersAreSmall), would write a Choice
// through its MarshalJSON, and would rescan the output of each MarshalJSON once per level of
// nesting.

// encodePlans maps the reflect.Type of a pointer to an object to the *plan of the object; nil if
// the type has no descriptor.
var encodePlans sync.Map

// encodePlanOf returns the plan that encodes obj, nil if the type of obj has no descriptor.
func encodePlanOf(obj meta.Typed) *plan {
	goType := reflect.TypeOf(obj)
	if p, ok := encodePlans.Load(goType); ok {
		return p.(*plan)
	}
	var p *plan
	if t := typeinfo.Of(goType); t != nil {
		p = planOf(t)
	}
	encodePlans.Store(goType, p)
	return p
}

// scratch holds buffers for objects whose encoded length is not known yet. A buffer that has grown
// beyond mostScratch is left to the collector, so that one large object does not pin its buffer in
// the pool.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// mostScratch is the capacity, in bytes, of the largest buffer that the pool keeps.
const mostScratch = 64 << 10

// encode appends the value that at points to. If dst is nil, it encodes into a pooled buffer and
// returns a copy without spare capacity, because storage keeps the result in memory.
func (p *plan) encode(dst []byte, at typeinfo.Pointer) ([]byte, error) {
	if dst != nil {
		return p.append(dst, at)
	}
	buf := scratch.Get().(*[]byte)
	out, err := p.append((*buf)[:0], at)
	if err == nil {
		dst = bytes.Clone(out)
	}
	if cap(out) <= mostScratch {
		*buf = out
		scratch.Put(buf)
	}
	return dst, err
}

// append appends the JSON of the value that at points to, whose type p describes.
func (p *plan) append(dst []byte, at typeinfo.Pointer) ([]byte, error) {
	switch p.kind {
	case typeinfo.Struct:
		return p.appendStruct(dst, at)
	case typeinfo.List:
		return p.appendList(dst, at)
	case typeinfo.Map:
		return p.appendMap(dst, at)
	case typeinfo.Custom:
		return p.appendCustom(dst, at)
	case typeinfo.String:
		return appendText(dst, *typeinfo.As[string](at)), nil
	case typeinfo.Bool:
		return strconv.AppendBool(dst, *typeinfo.As[bool](at)), nil
	case typeinfo.Int32:
		return strconv.AppendInt(dst, int64(*typeinfo.As[int32](at)), 10), nil
	case typeinfo.Int64:
		return strconv.AppendInt(dst, *typeinfo.As[int64](at), 10), nil
	case typeinfo.Float64:
		return jsontext.AppendTree(dst, *typeinfo.As[float64](at), jsontext.HTML)
	case typeinfo.Bytes:
		return appendBytes(dst, *typeinfo.As[[]byte](at)), nil
	}
	return jsontext.AppendTree(dst, *typeinfo.As[any](at), jsontext.HTML)
}

// appendBehind appends the value that at points to. If pointer is set, that value is a pointer
// itself, and appendBehind appends what it points to, or null if it is nil.
func (p *plan) appendBehind(dst []byte, pointer bool, at typeinfo.Pointer) ([]byte, error) {
	if pointer {
		if at = *at.Slot(); at.IsNil() {
			return append(dst, "null"...), nil
		}
	}
	return p.append(dst, at)
}

// appendStruct appends a struct: its fields in the order of declaration, without those that
// omitempty leaves out.
func (p *plan) appendStruct(dst []byte, at typeinfo.Pointer) (_ []byte, err error) {
	begin := len(dst)
	dst = append(dst, '{')
	for i := range p.fields {
		f := &p.fields[i]
		value := at.Add(f.offset)
		if f.omitEmpty && f.empty(value) {
			continue
		}
		if len(dst) > begin+1 {
			dst = append(dst, ',')
		}
		dst = append(dst, f.head...)
		if dst, err = f.plan.appendBehind(dst, f.pointer, value); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// empty reports whether omitempty leaves out the field whose value at points to. omitempty never
// leaves out a struct, as in encoding/json.
func (f *fieldPlan) empty(at typeinfo.Pointer) bool {
	if f.pointer {
		return at.Slot().IsNil()
	}
	switch f.plan.kind {
	case typeinfo.Struct:
		return false
	case typeinfo.String:
		return *typeinfo.As[string](at) == ""
	case typeinfo.Bool:
		return !*typeinfo.As[bool](at)
	case typeinfo.List, typeinfo.Bytes:
		return at.Slice().Len == 0
	case typeinfo.Map:
		return at.Slot().IsNil() || at.Value(f.plan.goType).Len() == 0
	case typeinfo.Int32:
		return *typeinfo.As[int32](at) == 0
	case typeinfo.Int64:
		return *typeinfo.As[int64](at) == 0
	}
	v := at.Value(f.plan.goType)
	switch v.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// appendList appends a list. A nil list is null.
func (p *plan) appendList(dst []byte, at typeinfo.Pointer) (_ []byte, err error) {
	list := at.Slice()
	if list.Data.IsNil() {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	for i := range list.Len {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = p.elem.appendBehind(dst, p.pointers, list.Elem(i, p.size)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendText appends a string with the HTML escapes of encoding/json.
func appendText(dst []byte, s string) []byte { return jsontext.AppendString(dst, s, jsontext.HTML) }

// appendBytes appends bytes as base64. nil is null.
func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

// appendQuantity has the signature that appendPlainMap needs.
func appendQuantity(dst []byte, q meta.Quantity) []byte { return q.AppendJSON(dst) }

// appendPlainMap appends a map with sorted keys. value appends one value. A map of up to 16 entries
// costs no allocation.
func appendPlainMap[V any](dst []byte, m map[string]V, value func(dst []byte, v V) []byte) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	var few [16]string
	keys := few[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(append(appendText(dst, k), ':'), m[k])
	}
	return append(dst, '}')
}

// mapEntry says where the encoded entry of a map stands in the output, including the comma after
// it.
type mapEntry struct {
	key        string
	begin, end int
}

// appendMap appends a map with sorted keys. Maps that Go can range over by type go through
// appendPlainMap, all others through reflection.
func (p *plan) appendMap(dst []byte, at typeinfo.Pointer) (_ []byte, err error) {
	switch {
	case p.strings:
		return appendPlainMap(dst, *typeinfo.As[map[string]string](at), appendText), nil
	case p.byteValues:
		return appendPlainMap(dst, *typeinfo.As[map[string][]byte](at), appendBytes), nil
	case p.quantities:
		return appendPlainMap(dst, *typeinfo.As[map[string]meta.Quantity](at), appendQuantity), nil
	}
	m := at.Value(p.goType)
	if m.IsNil() {
		return append(dst, "null"...), nil
	}
	var (
		k       string
		key     = typeinfo.PointerTo(&k).Value(p.goType.Key())
		value   = reflect.New(p.goType.Elem()).Elem()
		entries = make([]mapEntry, 0, m.Len())
	)
	// Append the entries in the order of the iterator and reorder the bytes afterwards: looking up
	// values by sorted keys would copy each key and value once more.
	dst = append(dst, '{')
	begin := len(dst)
	for it := m.MapRange(); it.Next(); {
		key.SetIterKey(it)
		value.SetIterValue(it)
		e := mapEntry{key: k, begin: len(dst)}
		dst = append(jsontext.AppendString(dst, k, jsontext.HTML), ':')
		if dst, err = p.elem.appendBehind(dst, p.pointers, typeinfo.AddressOf(value)); err != nil {
			return dst, err
		}
		dst = append(dst, ',')
		e.end = len(dst)
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return append(dst, '}'), nil
	}
	byKey := func(a, b mapEntry) int { return strings.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(entries, byKey) {
		slices.SortFunc(entries, byKey)
		end := len(dst)
		for _, e := range entries {
			dst = append(dst, dst[e.begin:e.end]...)
		}
		dst = dst[:begin+copy(dst[begin:], dst[end:])]
	}
	dst[len(dst)-1] = '}' // replaces the last comma
	return dst, nil
}

// jsonAppender is a Custom type that appends its JSON to a buffer. That JSON must need no HTML
// escapes.
type jsonAppender interface{ AppendJSON(dst []byte) []byte }

// appendCustom appends a value of a type that encodes itself: by its AppendJSON, by the part that
// it chooses (a Choice), or by its MarshalJSON, whose output is then compacted and escaped as
// encoding/json does.
func (p *plan) appendCustom(dst []byte, at typeinfo.Pointer) ([]byte, error) {
	if p.appends != nil {
		return typeinfo.InterfaceAt(p.appends, at).AppendJSON(dst), nil
	}
	if p.choice == nil {
		data, err := typeinfo.InterfaceAt(p.marshal, at).MarshalJSON()
		if err != nil {
			return dst, err
		}
		return jsontext.AppendRaw(dst, jsontext.Raw(alias.String(data)), jsontext.HTML), nil
	}
	part := typeinfo.InterfaceAt(p.choice, at).Chosen()
	if part == nil {
		return append(dst, "null"...), nil
	}
	v := reflect.ValueOf(part)
	return planOf(typeinfo.Of(v.Type())).append(dst, typeinfo.PointerIn(v))
}
