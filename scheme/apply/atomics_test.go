package apply

import (
	"slices"
	"testing"

	limits "github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// TestAtomics finds atomic values at the top, in lists and in other atomic values, but not in
// entries of maps.
func TestAtomics(t *testing.T) {
	s, errs := schema.Parse(limits.NewPath("schema"), []byte(`{"type":"object","properties":{
		"list":{"type":"array","items":{"type":"string"}},
		"set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
		"whole":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"in":{"type":"array","items":{"type":"string"}}}},
		"items":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{
			"k":{"type":"string"},"args":{"type":"array","items":{"type":"string"}}}}},
		"map":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, tt := range []struct {
		tree string
		want []string
	}{
		{`{}`, nil},
		{`{"set":["a"],"items":[{"k":"a"}]}`, nil},
		{`{"list":[]}`, []string{".list"}},
		{`{"list":null}`, nil},
		{`{"whole":{"in":["a"]},"list":["b"]}`, []string{".list", ".whole", ".whole.in"}},
		{`{"items":[{"k":"a"},{"k":"b","args":["c"]}]}`, []string{".items[1].args"}},
		{`{"map":{"a":["b"]}}`, nil},
	} {
		got, err := Atomics(nil, jsontext.Raw(tt.tree), s)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Atomics(%s): got %q, %v, want %q", tt.tree, got, err, tt.want)
		}
	}
}
