package typeinfo_test

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

func TestTreeTypesCompile(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Node](), reflect.TypeFor[corev1.Secret](),
		reflect.TypeFor[coordinationv1.LeaseList](),
	} {
		if err := typeinfo.Register(typ); err != nil {
			t.Errorf("Register(%s): %v", typ, err)
		}
	}
}

type tree struct {
	Name     string           `json:"name" pb:"1"`
	Left     *tree            `json:"left,omitempty" pb:"2"`
	Children []tree           `json:"children,omitempty" pb:"3" list:"map,key=name" patch:"merge,key=name"`
	Named    map[string]*tree `json:"named,omitempty" pb:"4"`
	Wrapped  *wrapped         `json:"wrapped,omitempty" pb:"5"`
}

// wrapped is reached from tree and inlines it, so that compiling tree meets an unfinished tree.
type wrapped struct {
	Inner `json:",inline" pb:"1"`
	Own   string `json:"own,omitempty" pb:"2"`
}

type Inner struct {
	First string   `json:"first,omitempty" pb:"1"`
	Back  *wrapped `json:"back,omitempty" pb:"2"`
	Last  int64    `json:"last,omitempty" pb:"3"`
}

func TestRecursiveTypes(t *testing.T) {
	for _, start := range []reflect.Type{reflect.TypeFor[Inner](), reflect.TypeFor[tree](), reflect.TypeFor[wrapped]()} {
		if err := typeinfo.Register(start); err != nil {
			t.Fatalf("Register(%s): %v", start, err)
		}
	}
	typ := typeinfo.For[tree]()
	if got := typ.Field("left").Type; got != typ {
		t.Errorf("left: got type %v, want the tree itself", got.Go)
	}
	if got := typ.Field("named").Type; got.Elem != typ || !got.ElemPointer {
		t.Errorf("named: got elem %v, pointer %v, want a pointer to the tree", got.Elem.Go, got.ElemPointer)
	}
	w := typeinfo.For[wrapped]()
	var names []string
	for _, f := range w.Fields {
		names = append(names, f.Name)
	}
	if got, want := strings.Join(names, " "), "first back last own"; got != want {
		t.Errorf("wrapped: got fields %q, want %q", got, want)
	}
	last := w.Field("last")
	if sf := reflect.TypeFor[wrapped]().FieldByIndex(last.Index); sf.Name != "Last" {
		t.Errorf("last: got index of %s", sf.Name)
	}
	if want := reflect.TypeFor[Inner]().Field(2).Offset; last.Offset != want {
		t.Errorf("last: got offset %d, want %d", last.Offset, want)
	}
	if len(w.Members) != 2 || !w.Members[0].Inline || w.Members[0].Number != 1 {
		t.Errorf("wrapped: got members %+v, want the inlined struct with number 1 and own", w.Members)
	}
}

func TestOfIsConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if typeinfo.For[corev1.PodList]().Field("items").Type.Elem != typeinfo.For[corev1.Pod]() {
				t.Error("two descriptors for one type")
			}
		})
	}
	wg.Wait()
}

// either has a JSON form of its own over a plain protobuf message.
type either struct {
	Text  string `pb:"1"`
	Tree  *tree  `json:"-" pb:"2"`
	Cache string
}

func (either) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

type wrapper []string

func (wrapper) AppendProto(b []byte) []byte { return b }
func (*wrapper) ParseProto([]byte) error    { return nil }

func TestCustomTypes(t *testing.T) {
	typ := typeinfo.For[either]()
	if typ == nil || typ.Kind != typeinfo.Custom || len(typ.Fields) != 0 || len(typ.Members) != 2 || typ.Proto != nil {
		t.Fatalf("either: got %+v, want a custom type with two members", typ)
	}
	if m := typ.Members[1]; m.GoName != "Tree" || m.Number != 2 || !m.Pointer || m.Type != typeinfo.For[tree]() {
		t.Errorf("either: got second member %+v", m)
	}
	if typ := typeinfo.For[wrapper](); typ.Kind != typeinfo.List || typ.Proto == nil {
		t.Errorf("wrapper: got %+v, want a list that is its own message", typ)
	}
	if typ := typeinfo.For[meta.Time](); typ.Kind != typeinfo.Custom || typ.Proto == nil {
		t.Errorf("Time: got %+v, want a custom type that is its own message", typ)
	}
}

type atomicPart struct {
	_ struct{} `struct:"atomic"`

	Name string `json:"name"`
}

func TestAtomicStructs(t *testing.T) {
	type holder struct {
		Plain    atomicPart  `json:"plain"`
		Granular *atomicPart `json:"granular" struct:"granular"`
		Leaf     leaf        `json:"leaf" struct:"atomic"`
	}
	typ := typeinfo.For[holder]()
	if !typeinfo.For[atomicPart]().Atomic || typeinfo.For[leaf]().Atomic {
		t.Error("Type.Atomic: want it for atomicPart only")
	}
	for name, want := range map[string]bool{"plain": true, "granular": false, "leaf": true} {
		if got := typ.Field(name).Atomic; got != want {
			t.Errorf("%s: got atomic %v, want %v", name, got, want)
		}
	}
}

