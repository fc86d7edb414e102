package codec

import (
	"encoding/json"
	"reflect"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Lists and maps in JSON. decoder.arrayValue and decoder.objectValue in decode.go call these
// functions. Lists of strings and maps of strings or bytes are decoded with Go's own operations,
// because they are most of all lists and maps; all other element types go through reflection and
// the plan of the element.

// stringList decodes a JSON array into a list of strings. It overwrites the elements that list
// already has. An element null changes nothing, so it keeps the element of an earlier array of the
// same field: {"args":["a"],"args":[null]} gives ["a"], as encoding/json does.
func (d *decoder) stringList(p *plan, list *[]string) error {
	if err := d.Open(); err != nil {
		return err
	}
	out := *list
	n := 0
	for ; ; n++ {
		more, err := d.More(']', n == 0)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if n >= len(out) {
			if n < cap(out) {
				out = out[:n+1]
			} else {
				out = append(out, "")
			}
		}
		d.push(pathStep{index: n})
		if d.Next() == '"' {
			out[n], err = d.Str()
		} else {
			err = d.value(p.elem, typeinfo.PointerTo(&out[n]))
		}
		if err != nil {
			return err
		}
		d.pop()
	}
	if n == 0 {
		out = []string{}
	}
	*list = out[:n]
	return nil
}

// byteList decodes an array of numbers into bytes. encoding/json accepts that form beside base64.
// The form is rare, so the careful decoder leaves it to encoding/json.
func (d *decoder) byteList(p *plan, list *[]byte) error {
	start := d.Pos
	if err := d.Skip(); err != nil {
		return err
	}
	if !d.careful {
		return errAgain
	}
	v := reflect.New(p.goType)
	if err := json.Unmarshal(d.Data[start:d.Pos], v.Interface()); err != nil {
		return d.save(err)
	}
	*list = v.Elem().Bytes()
	return nil
}

// list decodes a JSON array into the list that at points to, whose type p describes. Elements that
// the list already has are decoded into, as encoding/json does. The memory of each element counts
// against maxMemory, and so do the elements that are copied when the list grows.
func (d *decoder) list(p *plan, at typeinfo.Pointer) error {
	if err := d.Open(); err != nil {
		return err
	}
	head := at.Slice()
	n := 0
	for ; ; n++ {
		more, err := d.More(']', n == 0)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		cost := p.behind
		if n >= head.Cap {
			cost += p.size * uintptr(max(n, 1))
		}
		if err := d.spend(cost); err != nil {
			return err
		}
		if n >= head.Cap {
			p.list(at).Grow(1)
		}
		if n >= head.Len {
			head.Len = n + 1
		}
		d.push(pathStep{index: n})
		if err := d.element(p, head.Elem(n, p.size)); err != nil {
			return err
		}
		d.pop()
	}
	if n == 0 {
		p.list(at).Set(reflect.MakeSlice(p.goType, 0, 0))
	}
	head.Len = n
	return nil
}

// element decodes an element of a list or a value of a map. An element of type []byte that is null
// becomes empty bytes, as Kubernetes stores it, because protobuf has no null there.
func (d *decoder) element(p *plan, at typeinfo.Pointer) error {
	if err := d.field(p.elem, p.pointers, at); err != nil {
		return err
	}
	if p.elem.kind == typeinfo.Bytes && !p.pointers && at.Slice().Data.IsNil() {
		at.Value(p.elem.goType).SetBytes([]byte{})
	}
	return nil
}

// keys is the set of the keys of one JSON object that were read, to find repeated ones.
type keys map[string]struct{}

// key consumes the key of a map entry and its colon. A decoder that is strict and careful reports a
// key that is in seen already. The quick decoder keeps no set: its callers look the key up in the
// map that they fill.
func (d *decoder) key(seen *keys) (string, error) {
	k, err := d.Key()
	if err != nil {
		return "", err
	}
	if d.strict && d.careful {
		if _, ok := (*seen)[k]; ok {
			if err := d.report("duplicate", k); err != nil {
				return "", err
			}
		}
		if *seen == nil {
			*seen = keys{}
		}
		(*seen)[k] = struct{}{}
	}
	return k, nil
}

// plainMap decodes a JSON object into a map whose values are strings in JSON: strings, or bytes as
// base64. It is one generic function with a type switch, because a function value that reads V
// would move d to the heap.
func plainMap[V string | []byte](d *decoder, p *plan, at *map[string]V) error {
	if err := d.Open(); err != nil {
		return err
	}
	m := *at
	if m == nil {
		m = map[string]V{}
		*at = m
	}
	var seen keys
	for first := true; ; first = false {
		more, err := d.More('}', first)
		if err != nil || !more {
			return err
		}
		k, err := d.key(&seen)
		if err != nil {
			return err
		}
		if d.strict && !d.careful {
			if _, ok := m[k]; ok {
				return errAgain
			}
		}
		d.push(pathStep{key: k, isKey: true})
		var v V
		if d.Next() == '"' {
			switch to := any(&v).(type) {
			case *string:
				*to, err = d.Str()
			case *[]byte:
				*to, err = d.base64()
			}
		} else {
			// Rare: null, bytes as an array of numbers, or a value of the wrong type.
			other := new(V)
			err = d.element(p, typeinfo.PointerTo(other))
			v = *other
		}
		if err != nil {
			return err
		}
		d.pop()
		m[k] = v
	}
}

// mapValue decodes a JSON object into a map of any other type, by reflection. One key and one value
// are reused for all entries, since SetMapIndex copies both.
func (d *decoder) mapValue(p *plan, at typeinfo.Pointer) error {
	if err := d.Open(); err != nil {
		return err
	}
	m := at.Value(p.goType)
	if m.IsNil() {
		m.Set(reflect.MakeMap(p.goType))
	}
	var (
		seen  keys
		k     string
		key   = typeinfo.PointerTo(&k).Value(p.goType.Key())
		value reflect.Value
	)
	for first := true; ; first = false {
		more, err := d.More('}', first)
		if err != nil || !more {
			return err
		}
		if k, err = d.key(&seen); err != nil {
			return err
		}
		if err := d.spend(p.behind); err != nil {
			return err
		}
		if d.strict && !d.careful && m.MapIndex(key).IsValid() {
			return errAgain
		}
		if value.IsValid() {
			value.SetZero()
		} else {
			value = reflect.New(p.goType.Elem()).Elem()
		}
		d.push(pathStep{key: k, isKey: true})
		if err := d.element(p, typeinfo.AddressOf(value)); err != nil {
			return err
		}
		d.pop()
		m.SetMapIndex(key, value)
	}
}
