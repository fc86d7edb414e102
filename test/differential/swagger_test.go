package differential

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/coracle-project/coracle/scheme/openapi"
)

// TestMergeSwagger merges made-up documents of OpenAPI v2 of other servers into one, as
// kube-aggregator does. The result has the paths of the group versions and the models that these
// need; models of one name that differ get other names.
func TestMergeSwagger(t *testing.T) {
	for i := range int(300 * count) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		local := encode(swagger{r}.document("/api/v1/", "/apis/apps/v1/"))
		theirs, ours := parseSwagger(t, local), [][]byte(nil)
		var documents []string
		for range 1 + r.IntN(3) {
			document := encode(swagger{r}.document("/apis/a.io/v1/", "/apis/a.io/v2/", "/apis/b.io/v1/"))
			prefix := []string{"/apis/a.io/v1/", "/apis/a.io/v2/", "/apis/b.io/v1/", "/apis/none/v1/"}[r.IntN(4)]
			documents = append(documents, prefix+" "+string(document))
			filtered := aggregator.FilterSpecByPathsWithoutSideEffects(parseSwagger(t, document), []string{prefix})
			if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(theirs, filtered); err != nil {
				t.Fatal(err)
			}
			read, err := openapi.ReadSwagger(document)
			if err != nil {
				t.Fatalf("%v: %s", err, document)
			}
			ours = append(ours, read.Below(prefix))
		}
		merged := openapi.MergeV2(local, ours)
		if got, want := tree(parseSwagger(t, merged)), tree(theirs); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d: local %s\nothers %s\ngot  %s\nwant %s", i, local, strings.Join(documents, "\n"), encode(got), encode(want))
		}
	}
}

// TestFilterSwagger merges documents with random mistakes. Kubernetes must be able to read the
// result; and if kube-aggregator can read the document, its result must be the same. Coracle
// accepts some documents that kube-aggregator does not, with answers without a code, and refuses
// some that it accepts, with null in place of a value.
func TestFilterSwagger(t *testing.T) {
	refused := 0
	total := int(2000 * count)
	for i := range total {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		document := swagger{r}.document("/apis/a.io/v1/")
		delete(document, "info") // the merge takes nothing from these
		delete(document, "swagger")
		for range 1 + r.IntN(2) {
			spoil(r, document)
		}
		data := encode(document)
		read, err := openapi.ReadSwagger(data)
		if err != nil {
			refused++
			continue
		}
		const empty = `{"definitions":{},"parameters":{},"paths":{}}`
		ours := parseSwagger(t, openapi.MergeV2([]byte(empty), [][]byte{read.Below("/apis/a.io/v1/")}))
		their, theirs := new(spec.Swagger), parseSwagger(t, []byte(empty))
		if their.UnmarshalJSON(data) != nil {
			continue
		}
		filtered := aggregator.FilterSpecByPathsWithoutSideEffects(their, []string{"/apis/a.io/v1/"})
		if err := aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(theirs, filtered); err != nil {
			t.Fatal(err)
		}
		if got, want := withoutNulls(tree(ours)), withoutNulls(tree(theirs)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", data, encode(got), encode(want))
		}
	}
	if refused == 0 || refused == total {
		t.Errorf("%d of %d were refused", refused, total)
	}
}