func TestMistakesAreReportedAtOnce(t *testing.T) {
	type item struct {
		Key  string   `json:"key"`
		Tags []string `json:"tags"`
	}
	type Other struct {
		Taken string `json:"taken"`
	}
	type bad struct {
		Other    `json:",inline"`
		NoTag    string
		Twice    string           `json:"taken"`
		One      string           `json:"one" pb:"1"`
		Uno      string           `json:"uno" pb:"1"`
		Reserved string           `json:"reserved" pb:"19500"`
		Check    string           `json:"check" check:"requird"`
		Arg      string           `json:"arg" check:"maxLength=x"`
		Kind     bool             `json:"kind" check:"min=1"`
		Format   string           `json:"format" check:"format=nope"`
		Pattern  string           `json:"pattern" check:"pattern=(,"`
		Default  int32            `json:"default" default:"many"`
		Enum     string           `json:"enum" enum:"A,B" default:"C"`
		Keys     []item           `json:"keys" list:"map,key=nokey"`
		Deep     []item           `json:"deep" list:"map,key=tags"`
		NoKeys   []item           `json:"noKeys" list:"map"`
		List     []item           `json:"list" list:"sorted"`
		Set      []item           `json:"set" list:"set"`
		Pointers []*string        `json:"pointers" list:"set"`
		Bytes    []byte           `json:"bytes" list:"set"`
		Merge    []item           `json:"merge" patch:"merge"`
		MergeKey []item           `json:"mergeKey" patch:"merge,key=id"`
		Strategy []item           `json:"strategy" patch:"glue"`
		Map      []string         `json:"map" map:"atomic"`
		Struct   item             `json:"struct" struct:"loose"`
		Union    string           `json:"union" union:"tag"`
		Chan     chan int         `json:"chan"`
		IntKeys  map[int]string   `json:"intKeys"`
		Pointer  *[]string        `json:"pointer"`
		Inline   item             `json:",inline"`
		Nameless string           `json:",omitempty" pb:"7"`
		Option   int64            `json:"option,string"`
		Nested   []map[string]int `json:"nested"`
		Said     string           `json:"said" message:"of nothing"`
		Reason   string           `json:"reason" rule:"self != ''" reason:"Because"`
	}
	err := typeinfo.Register(reflect.TypeFor[*bad]())
	if err == nil {
		t.Fatal("Register: got no error")
	}
	for _, want := range []string{
		`bad: JSON name "taken" belongs to typeinfo_test.Other.Taken and typeinfo_test.bad.Twice`,
		"bad.NoTag: no json tag",
		"bad.Uno: protobuf number 1 is used by One as well",
		`bad.Reserved: "19500" is not a protobuf field number`,
		`bad.Check: check "requird" is unknown`,
		`bad.Arg: check "maxLength=x"`,
		`bad.Kind: check "min=1" on a bool`,
		`bad.Format: check "format=nope": unknown format`,
		`bad.Pattern: check "pattern=(,"`,
		`bad.Default: default "many"`,
		`bad.Enum: default "C" is not in the enum`,
		`bad.Keys: list key "nokey" is not a field of typeinfo_test.item`,
		`bad.Deep: list key "tags" is not a scalar`,
		"bad.Set: the elements of a set are strings, numbers or booleans",
		"bad.Pointers: the elements of a set are strings, numbers or booleans",
		"bad.Bytes: list type on a bytes",
		"bad.NoKeys: a list of type map needs keys",
		`bad.List: list type "sorted" is unknown`,
		"bad.Merge: merging a list of structs needs a patch key",
		`bad.MergeKey: patch key "id" is not a field`,
		`bad.Strategy: patch strategy "glue" is unknown`,
		"bad.Map: map type on a list",
		`bad.Struct: struct type "loose" is unknown`,
		`bad.Union: union role "tag" is unknown`,
		"bad.Chan: Go type chan int is not supported in the API",
		"bad.IntKeys: the keys of map[int]string are not strings",
		"bad.Pointer: a pointer to []string",
		"bad.Inline: inline on a field that is not embedded",
		"bad.Nameless: the json tag gives no name",
		`bad.Option: json option "string" is not supported`,
		"bad.Nested[][]: Go type int is not supported in the API",
		"bad.Said: tags about a rule",
		`bad.Reason: reason "Because" is unknown`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Register: got no %q in\n%v", want, err)
		}
	}
	if got := typeinfo.Of(reflect.TypeFor[bad]()); got != nil {
		t.Errorf("Of: got %v for a type with mistakes, want nil", got)
	}
	if typeinfo.Of(reflect.TypeFor[Other]()) == nil {
		t.Error("Of: a good type that a bad one reaches must stay usable")
	}
}
