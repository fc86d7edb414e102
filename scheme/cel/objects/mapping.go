package objects

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// mapping is a view with keys.
type mapping[K keyed] struct{ of K }

var (
	_ traits.Mapper = (*mapping[object])(nil)
	_ traits.Zeroer = (*mapping[object])(nil)
)

// Find implements traits.Mapper. A key that is no string is not found.
func (m *mapping[K]) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v := m.of.find(string(name))
	return v, v != nil
}

// Get implements traits.Indexer.
func (m *mapping[K]) Get(key ref.Val) ref.Val {
	if v, found := m.Find(key); found {
		return v
	}
	return types.NewErr("no such key: %v", key)
}

// Contains implements traits.Container.
func (m *mapping[K]) Contains(key ref.Val) ref.Val {
	_, found := m.Find(key)
	return types.Bool(found)
}

// Size implements traits.Sizer.
func (m *mapping[K]) Size() ref.Val { return types.Int(m.of.size()) }

// IsZeroValue implements traits.Zeroer.
func (m *mapping[K]) IsZeroValue() bool { return m.of.size() == 0 }

// Iterator implements traits.Iterable.
func (m *mapping[K]) Iterator() traits.Iterator {
	it := &keyIterator{}
	for key := range m.of.keys {
		it.keys = append(it.keys, key)
	}
	return it
}

type keyIterator struct {
	nothing
	keys []string
}

// HasNext implements traits.Iterator.
func (i *keyIterator) HasNext() ref.Val { return types.Bool(len(i.keys) > 0) }

// Next implements traits.Iterator.
func (i *keyIterator) Next() ref.Val {
	key := i.keys[0]
	i.keys = i.keys[1:]
	return types.String(key)
}

// Equal implements ref.Val.
func (m *mapping[K]) Equal(other ref.Val) ref.Val {
	with, ok := other.(traits.Mapper)
	if !ok || m.Size() != with.Size() {
		return types.False
	}
	for key := range m.of.keys {
		theirs, found := with.Find(types.String(key))
		if !found || types.Equal(m.of.find(key), theirs) == types.False {
			return types.False
		}
	}
	return types.True
}

// IsMade reports whether an expression has made the value. Such a value may hold another one many
// times, so package cel, which counts the work of an expression, calls IsMade.
func (m *mapping[K]) IsMade() bool {
	_, ok := any(m.of).(converted)
	return ok
}

// Type implements ref.Val.
func (m *mapping[K]) Type() ref.Type { return types.MapType }

// Value implements ref.Val. It is the view itself; Tree makes a Go map.
func (m *mapping[K]) Value() any { return m }

// ConvertToType implements ref.Val.
func (m *mapping[K]) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case types.MapType:
		return m
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from '%s' to '%s'", types.MapType, to)
}

// ConvertToNative implements ref.Val.
func (m *mapping[K]) ConvertToNative(to reflect.Type) (any, error) { return toNative(m, to) }

// String returns the form in which error messages show the value.
func (m *mapping[K]) String() string {
	var b strings.Builder
	for key := range m.of.keys {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %v", key, m.of.find(key))
	}
	return "{" + b.String() + "}"
}
