package rules

import (
	"slices"

	"github.com/google/cel-go/common/types"
)

// provider provides the types of objects that expressions about one value can reach. It is used
// while an expression is compiled, by one goroutine at a time.
type provider struct {
	types.Provider // provides all other types
	objects        map[string]*shape
}

// name declares the type of an object.
func (p *provider) name(name string, object *shape) { p.objects[name] = object }

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if p.objects[name] != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider. It returns none, so no expression can make
// objects.
func (p *provider) FindStructFieldNames(string) ([]string, bool) { return nil, false }

// FindStructFieldType implements types.Provider. A reserved word is found with and without
// underscores.
func (p *provider) FindStructFieldType(name, ident string) (*types.FieldType, bool) {
	object := p.objects[name]
	if object == nil {
		return p.Provider.FindStructFieldType(name, ident)
	}
	f := object.idents[ident]
	if f == nil && slices.Contains(reserved, ident) {
		f = object.idents["__"+ident+"__"]
	}
	if f == nil {
		return nil, false
	}
	return &types.FieldType{Type: f.typeOf(name+"."+ident, p.name)}, true
}
