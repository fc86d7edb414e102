package codec

import (
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

// Encoding by plan, in the form of AppendJSON, of objects with a typeinfo.Choice somewhere in them. goccy/go-json would have it
// write itself, and go over what it wrote once more for each level.

// encodePlans holds the plans of types that are encoded by them: reflect.Type, of a pointer, to *plan, nil for all others.
var encodePlans sync.Map

// encodePlanOf returns the plan by which obj is encoded, nil if it is not encoded by one.
func encodePlanOf(obj meta.Typed) *plan {
	goType := reflect.TypeOf(obj)
	if p, ok := encodePlans.Load(goType); ok {
		return p.(*plan)
	}
	var p *plan
	if t := typeinfo.Of(goType); t != nil && holdsChoice(t, map[*typeinfo.Type]bool{}) {
		p = planOf(t)
	}
	encodePlans.Store(goType, p)
	return p
}

// holdsChoice reports whether there is a Choice in a type that is not in seen.
func holdsChoice(t *typeinfo.Type, seen map[*typeinfo.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	_, ok := reflect.New(t.Go).Interface().(typeinfo.Choice)
	return ok || holdsChoice(t.Elem, seen) ||
		slices.ContainsFunc(t.Fields, func(f *typeinfo.Field) bool { return holdsChoice(f.Type, seen) })
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
		return jsontext.AppendString(dst, *typeinfo.As[string](at), jsontext.HTML), nil
	case typeinfo.Bool:
		return strconv.AppendBool(dst, *typeinfo.As[bool](at)), nil
	case typeinfo.Int32:
		return strconv.AppendInt(dst, int64(*typeinfo.As[int32](at)), 10), nil
	case typeinfo.Int64:
		return strconv.AppendInt(dst, *typeinfo.As[int64](at), 10), nil
	case typeinfo.Float64:
		return jsontext.AppendTree(dst, *typeinfo.As[float64](at), jsontext.HTML)
	case typeinfo.Bytes:
		b := *typeinfo.As[[]byte](at)
		if b == nil {
			return append(dst, "null"...), nil
		}
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"'), nil
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
		dst = append(jsontext.AppendString(dst, f.name, jsontext.HTML), ':')
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

// mapEntry is where the encoding of an entry of a map stands.
type mapEntry struct {
	key        string
	begin, end int
}

func (p *plan) appendMap(dst []byte, at typeinfo.Pointer) (_ []byte, err error) {
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

func (p *plan) appendCustom(dst []byte, at typeinfo.Pointer) ([]byte, error) {
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
