package jwt

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/cel/rules"
)

// This file shows claims and users to CEL: record is the value of the variables claims and user.
// Its methods implement cel-go's interfaces.

// record is the value that an expression is about: the claims of a token, or a user. A field is
// decoded when it is first used. Field names that are not CEL identifiers are escaped in
// expressions ("__dot__").
//
// As in kube-apiserver, a loop over a record yields its values; a loop over a map yields its keys.
type record struct {
	kind   *types.Type
	fields map[string]func() any // decode a field
	values map[string]ref.Val    // the fields decoded so far
}

// newRecord returns a record of a CEL type.
func newRecord(kind string, fields map[string]func() any) *record {
	return &record{
		types.NewObjectType(kind, traits.IndexerType|traits.FieldTesterType|traits.IterableType),
		fields, make(map[string]ref.Val, len(fields)),
	}
}

// claims is the payload of a token, undecoded.
type claims map[string]json.RawMessage

// record returns the claims as expressions see them.
func (c claims) record() *record {
	fields := make(map[string]func() any, len(c))
	for name, text := range c {
		fields[name] = func() any {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				return err
			}
			return v
		}
	}
	return newRecord(claimsType, fields)
}

// userRecord returns a user as expressions see it.
func userRecord(u *request.User) *record {
	return newRecord(userType, map[string]func() any{
		"username": func() any { return u.Name },
		"uid":      func() any { return u.UID },
		"groups":   func() any { return u.Groups },
		"extra":    func() any { return u.Extra },
	})
}

// Find implements traits.Mapper.
func (r *record) Find(key ref.Val) (ref.Val, bool) {
	ident, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	name, ok := rules.Unescape(string(ident))
	if !ok {
		return nil, false
	}
	return r.field(name)
}

// field returns the value of a field, decoding it at the first call.
func (r *record) field(name string) (ref.Val, bool) {
	if v, ok := r.values[name]; ok {
		return v, true
	}
	get, ok := r.fields[name]
	if !ok {
		return nil, false
	}
	var v ref.Val
	switch value := get().(type) {
	case error:
		v = types.NewErr("claim %q failed to unmarshal: %v", name, value)
	default:
		v = unescaping(types.DefaultTypeAdapter.NativeToValue(value))
	}
	r.values[name] = v
	return v, true
}

// Get implements traits.Indexer.
func (r *record) Get(key ref.Val) ref.Val {
	v, found := r.Find(key)
	if !found {
		return types.ValOrErr(key, "no such key: %v", key)
	}
	return v
}

// Contains implements traits.Container.
func (r *record) Contains(key ref.Val) ref.Val {
	v, found := r.Find(key)
	if v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(found)
}

// Size implements traits.Sizer.
func (r *record) Size() ref.Val { return types.Int(len(r.fields)) }

// Iterator implements traits.Iterable.
func (r *record) Iterator() traits.Iterator {
	return &recordIterator{of: r, names: slices.Sorted(maps.Keys(r.fields))}
}

// ConvertToNative implements ref.Val.
func (r *record) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("the value cannot be converted as a whole")
}

// ConvertToType implements ref.Val.
func (r *record) ConvertToType(want ref.Type) ref.Val {
	switch want {
	case r.kind:
		return r
	case types.TypeType:
		return r.kind
	}
	return types.NewErr("disallowed conversion from %q to %q", r.kind.TypeName(), want.TypeName())
}

// Equal implements ref.Val.
func (r *record) Equal(other ref.Val) ref.Val {
	o, ok := other.(*record)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(r == o)
}

// Type implements ref.Val.
func (r *record) Type() ref.Type { return r.kind }

// Value implements ref.Val.
func (r *record) Value() any { return types.NoSuchOverloadErr() }

// recordIterator yields the values of a record, in the order of their names.
type recordIterator struct {
	of    *record
	names []string
}

// HasNext implements traits.Iterator.
func (i *recordIterator) HasNext() ref.Val { return types.Bool(len(i.names) > 0) }

// Next implements traits.Iterator.
func (i *recordIterator) Next() ref.Val {
	v := i.of.Get(types.String(i.names[0]))
	i.names = i.names[1:]
	return v
}

// ConvertToNative implements ref.Val.
func (i *recordIterator) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("an iterator is not a value")
}

// ConvertToType implements ref.Val.
func (i *recordIterator) ConvertToType(want ref.Type) ref.Val {
	return types.NewErr("disallowed conversion to %q", want.TypeName())
}

// Equal implements ref.Val.
func (i *recordIterator) Equal(other ref.Val) ref.Val {
	o, ok := other.(*recordIterator)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(i == o)
}

// Type implements ref.Val.
func (i *recordIterator) Type() ref.Type { return types.IteratorType }

// Value implements ref.Val.
func (i *recordIterator) Value() any { return nil }

// unescaping wraps the maps inside a value, so that expressions can access their keys by escaped
// names. Keys and values that a loop yields are not wrapped, as in kube-apiserver.
func unescaping(v ref.Val) ref.Val {
	switch v := v.(type) {
	case traits.Mapper:
		return &unescapingMap{v}
	case traits.Lister:
		return &unescapingList{v}
	}
	return v
}

// unescapingMap is a map that accepts escaped keys.
type unescapingMap struct{ traits.Mapper }

// Find implements traits.Mapper.
func (m *unescapingMap) Find(key ref.Val) (ref.Val, bool) {
	if ident, ok := key.(types.String); ok {
		if name, ok := rules.Unescape(string(ident)); ok {
			key = types.String(name)
		}
	}
	v, found := m.Mapper.Find(key)
	return unescaping(v), found
}

// unescapingList wraps the elements of a list.
type unescapingList struct{ traits.Lister }

// Get implements traits.Indexer.
func (l *unescapingList) Get(index ref.Val) ref.Val { return unescaping(l.Lister.Get(index)) }

// texts returns the strings of a value that is a string, a list of strings or null. Empty strings
// are left out. A list of claims holds Go values; a list that an expression has made holds CEL
// values.
func texts(v ref.Val) ([]string, error) {
	errOther := errors.New("expression must return a string or a list of strings")
	var all []string
	add := func(v any) bool {
		s, ok := v.(string)
		if ok && s != "" {
			all = append(all, s)
		}
		return ok
	}
	switch v.Type().TypeName() {
	case types.NullType.TypeName():
		return nil, nil
	case types.StringType.TypeName():
		add(v.Value())
		return all, nil
	case types.ListType.TypeName():
	default:
		return nil, errOther
	}
	switch list := v.Value().(type) {
	case []any:
		for _, e := range list {
			if !add(e) {
				return nil, errOther
			}
		}
	case []ref.Val:
		for _, e := range list {
			if !add(e.Value()) {
				return nil, errOther
			}
		}
	default:
		return nil, errOther
	}
	return all, nil
}
