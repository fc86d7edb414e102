package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/jsontext"
)

func TestPrune(t *testing.T) {
	bag := parseSchema(t, `{"type":"object","properties":{"spec":{"type":"object","properties":{
		"emb":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
		"strict":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}},
		"known":{"type":"string"},
		"list":{"type":"array","items":{"type":"object","properties":{"v":{"type":"integer"}}}},
		"map":{"type":"object","additionalProperties":{"type":"object","properties":{"v":{"type":"integer"}}}},
		"crew":{"type":"object","additionalProperties":{"type":"object","x-kubernetes-embedded-resource":true}},
		"loose":{"type":"object","additionalProperties":true},
		"ios":{"x-kubernetes-int-or-string":true},
		"nullable":{"type":"string","nullable":true},"filled":{"type":"string","default":"f"},"anything":{"x-kubernetes-preserve-unknown-fields":true},
		"bare":{"type":"object"},
		"openList":{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object"}},
		"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"inner":{"type":"object","properties":{"k":{"type":"string"}}}}}}}}}`)
	for _, tt := range []struct {
		name, value, want string
		unknown           []string
	}{
		{"everything",
			`{"apiVersion":"a/v1","kind":"Bag","metadata":{"name":"a","gone":1},"extra":"gone","spec":{"unknown":"gone","known":"k",
				"list":[{"v":1,"gone":2}],"map":{"a":{"v":1,"gone":2}},"open":{"any":[1,{"two":2}],"inner":{"k":"v","gone":"x"}},
				"emb":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","gone":"y"},"spec":{"stays":true}}}}`,
			`{"apiVersion":"a/v1","kind":"Bag","metadata":{"name":"a"},"spec":{"known":"k","list":[{"v":1}],"map":{"a":{"v":1}},
				"open":{"any":[1,{"two":2}],"inner":{"k":"v"}},
				"emb":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"stays":true}}}}`,
			[]string{"extra", "spec.list[0].gone", "spec.map.a.gone", "spec.open.inner.gone", "spec.unknown", "metadata.gone", "spec.emb.metadata.gone"}},
		{"an embedded resource that is described", `{"spec":{"strict":{"apiVersion":"v1","kind":"K","metadata":{},"spec":{"a":1},"x":1}}}`,
			`{"spec":{"strict":{"apiVersion":"v1","kind":"K","metadata":{},"spec":{}}}}`, []string{"spec.strict.spec.a", "spec.strict.x"}},
		{"embedded resources by key", `{"spec":{"crew":{"a b":{"metadata":{"name":"p","gone":1,"ownerReferences":[{"gone":1}]},"gone":1}}}}`,
			`{"spec":{"crew":{"a b":{"metadata":{"name":"p","ownerReferences":[{}]}}}}}`,
			[]string{"spec.crew.a b.gone", "spec.crew[a b].metadata.gone", "spec.crew[a b].metadata.ownerReferences[0].gone"}},
		{"any entries", `{"spec":{"loose":{"a":1,"b":{"c":1},"d":[{"e":1}]}}}`, `{"spec":{"loose":{"a":1,"b":{},"d":[{}]}}}`,
			[]string{"spec.loose.b.c", "spec.loose.d[0].e"}},
		{"an object for an integer", `{"spec":{"ios":{"a":1}}}`, `{"spec":{"ios":{}}}`, []string{"spec.ios.a"}},
		{"a list for an object", `{"spec":{"bare":[{"a":1},[{"b":1}],"x"]}}`, `{"spec":{"bare":[{},[{}],"x"]}}`,
			[]string{"spec.bare[0].a", "spec.bare[1][0].b"}},
		{"an open list", `{"spec":{"openList":[{"a":1}]}}`, `{"spec":{"openList":[{"a":1}]}}`, nil},
		{"nulls", `{"spec":{"known":null,"nullable":null,"filled":null,"gone":null,"list":[null,{"v":null}],"map":{"a":null},"loose":{"a":null},
			"open":{"any":null,"in":[{"a":null}],"inner":{"k":null}},"anything":null,"strict":{"metadata":null,"spec":null},"emb":{"metadata":null}}}`,
			`{"spec":{"nullable":null,"filled":null,"list":[null,{}],"map":{},"loose":{"a":null},"open":{"any":null,"in":[{"a":null}],"inner":{}},
				"strict":{"metadata":null},"emb":{"metadata":null}}}`, []string{"spec.gone"}},
		{"odd names", `{"a\"b":1,"spec":{"":1}}`, `{"spec":{}}`, []string{`a"b`, "spec."}},
		{"no object", `[1]`, `[1]`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := parseTree(t, tt.value)
			got := bag.Prune(nil, tree)
			var want []string
			for _, path := range tt.unknown {
				want = append(want, fmt.Sprintf("unknown field %q", path))
			}
			if !slices.Equal(got, want) {
				t.Errorf("reported\n got %q\nwant %q", got, want)
			}
			if want := parseTree(t, tt.want); !jsontext.Equal(tree, want) {
				t.Errorf("left\n got %s\nwant %s", text(tree), text(want))
			}
		})
	}
}

func TestPruneIsBounded(t *testing.T) {
	s := parseSchema(t, `{"type":"object"}`)
	tree := map[string]any{}
	for i := range 1000 {
		tree[fmt.Sprint("f", i)] = 1
	}
	if got := s.Prune(nil, tree); len(got) != maxUnknown || len(tree) != 0 {
		t.Errorf("got %d reports and %d fields left, want %d and 0", len(got), len(tree), maxUnknown)
	}
	open := parseSchema(t, `{"type":"object","additionalProperties":{"type":"object"}}`)
	inner := map[string]any{}
	for i := range 50 {
		inner[fmt.Sprint("f", i)] = 1
	}
	tree = map[string]any{strings.Repeat("k", 1<<20): inner}
	if got := open.Prune(nil, tree); len(got) > 5 || len(inner) != 0 {
		t.Errorf("a long key: got %d reports and %d fields left, want at most 5 and 0", len(got), len(inner))
	}
}
