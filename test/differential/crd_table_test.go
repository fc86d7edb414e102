package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	theirv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// customTables is the number of made-up objects that TestCustomTables shows by made-up columns.
const customTables = 20_000

// TestCustomTables has both sides show custom resources in rows. Where a path takes all fields of
// an object, the object holds at most one field beside its lists and texts, because apiextensions
// takes fields in random order.
func TestCustomTables(t *testing.T) {
	r := random("custom tables")
	types := []string{"string", "integer", "number", "boolean", "date"}
	for range times(customTables) {
		var columns []theirv1.CustomResourceColumnDefinition
		for i := range 4 {
			columns = append(columns, theirv1.CustomResourceColumnDefinition{
				Name: fmt.Sprint("c", i), Type: pick(r, types...), Priority: int32(r.IntN(2)), JSONPath: columnPath(r),
				Description: pick(r, "", "text"), Format: pick(r, "", "int32"),
			})
		}
		object := map[string]any{"apiVersion": "a.b/v1", "kind": "K", "metadata": map[string]any{"name": "n", "creationTimestamp": "2020-01-01T00:00:00Z"}}
		object["spec"] = columnTree(r, 4)
		text := string(encode(object))
		if theirs, ours := theirRow(t, columns, text), ourRow(t, columns, text); theirs != ours {
			t.Errorf("%s by %s:\ntheirs %s\nours   %s", text, encode(columns), theirs, ours)
			return
		}
	}
}

func theirRow(t *testing.T, columns []theirv1.CustomResourceColumnDefinition, text string) string {
	t.Helper()
	table, _ := tableconvertor.New(columns) // an error means only that columns are missing
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	made, err := table.ConvertToTable(context.Background(), u, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(encode([]any{made.ColumnDefinitions, made.Rows[0].Cells}))
}

func ourRow(t *testing.T, columns []theirv1.CustomResourceColumnDefinition, text string) string {
	t.Helper()
	def := &apiextensionsv1.CustomResourceDefinition{}
	version := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true, Storage: true}
	if err := json.Unmarshal(encode(columns), &version.AdditionalPrinterColumns); err != nil {
		t.Fatal(err)
	}
	def.Spec.Group, def.Spec.Names.Plural, def.Spec.Names.Kind = "a.b", "ks", "K"
	def.Spec.Versions = append(def.Spec.Versions, version)
	res, err := extensions.Declare(def, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsontext.Decode([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	table := res.Tables["v1"]
	return string(encode([]any{table.Columns, table.Cells(tree.(map[string]any), time.Now())}))
}

// columnPath makes up a path: mostly one that leads somewhere.
func columnPath(r *rand.Rand) string {
	if r.IntN(10) == 0 {
		return pick(r, ".metadata.creationTimestamp", ".metadata.name", ".kind", ".", "..", ".spec[", ".spec}x{.kind", ".spec..", ".spec 5", ".spec true", `.spec "t"`, ".a.b[?(@.x)")
	}
	var b strings.Builder
	b.WriteString(".spec")
	for range r.IntN(4) {
		b.WriteString(pick(r, ".a", ".a", ".l", ".l", `.a\.b`, "['a']", "['l']", "[0]", "[0]", "[-1]", "[1]", "[*]", "[*]", "[:1]", "[1:]", "[::2]", "[0,-1]",
			"[]", "[-2:]", ".*", "..", "..a", "..l", "[?(@.a)]", "[?(@.a==1)]", `[?(@.a=="x")]`, "[?(@.a>1)]", "[?(@.a<=2.5)]", "[?(@.a!=true)]", "[?(@.l[1])]", "[?(@>=1)]"))
	}
	return b.String()
}

// columnTree makes up a value of at most the given depth.
func columnTree(r *rand.Rand, depth int) any {
	if depth == 0 || r.IntN(5) == 0 {
		return []any{nil, 0, 1, -3, 2.5, 1e21, "", "x", "<é>", "null", "2021-02-03T04:05:06Z", "2999-02-03T04:05:06+01:00", true, false}[r.IntN(14)]
	}
	if r.IntN(2) == 0 {
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = columnTree(r, depth-1)
		}
		return list
	}
	if r.IntN(6) == 0 {
		return map[string]any{}
	}
	return map[string]any{pick(r, "a", "a", "l", "l", "a.b"): columnTree(r, depth-1)}
}
