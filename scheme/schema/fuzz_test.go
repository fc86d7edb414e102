package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

type word string

// part has each check on optional values, on required values and behind pointers.
type part struct {
	Name      string            `json:"name" check:"required"`
	Port      int32             `json:"port" check:"min=1,max=65535"`
	Count     int64             `json:"count,omitempty" check:"min=2"`
	Replicas  *int32            `json:"replicas,omitempty" default:"1" check:"min=0,max=10"`
	Ratio     float64           `json:"ratio,omitempty" check:"min=-1.5,max=1.5"`
	Short     string            `json:"short,omitempty" check:"minLength=2,maxLength=4"`
	Data      []byte            `json:"data,omitempty" check:"minLength=2,maxLength=4"`
	Bare      []byte            `json:"bare" check:"required,maxLength=3"`
	Items     []string          `json:"items,omitempty" check:"minItems=2,maxItems=3"`
	All       []string          `json:"all" check:"minItems=1"`
	Entries   map[string]string `json:"entries,omitempty" check:"minItems=1,maxItems=2"`
	Mode      word              `json:"mode,omitempty" default:"Fast" enum:"Fast,Slow" check:"enum"`
	Advice    word              `json:"advice,omitempty" enum:"Good,Bad"`
	Must      word              `json:"must" enum:"Good,Bad" check:"enum"`
	Modes     []word            `json:"modes,omitempty" itemEnum:"Fast,Slow" list:"set" check:"enum"`
	ModeOf    map[string]word   `json:"modeOf,omitempty" itemEnum:"Fast,Slow" check:"enum"`
	Label     string            `json:"label,omitempty" check:"format=dns1123Label"`
	IP        *string           `json:"ip,omitempty" check:"format=ip"`
	Pattern   string            `json:"pattern,omitempty" check:"maxLength=5,pattern=^[a-z,]+$"`
	Fixed     string            `json:"fixed,omitempty" check:"immutable"`
	FixedPtr  *string           `json:"fixedPtr,omitempty" check:"immutable"`
	FixedList []string          `json:"fixedList,omitempty" check:"immutable"`
	FixedMap  map[string]string `json:"fixedMap,omitempty" check:"immutable"`
	FixedPart *plain            `json:"fixedPart,omitempty" check:"immutable"`
	FixedIn   plain             `json:"fixedIn,omitempty" check:"immutable"`
}

type plain struct {
	A string   `json:"a,omitempty"`
	B int32    `json:"b"`
	C *bool    `json:"c,omitempty"`
	D []string `json:"d,omitempty"`
}

// shapes has fields of all types, and defaults of each kind.
type shapes struct {
	Part     part               `json:"part"`
	Pointer  *part              `json:"pointer,omitempty" check:"required"`
	Parts    []part             `json:"parts,omitempty" list:"map,key=name"`
	Pairs    []part             `json:"pairs,omitempty" list:"map,key=name,key=replicas"`
	Loose    []part             `json:"loose,omitempty" list:"atomic"`
	Pointers []*part            `json:"pointers,omitempty"`
	Named    map[string]part    `json:"named,omitempty"`
	NamedPtr map[string]*part   `json:"namedPtr,omitempty"`
	Lists    [][]plain          `json:"lists,omitempty"`
	Deep     map[string][]plain `json:"deep,omitempty"`
	Self     *shapes            `json:"self,omitempty"`

	Text     string            `json:"text,omitempty" default:"some"`
	Flag     bool              `json:"flag" default:"true"`
	FlagPtr  *bool             `json:"flagPtr,omitempty" default:"true"`
	Float    float64           `json:"float,omitempty" default:"0.5"`
	List     []string          `json:"list,omitempty" default:"[\"a\",\"b\"]"`
	Map      map[string]string `json:"map,omitempty" default:"{\"a\":\"b\"}"`
	Struct   plain             `json:"struct,omitempty" default:"{\"a\":\"x\",\"b\":3}"`
	Whole    *part             `json:"whole,omitempty" default:"{\"name\":\"whole\"}"`
	Quantity *meta.Quantity    `json:"quantity,omitempty" default:"1Gi"`
	MaxSurge *meta.IntOrString `json:"maxSurge,omitempty" default:"25%"`

	When     *meta.Time               `json:"when,omitempty"`
	Since    meta.Time                `json:"since,omitempty"`
	Port     meta.IntOrString         `json:"port,omitempty"`
	Raw      meta.RawExtension        `json:"raw,omitempty"`
	Raws     []meta.RawExtension      `json:"raws,omitempty"`
	Any      any                      `json:"any,omitempty"`
	Anys     map[string]any           `json:"anys,omitempty"`
	Blobs    map[string][]byte        `json:"blobs,omitempty"`
	Blocks   [][]byte                 `json:"blocks,omitempty"`
	Words    []string                 `json:"words,omitempty" list:"set"`
	Numbers  []int32                  `json:"numbers" list:"set"`
	Floats   []float64                `json:"floats,omitempty" list:"set"`
	Flags    []bool                   `json:"flags,omitempty" list:"set"`
	Ptrs     []*part                  `json:"ptrs,omitempty" list:"map,key=name,key=replicas"`
	Selector *meta.LabelSelector      `json:"selector,omitempty"`
	Limits   map[string]meta.Quantity `json:"limits,omitempty"`
}

