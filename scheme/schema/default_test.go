package schema

import (
	"errors"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

func TestSetDefaults(t *testing.T) {
	jar := parseSchema(t, `{"type":"object","properties":{"spec":{"type":"object","properties":{
		"size":{"type":"integer","default":5},"lid":{"type":"object","default":{},"properties":{"color":{"type":"string","default":"red"}}},
		"deep":{"type":"object","properties":{"x":{"type":"string","default":"y"}}},
		"tags":{"type":"array","items":{"type":"string"},"default":["a","b"]},
		"rows":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","default":1}}}},
		"words":{"type":"array","items":{"type":"string","default":"w"}},
		"named":{"type":"object","additionalProperties":{"type":"object","properties":{"w":{"type":"boolean","default":false}}}},
		"counted":{"type":"object","additionalProperties":{"type":"integer","default":3}},
		"pruned":{"type":"object","default":{"known":1,"gone":2},"properties":{"known":{"type":"integer"}}},
		"nul":{"type":"string","nullable":true,"default":"d"},"open":{"x-kubernetes-preserve-unknown-fields":true}}}}}`)
	const always = `"size":5,"lid":{"color":"red"},"tags":["a","b"],"pruned":{"known":1},"nul":"d"`
	for _, tt := range []struct{ value, want string }{
		{`{}`, `{}`},
		{`{"spec":{}}`, `{"spec":{` + always + `}}`},
		{`{"spec":{"deep":{},"named":{"k":{}},"rows":[{},{"n":2}]}}`,
			`{"spec":{` + always + `,"deep":{"x":"y"},"named":{"k":{"w":false}},"rows":[{"n":1},{"n":2}]}}`},
		{`{"spec":{"size":null,"tags":[],"deep":null,"rows":[null],"words":[null],"named":{"k":null},"lid":{"color":"blue"},"nul":null}}`,
			`{"spec":{"size":5,"tags":[],"deep":null,"rows":[null],"words":["w"],"named":{"k":null},"lid":{"color":"blue"},"pruned":{"known":1},"nul":null}}`},
		{`{"spec":{"open":{"a":null},"size":0}}`, `{"spec":{"open":{"a":null},` + strings.Replace(always, "5", "0", 1) + `}}`},
		{`{"spec":{"counted":{"k":null,"l":1}}}`, `{"spec":{` + always + `,"counted":{"k":3,"l":1}}}`},
		{`{"spec":"text"}`, `{"spec":"text"}`},
		{`null`, `null`},
	} {
		tree := parseTree(t, tt.value)
		if err := jar.SetDefaults(nil, tree); err != nil {
			t.Fatal(err)
		}
		if want := parseTree(t, tt.want); !jsontext.Equal(tree, want) {
			t.Errorf("SetDefaults(%s):\n got %s\nwant %s", tt.value, text(tree), text(want))
		}
	}
}

func TestSetDefaultsCopies(t *testing.T) {
	s := parseSchema(t, `{"type":"object","properties":{"a":{"type":"object","default":{"b":["x"]},"x-kubernetes-preserve-unknown-fields":true}}}`)
	for range 2 {
		tree := map[string]any{}
		if err := s.SetDefaults(nil, tree); err != nil {
			t.Fatal(err)
		}
		a := tree["a"].(map[string]any)
		if got := text(a); got != `{"b":["x"]}` {
			t.Fatalf("got %s, want the default as it was declared", got)
		}
		a["b"].([]any)[0] = "changed"
		a["c"] = 1
	}
}

func TestSetDefaultsIsBounded(t *testing.T) {
	s := parseSchema(t, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"`+strings.Repeat("x", 1<<20)+`"}}}}`)
	list := make([]any, 100)
	for i := range list {
		list[i] = map[string]any{}
	}
	if err := s.SetDefaults(nil, list[:10]); err != nil {
		t.Errorf("10 MiB: got %v, want none", err)
	}
	if err := s.SetDefaults(nil, list); !errors.Is(err, ErrTooLarge) {
		t.Errorf("100 MiB: got %v, want ErrTooLarge", err)
	}
}
