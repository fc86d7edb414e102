package differential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	kmeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"
)

// storedCount is the number of objects of each version.
const storedCount = 200

// neverStored are kinds with metadata that no server has ever stored.
const neverStored = `.*Review|.*Options|Binding|ComponentStatus|Eviction|PodStatusResult|Scale|TokenRequest`

// unknownKinds are kinds that Coracle does not serve, so that no client can read stored objects of
// them.
const unknownKinds = `ClusterTrustBundle|DeviceTaintRule|LeaseCandidate|PodCertificateRequest|PodGroup|ResourcePoolStatusRequest|` +
	`StorageVersion|StorageVersionMigration|Workload`

// judgedElsewhere is the version of a kind that TestStoredDefinitions judges, because Kubernetes
// keeps it in another scheme.
var judgedElsewhere = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1beta1", Kind: "CustomResourceDefinition"}

// movedKinds has, for kinds of an old group, the kind under whose keys their objects are stored and
// as which they are read.
var movedKinds = map[schema.GroupKind]schema.GroupKind{
	{Group: "extensions", Kind: "DaemonSet"}:     {Group: "apps", Kind: "DaemonSet"},
	{Group: "extensions", Kind: "Deployment"}:    {Group: "apps", Kind: "Deployment"},
	{Group: "extensions", Kind: "ReplicaSet"}:    {Group: "apps", Kind: "ReplicaSet"},
	{Group: "extensions", Kind: "Ingress"}:       {Group: "networking.k8s.io", Kind: "Ingress"},
	{Group: "extensions", Kind: "NetworkPolicy"}: {Group: "networking.k8s.io", Kind: "NetworkPolicy"},
	{Group: "events.k8s.io", Kind: "Event"}:      {Kind: "Event"},
}

// storedDifferences are the places at which objects may differ, as kind of the stored version and
// path.
const storedDifferences = `` +
	// Where a version has a pointer, Kubernetes' internal struct has a plain value, so an unset
	// field becomes 0. Only Deployments that cannot be created leave the field unset: they have the
	// strategy Recreate and a rollingUpdate.
	`Deployment\.v1(beta[12])?\.apps spec\.strategy\.rollingUpdate\..*|` +
	// Kubernetes has no defaults in this version. The field is younger than the last server that
	// stored it.
	`VolumeAttachment\.v1alpha1\.storage\.k8s\.io spec\.source\.inlineVolumeSpec\..*`

// storedKind is a kind in a version in which objects may be stored.
type storedKind struct {
	bothKind
	// of is the kind as which the objects are read. shown are the versions in which they are
	// served.
	of    schema.GroupKind
	shown []schema.GroupVersion
}

func (k storedKind) name() string { return k.Kind + "." + k.Version + "." + k.Group }

// TestStored has Kubernetes and Coracle read objects in every version that Kubernetes can still
// decode, served or not, and compares the objects in each served version.
func TestStored(t *testing.T) {
	all, examples := donors{}, oldExamples(t)
	for _, row := range rows {
		for _, example := range row.examples(t) {
			all.learn(goType(t, row.Kind), example)
		}
	}
	for gvk, list := range examples {
		for _, example := range list {
			all.learn(goType(t, gvk), example)
		}
	}
	for _, k := range storedKinds(t) {
		t.Run(k.name(), func(t *testing.T) {
			t.Parallel()
			judgeStored(t, k, all, examples[k.GroupVersionKind])
		})
	}
}

