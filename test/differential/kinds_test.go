package differential

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extensionsfuzzer "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/fuzzer"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	apitesting "k8s.io/kubernetes/pkg/api/testing"
	"sigs.k8s.io/randfill"
)

// The serializers of Kubernetes, without conversion or defaults.
var (
	theirJSON  = json.NewSerializerWithOptions(json.DefaultMetaFactory, legacyscheme.Scheme, legacyscheme.Scheme, json.SerializerOptions{})
	theirProto = protobuf.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme)
)

// eachKind runs a subtest for every kind that Coracle's Scheme and Kubernetes' have both, in every
// version.
func eachKind(t *testing.T, judge func(t *testing.T, k bothKind)) {
	eachKindThat(t, func(bothKind) bool { return true }, judge)
}

// eachKindThat is eachKind for some kinds.
func eachKindThat(t *testing.T, has func(k bothKind) bool, judge func(t *testing.T, k bothKind)) {
	s := newOurs(t).scheme
	codecs := codec.NewFactory(s)
	for _, gvk := range s.AllKinds() {
		k := bothKind{schema.GroupVersionKind(gvk), s, codecs}
		if _, err := s.NewObject(gvk); err != nil || !legacyscheme.Scheme.Recognizes(k.GroupVersionKind) {
			continue // watch events are no objects
		}
		if !has(k) {
			continue
		}
		t.Run(fmt.Sprintf("%s.%s.%s", gvk.Kind, gvk.Version, gvk.Group), func(t *testing.T) {
			t.Parallel()
			judge(t, k)
		})
	}
}

// bothKind is a kind in a version, known to both sides.
type bothKind struct {
	schema.GroupVersionKind
	scheme *scheme.Scheme
	codecs *codec.Factory
}

// fuzzer returns Kubernetes' fuzzer of its own types.
func (k bothKind) fuzzer(subject string) *randfill.Filler {
	source := rand.NewSource(random(subject, k.String()).Int64())
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(apitesting.FuzzerFuncs, extensionsfuzzer.Funcs, schemaFuncs), source, legacyscheme.Codecs)
}

// schemaFuncs make a versioned schema from an internal one. The fuzzer's functions for internal
// schemas bound their depth; for versioned schemas there are none.
func schemaFuncs(serializer.CodecFactory) []any {
	return []any{func(s *crdv1.JSONSchemaProps, c randfill.Continue) {
		var in apiextensions.JSONSchemaProps
		c.Fill(&in)
		_ = crdv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(&in, s, nil) // fields that cannot be converted stay empty
	}}
}

// fuzzed makes an object of the version. Every second object is converted from a fuzzed internal
// object: it is valid more often, and has the values that conversions produce.
func (k bothKind) fuzzed(t *testing.T, f *randfill.Filler, i int) runtime.Object {
	t.Helper()
	hub := k.GroupKind().WithVersion(runtime.APIVersionInternal)
	if i%2 == 0 && legacyscheme.Scheme.Recognizes(hub) {
		obj, err := legacyscheme.Scheme.New(hub)
		if err != nil {
			t.Fatal(err)
		}
		f.Fill(obj)
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if out, err := legacyscheme.Scheme.ConvertToVersion(obj, k.GroupVersion()); err == nil {
			out.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
			return out
		}
	}
	obj := k.empty(t)
	f.Fill(obj)
	obj.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return obj
}

func (k bothKind) empty(t *testing.T) runtime.Object {
	t.Helper()
	obj, err := legacyscheme.Scheme.New(k.GroupVersionKind)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// write encodes an object of theirs.
func (k bothKind) write(t *testing.T, e runtime.Encoder, obj runtime.Object) []byte {
	t.Helper()
	data, err := runtime.Encode(e, obj)
	if err != nil {
		t.Fatalf("Kubernetes cannot encode: %v", err)
	}
	return data
}

// read decodes an object of theirs, without defaults.
func (k bothKind) read(t *testing.T, d runtime.Decoder, data []byte) runtime.Object {
	t.Helper()
	obj, _, err := d.Decode(data, &k.GroupVersionKind, k.empty(t))
	if err != nil {
		t.Fatalf("Kubernetes cannot decode %q: %v", data, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return obj
}

// ourRead decodes an object of ours.
func (k bothKind) ourRead(t *testing.T, form codec.Type, data []byte) meta.Typed {
	t.Helper()
	d, err := k.codecs.Decode(codec.DecodeRequest{Data: data, Type: form, Strict: true, As: k.our()})
	if err == nil && len(d.Strict) > 0 {
		err = fmt.Errorf("%q", d.Strict)
	}
	if err != nil {
		t.Fatalf("Coracle cannot decode %q: %v", data, err)
	}
	d.Object.GetTypeMeta().SetGroupVersionKind(k.our())
	return d.Object
}

func (k bothKind) our() meta.GroupVersionKind { return meta.GroupVersionKind(k.GroupVersionKind) }

// ourWrite encodes an object of ours.
func (k bothKind) ourWrite(t *testing.T, form codec.Type, obj meta.Typed) []byte {
	t.Helper()
	data, err := k.codecs.Append(nil, obj, codec.Media{Type: form})
	if err != nil {
		t.Fatalf("Coracle cannot encode: %v", err)
	}
	return data
}

// hasProto reports whether the kind has a protobuf form.
func (k bothKind) hasProto(t *testing.T) bool {
	_, ok := k.empty(t).(interface{ MarshalTo([]byte) (int, error) })
	return ok
}
