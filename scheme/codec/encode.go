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

// Encoding by plan, in the form of AppendJSON: by the plan that decoding has anyway. An encoder of
// goccy/go-json would take as much memory once more, for each type anew (TestEncodersAreSmall),
// write a Choice by its MarshalJSON, and go over what that wrote once more for each level.

// encodePlans holds the plans of types: reflect.Type, of a pointer, to *plan, nil for those that
// have no descriptor.
var encodePlans sync.Map

// encodePlanOf returns the plan by which obj is encoded, nil if it is not encoded by one.
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

// scratch holds what encode writes to before it is known how long that will be. A larger one is
// left to the collector.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

const mostScratch = 64 << 10

// encode appends the value at at. Without a dst what it returns has no room to grow, as it may be
// kept.
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

// append appends the value at at.
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

// appendBehind appends what a pointer at at points to, or the value at at.
func (p *plan) appendBehind(dst []byte, pointer bool, at typeinfo.Pointer) ([]byte, error) {
	if pointer {
		if at = *at.Slot(); at.IsNil() {
			return append(dst, "null"...), nil
		}
	}
	return p.append(dst, at)
}

func (p *plan) appendStruct(dst []byte, at typeinfo.Pointer) (_ []byte, err error) {
	begin := len(dst)
	dst = append(dst, '{')
	for i := range p.fields {
		f := &p.fields[i]
		place := at.Add(f.offset)
		if f.omitEmpty && f.empty(place) {
			continue
		}
		if len(dst) > begin+1 {
			dst = append(dst, ',')
		}
		dst = append(dst, f.head...)
		if dst, err = f.plan.appendBehind(dst, f.pointer, place); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// empty reports whether omitempty leaves out what is at at. It never does so with structs.
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

func appendText(dst []byte, s string) []byte { return jsontext.AppendString(dst, s, jsontext.HTML) }

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, "null"...)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

func appendQuantity(dst []byte, q meta.Quantity) []byte { return q.AppendJSON(dst) }

// appendPlainMap appends a map, without memory of its own if it has few entries.
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

// mapEntry is where the encoding of an entry of a map stands.
type mapEntry struct {
	key        string
	begin, end int
}

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
	// As they come: to look entries up by their sorted keys would copy each once more.
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
	dst[len(dst)-1] = '}' // in the place of a comma
	return dst, nil
}

// jsonAppender is a Custom type that writes its JSON behind other text. Nothing in that JSON needs
// HTML escapes.
type jsonAppender interface{ AppendJSON(dst []byte) []byte }

func (p *plan) appendCustom(dst []byte, at typeinfo.Pointer) ([]byte, error) {
	if p.appends != nil {
		return typeinfo.Aim(p.appends, at).AppendJSON(dst), nil
	}
	if p.choice == nil {
		data, err := typeinfo.Aim(p.marshal, at).MarshalJSON()
		if err != nil {
			return dst, err
		}
		return jsontext.AppendRaw(dst, jsontext.Raw(alias.String(data)), jsontext.HTML), nil
	}
	part := typeinfo.Aim(p.choice, at).Chosen()
	if part == nil {
		return append(dst, "null"...), nil
	}
	v := reflect.ValueOf(part)
	return planOf(typeinfo.Of(v.Type())).append(dst, typeinfo.PointerIn(v))
}