// storedKinds returns all kinds with metadata that Kubernetes decodes, in all versions.
func storedKinds(t *testing.T) (list []storedKind) {
	s := newOurs(t).scheme
	codecs := codec.NewFactory(s)
	for gvk := range legacyscheme.Scheme.AllKnownTypes() {
		obj, err := legacyscheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		_, err = kmeta.Accessor(obj)
		if err != nil || gvk.Version == runtime.APIVersionInternal || matches(neverStored, gvk.Kind) || gvk == judgedElsewhere {
			continue
		}
		k := storedKind{bothKind: bothKind{gvk, s, codecs}, of: gvk.GroupKind()}
		if moved, ok := movedKinds[k.of]; ok {
			k.of = moved
		}
		_, err = s.NewObject(k.our())
		switch excused := matches(unknownKinds, gvk.Kind); {
		case err == nil && excused:
			t.Errorf("%s is excused although it is known", gvk)
		case err != nil && !excused:
			t.Errorf("%s: Kubernetes can decode it, and Coracle cannot", gvk)
		case err == nil:
			k.shown = servedVersions(s, k.of)
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b storedKind) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// servedVersions returns the versions of a kind that both sides serve.
func servedVersions(s *scheme.Scheme, gk schema.GroupKind) (list []schema.GroupVersion) {
	for _, gv := range s.VersionsOf(gk.Group) {
		if s.Recognizes(gv.WithKind(gk.Kind)) {
			list = append(list, schema.GroupVersion(gv))
		}
	}
	return list
}

// judgeStored compares made-up objects of one version.
func judgeStored(t *testing.T, k storedKind, all donors, examples []map[string]any) {
	f := k.fuzzer("stored")
	m := &mutator{rand: random("stored", k.String()), donors: all, tame: true}
	typ := reflect.TypeOf(k.empty(t)).Elem()
	found, readable := map[string]int{}, 0
	judge := func(data []byte) {
		differences, read := k.judge(t, data)
		if read {
			readable++
		}
		for path, example := range differences {
			if found[path]++; found[path] == 1 {
				t.Errorf("%s: %s", path, example)
			}
		}
	}
	both := func(obj map[string]any) {
		data := encode(obj)
		judge(data)
		if their, _, err := theirJSON.Decode(data, &k.GroupVersionKind, k.empty(t)); err == nil && k.hasProto(t) {
			their.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
			judge(k.write(t, theirProto, their))
		}
	}
	for _, example := range examples {
		both(example)
	}
	total := times(storedCount)
	for i := range total {
		both(m.sparse(t, k.bothKind, typ, i))
		both(m.incomplete(t, k.bothKind, typ, k.fuzzed(t, f, i)))
		if len(examples) > 0 {
			both(m.mutate(typ, tree(examples[i%len(examples)]).(map[string]any)))
		}
		if len(found) > 30 {
			t.Fatal("and more")
		}
	}
	if readable < total {
		t.Errorf("only %d objects of %d could be read", readable, total)
	}
}

// oldExamples returns the objects of old versions in testdata/stored.yaml: those whose conversion
// or defaults do more than rename.
func oldExamples(t *testing.T) map[schema.GroupVersionKind][]map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "stored.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[schema.GroupVersionKind][]map[string]any{}
	for _, document := range strings.Split(string(data), "\n---\n") {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(document), &obj); err != nil {
			t.Fatalf("%v: %s", err, document)
		}
		gvk := schema.FromAPIVersionAndKind(fmt.Sprint(obj["apiVersion"]), fmt.Sprint(obj["kind"]))
		if gvk.Kind != "CertificateSigningRequest" {
			list[gvk] = append(list[gvk], obj)
			continue
		}
		for _, request := range kubeletRequests(t) {
			made := tree(obj).(map[string]any)
			made["spec"].(map[string]any)["request"] = base64.StdEncoding.EncodeToString(request)
			list[gvk] = append(list[gvk], made)
		}
	}
	return list
}

// kubeletRequests returns certificate requests: as a kubelet makes them for its client and its
// serving certificate, and with one difference each.
func kubeletRequests(t *testing.T) (list [][]byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	node := pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}}
	for _, template := range []*x509.CertificateRequest{
		{Subject: node},
		{Subject: node, DNSNames: []string{"a"}},
		{Subject: node, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}},
		{Subject: node, EmailAddresses: []string{"a@example.com"}},
		{Subject: node, URIs: []*url.URL{{Scheme: "https", Host: "a"}}, DNSNames: []string{"a"}},
		{Subject: pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes", "more"}}},
		{Subject: pkix.Name{CommonName: "a", Organization: []string{"system:nodes"}}},
	} {
		der, err := x509.CreateCertificateRequest(cryptorand.Reader, template, key)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	}
	return append(list, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a")}), []byte("no PEM"))
}

