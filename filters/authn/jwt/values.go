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

// record is what an expression is about: claims, or a user. A field is looked into when it is first used. Names of fields may be
// escaped, as those that are no identifiers have to be.
//
// As in kube-apiserver, a loop over a record goes over its values, where one over a map goes over keys.
type record struct {
	kind   *types.Type
	fields map[string]func() any
	values map[string]ref.Val
}

func newRecord(kind string, fields map[string]func() any) *record {
	return &record{
		types.NewObjectType(kind, traits.IndexerType|traits.FieldTesterType|traits.IterableType), fields, make(map[string]ref.Val, len(fields)),
	}
}

// claims is a token's content, as its issuer says it.
type claims map[string]json.RawMessage

// record shows claims to expressions.
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

// userRecord shows a user to expressions.
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
	return nil, errors.New("the value as a whole cannot be had")
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

// recordIterator goes over the values of a record.
type recordIterator struct {
	of    *record
	names []string
}

func (i *recordIterator) HasNext() ref.Val { return types.Bool(len(i.names) > 0) }

func (i *recordIterator) Next() ref.Val {
	v := i.of.Get(types.String(i.names[0]))
	i.names = i.names[1:]
	return v
}

func (i *recordIterator) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("an iterator is no value")
}

func (i *recordIterator) ConvertToType(want ref.Type) ref.Val {
	return types.NewErr("disallowed conversion to %q", want.TypeName())
}

func (i *recordIterator) Equal(other ref.Val) ref.Val {
	o, ok := other.(*recordIterator)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(i == o)
}

func (i *recordIterator) Type() ref.Type { return types.IteratorType }

func (i *recordIterator) Value() any { return nil }

// unescaping has maps in a value understand names that are escaped, wherever an expression comes upon them by their place. What a loop
// comes upon is as it is, as in kube-apiserver.
func unescaping(v ref.Val) ref.Val {
	switch v := v.(type) {
	case traits.Mapper:
		return &unescapingMap{v}
	case traits.Lister:
		return &unescapingList{v}
	}
	return v
}

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

type unescapingList struct{ traits.Lister }

// Get implements traits.Indexer.
func (l *unescapingList) Get(index ref.Val) ref.Val { return unescaping(l.Lister.Get(index)) }

// texts returns a value that is a string, a list of strings or null, without strings that are empty.
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
