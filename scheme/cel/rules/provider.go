package rules

import (
	"slices"

	"github.com/google/cel-go/common/types"
)

// provider knows the types of objects that expressions about one value come upon. It is asked while an expression is compiled, by one
// goroutine at a time.
type provider struct {
	types.Provider // of all other types
	objects        map[string]*shape
}

// name makes the type of an object known.
func (p *provider) name(name string, object *shape) { p.objects[name] = object }

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if p.objects[name] != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider. Nobody can make objects.
func (p *provider) FindStructFieldNames(string) ([]string, bool) { return nil, false }

// FindStructFieldType implements types.Provider. A reserved word is found as it is, too.
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
