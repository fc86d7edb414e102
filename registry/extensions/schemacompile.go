package extensions

import (
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// CompileSchema compiles the schema of a version as that of a resource: apiVersion, kind and
// metadata are known. Fields that structural schemas do not have are ignored.
func CompileSchema(s *v1.JSONSchemaProps) *schema.Schema { return compile(s, schema.Parse) }

// compile compiles a schema by way of its JSON, because package schema reads the form in which
// definitions are stored. The errors of parse are ignored: ValidateSchema reports the same mistakes
// in Kubernetes' words.
func compile(s *v1.JSONSchemaProps, parse func(*field.Path, []byte) (*schema.Schema, field.ErrorList)) *schema.Schema {
	text, err := codec.AppendJSON(nil, s)
	if err != nil { // never happens: s was decoded from JSON
		return &schema.Schema{Resource: true}
	}
	out, _ := parse(nil, text)
	return out
}

// treeOf decodes JSON. It returns nil for nil, for null, and for a text that is no JSON, which the
// decoder of definitions refuses.
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
