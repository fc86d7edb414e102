package codec

import (
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// fill sets everything below v to random values and leaves out some optional parts.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	if v.CanAddr() {
		switch u := v.Addr().Interface().(type) {
		case *Upper:
			u.letters = "ABCDEFGH"[:r.IntN(9)]
			return
		case *meta.FieldsV1:
			u.Raw = []byte(`{"f:a":{".":{}}}`)
			return
		case *meta.Time:
			u.Time = time.Unix(r.Int64N(1<<32), 0).UTC()
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && v.Type().Field(i).Name != "TypeMeta" {
				fill(r, f, depth)
			}
		}
	case reflect.Pointer:
		if depth < 5 && r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if depth < 5 && r.IntN(3) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 4))
			for i := range v.Len() {
				fill(r, v.Index(i), depth+1)
				if e := v.Index(i); e.Kind() == reflect.Pointer && e.IsNil() {
					e.Set(reflect.New(e.Type().Elem()))
				}
				if e := v.Index(i); e.Kind() == reflect.Slice && e.IsNil() {
					e.Set(reflect.MakeSlice(e.Type(), 0, 0))
				}
			}
		}
	case reflect.Map:
		if depth < 5 && r.IntN(3) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range 1 + r.IntN(3) {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key, depth+1)
				fill(r, value, depth+1)
				if value.Kind() == reflect.Slice && value.IsNil() {
					value.Set(reflect.MakeSlice(value.Type(), 0, 0))
				}
				v.SetMapIndex(key, value)
			}
		}
	case reflect.String:
		words := []string{"", "a", "b", "é<&>", "\u2028\u2029", "line\nfeed\t\"quote\"\\", "😀", "\x00\x1f\x7f", "long-enough-to-need-more-than-one-word-of-memory"}
		v.SetString(words[r.IntN(len(words))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(int32(r.Uint32() >> r.IntN(32))))
	case reflect.Float64:
		f := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
			f = []float64{0, 1, -1.5, 1e21, 1e-7, 123456789.25, 1e6}[r.IntN(7)]
		}
		v.SetFloat(f)
	case reflect.Uint8:
		v.SetUint(uint64(r.Uint32() & 0xff))
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{"x", true, int64(5), 2.5, map[string]any{"k": "<v>"}, []any{"e"}}[r.IntN(6)]))
	}
}

// randomOdd returns an Odd made from seed.
func randomOdd(seed uint64) *Odd {
	o := &Odd{}
	fill(rand.New(rand.NewPCG(seed, 1)), reflect.ValueOf(o).Elem(), 0)
	o.SetGroupVersionKind(oddKind)
	return o
}