// Everything is a kind with all of these shapes.
type Everything struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`

	Spec   shapes `json:"spec,omitempty"`
	Status plain  `json:"status"`
}

type kinds []reflect.Type

func (k kinds) Type(gvk meta.GroupVersionKind) *typeinfo.Type { return typeinfo.Of(k.goType(gvk)) }

func (k kinds) goType(gvk meta.GroupVersionKind) reflect.Type {
	for _, t := range k {
		if t.Name() == gvk.Kind {
			return t
		}
	}
	return nil
}

func (k kinds) NewObject(gvk meta.GroupVersionKind) (meta.Typed, error) {
	return reflect.New(k.goType(gvk)).Interface().(meta.Typed), nil
}

var goTypes = kinds{
	reflect.TypeFor[Everything](), reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Service](), reflect.TypeFor[corev1.Node](),
	reflect.TypeFor[corev1.Event](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.Namespace](), reflect.TypeFor[coordinationv1.Lease](),
}

// FuzzGoTypes compares the walks over trees with the walks over Go values. It makes a random object
// and changes its JSON at random. If the result decodes, both forms must have the same unknown
// fields, get the same defaults and fail the same checks. Only checks that tags declare are
// compared.
func FuzzGoTypes(f *testing.F) {
	for kind := range goTypes {
		f.Add(uint8(kind), uint64(kind), []byte{}, []byte{})
	}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 60)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		f.Add(uint8(seed%3)*uint8(seed), seed, script[:3*(seed%10)], script[30:30+3*(seed%7)])
	}
	factory := codec.NewFactory(goTypes)
	var compiler schema.Compiler
	f.Fuzz(func(t *testing.T, kind uint8, seed uint64, edits, oldEdits []byte) {
		typ := goTypes[int(kind)%len(goTypes)]
		s := compiler.Type(typeinfo.Of(typ))
		now, ok := makePair(t, factory, s, typ, seed, edits)
		if !ok {
			return
		}
		was, ok := makePair(t, factory, s, typ, seed, oldEdits)
		if !ok {
			return
		}
		compareChecks(t, s, now, was, "update")
		compareChecks(t, s, now, pair{}, "create")
	})
}

// pair is one object in both forms.
type pair struct {
	object meta.Typed
	tree   any
}

// makePair makes an object at random and gives its JSON some edits; ok is false if it does not
// decode then.
func makePair(t *testing.T, factory *codec.Factory, s *schema.Schema, typ reflect.Type, seed uint64, edits []byte) (_ pair, ok bool) {
	made := reflect.New(typ).Interface().(meta.Typed)
	sample.New(seed).Fill(made)
	tree := treeOf(t, made)
	edit(tree.(map[string]any), edits)
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	tree = treeOf(t, json.RawMessage(data)) // a tree that shares nothing with the first
	gvk := meta.GroupVersionKind{Version: "v1", Kind: typ.Name()}
	decoded, err := factory.Decode(codec.DecodeRequest{Data: data, As: gvk, Strict: true})
	unknown := s.Prune(nil, tree)
	if err != nil {
		if err := s.SetDefaults(nil, tree); err != nil {
			t.Fatal(err)
		}
		s.Validate(nil, nil, tree, nil) // must not panic
		return pair{}, false
	}
	slices.Sort(decoded.Strict)
	slices.Sort(unknown)
	if !slices.Equal(decoded.Strict, unknown) && len(unknown) < 100 {
		t.Fatalf("unknown fields of %s\nof the tree: %q\n  decoding: %q", data, unknown, decoded.Strict)
	}
	*decoded.Object.GetTypeMeta() = meta.TypeMeta{}
	p := pair{decoded.Object, tree}
	compareDefaults(t, factory, s, gvk, p)
	return p, true
}

func treeOf(t *testing.T, v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsontext.Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// compareDefaults sets the defaults in both forms.
func compareDefaults(t *testing.T, factory *codec.Factory, s *schema.Schema, gvk meta.GroupVersionKind, p pair) {
	typeinfo.Default(p.object)
	if err := s.SetDefaults(nil, p.tree); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(p.tree)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := factory.Decode(codec.DecodeRequest{Data: data, As: gvk})
	if err != nil {
		t.Fatalf("%s does not decode with its defaults: %v", data, err)
	}
	*decoded.Object.GetTypeMeta() = meta.TypeMeta{}
	if !reflect.DeepEqual(decoded.Object, p.object) {
		want, _ := json.Marshal(p.object)
		got, _ := json.Marshal(decoded.Object)
		t.Fatalf("defaults\nof the tree: %s\n  typeinfo: %s", got, want)
	}
}

// compareChecks validates both forms. Paths and types have to be the same. Messages may differ,
// because those about trees are worded for custom resources.
func compareChecks(t *testing.T, s *schema.Schema, now, was pair, what string) {
	var old any
	if was.object != nil {
		old = was.object
	}
	want := brief(typeinfo.Validate(now.object, old))
	errs := s.Validate(nil, nil, now.tree, was.tree)
	got := brief(errs)
	if len(errs) < 100 && !slices.Equal(got, want) {
		data, _ := json.Marshal(now.tree)
		before, _ := json.Marshal(was.tree)
		t.Fatalf("%s of %s\nfrom %s\nof the tree: %q\n  typeinfo: %q", what, data, before, got, want)
	}
}

func brief(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, fmt.Sprint(err.Field, " ", err.Type))
	}
	slices.Sort(out)
	return out
}

// edit changes a tree by a script of three bytes for each change: the object or list, the value in
// it, and the change.
func edit(tree map[string]any, script []byte) {
	for ; len(script) >= 3; script = script[3:] {
		holders := holdersIn(tree, nil)
		which, how := int(script[1]), script[2]
		switch at := holders[int(script[0])*len(holders)/256].(type) {
		case map[string]any:
			names := slices.Sorted(maps.Keys(at))
			switch {
			case how < 16 || len(names) == 0:
				at[[]string{"gone", "x.y", "Name", "", "apiVersion"}[which%5]] = other(nil, how)
			case how < 32:
				delete(at, names[which%len(names)])
			default:
				at[names[which%len(names)]] = other(at[names[which%len(names)]], how)
			}
		case []any:
			switch i := which % max(1, len(at)); {
			case len(at) == 0:
			case how < 32:
				at[i] = at[0]
			default:
				at[i] = other(at[i], how)
			}
		}
	}
}

// other returns a replacement for v, which often has the same type.
func other(v any, choice byte) any {
	if choice < 48 {
		return []any{nil, "", int64(0), false, []any{}, map[string]any{}, 0.5, "25%"}[choice%8]
	}
	switch v.(type) {
	case string:
		return []any{"", "x", "a longer text", "Fast", "a,b", "10.0.0.1", "YQ==", "YWJjZGU=", "2020-01-01T00:00:00Z", "1Gi", "5"}[choice%11]
	case bool:
		return choice%2 == 0
	case int64, float64:
		return []any{int64(0), int64(1), int64(-3), int64(70000), 0.5, 2.0}[choice%6]
	case []any:
		return []any{[]any{}, []any{nil}, []any{"x", "x", "", "y"}, []any{map[string]any{}}}[choice%4]
	case map[string]any:
		return []any{map[string]any{}, map[string]any{"gone": nil}, map[string]any{"name": "a", "a": "b"}}[choice%3]
	}
	return nil
}

// holdersIn lists the objects and lists in a tree, in order.
func holdersIn(v any, found []any) []any {
	switch v := v.(type) {
	case map[string]any:
		found = append(found, v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			found = holdersIn(v[name], found)
		}
	case []any:
		found = append(found, v)
		for _, held := range v {
			found = holdersIn(held, found)
		}
	}
	return found
}
