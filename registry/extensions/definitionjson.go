package extensions

import (
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// normalize brings the JSON values in a schema (default, example, enum) into the form in which
// kube-apiserver stores them: without white space, keys of objects sorted, numbers as Go's
// encoding/json writes them. { "b": 1, "a": 2 } becomes {"a":2,"b":1}. So a definition that is
// applied again in another form is not changed.
func normalize(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	normalizeValue(s.Default)
	normalizeValue(s.Example)
	for i := range s.Enum {
		normalizeValue(&s.Enum[i])
	}
	if s.Items != nil {
		normalize(s.Items.Schema)
		normalizeList(s.Items.JSONSchemas)
	}
	normalizeList(s.AllOf)
	normalizeList(s.OneOf)
	normalizeList(s.AnyOf)
	normalize(s.Not)
	normalizeMap(s.Properties)
	normalizeMap(s.PatternProperties)
	normalizeMap(s.Definitions)
	for _, more := range []*apiextensionsv1.JSONSchemaPropsOrBool{s.AdditionalProperties, s.AdditionalItems} {
		if more != nil {
			normalize(more.Schema)
		}
	}
	for _, d := range s.Dependencies {
		normalize(d.Schema)
	}
}

// hasValue reports whether a schema itself has a JSON value that normalize may change.
func hasValue(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.Default != nil || s.Example != nil || len(s.Enum) > 0
}

func normalizeList(list []apiextensionsv1.JSONSchemaProps) {
	for i := range list {
		normalize(&list[i])
	}
}

func normalizeMap[M ~map[string]apiextensionsv1.JSONSchemaProps](m M) {
	for name, s := range m {
		normalize(&s)
		m[name] = s
	}
}

// normalizeValue leaves v as it is if it cannot be decoded. That never happens, because the decoder
// of definitions accepts only JSON.
func normalizeValue(v *apiextensionsv1.JSON) {
	if v == nil || len(v.Raw) == 0 {
		return
	}
	tree, _, err := codec.DecodeTree(v.Raw, false, nil)
	if err != nil {
		return
	}
	if text, err := jsontext.AppendTree(nil, tree, jsontext.HTML); err == nil {
		v.Raw = text
	}
}
