package rules

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/schema"
)

// Declare returns the type of whole resources that a schema describes, and a provider that knows
// this type and the types of all fields, and otherwise those of over. name is the name of the type;
// types of fields have names that begin with it. If expressions cannot name values of the schema,
// the type is dynamic.
//
// Declare is for expressions that are checked before there is an object. The provider may be used
// by one goroutine at a time.
func Declare(s *schema.Schema, name string, over types.Provider) (*types.Type, types.Provider) {
	sh := shapeOf(s, true)
	if !sh.exposed {
		return cel.DynType, over
	}
	p := &provider{Provider: over, objects: map[string]*shape{}}
	return sh.typeOf(name, p.name), p
}
