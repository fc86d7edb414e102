package codec_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// prover asks a Peeker and a ProtoPeeker whether an object may lack something.
type prover struct {
	*scheme.Scheme
	codecs *codec.Factory
	needs  *codec.Needs
	json   map[meta.GroupVersionKind]*codec.Peeker
	proto  map[meta.GroupVersionKind]*codec.ProtoPeeker
}

func newProver(t testing.TB) *prover {
	s, f := allKinds(t)
	p := &prover{s, f, codec.NewNeeds(s.Needs), map[meta.GroupVersionKind]*codec.Peeker{}, map[meta.GroupVersionKind]*codec.ProtoPeeker{}}
	for _, gvk := range s.AllKinds() {
		p.json[gvk] = p.needs.Peeker(p.typ(gvk), none, "metadata.name", "spec.nodeName")
		p.proto[gvk] = p.needs.ProtoPeeker(p.typ(gvk), none, "spec.nodeName")
	}
	return p
}

func (p *prover) typ(gvk meta.GroupVersionKind) func() *typeinfo.Type {
	return func() *typeinfo.Type { return p.Type(gvk) }
}

// none returns the further needs of a kind: none.
func none() []typeinfo.Need { return nil }

// kinds returns the kinds of objects with metadata.
func (p *prover) kinds() []meta.GroupVersionKind {
	return slices.DeleteFunc(p.AllKinds(), func(gvk meta.GroupVersionKind) bool {
		obj, err := p.NewObject(gvk)
		_, ok := obj.(meta.Object)
		return err != nil || !ok
	})
}

// lacks reports whether encoded data may lack something.
func (p *prover) lacks(gvk meta.GroupVersionKind, data []byte) bool {
	var peek codec.Peek
	if codec.IsProtobuf(data) {
		return p.proto[gvk].Peek(data, &peek) != nil || peek.MayNeedDefaults
	}
	return p.json[gvk].Peek(data, &peek) != nil || peek.MayNeedDefaults
}

// check fails the test if a peek proves that data lacks nothing, but defaulting changes the object.
// It reports whether there was a proof.
func (p *prover) check(t testing.TB, gvk meta.GroupVersionKind, data []byte) bool {
	t.Helper()
	if p.lacks(gvk, data) {
		return false
	}
	req := codec.DecodeRequest{Data: data, Default: gvk}
	if codec.IsProtobuf(data) {
		req.Type = codec.Protobuf
	}
	decoded, err := p.codecs.Decode(req)
	if err != nil || decoded.GVK != gvk {
		return false
	}
	was := scheme.Copy(decoded.Object)
	p.Default(decoded.Object)
	before, _ := codec.AppendJSON(nil, was)
	after, _ := codec.AppendJSON(nil, decoded.Object)
	if !scheme.EqualObjects(was, decoded.Object) || !bytes.Equal(before, after) {
		t.Fatalf("%v: %q\nwas proven to lack nothing, but completing changed\n%s\nto\n%s", gvk, data, before, after)
	}
	return true
}

// checkBoth checks an object as JSON and as protobuf.
func (p *prover) checkBoth(t testing.TB, gvk meta.GroupVersionKind, text []byte) (proofs int) {
	t.Helper()
	if p.check(t, gvk, text) {
		proofs++
	}
	decoded, err := p.codecs.Decode(codec.DecodeRequest{Data: text, Default: gvk})
	if err != nil || decoded.GVK != gvk {
		return proofs
	}
	if data, err := codec.AppendProto(nil, decoded.Object); err == nil && p.check(t, gvk, data) {
		proofs++
	}
	return proofs
}

// completed returns a random object after defaulting.
func (p *prover) completed(t testing.TB, gvk meta.GroupVersionKind, seed uint64, density float64) meta.Typed {
	obj, err := p.NewObject(gvk)
	if err != nil {
		t.Fatal(err)
	}
	filler := sample.New(seed)
	filler.Density = density
	filler.Fill(obj)
	obj.GetTypeMeta().SetGroupVersionKind(gvk)
	p.Default(obj)
	return obj
}

