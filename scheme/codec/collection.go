package codec

import (
	"encoding/json"
	"reflect"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Lists and maps. Lists and maps of strings, and maps of bytes, are Go's own; others go through reflection.

// stringList decodes into a list of strings. What is in the list already is overwritten, so that null, which
// changes nothing, leaves the element of an earlier list, as in encoding/json.
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
		d.push(place{index: n})
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

// byteList decodes an array of numbers into bytes, which encoding/json allows beside base64.
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
		d.push(place{index: n})
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

// element decodes an element of a list, or a value of a map. If the element is bytes, null stands
// for none of them, as Kubernetes stores it: protobuf has no null there.
func (d *decoder) element(p *plan, at typeinfo.Pointer) error {
	if err := d.field(p.elem, p.pointers, at); err != nil {
		return err
	}
	if p.elem.kind == typeinfo.Bytes && !p.pointers && at.Slice().Data.IsNil() {
		at.Value(p.elem.goType).SetBytes([]byte{})
	}
	return nil
}

// keys finds repeated keys of one object.
type keys map[string]struct{}

// key consumes the key of a map entry and what follows it, and reports it if it was there before. The quick way asks
// the map itself instead.
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

// plainMap decodes a map whose values are strings in JSON. (A function that reads them would move d to the heap.)
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
		d.push(place{key: k, isKey: true})
		var v V
		if d.Next() == '"' {
			switch to := any(&v).(type) {
			case *string:
				*to, err = d.Str()
			case *[]byte:
				*to, err = d.base64()
			}
		} else { // rare: null, another form of bytes or an error
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

// mapValue decodes a map of any other type, by reflection.
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
		d.push(place{key: k, isKey: true})
		if err := d.element(p, typeinfo.AddressOf(value)); err != nil {
			return err
		}
		d.pop()
		m.SetMapIndex(key, value)
	}
}
