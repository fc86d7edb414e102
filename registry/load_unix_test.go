//go:build unix

package registry_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// manyPods is the number of pods that BenchmarkLoad loads.
const manyPods = 150_000

// completePod is a pod of 2 KiB that has all its defaults; %06d stands for its number.
const completePod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-%06d","generateName":"web-5d4f8c7b9d-","namespace":"ns",` +
	`"uid":"0b8e7c1e-5a0c-4b8e-9b1a-2f2f5d1c7a11","creationTimestamp":"2030-01-01T00:00:00Z","labels":{"app":"web","pod-template-hash":"5d4f8c7b9d"},` +
	`"annotations":{"checksum/config":"9f86d081884c7d659a2feaa0c55ad015"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet",` +
	`"name":"web-5d4f8c7b9d","uid":"b6a1d7de-3c1f-4f0e-9a51-8d3f7f5d0c10","controller":true,"blockOwnerDeletion":true}]},` +
	`"spec":{"volumes":[{"name":"config","configMap":{"name":"web","defaultMode":420}},{"name":"kube-api-access-x7k2p","projected":{"sources":[` +
	`{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},` +
	`{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],` +
	`"containers":[{"name":"web","image":"registry.example.com/web:1.2.3","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],` +
	`"env":[{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}},{"name":"LEVEL","value":"info"}],` +
	`"resources":{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},"volumeMounts":[` +
	`{"name":"config","mountPath":"/etc/web"},{"name":"kube-api-access-x7k2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],` +
	`"livenessProbe":{"httpGet":{"path":"/live","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},` +
	`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always",` +
	`"terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web","serviceAccount":"web","nodeName":"node-17",` +
	`"securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",` +
	`"tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running",` +
	`"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"startTime":"2030-01-01T00:00:00Z","qosClass":"Burstable"}}`

// defaulted has the defaults of completePod that lackingPod removes.
var defaulted = []string{
	`,"defaultMode":420`, `"apiVersion":"v1","fieldPath"`, `,"protocol":"TCP"`, `,"scheme":"HTTP"`, `"timeoutSeconds":1,`, `"periodSeconds":10,`,
	`"terminationMessagePath":"/dev/termination-log",`, `"terminationMessagePolicy":"File",`, `"restartPolicy":"Always",`,
	`"terminationGracePeriodSeconds":30,`, `"dnsPolicy":"ClusterFirst",`, `"serviceAccount":"web",`, `"securityContext":{},`,
	`"schedulerName":"default-scheduler",`, `"enableServiceLinks":true,`, `"podIPs":[{"ip":"10.0.0.1"}],`,
}

// lackingPod is completePod without one of its defaults.
func lackingPod(r *rand.Rand) string {
	gone := defaulted[r.IntN(len(defaulted))]
	if strings.HasPrefix(gone, `"apiVersion"`) {
		return strings.Replace(completePod, gone, `"fieldPath"`, 1)
	}
	return strings.Replace(completePod, gone, "", 1)
}

// podKind returns the kind of pods, with its codecs.
func podKind(tb testing.TB) (*kind.Types, *codec.Factory) {
	tb.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		tb.Fatal(err)
	}
	codecs := codec.NewFactory(s)
	return kind.NewTypes(s, codecs), codecs
}

// podEntries returns n stored pods; pod returns the text of each.
func podEntries(tb testing.TB, codecs *codec.Factory, n int, protobuf bool, pod func() string) []storage.Entry {
	tb.Helper()
	entries := make([]storage.Entry, n)
	for i := range entries {
		value := fmt.Appendf(nil, pod(), i)
		if protobuf {
			decoded, err := codecs.Decode(codec.DecodeRequest{Data: value})
			if err != nil {
				tb.Fatal(err)
			}
			if value, err = codec.AppendProto(nil, decoded.Object); err != nil {
				tb.Fatal(err)
			}
		}
		entries[i] = storage.Entry{Key: fmt.Sprintf("/registry/pods/ns/web-%06d", i), Value: value, Rev: 5}
	}
	return entries
}

// podFields are the fields of pods that field selectors may name.
var podFields = []registry.FieldValue{
	{Label: "spec.nodeName", Path: "spec.nodeName", Groups: true}, {Label: "spec.restartPolicy", Path: "spec.restartPolicy"},
	{Label: "spec.schedulerName", Path: "spec.schedulerName"}, {Label: "spec.serviceAccountName", Path: "spec.serviceAccountName"},
	{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Default: "false"}, {Label: "status.phase", Path: "status.phase"},
	{Label: "status.podIP", Path: "status.podIP"}, {Label: "status.nominatedNodeName", Path: "status.nominatedNodeName"},
}

// loadPods makes a Store over an engine, and returns when all pods are in its cache.
func loadPods(tb testing.TB, kinds *kind.Types, codecs *codec.Factory, engine *memory.Store, protobuf bool) (*registry.Store, func()) {
	c := cache.New(engine, cache.Config{})
	store, err := registry.New(&registry.Config{
		Kinds: kinds, Codecs: codecs, Cache: c, Leases: storage.NewLeases(engine, nil), Now: func() time.Time { return now }, Protobuf: protobuf,
	}, registry.Typed(registry.ResourceOf[*corev1.Pod]{
		GroupResource: meta.GroupResource{Resource: "pods"}, Kind: "Pod", Namespaced: true, Fields: podFields,
	}))
	if err != nil {
		tb.Fatal(err)
	}
	list, err := store.List(request.NewContext(tb.Context(), &request.Info{}), &request.ListRequest{Version: "v1"})
	if err != nil {
		tb.Fatal(err)
	}
	n := 0
	for range list.Items {
		n++
	}
	if n != manyPods {
		tb.Fatalf("loaded %d pods, want %d", n, manyPods)
	}
	return store, c.Close
}

// BenchmarkLoad loads pods that have all their defaults, and pods that each lack one. ns/op is
// wall-clock time, cpu-ms/op is the time on all processors.
func BenchmarkLoad(b *testing.B) {
	kinds, codecs := podKind(b)
	for _, protobuf := range []bool{false, true} {
		for _, lacks := range []int{0, 1} {
			b.Run(fmt.Sprintf("protobuf=%v/lacks=%d", protobuf, lacks), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				engine := memory.New(memory.Config{Rev: 5, Entries: podEntries(b, codecs, manyPods, protobuf, func() string {
					if lacks > 0 {
						return lackingPod(r)
					}
					return completePod
				})})
				defer engine.Close()
				var cpu time.Duration
				for b.Loop() {
					before := cpuTime(b)
					_, closing := loadPods(b, kinds, codecs, engine, protobuf)
					cpu += cpuTime(b) - before
					closing()
				}
				b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpuTime returns the time that this process has used on all processors.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
