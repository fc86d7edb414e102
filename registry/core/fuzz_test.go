package core

import (
	"encoding/json"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// FuzzPod: every pod that can be decoded can be defaulted, validated, compared and printed without
// a panic.
func FuzzPod(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","projected":{"sources":[{}]}}]}}`), []byte(`{}`))
	f.Add([]byte(`{"spec":{"schedulingGates":[{"name":"g"}],"affinity":{"podAffinity":{},"nodeAffinity":{}}}}`),
		[]byte(`{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}}}}}`))
	f.Add([]byte(`{"spec":{"os":{"name":"windows"},"securityContext":{"windowsOptions":{"hostProcess":true}},"resources":{}}}`),
		[]byte(`{"status":{"containerStatuses":[{"state":{"terminated":{}}}],"podIPs":[{}]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		pod, old := new(corev1.Pod), new(corev1.Pod)
		if json.Unmarshal(a, pod) != nil || json.Unmarshal(b, old) != nil {
			return
		}
		checktest.Scheme().Default(pod)
		checktest.Scheme().Default(old)
		r := pods(Config{})
		podspec.Warnings(nil, &pod.Spec, &pod.ObjectMeta)
		podCells(pod, testTime)
		update(&r, "status", scheme.DeepCopy(pod), old)
		update(&r, "", scheme.DeepCopy(pod), old)
		create(&r, pod)
	})
}

func FuzzService(f *testing.F) {
	f.Add([]byte(`{"spec":{"clusterIP":"None","ports":[{"port":80}]}}`), []byte(`{"spec":{"type":"LoadBalancer"}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		svc, old := new(corev1.Service), new(corev1.Service)
		if json.Unmarshal(a, svc) != nil || json.Unmarshal(b, old) != nil {
			return
		}
		checktest.Scheme().Default(svc)
		checktest.Scheme().Default(old)
		r := services(Config{})
		serviceCells(svc, testTime)
		update(&r, "", scheme.DeepCopy(svc), old)
		create(&r, svc)
	})
}

func BenchmarkPodCreate(b *testing.B) {
	pod := new(corev1.Pod)
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"app:1","ports":[{"containerPort":80}],
		"env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"1","memory":"64Mi"}},"livenessProbe":{"httpGet":{"port":80}}}]}}`), pod); err != nil {
		b.Fatal(err)
	}
	checktest.Scheme().Default(pod)
	r := pods(Config{})
	b.ReportAllocs()
	for b.Loop() {
		if errs := create(&r, pod); len(errs) > 0 {
			b.Fatal(errs.ToAggregate())
		}
	}
}
