package differential

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/schemaconv"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// kindSchema makes up the schema of a kind.
func kindSchema(r *rand.Rand) map[string]any {
	s := map[string]any{"type": "object", "properties": map[string]any{
		"spec": valueSchema(r, 4, false), "status": valueSchema(r, 3, false), "a": valueSchema(r, 2, false),
	}}
	if r.IntN(6) == 0 {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	return s
}

// valueSchema makes up the schema of a value.
func valueSchema(r *rand.Rand, depth int, key bool) map[string]any {
	s := map[string]any{}
	choice := r.IntN(14)
	if depth == 0 || key {
		choice = 8 + r.IntN(6)
	}
	switch choice {
	case 0, 1, 2, 3:
		s["type"] = "object"
		properties := map[string]any{}
		for range r.IntN(4) {
			properties[pick(r, "a", "b", "c", "d")] = valueSchema(r, depth-1, false)
		}
		if len(properties) > 0 || r.IntN(2) == 0 {
			s["properties"] = properties
		}
		if r.IntN(5) == 0 {
			s["x-kubernetes-preserve-unknown-fields"] = true
		}
		if r.IntN(8) == 0 {
			s["x-kubernetes-embedded-resource"] = true
			if len(properties) == 0 {
				s["x-kubernetes-preserve-unknown-fields"] = true
			}
		}
	case 4:
		s["type"] = "object"
		s["additionalProperties"] = valueSchema(r, depth-1, false)
		if r.IntN(8) == 0 {
			s["additionalProperties"] = true
		}
	case 5, 6, 7:
		listSchema(r, s, depth)
	case 8:
		s["x-kubernetes-preserve-unknown-fields"] = true
	case 9:
		s["x-kubernetes-int-or-string"] = true
	default:
		s["type"] = pick(r, "string", "string", "integer", "number", "boolean")
		if r.IntN(6) == 0 {
			s["format"] = pick(r, "date-time", "byte", "int64")
		}
	}
	if s["type"] == "object" && r.IntN(5) == 0 {
		s["x-kubernetes-map-type"] = pick(r, "atomic", "granular")
	}
	if r.IntN(6) == 0 {
		s["nullable"] = true
	}
	return s
}

func listSchema(r *rand.Rand, s map[string]any, depth int) {
	s["type"] = "array"
	switch r.IntN(5) {
	case 0:
		s["items"] = valueSchema(r, depth-1, false)
	case 1:
		s["items"] = valueSchema(r, depth-1, false)
		s["x-kubernetes-list-type"] = "atomic"
	case 2:
		items := valueSchema(r, depth-1, true)
		delete(items, "nullable")
		s["items"] = items
		s["x-kubernetes-list-type"] = "set"
	default:
		items := map[string]any{"type": "object"}
		properties := map[string]any{"a": valueSchema(r, depth-1, true), "b": valueSchema(r, depth-1, true)}
		delete(properties["a"].(map[string]any), "nullable")
		delete(properties["b"].(map[string]any), "nullable")
		for range r.IntN(3) {
			properties[pick(r, "c", "d")] = valueSchema(r, depth-1, false)
		}
		items["properties"] = properties
		s["items"] = items
		s["x-kubernetes-list-type"] = "map"
		s["x-kubernetes-list-map-keys"] = pick(r, []any{"a"}, []any{"a", "b"}, []any{"b", "a"})
		if b := properties["b"].(map[string]any); r.IntN(2) == 0 && b["type"] == "string" && b["format"] == nil {
			b["default"] = "TCP"
		} else if b["type"] == "integer" && r.IntN(2) == 0 {
			b["default"] = int64(80)
		}
	}
}

// theirCustomType has Kubernetes make a type of the schema of a custom resource.
func theirCustomType(t *testing.T, text string) typed.ParseableType {
	t.Helper()
	var props apiextensions.JSONSchemaProps
	if err := json.Unmarshal([]byte(text), &props); err != nil {
		t.Fatal(err)
	}
	crd := &apiextensions.CustomResourceDefinition{}
	crd.Spec.Group = "example.com"
	crd.Spec.Names = apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget", ListKind: "WidgetList"}
	crd.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &props}}}
	doc, err := builder.BuildOpenAPIV3(crd, "v1", builder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Components.Schemas["com.example.v1.Widget"].Properties) < 4 {
		t.Fatalf("not structural: %s", text)
	}
	models, err := schemaconv.ToSchemaFromOpenAPI(doc.Components.Schemas, false)
	if err != nil {
		t.Fatal(err)
	}
	parser := typed.Parser{Schema: smd.Schema{Types: models.Types}}
	return parser.Type("com.example.v1.Widget")
}

