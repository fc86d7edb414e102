package differential

import (
	"bytes"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/sample"
)

// codecCount is how many objects of each kind go each way.
const codecCount = 30

// TestCodec passes objects from Kubernetes to Coracle and back, and the other way round, as JSON
// and as protobuf.
func TestCodec(t *testing.T) {
	eachKind(t, func(t *testing.T, k bothKind) {
		t.Run("theirs", func(t *testing.T) { judgeTheirObjects(t, k) })
		t.Run("ours", func(t *testing.T) { judgeOurObjects(t, k) })
	})
}

// judgeTheirObjects has Coracle read and write fuzzed objects. It must write the bytes that it
// read.
func judgeTheirObjects(t *testing.T, k bothKind) {
	f := k.fuzzer("codec")
	for i := range times(codecCount) {
		text := k.write(t, theirJSON, k.fuzzed(t, f, i))
		obj := k.read(t, theirJSON, text) // drops the differences that JSON cannot express
		fillBytes(obj)
		text = k.write(t, theirJSON, obj)
		same(t, "JSON", text, k.ourWrite(t, codec.JSON, k.ourRead(t, codec.JSON, text)))
		if !k.hasProto(t) {
			continue
		}
		obj = k.read(t, theirProto, k.write(t, theirProto, obj)) // and those that protobuf cannot express
		message := k.write(t, theirProto, obj)
		nameNested(obj)
		mine := k.ourRead(t, codec.Protobuf, message)
		same(t, "protobuf", message, k.ourWrite(t, codec.Protobuf, mine))
		same(t, "JSON of protobuf", k.write(t, theirJSON, obj), k.ourWrite(t, codec.JSON, mine))
		if t.Failed() {
			return
		}
	}
}

// fillBytes makes values that are null empty, in maps of bytes. Kubernetes does so when it stores
// the object, Coracle when it decodes.
func fillBytes(obj any) {
	fill := func(data map[string][]byte) {
		for key, value := range data {
			if value == nil {
				data[key] = []byte{}
			}
		}
	}
	switch obj := obj.(type) {
	case *corev1.Secret:
		fill(obj.Data)
	case *corev1.SecretList:
		for i := range obj.Items {
			fill(obj.Items[i].Data)
		}
	case *corev1.ConfigMap:
		fill(obj.BinaryData)
	case *corev1.ConfigMapList:
		for i := range obj.Items {
			fill(obj.Items[i].BinaryData)
		}
	}
}

// nameNested names the kinds of objects inside of an object. Protobuf leaves them out. Kubernetes
// names them when it converts the object from its internal version, Coracle when it decodes.
func nameNested(obj any) {
	if set, ok := obj.(*appsv1.StatefulSet); ok {
		for i := range set.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		}
	}
}

// judgeOurObjects has Kubernetes read and write objects that Coracle made up.
func judgeOurObjects(t *testing.T, k bothKind) {
	f := sample.New(random("sample", k.String()).Uint64())
	for range times(codecCount) {
		obj, err := k.scheme.NewObject(k.our())
		if err != nil {
			t.Fatal(err)
		}
		f.Fill(obj)
		obj.GetTypeMeta().SetGroupVersionKind(k.our())
		text := k.ourWrite(t, codec.JSON, obj)
		same(t, "JSON", k.write(t, theirJSON, k.read(t, theirJSON, text)), text)
		if !k.hasProto(t) {
			continue
		}
		message := k.ourWrite(t, codec.Protobuf, obj)
		same(t, "protobuf", k.write(t, theirProto, k.read(t, theirProto, message)), message)
		same(t, "protobuf of JSON", k.write(t, theirProto, k.read(t, theirJSON, text)), message)
		if t.Failed() {
			return
		}
	}
}

// same compares encoded objects byte for byte.
func same(t *testing.T, what string, theirs, ours []byte) {
	t.Helper()
	if bytes.Equal(theirs, ours) {
		return
	}
	at := 0
	for at < min(len(theirs), len(ours)) && theirs[at] == ours[at] {
		at++
	}
	around := func(b []byte) []byte { return b[min(len(b), max(0, at-150)):min(len(b), at+150)] }
	t.Errorf("%s differs at byte %d of %d and %d:\nKubernetes: %q\nCoracle:    %q", what, at, len(theirs), len(ours), around(theirs), around(ours))
}
