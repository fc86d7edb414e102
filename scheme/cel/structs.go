package cel

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"
)

// Structs maps names of object types to their fields, and each field to its type.
type Structs map[string]map[string]*types.Type

// Over returns a provider that knows the types of s, and those that base knows.
func (s Structs) Over(base types.Provider) types.Provider { return structs{base, s} }

// structs implements Structs.Over.
type structs struct {
	types.Provider
	own Structs
}

// FindStructType implements types.Provider.
func (p structs) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.own[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p structs) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := p.own[name]; ok {
		return slices.Collect(maps.Keys(fields)), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p structs) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := p.own[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	t := fields[field]
	return &types.FieldType{Type: t}, t != nil
}
