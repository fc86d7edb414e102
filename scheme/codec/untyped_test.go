package codec_test

import (
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// untyped knows one kind, which has no Go type.
type untyped struct{ gvk meta.GroupVersionKind }

func (u untyped) Type(meta.GroupVersionKind) *typeinfo.Type { return nil }

func (u untyped) NewObject(meta.GroupVersionKind) (meta.Typed, error) {
	return &scheme.Unstructured{}, nil
}

func TestUntyped(t *testing.T) {
	gvk := meta.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	f := codec.NewFactory(untyped{gvk})
	body := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"size":1,"size":2}}`
	out, err := f.Decode(codec.DecodeRequest{Data: []byte(body), Default: gvk, Strict: true})
	if err != nil || !reflect.DeepEqual(out.Strict, []string{`duplicate field "spec.size"`}) {
		t.Fatalf("Decode: got %q, %v", out.Strict, err)
	}
	got, err := f.Append(nil, out.Object, codec.Media{})
	if want := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"size":2}}` + "\n"; err != nil || string(got) != want {
		t.Errorf("Append: %v\n got %s\nwant %s", err, got, want)
	}
	_, err = f.Append(nil, out.Object, codec.Media{Type: codec.Protobuf})
	if se, ok := err.(*meta.StatusError); !ok || se.Status.Code != 406 {
		t.Errorf("Append as protobuf: got %v, want a 406", err)
	}
}
