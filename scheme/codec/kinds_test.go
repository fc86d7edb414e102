package codec

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// testKinds is a Scheme reduced to what a Factory needs.
type testKinds map[meta.GroupVersionKind]reflect.Type

func (k testKinds) Type(gvk meta.GroupVersionKind) *typeinfo.Type {
	if t := k[gvk]; t != nil {
		return typeinfo.Of(t)
	}
	return nil
}

func (k testKinds) NewObject(gvk meta.GroupVersionKind) (meta.Typed, error) {
	t := k[gvk]
	if t == nil {
		return nil, fmt.Errorf("no kind %q is registered for version %q in scheme %q", gvk.Kind, gvk.GroupVersion(), "test")
	}
	return reflect.New(t).Interface().(meta.Typed), nil
}

var v1 = meta.GroupVersion{Version: "v1"}

var (
	configMapKind = v1.WithKind("ConfigMap")
	podKind       = v1.WithKind("Pod")
	secretKind    = v1.WithKind("Secret")
	oddKind       = meta.GroupVersion{Group: "test.example.com", Version: "v1"}.WithKind("Odd")
)

func newTestFactory(t testing.TB) *Factory {
	t.Helper()
	kinds := testKinds{
		configMapKind:                  reflect.TypeFor[corev1.ConfigMap](),
		v1.WithKind("ConfigMapList"):   reflect.TypeFor[corev1.ConfigMapList](),
		podKind:                        reflect.TypeFor[corev1.Pod](),
		secretKind:                     reflect.TypeFor[corev1.Secret](),
		v1.WithKind("Service"):         reflect.TypeFor[corev1.Service](),
		v1.WithKind("Node"):            reflect.TypeFor[corev1.Node](),
		v1.WithKind("Status"):          reflect.TypeFor[meta.Status](),
		v1.WithKind("APIResourceList"): reflect.TypeFor[meta.APIResourceList](),
		{Group: "meta.k8s.io", Version: "v1", Kind: "Table"}: reflect.TypeFor[meta.Table](),
		oddKind: reflect.TypeFor[Odd](),
	}
	for gvk, t2 := range kinds {
		if err := typeinfo.Register(t2); err != nil {
			t.Fatalf("register %s: %v", gvk, err)
		}
	}
	return NewFactory(kinds)
}

// Loose has fields without a protobuf form.
type Loose struct {
	ListMap   map[string][]string `json:"listMap,omitempty"`
	Anything  any                 `json:"anything,omitempty"`
	Anythings map[string]any      `json:"anythings,omitempty"`
}

// Odd has fields of all types that a kind may have.
type Odd struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Shapes          `json:",inline" pb:"2"`
	Loose           `json:",inline"`

	Nested   Shapes            `json:"nested" pb:"3"`
	Pointer  *Shapes           `json:"pointer,omitempty" pb:"4"`
	List     []Shapes          `json:"list,omitempty" pb:"5"`
	Pointers []*Shapes         `json:"pointers,omitempty" pb:"6"`
	Map      map[string]Shapes `json:"map,omitempty" pb:"7"`
	NamedMap map[Word]Word     `json:"namedMap,omitempty" pb:"8"`
	Ints     []int32           `json:"ints,omitempty" pb:"9"`
	Bools    []bool            `json:"bools,omitempty" pb:"10"`
	Floats   []float64         `json:"floats,omitempty" pb:"11"`
	Blobs    [][]byte          `json:"blobs,omitempty" pb:"12"`
	BlobMap  map[string][]byte `json:"blobMap,omitempty" pb:"13"`
	IntMap   map[string]int64  `json:"intMap,omitempty" pb:"14"`
	Customs  map[Word]Upper    `json:"customs,omitempty" pb:"15"`
	Wrapped  Words             `json:"wrapped,omitempty" pb:"16"`
	WrapMap  map[string]Words  `json:"wrapMap,omitempty" pb:"17"`
	IntPs    []*int32          `json:"intPs,omitempty" pb:"18"`
	High     string            `json:"high,omitempty" pb:"300"`
}

// Shapes has scalars and pointers to scalars.
type Shapes struct {
	Text    string   `json:"text" pb:"1"`
	Word    Word     `json:"word,omitempty" pb:"2"`
	Bool    bool     `json:"bool,omitempty" pb:"3"`
	Int32   int32    `json:"int32,omitempty" pb:"4"`
	Int64   int64    `json:"int64,omitempty" pb:"5"`
	Float   float64  `json:"float,omitempty" pb:"6"`
	Bytes   []byte   `json:"bytes,omitempty" pb:"7"`
	TextP   *string  `json:"textP,omitempty" pb:"8"`
	BoolP   *bool    `json:"boolP,omitempty" pb:"9"`
	Int32P  *int32   `json:"int32P,omitempty" pb:"10"`
	Int64P  *int64   `json:"int64P,omitempty" pb:"11"`
	Upper   Upper    `json:"upper,omitempty" pb:"12"`
	UpperP  *Upper   `json:"upperP,omitempty" pb:"13"`
	Strings []string `json:"strings,omitempty" pb:"14"`
	Words   []Word   `json:"words,omitempty" pb:"15"`
	Next    *Shapes  `json:"next,omitempty" pb:"16"`
}

// Words is a wrapper message.
type Words []string

// Word is a named string.
type Word string

// Upper is a custom type: letters, stored in upper case.
type Upper struct{ letters string }

func (u Upper) MarshalJSON() ([]byte, error) { return []byte(`"` + u.letters + `"`), nil }

func (u *Upper) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	s := strings.Trim(string(b), `"`)
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return fmt.Errorf("%s is not made of letters", b)
		}
	}
	u.letters = strings.ToUpper(s)
	return nil
}

func (u Upper) AppendProto(dst []byte) []byte {
	dst = append(dst, 1<<3|2, byte(len(u.letters)))
	return append(dst, u.letters...)
}

func (u *Upper) ParseProto(b []byte) error {
	return eachField(b, func(_ protowire.Number, v []byte) error {
		u.letters = string(v)
		return nil
	})
}