// withoutNulls removes members that are null.
func withoutNulls(tree any) any {
	switch v := tree.(type) {
	case map[string]any:
		for key, member := range v {
			if member == nil {
				delete(v, key)
			} else {
				v[key] = withoutNulls(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return tree
}

// spoil replaces a random value in a tree.
func spoil(r *rand.Rand, object map[string]any) {
	keys := slices.Sorted(maps.Keys(object))
	if len(keys) == 0 {
		return
	}
	key := keys[r.IntN(len(keys))]
	switch v := object[key].(type) {
	case map[string]any:
		if r.IntN(8) > 0 {
			spoil(r, v)
			return
		}
	case []any:
		if len(v) > 0 && r.IntN(8) > 0 {
			i := r.IntN(len(v))
			if m, ok := v[i].(map[string]any); ok {
				spoil(r, m)
				return
			}
			v[i] = []any{1, nil, "x", true, map[string]any{}}[r.IntN(5)]
			return
		}
	}
	object[key] = []any{1, 1.5, -1, "x", "", true, nil, []any{}, []any{1}, []any{"x"}, map[string]any{}, map[string]any{"a": 1}}[r.IntN(12)]
}

func parseSwagger(t *testing.T, data []byte) *spec.Swagger {
	t.Helper()
	s := &spec.Swagger{}
	if err := s.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return s
}

// swagger makes up documents.
type swagger struct{ *rand.Rand }

func (s swagger) of(from ...any) any { return from[s.IntN(len(from))] }

var (
	modelNames     = []string{"A", "B", "C", "D", "A_v2", "A_v3"}
	parameterNames = []string{"p", "q", "p_v2"}
)

func (s swagger) document(prefixes ...string) map[string]any {
	definitions, parameters, paths := map[string]any{}, map[string]any{}, map[string]any{}
	for _, name := range modelNames {
		if s.IntN(3) > 0 {
			model := s.schema(2)
			// The extension makes each model unique. kube-aggregator panics if only one of two
			// equal models has the extension with kinds, and loses a model if two models of a
			// document are equal to a model that is there already.
			model["x-some"] = name
			if s.IntN(2) == 0 {
				model["x-kubernetes-group-version-kind"] = s.kinds()
			}
			definitions[name] = model
		}
	}
	for _, name := range parameterNames {
		if s.IntN(2) == 0 {
			parameters[name] = map[string]any{"in": "query", "name": name, "type": s.of("string", "integer")}
		}
	}
	for _, prefix := range prefixes {
		for i := range s.IntN(3) {
			paths[fmt.Sprint(prefix, "things", i)] = s.path()
		}
	}
	return map[string]any{
		"swagger": "2.0", "info": map[string]any{"title": "made up", "version": "1"},
		"definitions": definitions, "parameters": parameters, "paths": paths,
	}
}

func (s swagger) kinds() (kinds []any) {
	for _, group := range []string{"", "a.io", "b.io"} {
		if s.IntN(2) == 0 {
			kinds = append(kinds, map[string]any{"group": group, "version": s.of("v1", "v2"), "kind": "K"})
		}
	}
	if kinds == nil {
		return []any{map[string]any{"group": "c.io", "version": "v1", "kind": "K"}}
	}
	return kinds
}

func (s swagger) ref() map[string]any {
	return map[string]any{"$ref": "#/definitions/" + modelNames[s.IntN(len(modelNames))]}
}

func (s swagger) schema(depth int) map[string]any {
	if depth == 0 {
		return map[string]any{"type": s.of("string", "boolean")}
	}
	switch s.IntN(9) {
	case 0:
		return s.ref()
	case 6:
		ref := s.ref()
		ref["description"] = "d"
		return ref
	case 1:
		return map[string]any{"type": "array", "items": s.schema(depth - 1)}
	case 2:
		return map[string]any{"type": "object", "additionalProperties": s.schema(depth - 1)}
	case 3:
		return map[string]any{"allOf": []any{s.ref()}, "default": map[string]any{}, "description": "d"}
	case 4:
		return map[string]any{"type": "string", "enum": []any{"a", "b"}, "minLength": s.IntN(2), "format": "f", "x-any": s.of("a", "b")}
	case 5:
		return map[string]any{"oneOf": []any{s.schema(depth - 1)}, "not": s.ref()}
	}
	properties := map[string]any{}
	for _, name := range []string{"a", "b", "$ref", "x-c"} {
		if s.IntN(3) == 0 {
			properties[name] = s.schema(depth - 1)
		}
	}
	properties["always"] = s.schema(depth - 1)
	return map[string]any{"type": "object", "properties": properties, "required": []any{"always"}}
}

func (s swagger) path() map[string]any {
	item := map[string]any{}
	if s.IntN(2) == 0 {
		item["parameters"] = s.parameters()
	}
	for _, method := range []string{"get", "post", "patch"} {
		if s.IntN(2) == 0 {
			item[method] = map[string]any{
				"operationId": s.of("a", "b"), "tags": []any{"t"}, "consumes": []any{"*/*"}, "produces": []any{"a/a", "b/b"}, "parameters": s.parameters(),
				"responses": map[string]any{
					"200":     map[string]any{"description": "OK", "schema": s.schema(1)},
					"default": map[string]any{"description": "no", "schema": s.ref()},
				},
				"x-kubernetes-action": "a", "x-kubernetes-group-version-kind": s.kinds()[0],
			}
		}
	}
	return item
}

func (s swagger) parameters() []any {
	return []any{
		map[string]any{"$ref": "#/parameters/" + parameterNames[s.IntN(len(parameterNames))]},
		map[string]any{"in": "body", "name": "body", "required": true, "schema": s.schema(1)},
		map[string]any{"in": s.of("path", "query", "header", "formData"), "name": "n", "type": "string", "uniqueItems": true},
	}
}
