package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
)

// old is a document of version 2 with every construct that version 3 writes differently.
const old = `{"swagger":"2.0","info":{"title":"T","version":"1","contact":{"email":"e"},"license":{"name":"n"}},"externalDocs":{"url":"u"},
"consumes":["text/plain"],"produces":["text/csv"],
"securityDefinitions":{"key":{"type":"apiKey","in":"header","name":"n"},"other":{"type":"basic"}},
"paths":{"/apis/a.io/v1/things":{"x-p":1,
 "parameters":[{"$ref":"#/parameters/pretty"},{"$ref":"#/parameters/patch"}],
 "get":{"deprecated":true,"summary":"s","tags":["t"],"operationId":"o","externalDocs":{"url":"u"},"x-o":[1],"schemes":["https"],
  "parameters":[{"in":"body","name":"b","description":"own","required":true,"schema":{"$ref":"#/definitions/Thing"}}],
  "consumes":["a/a","b/b","a/a"],"produces":["c/c"],
  "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Thing"},"x-r":1},"404":{"$ref":"#/responses/Gone"},"default":{"description":""}}},
 "patch":{"parameters":[{"in":"query","name":"q","type":"array","items":{"type":"string"},"collectionFormat":"csv","x-q":1,"allowEmptyValue":true}],
  "responses":{"201":{"schema":{"type":"string"}}}}}},
"parameters":{"pretty":{"in":"query","name":"pretty","type":"string"},"patch":{"in":"body","name":"body","schema":{"type":"object"}}},
"responses":{"Gone":{"description":"gone","schema":{"$ref":"#/definitions/Deep"}}},
"definitions":{
 "Thing":{"type":"object","properties":{"":{"type":"string"},"deep":{"$ref":"#/definitions/Deep","description":"d","allOf":[{"type":"object"}]},
   "list":{"type":"array","items":{"$ref":"#/definitions/Deep"}}},"anyOf":[{"$ref":"#/definitions/Deep"}]},
 "Deep":{"type":"string","default":{"$ref":"#/definitions/Deep"}}}}`

func TestConvert(t *testing.T) {
	part := filtered(t, old)
	got := AppendV3JSON(nil, Info{}, Document{Swagger: part})
	want := `{"components":{
"parameters":{"pretty":{"in":"query","name":"pretty","schema":{"type":"string"}}},
"responses":{"Gone":{"content":{"text/csv":{"schema":{"$ref":"#/components/schemas/Deep"}}},"description":"gone"}},
"schemas":{
 "Deep":{"default":{"$ref":"#/definitions/Deep"},"type":"string"},
 "Thing":{"anyOf":[{"$ref":"#/components/schemas/Deep"}],"properties":{"":{"type":"string"},
   "deep":{"allOf":[{"type":"object"},{"$ref":"#/components/schemas/Deep"}],"description":"d"},
   "list":{"items":{"$ref":"#/components/schemas/Deep"},"type":"array"}},"type":"object"}},
"securitySchemes":{"key":{"in":"header","name":"n","type":"apiKey"}}},
"externalDocs":{"url":"u"},"info":{"contact":{"email":"e"},"license":{"name":"n"},"title":"T","version":"1"},"openapi":"3.0.0",
"paths":{"/apis/a.io/v1/things":{"parameters":[{"$ref":"#/components/parameters/pretty"}],
 "get":{"deprecated":true,"externalDocs":{"url":"u"},"operationId":"o",
  "requestBody":{"content":{"a/a":{"schema":{"$ref":"#/components/schemas/Thing"}},"b/b":{"schema":{"$ref":"#/components/schemas/Thing"}}},
   "description":"own","required":true},
  "responses":{"200":{"content":{"c/c":{"schema":{"$ref":"#/components/schemas/Thing"}}},"description":"OK","x-r":1},
   "404":{"$ref":"#/components/responses/Gone"},"default":{"description":""}},
  "summary":"s","tags":["t"],"x-o":[1]},
 "patch":{"parameters":[{"allowEmptyValue":true,"in":"query","name":"q","schema":{"items":{"type":"string"},"type":"array"},"x-q":1}],
  "requestBody":{"content":{"text/plain":{"schema":{"type":"object"}}}},
  "responses":{"201":{"content":{"text/csv":{"schema":{"type":"string"}}},"description":""}}},
 "x-p":1}}}`
	same(t, "converted", definitions(t, got), want)
	if again := AppendV3JSON(nil, Info{}, Document{Swagger: part}); !bytes.Equal(again, got) {
		t.Error("equal input gave other bytes")
	}
	fromJSON, err := openapi_v3.ParseDocument(got)
	if err != nil {
		t.Fatal(err)
	}
	sameForm(t, "converted", fromJSON, &openapi_v3.Document{}, V3Proto(got))
}

