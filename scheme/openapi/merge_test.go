package openapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// theirs is a document of another server with every construct of Swagger.
const theirs = `{"swagger":"2.0","info":{"title":"T","version":"1"},
"paths":{"x-more":1,
 "/apis/a.io/v1/":{"get":{"summary":"s","deprecated":true,"tags":["t"],"consumes":["application/json"],"operationId":"o",
  "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/List"}},"default":{"description":"no"}}}},
 "/apis/a.io/v1/things":{"parameters":[{"$ref":"#/parameters/pretty"}],"post":{
  "parameters":[{"in":"body","name":"body","required":true,"schema":{"$ref":"#/definitions/Thing"}},
   {"in":"header","name":"h","type":"integer","format":"int64","minimum":1,"maximum":2.5,"maxLength":3},
   {"in":"formData","name":"f","type":"string","allowEmptyValue":true,"enum":["a","b"]},
   {"in":"query","name":"q","type":"array","items":{"type":"string"},"collectionFormat":"csv","uniqueItems":true},
   {"in":"path","name":"p","required":true,"type":"string","pattern":"x"}],
  "responses":{"200":{"description":"OK"}}}},
 "/apis/b.io/v1/others":{"get":{"responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Other"}}}}}},
"parameters":{"pretty":{"in":"query","name":"pretty","type":"string"}},
"definitions":{
 "List":{"type":"object","properties":{"items":{"type":"array","items":{"$ref":"#/definitions/Thing"}},"$ref":{"type":"string"}}},
 "Thing":{"description":"theirs","type":"object","required":["a"],"properties":{
   "a":{"type":"string","default":"x","readOnly":true,"title":"A","example":{"$ref":1}},"deep":{"$ref":"#/definitions/Deep"},
   "all":{"allOf":[{"$ref":"#/definitions/Deep"}]},"free":{"type":"object","additionalProperties":true},
   "map":{"type":"object","additionalProperties":{"$ref":"#/definitions/Deep"},"maxProperties":3,"externalDocs":{"url":"u"}}},
  "pattern":null,
  "x-kubernetes-group-version-kind":[{"group":"a.io","kind":"Thing","version":"v1"}]},
 "Deep":{"type":"string","x-any":[1]},"Other":{"$ref":"#/definitions/OtherDeep"},"OtherDeep":{"type":"string"},"Lone":{"type":"string"}}}`

// ours is a document with models and parameters of the same names as theirs, some equal and some
// different.
const ours = `{"definitions":{` +
	`"Deep":{"type":"string","x-any":[1],"x-kubernetes-group-version-kind":[{"group":"z.io","kind":"D","version":"v1"}]},` +
	`"Thing":{"description":"ours","type":"object"},"Thing_v2":{"type":"string"}},` +
	`"info":{"title":"T","version":"v1"},` +
	`"parameters":{"pretty":{"in":"query","name":"pretty","type":"integer"}},` +
	`"paths":{"/api/":{"get":{"responses":{"200":{"description":"\u003c"}}}}},"swagger":"2.0"}`

// filtered returns the part of a document about the paths of a.io/v1.
func filtered(t *testing.T, document string) []byte {
	t.Helper()
	return readSwagger(t, document).Below("/apis/a.io/v1/")
}

