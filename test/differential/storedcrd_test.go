package differential

import (
	"bytes"
	"fmt"
	"math/rand"
	randv2 "math/rand/v2"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	oursv1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extensionsfuzzer "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/fuzzer"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/randfill"
)

// storedDefinitions reads stored definitions on both sides.
type storedDefinitions struct {
	t       *testing.T
	rnd     *randv2.Rand
	theirs  serializer.CodecFactory
	storage runtime.Codec // kube-apiserver's form in the store: v1beta1, as JSON
	served  runtime.Encoder
	proto   *protobuf.Serializer
	ours    *scheme.Scheme
	codecs  *codec.Factory
	judged  int
}

// TestStoredDefinitions has both sides read definitions as kube-apiserver stores them, in v1beta1,
// and compares the definitions in v1: published definitions, made-up ones and fuzzed ones, whole
// and without some of the fields that have defaults, as JSON and as protobuf.
func TestStoredDefinitions(t *testing.T) {
	their := runtime.NewScheme()
	install.Install(their)
	d := &storedDefinitions{t: t, rnd: random("stored definitions"), theirs: serializer.NewCodecFactory(their), ours: newOurs(t).scheme}
	d.storage = d.theirs.LegacyCodec(crdv1beta1.SchemeGroupVersion, crdv1.SchemeGroupVersion)
	d.served = d.theirs.LegacyCodec(crdv1.SchemeGroupVersion)
	d.proto = protobuf.NewSerializer(their, their)
	d.codecs = codec.NewFactory(d.ours)

	for _, def := range publishedDefinitions(t) {
		d.judge(d.stored(def))
	}
	f := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(extensionsfuzzer.Funcs, metaFuncs, schemaFuncs, betaSchemaFuncs),
		rand.NewSource(d.rnd.Int64()), d.theirs)
	for range times(500) {
		d.judge(d.stored(d.madeUp()))
		d.judge(d.fuzzed(f))
	}
	t.Logf("%d definitions", d.judged)
}

// metaFuncs fuzz metadata with names and labels only.
func metaFuncs(serializer.CodecFactory) []any {
	return []any{func(o *metav1.ObjectMeta, c randfill.Continue) {
		o.Name, o.Labels = "a", map[string]string{"a": c.String(3)}
	}}
}

// betaSchemaFuncs is schemaFuncs for v1beta1.
func betaSchemaFuncs(serializer.CodecFactory) []any {
	return []any{func(s *crdv1beta1.JSONSchemaProps, c randfill.Continue) {
		var in apiextensions.JSONSchemaProps
		c.Fill(&in)
		_ = crdv1beta1.Convert_apiextensions_JSONSchemaProps_To_v1beta1_JSONSchemaProps(&in, s, nil) // fields that cannot be converted stay empty
	}}
}

// stored is a definition as kube-apiserver stores it.
func (d *storedDefinitions) stored(def *crdv1.CustomResourceDefinition) []byte {
	d.t.Helper()
	hub := &apiextensions.CustomResourceDefinition{}
	text := encode(def)
	if _, _, err := d.storage.Decode(text, nil, hub); err != nil {
		d.t.Fatalf("Kubernetes cannot read %s: %v", text, err)
	}
	data, err := runtime.Encode(d.storage, hub)
	if err != nil {
		d.t.Fatal(err)
	}
	return data
}

