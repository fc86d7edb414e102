package objects

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// This file makes the CEL value of a Go value at an address: a view for structs, lists and maps,
// and a plain value for everything else.

// behind returns the CEL value of the value of type t at p. If pointer is set, p is instead the
// address of a pointer to the value, and a nil pointer is null.
func (v *View) behind(t *typeinfo.Type, pointer bool, p typeinfo.Pointer) ref.Val {
	if pointer {
		if p = *p.Slot(); p.IsNil() {
			return types.NullValue
		}
	}
	return v.at(t, p)
}

// at returns the CEL value of the value of type t at p.
func (v *View) at(t *typeinfo.Type, p typeinfo.Pointer) ref.Val {
	switch t.Kind {
	case typeinfo.Struct:
		return &mapping[object]{object{v, t, p}}
	case typeinfo.List:
		if p.Slice().Data.IsNil() {
			return types.NullValue
		}
		return &list{v, t, p}
	case typeinfo.Map:
		if p.Slot().IsNil() {
			return types.NullValue
		}
		return &mapping[entries]{entries{v, t, p}}
	case typeinfo.String:
		return types.String(*typeinfo.As[string](p))
	case typeinfo.Bool:
		return types.Bool(*typeinfo.As[bool](p))
	case typeinfo.Int32:
		return types.Int(*typeinfo.As[int32](p))
	case typeinfo.Int64:
		return types.Int(*typeinfo.As[int64](p))
	case typeinfo.Float64:
		return types.Double(*typeinfo.As[float64](p))
	case typeinfo.Any:
		return v.Value(*typeinfo.As[any](p))
	case typeinfo.Bytes:
		return v.bytes(t, *typeinfo.As[[]byte](p))
	}
	return v.custom(t, p)
}

// bytes returns the CEL value of bytes: their text in base64.
func (v *View) bytes(t *typeinfo.Type, data []byte) ref.Val {
	if data == nil {
		return types.NullValue
	}
	if len(data) == 0 {
		return types.String("")
	}
	return v.keep(valueKey{t, typeinfo.PointerTo(&data[0])}, len(data), func() ref.Val {
		return types.String(base64.StdEncoding.EncodeToString(data))
	})
}

// custom returns the CEL value of a value whose type has a JSON form of its own.
func (v *View) custom(t *typeinfo.Type, p typeinfo.Pointer) ref.Val {
	form := formOf(t)
	if form.choice != nil {
		return v.Value(typeinfo.InterfaceAt(form.choice, p).Chosen())
	}
	if value, kept := v.converted[valueKey{t, p}]; kept {
		return value
	}
	var text []byte
	var err error
	if form.appends != nil {
		text = typeinfo.InterfaceAt(form.appends, p).AppendJSON(nil)
	} else if text, err = typeinfo.InterfaceAt(form.marshal, p).MarshalJSON(); err != nil {
		return types.WrapErr(err)
	}
	return v.keep(valueKey{t, p}, len(text), func() ref.Val { return decoded(text) })
}

// keepFrom is the length in bytes from which a conversion is kept instead of made again.
const keepFrom = 64

// keep returns the value that convert makes, from n bytes, for the value with the key. If n is at
// least keepFrom, convert is called only once for the key.
func (v *View) keep(key valueKey, n int, convert func() ref.Val) ref.Val {
	if n < keepFrom {
		return convert()
	}
	value, kept := v.converted[key]
	if !kept {
		value = convert()
		if v.converted == nil {
			v.converted = map[valueKey]ref.Val{}
		}
		v.converted[key] = value
	}
	return value
}

// decoded returns the CEL value of a JSON text.
func decoded(text []byte) ref.Val {
	if n := len(text); n >= 2 && text[0] == '"' {
		if s := alias.String(text[1 : n-1]); !strings.ContainsAny(s, `\"`) {
			return types.String(s)
		}
	}
	tree, err := jsontext.Decode(text, nil)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(tree)
}

// A form is how a Custom type writes its JSON. The fields that are not nil hold a pointer to a zero
// value, for InterfaceAt.
type form struct {
	choice  typeinfo.Choice
	appends interface{ AppendJSON([]byte) []byte }
	marshal json.Marshaler
}

var forms sync.Map // *typeinfo.Type to *form

// formOf returns the form of a Custom type.
func formOf(t *typeinfo.Type) *form {
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	sample, f := reflect.New(t.Go).Interface(), &form{}
	f.choice, _ = sample.(typeinfo.Choice)
	f.appends, _ = sample.(interface{ AppendJSON([]byte) []byte })
	f.marshal, _ = sample.(json.Marshaler)
	forms.Store(t, f)
	return f
}
