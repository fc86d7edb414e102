package schema

import (
	"reflect"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

type mode string

type leaf struct {
	_ struct{} `struct:"atomic"`

	Key string `json:"key"`
}

type tree struct {
	Name     string            `json:"name"`
	Short    string            `json:"short,omitempty"`
	Mode     mode              `json:"mode,omitempty" default:"Fast" enum:"Slow,Fast"`
	Modes    []mode            `json:"modes,omitempty" itemEnum:"Slow,Fast" list:"set" patch:"merge"`
	Count    *int32            `json:"count,omitempty" default:"3"`
	Size     int64             `json:"size"`
	On       bool              `json:"on"`
	Data     []byte            `json:"data,omitempty"`
	Labels   map[string]string `json:"labels,omitempty" map:"granular"`
	Leaf     leaf              `json:"leaf,omitempty"`
	Loose    *leaf             `json:"loose,omitempty" struct:"granular"`
	Branches []tree            `json:"branches,omitempty" list:"map,key=name" patch:"merge,retainKeys,key=name"`
	Parents  []*tree           `json:"parents,omitempty" list:"atomic"`
	Port     meta.IntOrString  `json:"port,omitempty"`
	Raw      meta.RawExtension `json:"raw,omitempty"`
	When     *meta.Time        `json:"when,omitempty"`
	Any      any               `json:"any,omitempty"`
	Ratio    float64           `json:"ratio,omitempty" check:"required"`
}

func compile(t *testing.T) *Schema {
	t.Helper()
	typ := typeinfo.For[tree]()
	if typ == nil {
		t.Fatal("the type does not compile")
	}
	return FromType(typ)
}

func TestScalars(t *testing.T) {
	s := compile(t)
	for _, tt := range []struct {
		field, typ, format string
		def                any
	}{
		{"name", String, "", ""},
		{"short", String, "", nil},
		{"mode", String, "", "Fast"},
		{"count", Integer, "int32", int64(3)},
		{"size", Integer, "int64", int64(0)},
		{"on", Boolean, "", false},
		{"data", String, "byte", nil},
		{"labels", Object, "", nil},
		{"modes", Array, "", nil},
		{"any", "", "", nil},
		{"ratio", Number, "double", nil},
	} {
		p := s.Properties[tt.field]
		if p == nil || p.Type != tt.typ || p.Format != tt.format || !reflect.DeepEqual(p.Default, tt.def) || p.Model != nil {
			t.Errorf("%s: got %+v, want type %q, format %q, default %v", tt.field, p, tt.typ, tt.format, tt.def)
		}
	}
	if want := []string{"name", "size", "on", "ratio"}; !slices.Equal(s.Required, want) {
		t.Errorf("required: got %v, want %v", s.Required, want)
	}
	if e := s.Properties["mode"].Enum; !slices.Equal(e, []any{"Fast", "Slow"}) {
		t.Errorf("mode: got enum %v", e)
	}
	items := s.Properties["modes"].Items
	if len(items.Enum) != 2 || items.Default != "" {
		t.Errorf("modes: got items %+v", items)
	}
}

func isEmptyObject(v any) bool { return reflect.DeepEqual(v, map[string]any{}) }

func TestModels(t *testing.T) {
	s := compile(t)
	branches := s.Properties["branches"]
	if branches.Items.Model != s || !isEmptyObject(branches.Items.Default) {
		t.Errorf("branches: got items %+v, want the model itself", branches.Items)
	}
	if got := s.Properties["parents"].Items; got.Model != s || got.Default != nil {
		t.Errorf("parents: got items %+v, want no default for pointers", got)
	}
	leaf := s.Properties["leaf"]
	if leaf.Model == nil || leaf.Target().MapType != "atomic" || leaf.MapType != "" || !isEmptyObject(leaf.Default) {
		t.Errorf("leaf: got %+v", leaf)
	}
	if loose := s.Properties["loose"]; loose.MapType != "granular" || loose.Default != nil || loose.Model != leaf.Model {
		t.Errorf("loose: got %+v", loose)
	}
	port := s.Properties["port"]
	if !slices.Equal(port.Target().Types, []string{Integer, String}) || port.Target().Format != "int-or-string" || port.Default != nil {
		t.Errorf("port: got %+v", port.Target())
	}
	if when := s.Properties["when"].Target(); when.Type != String || when.Format != "date-time" {
		t.Errorf("when: got %+v", when)
	}
	if s.Target() != s {
		t.Error("Target of a model is not itself")
	}
}

func TestMerging(t *testing.T) {
	s := compile(t)
	for _, tt := range []struct {
		field, listType, mapType, strategy, key string
		keys                                    []string
	}{
		{"modes", "set", "", "merge", "", nil},
		{"branches", "map", "", "merge,retainKeys", "name", []string{"name"}},
		{"parents", "atomic", "", "", "", nil},
		{"labels", "", "granular", "", "", nil},
	} {
		p := s.Properties[tt.field]
		if p.ListType != tt.listType || p.MapType != tt.mapType || p.PatchStrategy != tt.strategy || p.PatchMergeKey != tt.key || !slices.Equal(p.ListKeys, tt.keys) {
			t.Errorf("%s: got %+v, want %+v", tt.field, p, tt)
		}
	}
}

func TestCompilerShares(t *testing.T) {
	var c Compiler
	a, b := c.Type(typeinfo.For[tree]()), c.Type(typeinfo.For[tree]())
	if a != b {
		t.Error("one type gave two models")
	}
	if FromType(typeinfo.For[tree]()) == a {
		t.Error("compilers share models")
	}
}
