package codec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

// plainYAMLs are JSON objects that are plain YAML, oddYAMLs those that are not.
var (
	plainYAMLs = []string{
		`{}`, " \r\n{ \"a\" : null , \"b\":[true,\nfalse,-1,0,123456789012345678]}\n", `{"a":"\u00e9\n\"\\\b\f\r\t","é€😀":{"b":{}}}`,
		`{"<<":{"a":1},"yes":"no","~":"null","0x1":"1e3","# a":"- b"}`, "{\n\"a\":\n1\n}", `{"a":"` + strings.Repeat("x", 5000) + `"}`,
		"{\"a\":\"\u00a0 : # \ufffd\"}",
	}
	oddYAMLs = []string{
		"\t{}", "{\t}", "{}\t", "{\"a\"\n:1}", `{"` + strings.Repeat("x", 1100) + `":1}`, `{"a":1.0}`, `{"a":1e3}`, `{"a":-0}`, `{"a":12345678901234567890}`,
		`{"a":"\/"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud800"}`, "{\"a\":\"\x7f\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\u0085\"}", "{\"a\":\" \u2028 \"}", "{\"a\":\"\ufeff\"}",
	}
)

func TestIsPlainYAML(t *testing.T) {
	for _, text := range plainYAMLs {
		if !IsPlainYAML([]byte(text)) {
			t.Errorf("%q is not plain", text)
		}
		samePlain(t, []byte(text))
	}
	for _, text := range oddYAMLs {
		if IsPlainYAML([]byte(text)) {
			t.Errorf("%q is plain", text)
		}
	}
}

// FuzzIsPlainYAML reads objects that IsPlainYAML accepts as JSON and as YAML and compares the
// results.
func FuzzIsPlainYAML(f *testing.F) {
	for _, text := range append(plainYAMLs, oddYAMLs...) {
		f.Add([]byte(text))
	}
	f.Fuzz(samePlain)
}

func samePlain(t *testing.T, text []byte) {
	want, err := jsontext.Decode(text, nil)
	if _, ok := want.(map[string]any); err != nil || !ok || !IsPlainYAML(text) {
		return
	}
	data, _, err := YAMLToJSON(text, false, nil)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if got, err := jsontext.Decode(data, nil); err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Fatalf("%q: got %#v, %v, want %#v", text, got, err, want)
	}
}
