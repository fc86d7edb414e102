package server_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/apps"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/patch"
)

// realSpec is a realistic spec of a pod: two containers with probes, volumes and resources, and an
// init container.
const realSpec = `{"serviceAccountName":"web","nodeSelector":{"disk":"ssd"},"initContainers":[{"name":"migrate","image":"registry.example.com/shop/web:v1.14.2",` +
	`"command":["/bin/web","migrate"],"envFrom":[{"secretRef":{"name":"database"}}]}],"containers":[{"name":"web","image":"registry.example.com/shop/web:v1.14.2",` +
	`"args":["--listen=:8080","--metrics=:9090"],"ports":[{"name":"http","containerPort":8080},{"name":"metrics","containerPort":9090}],` +
	`"env":[{"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"LEVEL","value":"info"},` +
	`{"name":"PASSWORD","valueFrom":{"secretKeyRef":{"name":"database","key":"password"}}}],` +
	`"resources":{"limits":{"cpu":"1","memory":"512Mi"},"requests":{"cpu":"250m","memory":"256Mi"}},` +
	`"livenessProbe":{"httpGet":{"path":"/livez","port":"http"},"periodSeconds":20},"readinessProbe":{"httpGet":{"path":"/readyz","port":"http"}},` +
	`"volumeMounts":[{"name":"config","mountPath":"/etc/web","readOnly":true},{"name":"cache","mountPath":"/var/cache/web"}],` +
	`"securityContext":{"runAsNonRoot":true,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}},` +
	`{"name":"proxy","image":"registry.example.com/mesh/proxy:v3","resources":{"requests":{"cpu":"50m","memory":"64Mi"}}}],` +
	`"volumes":[{"name":"config","configMap":{"name":"web"}},{"name":"cache","emptyDir":{}}],"tolerations":[{"key":"spot","operator":"Exists"}],` +
	`"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":` +
	`{"labelSelector":{"matchLabels":{"app":"web"}},"topologyKey":"kubernetes.io/hostname"}}]}}}`

// steps are the steps of a write of an object, without transport and storage. allocs has the
// largest number of allocations of each, which is a little more than the measured number.
var steps = []struct {
	kind   meta.GroupVersionKind
	body   string
	change string // a strategic merge patch; it has no lists, so that it is a JSON merge patch as well
	allocs map[string]float64
}{
	{
		corev1.GroupVersion.WithKind("Pod"),
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"shop","labels":{"app":"web"}},"spec":` + realSpec + `}`,
		`{"metadata":{"labels":{"release":"v2"}}}`,
		map[string]float64{"decode": 70, "copy": 45, "default": 51, "encode": 14, "create": 36, "update": 36, "warn": 40, "strategic": 36, "merge": 4},
	},
	{
		appsv1.GroupVersion.WithKind("Deployment"),
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"replicas":3,` +
			`"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":` + realSpec + `}}}`,
		`{"metadata":{"annotations":{"note":"two"}},"spec":{"replicas":5}}`,
		map[string]float64{"decode": 77, "copy": 51, "default": 61, "encode": 18, "create": 42, "update": 42, "warn": 42, "strategic": 45, "merge": 4},
	},
}

// stepsOf returns the functions of the steps of a write, by name.
func stepsOf(tb testing.TB, gvk meta.GroupVersionKind, body, change string) map[string]func() {
	tb.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	appsv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		tb.Fatal(err)
	}
	k := kind.NewTypes(s, codec.NewFactory(s)).Kind(gvk.GroupKind())
	var strategy registry.Strategy
	for _, r := range append(core.Resources(core.Config{}), apps.Resources(podspec.Rules{})...) {
		if r.Kind == gvk.Kind {
			strategy = r.Strategy
		}
	}
	decode := func() meta.Object {
		d, err := k.Decode(codec.DecodeRequest{Data: []byte(body), Strict: true, Shared: true})
		if err != nil || len(d.Strict) > 0 {
			tb.Fatal(d.Strict, err)
		}
		return d.Object.(meta.Object)
	}
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	bare, obj, old := decode(), decode(), decode()
	must(k.Default(context.Background(), obj))
	must(k.Default(context.Background(), old))
	stored, err := k.Append(nil, obj, codec.Media{})
	must(err)
	buf := make([]byte, 0, 2*len(stored))
	typ := kind.In(k, gvk.Version).Type()
	return map[string]func(){
		"decode":  func() { decode() },
		"copy":    func() { scheme.Copy(bare) },
		"default": func() { must(k.Default(context.Background(), scheme.Copy(bare))) },
		"encode":  func() { _, err := k.Append(buf, obj, codec.Media{}); must(err) },
		"create": func() {
			must(append(k.Check(context.Background(), obj, nil, gvk.Version), strategy.Validate(obj, nil)...).ToAggregate())
		},
		"update": func() {
			must(append(k.Check(context.Background(), obj, old, gvk.Version), strategy.Validate(obj, old)...).ToAggregate())
		},
		"warn":      func() { strategy.Warnings(obj, nil) },
		"strategic": func() { _, err := patch.Strategic(stored, []byte(change), typ, nil); must(err) },
		"merge":     func() { _, err := patch.Merge(stored, []byte(change), nil); must(err) },
	}
}

func BenchmarkStep(b *testing.B) {
	for _, of := range steps {
		for name, step := range stepsOf(b, of.kind, of.body, of.change) {
			b.Run(fmt.Sprintf("kind=%s/step=%s", of.kind.Kind, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					step()
				}
			})
		}
	}
}

// TestStepAllocations checks that each step allocates at most its allocs.
func TestStepAllocations(t *testing.T) {
	for _, of := range steps {
		for name, step := range stepsOf(t, of.kind, of.body, of.change) {
			got := math.Inf(1)
			for range 20 { // with the race detector, pools sometimes drop objects
				got = min(got, testing.AllocsPerRun(1, step))
			}
			if got > of.allocs[name] {
				t.Errorf("%s of a %s: got %v allocations, want at most %v", name, of.kind.Kind, got, of.allocs[name])
			}
		}
	}
}
