package extensions

import (
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// CompileSchema returns what a definition says of the objects of a version as a schema of a
// resource. What no structural schema has is left out.
func CompileSchema(s *v1.JSONSchemaProps) *schema.Schema { return compile(s, schema.Parse) }

// compile has the text of a schema read: in that form definitions are kept, and schemas loaded. Its
// errors are about what ValidateSchema refuses in words of its own.
func compile(s *v1.JSONSchemaProps, parse func(*field.Path, []byte) (*schema.Schema, field.ErrorList)) *schema.Schema {
	text, err := codec.AppendJSON(nil, s)
	if err != nil { // which has been decoded, and can be encoded
		return &schema.Schema{Resource: true}
	}
	out, _ := parse(nil, text)
	return out
}

// treeOf returns JSON as a tree, nil for none, for null, and for what is no JSON, which decoding a
// definition does not let pass.
func treeOf(j *v1.JSON) any {
	if j == nil || len(j.Raw) == 0 {
		return nil
	}
	tree, err := jsontext.Decode(j.Raw, nil)
	if err != nil {
		return nil
	}
	return tree
}