// spoil removes some members of a tree, or empties them.
func spoil(r *rand.Rand, tree any, chance float64) {
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch {
			case key == "kind" || key == "apiVersion" || r.Float64() > chance:
				spoil(r, v[key], chance)
			case r.IntN(3) > 0:
				delete(v, key)
			default:
				v[key] = []any{nil, "", 0, false, map[string]any{}, []any{}, -1, "0.0001", []any{nil}}[r.IntN(9)]
			}
		}
	case []any:
		for _, e := range v {
			spoil(r, e, chance)
		}
	}
}

// TestProofs removes fields from completed objects of every kind and version: if an object is
// proven to lack nothing, defaulting does not change it.
func TestProofs(t *testing.T) {
	p := newProver(t)
	proofs := 0
	for _, gvk := range p.kinds() {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 7))
			text, err := codec.AppendJSON(nil, p.completed(t, gvk, seed, float64(seed%4)*0.25))
			if err != nil {
				t.Fatal(err)
			}
			proofs += p.checkBoth(t, gvk, text)
			for range 12 {
				var tree map[string]any
				if err := json.Unmarshal(text, &tree); err != nil {
					t.Fatal(err)
				}
				spoil(r, tree, []float64{0.003, 0.02, 0.1, 0.4}[r.IntN(4)])
				spoiled, err := json.Marshal(tree)
				if err != nil {
					t.Fatal(err)
				}
				proofs += p.checkBoth(t, gvk, spoiled)
			}
		}
	}
	t.Logf("%d proofs", proofs)
	if proofs < 1000 {
		t.Errorf("got %d proofs, which say little", proofs)
	}
}

// unproven are the kinds of which an object with only a name and its defaults is not proven
// complete.
var unproven = []string{
	"CSIDriver", "CustomResourceDefinition", "FlowSchema", "HorizontalPodAutoscaler", "MutatingAdmissionPolicy", "PriorityClass",
	"TokenRequest", "ValidatingAdmissionPolicy",
}

// TestBareKinds: for all other kinds there is a proof. The kinds in unproven have defaults whose
// needs are unknown. A CustomResourceDefinition with only a name is not complete.
func TestBareKinds(t *testing.T) {
	p := newProver(t)
	var got []string
	for _, gvk := range p.kinds() {
		obj, err := p.NewObject(gvk)
		if err != nil {
			t.Fatal(err)
		}
		obj.(meta.Object).GetObjectMeta().Name = "a"
		obj.GetTypeMeta().SetGroupVersionKind(gvk)
		p.Default(obj)
		text, _ := codec.AppendJSON(nil, obj)
		data, err := codec.AppendProto(nil, obj)
		if p.lacks(gvk, text) || err == nil && p.lacks(gvk, data) {
			got = append(got, gvk.Kind)
		}
	}
	if slices.Sort(got); !slices.Equal(got, unproven) {
		t.Errorf("got %q, want %q", got, unproven)
	}
}

