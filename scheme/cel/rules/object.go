package rules

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Objects and maps as CEL values, and values without a schema (preservedValue). An expression reads
// the tree of the object directly; nothing is copied.

// objectValue is an object with fields, or a map.
type objectValue struct {
	*shape
	tree map[string]any
}

var _ traits.Mapper = (*objectValue)(nil)

// below returns the shape of the field or entry called name, nil if the schema has none.
func (o *objectValue) below(name string) *shape {
	if o.form == entries {
		return o.item
	}
	return o.fields[name]
}

// Find implements traits.Mapper. A field that is null counts as absent; an entry of a map that is
// null does not.
func (o *objectValue) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	name := string(k)
	if o.fields != nil {
		if name, ok = Unescape(name); !ok {
			return nil, false
		}
	}
	held, ok := o.tree[name]
	if !ok || held == nil && o.fields != nil {
		return nil, false
	}
	below := o.below(name)
	if below == nil {
		return nil, false
	}
	return below.value(held), true
}

// Get implements traits.Indexer.
func (o *objectValue) Get(key ref.Val) ref.Val {
	if v, found := o.Find(key); found {
		return v
	}
	return types.ValOrErr(key, "no such key: %v", key)
}

// Contains implements traits.Container.
func (o *objectValue) Contains(key ref.Val) ref.Val {
	v, found := o.Find(key)
	if v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(found)
}

// Size implements traits.Sizer. It counts fields that the schema does not know, too.
func (o *objectValue) Size() ref.Val { return types.Int(len(o.tree)) }

// Iterator implements traits.Iterable. It yields the identifiers of known fields, or the keys of a
// map.
func (o *objectValue) Iterator() traits.Iterator {
	it := &keys{objectValue: o, names: make([]string, 0, len(o.tree))}
	for name := range o.tree {
		if o.below(name) == nil {
			continue
		}
		if ident, ok := escape(name); ok && o.fields != nil {
			name = ident
		}
		it.names = append(it.names, name)
	}
	return it
}

// keys iterates over the keys of an object.
type keys struct {
	*objectValue
	names []string
}

// HasNext implements traits.Iterator.
func (k *keys) HasNext() ref.Val { return types.Bool(len(k.names) > 0) }

// Next implements traits.Iterator.
func (k *keys) Next() ref.Val {
	name := k.names[0]
	k.names = k.names[1:]
	return types.String(name)
}

// Equal implements ref.Val. Fields without a schema are compared as trees.
func (o *objectValue) Equal(other ref.Val) ref.Val {
	with, ok := other.(traits.Mapper)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	if o.Size() != with.Size() {
		return types.False
	}
	for name, held := range o.tree {
		if o.below(name) == nil {
			with, ok := other.(*objectValue)
			if !ok {
				return types.MaybeNoSuchOverloadErr(other)
			}
			if theirs, ok := with.tree[name]; ok && !reflect.DeepEqual(held, theirs) {
				return types.False
			}
			continue
		}
		v, found := o.Find(types.String(name))
		theirs, theyDo := with.Find(types.String(name))
		if found != theyDo {
			return types.False
		}
		if found {
			if same := v.Equal(theirs); same != types.True {
				return same // false, or an error
			}
		}
	}
	return types.True
}

// Type implements ref.Val.
func (o *objectValue) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (o *objectValue) Value() any { return o.tree }

// ConvertToNative implements ref.Val.
func (o *objectValue) ConvertToNative(want reflect.Type) (any, error) {
	if want.Kind() == reflect.Map {
		return o.tree, nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%s'", o.Type(), want)
}

// ConvertToType implements ref.Val.
func (o *objectValue) ConvertToType(want ref.Type) ref.Val { return convert(o, want) }

// convert converts a value that has no other type than its own.
func convert(v ref.Val, want ref.Type) ref.Val {
	switch want {
	case v.Type():
		return v
	case types.TypeType:
		return v.Type().(*types.Type)
	}
	return types.NewErr("type conversion error from '%s' to '%s'", v.Type(), want.TypeName())
}

// Equal implements ref.Val. It compares trees.
func (p *preservedValue) Equal(other ref.Val) ref.Val {
	return types.Bool(reflect.DeepEqual(p.tree, other.Value()))
}

// Type implements ref.Val.
func (p *preservedValue) Type() ref.Type { return types.UnknownType }

// Value implements ref.Val.
func (p *preservedValue) Value() any { return p.tree }

// notConverted is Kubernetes' error for a conversion of such a value.
const notConverted = "type conversion to '%s' not supported " +
	"for values preserved by x-kubernetes-preserve-unknown-fields"

// ConvertToNative implements ref.Val.
func (p *preservedValue) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf(notConverted, want)
}

// ConvertToType implements ref.Val.
func (p *preservedValue) ConvertToType(want ref.Type) ref.Val {
	return types.NewErr(notConverted, want.TypeName())
}