// madeUp makes a definition of one to three versions. Chance decides which parts the versions have
// in common.
func (d *storedDefinitions) madeUp() *crdv1.CustomResourceDefinition {
	def := &crdv1.CustomResourceDefinition{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
	def.Name, def.Spec.Group, def.Spec.Scope = "widgets.example.com", "example.com", oneOf(d.rnd, crdv1.ClusterScoped, crdv1.NamespaceScoped)
	def.Spec.Names = crdv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"}
	def.Spec.PreserveUnknownFields = chance(d.rnd, 4)
	same := [4]bool{chance(d.rnd, 2), chance(d.rnd, 2), chance(d.rnd, 2), chance(d.rnd, 2)}
	storage := d.rnd.IntN(3)
	for i := range 1 + d.rnd.IntN(3) {
		v := d.version(fmt.Sprint("v", i+1))
		if i > 0 {
			first := &def.Spec.Versions[0]
			if same[0] {
				v.Schema = first.Schema.DeepCopy()
			}
			if same[1] {
				v.Subresources = first.Subresources.DeepCopy()
			}
			if same[2] {
				v.AdditionalPrinterColumns = first.AdditionalPrinterColumns
			}
			if same[3] {
				v.SelectableFields = first.SelectableFields
			}
		}
		v.Storage = i == storage
		def.Spec.Versions = append(def.Spec.Versions, v)
	}
	if chance(d.rnd, 3) {
		hook := &crdv1.WebhookConversion{ConversionReviewVersions: pickSome(d.rnd, "v1", "v1beta1", "v2")}
		if !chance(d.rnd, 4) {
			hook.ClientConfig = &crdv1.WebhookClientConfig{CABundle: randomBytes(d.rnd, d.rnd.IntN(3)), URL: oneOf(d.rnd, nil, new(string))}
			if chance(d.rnd, 2) {
				hook.ClientConfig.Service = &crdv1.ServiceReference{Namespace: "ns", Name: "s", Path: oneOf(d.rnd, nil, new(string)), Port: oneOf(d.rnd, nil, new(int32))}
			}
		}
		def.Spec.Conversion = &crdv1.CustomResourceConversion{Strategy: oneOf(d.rnd, crdv1.WebhookConverter, crdv1.NoneConverter), Webhook: hook}
	}
	return def
}

// version makes a version of a definition.
func (d *storedDefinitions) version(name string) crdv1.CustomResourceDefinitionVersion {
	v := crdv1.CustomResourceDefinitionVersion{Name: name, Served: chance(d.rnd, 2), Deprecated: chance(d.rnd, 4), DeprecationWarning: oneOf(d.rnd, nil, nil, new(string))}
	if !chance(d.rnd, 6) {
		v.Schema = &crdv1.CustomResourceValidation{}
	}
	if v.Schema != nil && !chance(d.rnd, 10) {
		v.Schema.OpenAPIV3Schema = changeSchema(d.t, d.rnd, propsOf(d.t, randomSchema(d.rnd, 1)), d.rnd.IntN(6))
	}
	if chance(d.rnd, 2) {
		v.Subresources = &crdv1.CustomResourceSubresources{}
		if chance(d.rnd, 2) {
			v.Subresources.Status = &crdv1.CustomResourceSubresourceStatus{}
		}
		if chance(d.rnd, 2) {
			v.Subresources.Scale = &crdv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.n", LabelSelectorPath: oneOf(d.rnd, nil, new(string))}
		}
	}
	for range d.rnd.IntN(3) {
		v.AdditionalPrinterColumns = append(v.AdditionalPrinterColumns, crdv1.CustomResourceColumnDefinition{
			Name: "a", Type: "string", Format: oneOf(d.rnd, "", "f"), Priority: d.rnd.Int32N(2), JSONPath: oneOf(d.rnd, ".a", ".b"),
		})
	}
	for range d.rnd.IntN(3) {
		v.SelectableFields = append(v.SelectableFields, crdv1.SelectableField{JSONPath: oneOf(d.rnd, ".a", ".b")})
	}
	return v
}

// fuzzed makes an object of v1beta1, which need not be valid.
func (d *storedDefinitions) fuzzed(f *randfill.Filler) []byte {
	def := &crdv1beta1.CustomResourceDefinition{}
	f.Fill(def)
	def.APIVersion, def.Kind = "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"
	return encode(def)
}

// judge has both sides read an object: whole, and without some fields, as JSON and as protobuf.
func (d *storedDefinitions) judge(data []byte) {
	d.t.Helper()
	d.compare(data)
	d.compare(d.thinned(data))
}

// thinned removes some fields that have a default, or that may stand in a version or outside of the
// versions. It makes others empty.
func (d *storedDefinitions) thinned(data []byte) []byte {
	var def jsonObject
	if err := decode(data, &def); err != nil {
		d.t.Fatal(err)
	}
	at := func(path ...string) jsonObject {
		part := def
		for _, name := range path {
			part, _ = part[name].(jsonObject)
		}
		return part
	}
	for _, place := range []struct {
		part   jsonObject
		fields []string
	}{
		{at("spec"), []string{"scope", "version", "versions", "conversion", "preserveUnknownFields", "validation", "subresources", "additionalPrinterColumns",
			"selectableFields"}},
		{at("spec", "names"), []string{"singular", "listKind", "kind"}},
		{at("spec", "conversion"), []string{"strategy", "webhookClientConfig", "conversionReviewVersions"}},
		{at("spec", "conversion", "webhookClientConfig", "service"), []string{"port"}},
		{at("status"), []string{"storedVersions", "conditions"}},
		{def, []string{"status"}},
	} {
		for _, name := range place.fields {
			if place.part == nil || !chance(d.rnd, 4) {
				continue
			}
			delete(place.part, name)
			switch {
			case chance(d.rnd, 3):
				place.part[name] = nil
			case chance(d.rnd, 3) && (name == "versions" || name == "additionalPrinterColumns" || name == "selectableFields" || name == "conversionReviewVersions"):
				place.part[name] = []any{}
			}
		}
	}
	return encode(def)
}

// compare has both sides read an object, as JSON and as equivalent protobuf, and compares the
// results.
func (d *storedDefinitions) compare(data []byte) {
	d.t.Helper()
	d.one("JSON", data, data)
	their := &crdv1beta1.CustomResourceDefinition{}
	if decode(data, their) != nil {
		return
	}
	var message bytes.Buffer
	their.APIVersion, their.Kind = "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"
	if err := d.proto.Encode(their, &message); err != nil {
		d.t.Fatal(err)
	}
	d.one("protobuf", message.Bytes(), data)
}

func (d *storedDefinitions) one(form string, data, text []byte) {
	d.t.Helper()
	d.judged++
	theirs, err := d.theyShow(data)
	if err != nil {
		d.t.Fatalf("%s: Kubernetes cannot read %s: %v", form, text, err)
	}
	ours, err := d.weShow(data)
	if err != nil {
		d.t.Fatalf("%s: Coracle cannot read %s: %v", form, text, err)
	}
	difference("", theirs, ours, func(path string, theirs, ours any) {
		d.t.Errorf("%s: %s: Kubernetes has %s, Coracle %s: of %s", form, path, encode(theirs), encode(ours), text)
	})
	if d.t.Failed() {
		d.t.FailNow()
	}
}

// theyShow returns stored bytes as kube-apiserver serves them.
func (d *storedDefinitions) theyShow(data []byte) (any, error) {
	hub := &apiextensions.CustomResourceDefinition{}
	if _, _, err := d.storage.Decode(data, nil, hub); err != nil {
		return nil, err
	}
	text, err := runtime.Encode(d.served, hub)
	return treeOf(d.t, text), err
}

// weShow returns stored bytes as Coracle serves them.
func (d *storedDefinitions) weShow(data []byte) (any, error) {
	decoded, err := d.codecs.DecodeStored(data)
	if err != nil {
		return nil, err
	}
	d.ours.Default(decoded.Object)
	obj, err := d.ours.ConvertTo(decoded.Object, oursv1.GroupVersion)
	if err != nil {
		return nil, err
	}
	text, err := codec.AppendJSON(nil, obj)
	return treeOf(d.t, text), err
}

func treeOf(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := decode(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