// typical are objects that clusters have many of, before defaulting.
var typical = map[string]string{
	"/v1 Pod": `{"metadata":{"name":"a","annotations":{"b":"c"}},"spec":{"serviceAccountName":"default","containers":[{"name":"c","image":"i:1",
		"ports":[{"containerPort":80}],"env":[{"name":"e","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"f","value":"g"}],
		"resources":{"limits":{"cpu":"1","memory":"64Mi"},"requests":{"cpu":"100m","memory":"32Mi"}},
		"livenessProbe":{"httpGet":{"path":"/","port":80}},"readinessProbe":{"exec":{"command":["true"]}},
		"volumeMounts":[{"name":"t","mountPath":"/t"}]}],"initContainers":[{"name":"i","image":"j","resources":{"limits":{"cpu":"1"}}}],
		"volumes":[{"name":"t","projected":{"sources":[{"serviceAccountToken":{"path":"token"}},{"configMap":{"name":"k"}},
			{"downwardAPI":{"items":[{"path":"n","fieldRef":{"fieldPath":"metadata.namespace"}}]}}]}},
			{"name":"s","secret":{"secretName":"s"}},{"name":"m","configMap":{"name":"m"}},{"name":"h","hostPath":{"path":"/h"}},{"name":"e"}]},
		"status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"},{"ip":"::1"}],"containerStatuses":[{"name":"c","ready":true,
			"restartCount":0,"image":"i","imageID":"i","allocatedResources":{"cpu":"1"},"resources":{"limits":{"cpu":"1"}}}]}}`,
	"/v1 Service":               `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80},{"port":81,"targetPort":"web"}],"clusterIP":"10.0.0.1"}}`,
	"/v1 Endpoints":             `{"metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}]}`,
	"/v1 Secret":                `{"metadata":{"name":"a"},"data":{"a":"YQ=="}}`,
	"/v1 Node":                  `{"metadata":{"name":"a"},"spec":{"podCIDR":"10.0.0.0/24"},"status":{"capacity":{"cpu":"4"}}}`,
	"/v1 ReplicationController": `{"metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
	"/v1 PersistentVolume":      `{"metadata":{"name":"a"},"spec":{"capacity":{"storage":"1Gi"},"csi":{"driver":"d","volumeHandle":"h"}}}`,
	"/v1 PersistentVolumeClaim": `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"capacity":{"storage":"1Gi"}}}`,
	"/v1 ResourceQuota":         `{"metadata":{"name":"a"},"spec":{"hard":{"pods":"10"}},"status":{"hard":{"pods":"10"},"used":{"pods":"1"}}}`,
	"apps/v1 Deployment": `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
		"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]}}}}`,
	"apps/v1 ReplicaSet": `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
		"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
	"apps/v1 DaemonSet": `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
		"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"i"}]}}}}`,
	"apps/v1 StatefulSet": `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
		"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
	"batch/v1 Job":     `{"metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`,
	"batch/v1 CronJob": `{"metadata":{"name":"a"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`,
	"discovery.k8s.io/v1 EndpointSlice": `{"metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],
		"ports":[{"port":80},{"name":"x","port":81,"protocol":"UDP"}]}`,
	"rbac.authorization.k8s.io/v1 RoleBinding": `{"metadata":{"name":"a"},"roleRef":{"kind":"Role","name":"r"},
		"subjects":[{"kind":"ServiceAccount","name":"s"},{"kind":"User","name":"u"}]}`,
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": `{"metadata":{"name":"a"},"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"Group","name":"g"}]}`,
	"networking.k8s.io/v1 NetworkPolicy":              `{"metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[{"ports":[{"port":80}]}]}}`,
	"resource.k8s.io/v1 ResourceClaim":                `{"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}}}`,
	"resource.k8s.io/v1 ResourceSlice":                `{"metadata":{"name":"a"},"spec":{"devices":[{"name":"d","capacity":{"m":{"value":"1Gi"}}}]}}`,
	"apiextensions.k8s.io/v1 CustomResourceDefinition": `{"metadata":{"name":"a"},"spec":{"names":{"kind":"A","plural":"as"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"}}}}}]}}`,
	"/v1 Event":                    `{"metadata":{"name":"a"},"involvedObject":{"kind":"Pod"}}`,
	"/v1 ConfigMap":                `{"metadata":{"name":"a"},"data":{"a":"b"}}`,
	"coordination.k8s.io/v1 Lease": `{"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":1}}`,
}

// kindOf parses a key of typical.
func kindOf(name string) meta.GroupVersionKind {
	apiVersion, kind, _ := strings.Cut(name, " ")
	gv, _ := meta.ParseGroupVersion(strings.TrimPrefix(apiVersion, "/"))
	return gv.WithKind(kind)
}