// TestConvertBare: this server supplies what a document does not say about itself.
func TestConvertBare(t *testing.T) {
	for document, want := range map[string]string{
		`{}`: `{"components":{},"info":{"title":"Kubernetes","version":"v9"},"openapi":"3.0.0","paths":{}}`,
		`[`:  `{"components":{},"info":{"title":"Kubernetes","version":"v9"},"openapi":"3.0.0","paths":{}}`,
		`{"parameters":{"":{"in":"body"}},"paths":{"/x":{"get":{"parameters":[{"in":"query","name":"q"},{"$ref":"#/parameters/none"}]}}}}`: `{"components":{"parameters":{}},
			"info":{"title":"Kubernetes","version":"v9"},"openapi":"3.0.0",
			"paths":{"/x":{"get":{"parameters":[{"in":"query","name":"q","schema":{}},{"$ref":"#/components/parameters/none"}],"responses":{}}}}}`,
		`{"paths":{"/x":{"put":{"parameters":[{"in":"body","name":"b"},{"in":"body","name":"c"}]}}}}`: `{"components":{},"info":{"title":"Kubernetes","version":"v9"},"openapi":"3.0.0",
			"paths":{"/x":{"put":{"requestBody":{"content":{"*/*":{}}},"responses":{}}}}}`,
	} {
		same(t, document, definitions(t, AppendV3JSON(nil, Info{Version: "v9"}, Document{Swagger: []byte(document)})), want)
	}
}

// TestConvertBounded: a body that is repeated many times does not make a small document huge.
func TestConvertBounded(t *testing.T) {
	text := `"description":"` + strings.Repeat("x", 1<<20) + `"`
	var types, paths []string
	for i := range 100 {
		types = append(types, fmt.Sprintf(`"a/%d"`, i))
		paths = append(paths, fmt.Sprintf(`"/apis/a.io/v1/%d":{"put":{"parameters":[{"$ref":"#/parameters/b"}],"responses":{"200":{"schema":{"type":"string"}}}}}`, i))
	}
	document := `{"consumes":[` + strings.Join(types, ",") + `],"parameters":{"b":{"in":"body","name":"body",` + text + `,"schema":{` + text + `}}},"paths":{` + strings.Join(paths, ",") + "}}"
	got := AppendV3JSON(nil, Info{}, Document{Swagger: filtered(t, document)})
	if len(got) > maxContents+3<<20 {
		t.Errorf("%d bytes became %d", len(document), len(got))
	}
	if n := len(definitions(t, got, "paths")); n != len(paths) {
		t.Errorf("%d of %d paths are left", n, len(paths))
	}
}

// FuzzConvert: the conversion of any document of another server can be parsed by clients, as JSON
// and as protobuf.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(old))
	f.Add([]byte(theirs))
	f.Add([]byte(`{"paths":{"/apis/a.io/v1/x":{"parameters":[{"$ref":"#/parameters/a"}],"get":{"responses":{"x":1}}}},"parameters":{"a":{"$ref":"#/parameters/a"}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		read, err := ReadSwagger(document)
		if err != nil {
			return
		}
		part := read.Below("/apis/a.io/v1/")
		if part == nil {
			return
		}
		got := AppendV3JSON(nil, Info{}, Document{Swagger: part})
		if !json.Valid(got) {
			t.Fatalf("no JSON: %s", got)
		}
		if err := proto.Unmarshal(V3Proto(got), &openapi_v3.Document{}); err != nil {
			t.Errorf("%v: %s", err, got)
		}
	})
}