func ourCustomType(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, errs := schema.Parse(nil, []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return s
}

// made makes up a value of a type: mostly one that fits.
func made(r *rand.Rand, s *smd.Schema, ref smd.TypeRef, depth int) any {
	atom, _ := s.Resolve(ref)
	switch r.IntN(300) {
	case 0:
		return pick[any](r, "a", int64(1), true, []any{}, []any{"a"}, []any{nil}, map[string]any{}, map[string]any{"a": "a"}, map[string]any{"a": map[string]any{"b": "c"}})
	case 1, 2, 3, 4, 5, 6:
		return nil
	}
	var choices []any
	if atom.Map != nil {
		choices = append(choices, atom.Map)
	}
	if atom.List != nil {
		choices = append(choices, atom.List)
	}
	if atom.Scalar != nil {
		choices = append(choices, atom.Scalar)
	}
	if len(choices) == 0 {
		return "x"
	}
	switch c := choices[r.IntN(len(choices))].(type) {
	case *smd.Map:
		return madeMap(r, s, c, depth)
	case *smd.List:
		list := []any{}
		for range pick(r, 0, 1, 2, 3, 4) {
			if depth > 0 {
				list = append(list, made(r, s, c.ElementType, depth-1))
			}
		}
		return list
	case *smd.Scalar:
		return madeScalar(r, *c)
	}
	return nil
}

func madeMap(r *rand.Rand, s *smd.Schema, m *smd.Map, depth int) any {
	out := map[string]any{}
	if depth <= 0 {
		return out
	}
	rate := 2
	if len(m.Fields) > 8 {
		rate = len(m.Fields) / 4
	}
	for _, f := range m.Fields {
		if r.IntN(rate) != 0 || rate == 2 && r.IntN(3) == 0 {
			continue
		}
		out[f.Name] = made(r, s, f.Type, depth-1)
	}
	if (m.ElementType != smd.TypeRef{}) {
		for range r.IntN(4) {
			if name := pick(r, "a", "b", "c", "d", "x.y/z"); out[name] == nil {
				if _, ok := m.FindField(name); !ok {
					out[name] = made(r, s, m.ElementType, depth-1)
				}
			}
		}
	} else if r.IntN(400) == 0 {
		out["unknown"] = "a"
	}
	return out
}

func madeScalar(r *rand.Rand, s smd.Scalar) any {
	switch s {
	case smd.Numeric:
		return pick[any](r, int64(0), int64(1), int64(2), int64(80), 1.5, int64(1)<<60, 2.0)
	case smd.Boolean:
		return r.IntN(2) == 0
	case smd.String:
		return pick(r, "a", "b", "c", "", "<é\n>", "TCP")
	}
	return pick[any](r, "a", "b", "1Gi", int64(1), 1.0, 2.5, true, "2020-01-01T00:00:00Z")
}

// mixed returns a tree with parts of two.
func mixed(r *rand.Rand, a, b any) any {
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		out := map[string]any{}
		for _, k := range jsontext.Keys(x) {
			if v, ok := y[k]; ok {
				out[k] = mixed(r, x[k], v)
			} else if r.IntN(4) > 0 {
				out[k] = clone(x[k])
			}
		}
		for _, k := range jsontext.Keys(y) {
			if _, ok := x[k]; !ok && r.IntN(2) == 0 {
				out[k] = clone(y[k])
			}
		}
		return out
	case []any:
		y, _ := b.([]any)
		out := []any{}
		for _, v := range x {
			if r.IntN(4) > 0 {
				out = append(out, clone(v))
			}
		}
		for i, v := range y {
			if i < len(x) && r.IntN(2) == 0 {
				out = append(out, mixed(r, x[i], v))
			} else if r.IntN(3) == 0 {
				out = append(out, clone(v))
			}
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	}
	if r.IntN(4) == 0 {
		return clone(b)
	}
	return a
}

// clone copies a tree.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// lazy returns a copy of a tree in which some values are undecoded text.
func lazy(r *rand.Rand, v any) any {
	switch r.IntN(5) {
	case 0:
		if v != nil {
			return jsontext.Raw(appendShuffled(nil, r, v))
		}
	case 1:
		return clone(v)
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range jsontext.Keys(v) {
			out[k] = lazy(r, v[k])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = lazy(r, e)
		}
		return out
	}
	return v
}

// appendShuffled appends the text of a tree: fields in any order, maybe with white space.
func appendShuffled(dst []byte, r *rand.Rand, v any) []byte {
	space := func() {
		if r.IntN(10) == 0 {
			dst = append(dst, ' ')
		}
	}
	switch v := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		keys := jsontext.Keys(v)
		if r.IntN(2) == 0 {
			r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		}
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			space()
			dst = append(jsontext.AppendString(dst, k, jsontext.HTML), ':')
			space()
			dst = appendShuffled(dst, r, v[k])
		}
		space()
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			space()
			dst = appendShuffled(dst, r, e)
		}
		space()
		return append(dst, ']')
	}
	dst, _ = jsontext.AppendTree(dst, v, pick(r, jsontext.HTML, jsontext.Plain))
	return dst
}

// textOf is the text of a tree.
func textOf(v any) string { return string(encode(v)) }