// TestTypicalProofs: completed objects of common kinds are proven complete. An object without one
// of their members is proven complete only if defaulting does not change it.
func TestTypicalProofs(t *testing.T) {
	p := newProver(t)
	for name, text := range typical {
		gvk := kindOf(name)
		decoded, err := p.codecs.Decode(codec.DecodeRequest{Data: []byte(text), Default: gvk})
		if err != nil {
			t.Fatal(name, err)
		}
		p.Default(decoded.Object)
		complete, _ := codec.AppendJSON(nil, decoded.Object)
		if got := p.checkBoth(t, gvk, complete); got != 2 {
			t.Errorf("%s: %s\nis not proven to be complete: got %d proofs, want 2", name, complete, got)
		}
		eachWithout(t, complete, func(less []byte) { p.checkBoth(t, gvk, less) })
	}
}

// TestCutShort cuts complete objects at each byte. Peek returns an error, or reports that something
// may be missing, or the rest lacks nothing.
func TestCutShort(t *testing.T) {
	p := newProver(t)
	for name, text := range typical {
		gvk := kindOf(name)
		decoded, err := p.codecs.Decode(codec.DecodeRequest{Data: []byte(text), Default: gvk})
		if err != nil {
			t.Fatal(name, err)
		}
		p.Default(decoded.Object)
		complete, _ := codec.AppendJSON(nil, decoded.Object)
		data, _ := codec.AppendProto(nil, decoded.Object)
		for _, whole := range [][]byte{complete, data} {
			for n := range whole {
				p.check(t, gvk, whole[:n:n])
			}
		}
	}
}

// eachWithout calls f with an object without one of its members, for each member at any depth.
func eachWithout(t testing.TB, text []byte, f func([]byte)) {
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				was := v[key]
				walk(was)
				delete(v, key)
				less, err := json.Marshal(tree)
				if err != nil {
					t.Fatal(err)
				}
				f(less)
				v[key] = was
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
}

// TestProofAllocations: looking for missing values allocates nothing.
func TestProofAllocations(t *testing.T) {
	p := newProver(t)
	for _, name := range []string{"/v1 Pod", "apps/v1 Deployment", "/v1 ConfigMap"} {
		gvk := kindOf(name)
		decoded, err := p.codecs.Decode(codec.DecodeRequest{Data: []byte(typical[name]), Default: gvk})
		if err != nil {
			t.Fatal(err)
		}
		p.Default(decoded.Object)
		text, _ := codec.AppendJSON(nil, decoded.Object)
		data, _ := codec.AppendProto(nil, decoded.Object)
		var peek codec.Peek
		if got := testing.AllocsPerRun(100, func() {
			if p.json[gvk].Peek(text, &peek) != nil || peek.MayNeedDefaults || p.proto[gvk].Peek(data, &peek) != nil || peek.MayNeedDefaults {
				t.Fatal("no proof")
			}
		}); got != 0 {
			t.Errorf("%s: got %v allocations, want none", name, got)
		}
	}
}

// FuzzProof looks for bytes that are wrongly proven to lack nothing.
func FuzzProof(f *testing.F) {
	p := newProver(f)
	kinds := slices.Sorted(maps.Keys(typical))
	for i, name := range kinds {
		gvk := kindOf(name)
		decoded, err := p.codecs.Decode(codec.DecodeRequest{Data: []byte(typical[name]), Default: gvk})
		if err != nil {
			f.Fatal(err)
		}
		p.Default(decoded.Object)
		text, _ := codec.AppendJSON(nil, decoded.Object)
		f.Add(uint8(i), text)
		if data, err := codec.AppendProto(nil, decoded.Object); err == nil {
			f.Add(uint8(i), data)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		p.check(t, kindOf(kinds[int(i)%len(kinds)]), data)
	})
}