// incomplete returns an object of theirs with defaults and removes some of them, because older
// servers did not have them.
func (m *mutator) incomplete(t *testing.T, k bothKind, typ reflect.Type, obj runtime.Object) map[string]any {
	sparse := tree(obj)
	if complete, err := k.completed(obj.DeepCopyObject()); err == nil {
		full := tree(complete).(map[string]any)
		m.takeOut(typ, full, sparse)
		sparse = full
	}
	made := sparse.(map[string]any)
	made["apiVersion"], made["kind"] = k.GroupVersion().String(), k.Kind
	return made
}

// takeOut removes random fields from a complete object, most often those that sparse lacks.
func (m *mutator) takeOut(typ reflect.Type, complete map[string]any, sparse any) {
	said := map[string]bool{}
	spots("", "", typ, sparse, func(s spot) { said[s.path] = s.here != nil })
	keep := 95 + 5*m.rand.IntN(2)
	var out []spot
	spots("", "", typ, complete, func(s spot) {
		if s.here != nil && s.remove != nil && (m.rand.IntN(100) >= keep || !said[s.path] && m.rand.IntN(2) == 0) {
			out = append(out, s)
		}
	})
	for _, s := range slices.Backward(out) {
		s.remove()
	}
}

// judge has both sides read stored bytes. It returns the places at which the objects differ, and
// whether both can read the bytes.
func (k storedKind) judge(t *testing.T, data []byte) (map[string]string, bool) {
	theirs, err := k.theirs(data)
	ours, ourErr := k.ours(data)
	if err != nil && ourErr != nil {
		return nil, false
	}
	if err != nil || ourErr != nil {
		return map[string]string{"decode": fmt.Sprintf("Kubernetes %v, Coracle %v, of %q", err, ourErr, data)}, false
	}
	found := map[string]string{}
	for _, gv := range k.shown {
		shown, err := legacyscheme.Scheme.ConvertToVersion(theirs, gv)
		if err != nil {
			t.Fatal(err)
		}
		shown.GetObjectKind().SetGroupVersionKind(gv.WithKind(k.of.Kind))
		fillBytes(shown)
		mine, err := k.scheme.ConvertTo(ours, meta.GroupVersion(gv))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if decode(k.write(t, theirJSON, shown), &a) != nil || decode(k.ourWrite(t, codec.JSON, mine), &b) != nil {
			t.Fatal("what was written is no JSON")
		}
		difference("", a, b, func(path string, a, b any) {
			if matches(storedDifferences, k.name()+" "+path) || strings.HasSuffix(path, ".timeAdded") && bothNow(a, b) {
				return
			}
			found[gv.Version+" "+pattern(path)] = fmt.Sprintf("Kubernetes %.300s, Coracle %.300s, of %q", encode(a), encode(b), data)
		})
	}
	return found, true
}

// theirs reads stored bytes as kube-apiserver does: decoded, with the defaults of the version, in
// the internal version.
func (k storedKind) theirs(data []byte) (obj runtime.Object, err error) {
	defer func() {
		if p := recover(); p != nil { // Kubernetes' defaults panic at some objects that can be stored
			err = fmt.Errorf("%v", p)
		}
	}()
	hub := schema.GroupVersion{Group: k.Group, Version: runtime.APIVersionInternal}
	return runtime.Decode(legacyscheme.Codecs.UniversalDecoder(hub), data)
}

// ours is theirs for Coracle.
func (k storedKind) ours(data []byte) (meta.Object, error) {
	d, err := k.codecs.DecodeStored(data)
	if err != nil {
		return nil, err
	}
	k.scheme.Default(d.Object)
	return k.scheme.ToHubKind(d.Object, meta.GroupKind(k.of))
}

// bothNow reports whether both values are times of this moment, at which the object was read.
func bothNow(a, b any) bool {
	for _, v := range []any{a, b} {
		text, _ := v.(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || time.Since(at).Abs() > time.Minute {
			return false
		}
	}
	return true
}