func readSwagger(t *testing.T, document string) *Swagger {
	t.Helper()
	read, err := ReadSwagger([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestMergeV2(t *testing.T) {
	part := filtered(t, theirs)
	merged := MergeV2([]byte(ours), [][]byte{part})
	var got struct {
		Definitions map[string]json.RawMessage
		Parameters  map[string]json.RawMessage
		Paths       map[string]json.RawMessage
	}
	if err := json.Unmarshal(merged, &got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/api/", "/apis/a.io/v1/", "/apis/a.io/v1/things"} {
		if got.Paths[want] == nil {
			t.Errorf("the paths lack %s: %s", want, merged)
		}
	}
	for name, want := range map[string]string{
		"Thing": `"ours"`, "Thing_v3": `"theirs"`, "List": `"#/definitions/Thing_v3"`, "Lone": "string", "Deep": `"z.io"`,
	} {
		if !strings.Contains(string(got.Definitions[name]), want) {
			t.Errorf("definition %s is %s, want it to have %s", name, got.Definitions[name], want)
		}
	}
	if len(got.Paths) != 3 || len(got.Definitions) != 6 || len(got.Parameters) != 2 {
		t.Errorf("got %d paths, %d definitions, %d parameters: %s", len(got.Paths), len(got.Definitions), len(got.Parameters), merged)
	}
	if things := string(got.Paths["/apis/a.io/v1/things"]); !strings.Contains(things, `{"$ref":"#/parameters/pretty_v2"}`) {
		t.Errorf("the parameter that is another has the same name: %s", things)
	}
	again := MergeV2(merged, [][]byte{part})
	if !bytes.Equal(again, merged) {
		t.Errorf("the same once more: %s, want %s", again, merged)
	}
	fromJSON, err := openapi_v2.ParseDocument(merged)
	if err != nil {
		t.Fatal(err)
	}
	sameForm(t, "merged", fromJSON, &openapi_v2.Document{}, V2Proto(merged))
}

// TestMergeNothing: without other documents a document stays the same, byte for byte.
func TestMergeNothing(t *testing.T) {
	for _, document := range [][]byte{[]byte(ours), V2JSON(Info{}, append(documents(), customDocument(t, van)))} {
		for _, parts := range [][][]byte{nil, {nil}, {[]byte("{}"), []byte("[")}} {
			if got := MergeV2(document, parts); !bytes.Equal(got, document) {
				t.Errorf("with %q: got %.2000s, want %.2000s", parts, got, document)
			}
		}
	}
	for _, prefix := range []string{"/apis/c.io/v1/", "x-"} {
		if part := readSwagger(t, theirs).Below(prefix); part != nil {
			t.Errorf("%s: got %s", prefix, part)
		}
	}
}

// TestMergeKinds adds the kinds of a shared model, in order.
func TestMergeKinds(t *testing.T) {
	model := func(groups ...string) string {
		var kinds []string
		for _, g := range groups {
			kinds = append(kinds, `{"group":"`+g+`","kind":"DeleteOptions","version":"v1"}`)
		}
		return `"definitions":{"D":{"type":"object","x-kubernetes-group-version-kind":[` + strings.Join(kinds, ",") + `]}},"parameters":{}`
	}
	document := "{" + model("a", "c") + `,"paths":{},"swagger":"2.0"}`
	part := "{" + model("b", "a") + `,"paths":{"/x":{}}}`
	want := "{" + model("a", "b", "c") + `,"paths":{"/x":{}},"swagger":"2.0"}`
	if got := string(MergeV2([]byte(document), [][]byte{[]byte(part)})); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBelow: the part of a document below one prefix does not depend on other parts that were asked
// for before.
func TestBelow(t *testing.T) {
	read := readSwagger(t, theirs)
	first := read.Below("/apis/a.io/v1/")
	other := read.Below("/apis/b.io/v1/")
	if again := read.Below("/apis/a.io/v1/"); !bytes.Equal(again, first) {
		t.Errorf("got %s, then %s", first, again)
	}
	got := members(t, other)
	if len(got["paths"]) != 1 || got["definitions"]["Other"] == nil || got["definitions"]["Thing"] != nil || !bytes.Contains(other, []byte(`"title":"T"`)) {
		t.Errorf("of b.io: %s", other)
	}
}

// TestReadSwaggerRefuses: documents that clients could not parse are refused.
func TestReadSwaggerRefuses(t *testing.T) {
	in := func(path string) string { return `{"paths":{"/apis/a.io/v1/things":` + path + `}}` }
	schema := func(s string) string { return `{"paths":{},"definitions":{"A":` + s + `}}` }
	for _, document := range []string{
		"", "null", "[]", "{", `{"paths":[]}`, `{"definitions":1}`, in("1"), in("null"), in(`{"get":[]}`), in(`{"get":{"tags":"x"}}`),
		in(`{"get":{"parameters":[{"name":"x"}]}}`), in(`{"get":{"parameters":[null]}}`), in(`{"get":{"parameters":[{"in":"elsewhere"}]}}`),
		in(`{"get":{"responses":{"200":1}}}`), in(`{"get":{"responses":{"200":{"schema":"x"}}}}`),
		`{"info":1}`, `{"info":{"title":1}}`, `{"produces":"x"}`, `{"consumes":[1]}`, `{"responses":{"a":1}}`, `{"securityDefinitions":{"a":1}}`,
		schema("1"), schema("null"), schema(`{"type":1}`), schema(`{"properties":{"a":null}}`), schema(`{"required":true}`), schema(`{"items":"x"}`),
		schema(`{"x-kubernetes-group-version-kind":{"group":"x"}}`), schema(`{"maxLength":1.5}`), schema(`{"allOf":[1]}`), schema(`{"$ref":{}}`),
		schema(strings.Repeat(`{"items":`, maxNesting) + "{}" + strings.Repeat("}", maxNesting)),
		schema(`{"x-any":` + strings.Repeat(`[`, maxNesting) + strings.Repeat("]", maxNesting) + "}"),
	} {
		if _, err := ReadSwagger([]byte(document)); err == nil {
			t.Errorf("%.200s: got no error", document)
		}
	}
}

// FuzzMergeV2: after merging any document into a document, the result is valid, and has everything
// that the document had before.
func FuzzMergeV2(f *testing.F) {
	f.Add([]byte(theirs), []byte(ours))
	f.Add([]byte(theirs), []byte(theirs))
	f.Add([]byte(`{"paths":{"/apis/a.io/v1/x":{"get":{"parameters":[{"$ref":"#/parameters/a"}]}}},"parameters":{"a":{"$ref":"#/parameters/a"}}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var parts [][]byte
		for _, document := range [][]byte{first, second} {
			if read, err := ReadSwagger(document); err == nil {
				parts = append(parts, read.Below("/apis/a.io/v1/"))
			}
		}
		merged := MergeV2([]byte(ours), parts)
		if !json.Valid(merged) {
			t.Fatalf("no JSON: %s", merged)
		}
		got, want := members(t, merged), members(t, []byte(ours))
		for section, there := range want {
			for name := range there {
				if _, ok := got[section][name]; !ok {
					t.Errorf("%s lacks %s: %s", section, name, merged)
				}
			}
		}
		if err := proto.Unmarshal(V2Proto(merged), &openapi_v2.Document{}); err != nil {
			t.Errorf("%v: %s", err, merged)
		}
	})
}

// members returns the named objects of a document.
func members(t *testing.T, document []byte) map[string]map[string]any {
	tree, err := jsontext.Decode(document, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]map[string]any{}
	for _, section := range []string{"definitions", "parameters", "paths"} {
		parts[section], _ = tree.(map[string]any)[section].(map[string]any)
	}
	return parts
}
