package differential

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"sigs.k8s.io/yaml"

	"github.com/coracle-project/coracle/scheme/openapi"
)

// TestConvertSwagger converts documents of OpenAPI v2 to version 3, as kube-aggregator does for
// servers without version 3: the document of a kube-apiserver, ours, and made-up ones.
func TestConvertSwagger(t *testing.T) {
	t.Run("kube-apiserver", func(t *testing.T) {
		data, err := os.ReadFile(filepath.Join(specDir(t), "swagger.json"))
		if err != nil {
			t.Fatal(err)
		}
		judgeConversion(t, data)
	})
	t.Run("Coracle", func(t *testing.T) { judgeConversion(t, encode(document(t, newOurs(t), "/openapi/v2"))) })
	t.Run("made up", func(t *testing.T) {
		total, judged := times(300), 0
		for i := range total {
			s := swagger{rand.New(rand.NewPCG(seed, uint64(i)))}
			if judgeForm(t, judgeConversion(t, encode(s.document("/apis/a.io/v1/", "/apis/b.io/v1/")))) {
				judged++
			}
		}
		if judged < total/10 {
			t.Errorf("%d of %d protobuf forms were compared", judged, total)
		}
	})
}

// judgeConversion has both sides convert a document, compares the results, and returns Coracle's.
func judgeConversion(t *testing.T, data []byte) []byte {
	t.Helper()
	var source map[string]any
	if err := decode(data, &source); err != nil {
		t.Fatal(err)
	}
	withoutLosses(source)
	theirs := tree(openapiconv.ConvertV2ToV3(parseSwagger(t, encode(source))))
	convertReferences(theirs)

	converted := openapi.AppendV3JSON(nil, openapi.Info{}, openapi.Document{Swagger: data})
	var read spec3.OpenAPI
	if err := read.UnmarshalJSON(converted); err != nil {
		t.Fatalf("%v: %.2000s", err, converted)
	}
	ours := tree(&read).(map[string]any)
	withoutGains(ours)
	difference("", theirs, ours, func(path string, theirs, ours any) {
		t.Errorf("%s: Kubernetes: %.1000s Coracle: %.1000s", path, encode(theirs), encode(ours))
	})
	if t.Failed() {
		t.Fatalf("of %.4000s", data)
	}
	return converted
}

// withoutLosses changes a document of version 2 so that Kubernetes loses nothing of it. Kubernetes
// converts references to shared parameters to references that lead nowhere, and loses a body among
// them; and it converts the body of a path to a parameter.
func withoutLosses(source map[string]any) {
	parameters, _ := source["parameters"].(map[string]any)
	resolve(source["paths"], "#/parameters/", parameters)
	delete(source, "parameters")
	isBody := func(p any) bool { return p.(map[string]any)["in"] == "body" }
	eachOperation(source, func(item, op map[string]any) {
		own, _ := op["parameters"].([]any)
		common, _ := item["parameters"].([]any)
		if i := slices.IndexFunc(common, isBody); i >= 0 && !slices.ContainsFunc(own, isBody) {
			op["parameters"] = append(own, common[i])
		}
	})
	for _, item := range source["paths"].(map[string]any) {
		item := item.(map[string]any)
		if common, ok := item["parameters"].([]any); ok {
			item["parameters"] = slices.DeleteFunc(common, isBody)
		}
	}
}

// convertReferences converts the references that Kubernetes leaves unconverted: those inside of
// allOf, oneOf, anyOf and not. It also removes the schema that Kubernetes puts beside a reference
// to a parameter.
func convertReferences(node any) {
	switch node := node.(type) {
	case map[string]any:
		if ref, ok := node["$ref"].(string); ok {
			if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
				node["$ref"] = "#/components/schemas/" + name
			}
			if strings.HasPrefix(ref, "#/components/parameters/") {
				delete(node, "schema")
			}
		}
		for _, v := range node {
			convertReferences(v)
		}
	case []any:
		for _, v := range node {
			convertReferences(v)
		}
	}
}

// withoutGains removes from a converted document the parts that Kubernetes' document lacks: shared
// parameters, and whether bodies are required.
func withoutGains(doc map[string]any) {
	components := doc["components"].(map[string]any)
	parameters, _ := components["parameters"].(map[string]any)
	resolve(doc["paths"], "#/components/parameters/", parameters)
	delete(components, "parameters")
	eachOperation(doc, func(_, op map[string]any) {
		if body, ok := op["requestBody"].(map[string]any); ok {
			delete(body, "required")
		}
	})
}

func eachOperation(doc map[string]any, visit func(item, op map[string]any)) {
	for _, item := range doc["paths"].(map[string]any) {
		for _, op := range item.(map[string]any) {
			if op, ok := op.(map[string]any); ok {
				visit(item.(map[string]any), op)
			}
		}
	}
}

// judgeForm compares Coracle's protobuf form of a document of version 3 with Kubernetes'. It
// reports whether Kubernetes can write one: it cannot if a "not" has a reference.
func judgeForm(t *testing.T, data []byte) bool {
	t.Helper()
	theirs, err := handler3.ToV3ProtoBinary(data)
	if err != nil {
		return false
	}
	var values [2]any // as YAML, which is how protobuf forms hold extensions
	for i, form := range [][]byte{theirs, openapi.V3Proto(data)} {
		var document openapi_v3.Document
		if err := proto.Unmarshal(form, &document); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		text, err := document.YAMLValue("")
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &values[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(values[0], values[1]) {
		t.Fatalf("protobuf forms differ: Kubernetes: %s\nCoracle: %s\nof %s", encode(values[0]), encode(values[1]), data)
	}
	return true
}
