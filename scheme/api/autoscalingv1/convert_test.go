package autoscalingv1_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schemetest"
)

func newScheme(t *testing.T) *scheme.Scheme {
	t.Helper()
	s := scheme.New()
	autoscalingv2.Scheme.AddToScheme(s)
	autoscalingv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRoundTrip: this version loses nothing on the way to the hub and back. The objects have a
// target, because conversion adds a missing one, and no measurement, because conversion also writes
// it into an annotation.
func TestRoundTrip(t *testing.T) {
	schemetest.RoundTrip(t, newScheme(t), func(obj meta.Object) {
		if a, ok := obj.(*autoscalingv1.HorizontalPodAutoscaler); ok {
			a.Spec.TargetCPUUtilizationPercentage, a.Status.CurrentCPUUtilizationPercentage = new(int32(70)), nil
		}
	})
}

func convert[T meta.Typed](t *testing.T, s *scheme.Scheme, obj meta.Typed, gv meta.GroupVersion) T {
	t.Helper()
	out, err := s.ConvertTo(obj, gv)
	if err != nil {
		t.Fatal(err)
	}
	return out.(T)
}

func decode[T any](t *testing.T, text string) *T {
	t.Helper()
	obj := new(T)
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return obj
}

// full is an autoscaler with everything that autoscaling/v1 keeps in annotations.
const full = `{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","metadata":{"name":"a","annotations":{"own":"x","autoscaling.alpha.kubernetes.io/behavior":"stale"}},
	"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"minReplicas":2,"maxReplicas":9,"metrics":[
		{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1Gi"}}},
		{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","target":{"type":"Utilization","averageUtilization":60}}},
		{"type":"Pods","pods":{"metric":{"name":"p","selector":{"matchLabels":{"a":"<b>"}}},"target":{"type":"AverageValue","averageValue":"5"}}},
		{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s","apiVersion":"v1"},"metric":{"name":"o"},"target":{"type":"Value","value":"6"}}},
		{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"o"},"target":{"type":"AverageValue","averageValue":"7"}}},
		{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"o"},"target":{"type":"AverageValue","value":"1","averageValue":"7"}}},
		{"type":"External","external":{"metric":{"name":"e","selector":{}},"target":{"type":"Value","value":"8"}}},
		{"type":"External","external":{"metric":{"name":"e"},"target":{"type":"AverageValue","averageValue":"9"}}},
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}],
	"behavior":{"scaleUp":{"stabilizationWindowSeconds":3,"selectPolicy":"Min","policies":[{"type":"Pods","value":4,"periodSeconds":5}],"tolerance":"50m"}}},
	"status":{"observedGeneration":3,"lastScaleTime":"2024-02-29T12:00:00Z","currentReplicas":4,"desiredReplicas":5,"currentMetrics":[
		{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":40,"averageValue":"100m"}}},
		{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","current":{"averageValue":"1"}}},
		{"type":"Pods","pods":{"metric":{"name":"p"},"current":{"averageValue":"2"}}},
		{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"o"},"current":{"value":"3","averageValue":"4"}}},
		{"type":"External","external":{"metric":{"name":"e"},"current":{"value":"5","averageValue":"6"}}}],
	"conditions":[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-02-29T12:00:00Z","reason":"R","message":"m"}]}}`

// TestAnnotations: the annotations equal those of kube-apiserver, byte for byte.
func TestAnnotations(t *testing.T) {
	s := newScheme(t)
	hub := decode[autoscalingv2.HorizontalPodAutoscaler](t, full)
	v1 := convert[*autoscalingv1.HorizontalPodAutoscaler](t, s, scheme.Copy(hub), autoscalingv1.GroupVersion)
	for key, want := range map[string]string{
		"own": "x",
		"autoscaling.alpha.kubernetes.io/metrics": `[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},` +
			`{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":60,"container":"c"}},` +
			`{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"5","selector":{"matchLabels":{"a":"\u003cb\u003e"}}}},` +
			`{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"o","targetValue":"6"}},` +
			`{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"o","targetValue":"0","averageValue":"7"}},` +
			`{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"o","targetValue":"1","averageValue":"7"}},` +
			`{"type":"External","external":{"metricName":"e","metricSelector":{},"targetValue":"8"}},` +
			`{"type":"External","external":{"metricName":"e","targetAverageValue":"9"}}]`,
		"autoscaling.alpha.kubernetes.io/behavior": `{"ScaleUp":{"StabilizationWindowSeconds":3,"SelectPolicy":"Min",` +
			`"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":5}],"Tolerance":"50m"},"ScaleDown":null}`,
		"autoscaling.alpha.kubernetes.io/current-metrics": `[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"100m"}},` +
			`{"type":"ContainerResource","containerResource":{"name":"cpu","currentAverageValue":"1","container":"c"}},` +
			`{"type":"Pods","pods":{"metricName":"p","currentAverageValue":"2"}},` +
			`{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"o","currentValue":"3","averageValue":"4"}},` +
			`{"type":"External","external":{"metricName":"e","currentValue":"5","currentAverageValue":"6"}}]`,
		"autoscaling.alpha.kubernetes.io/conditions": `[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-02-29T12:00:00Z","reason":"R","message":"m"}]`,
	} {
		if got := v1.Annotations[key]; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", key, got, want)
		}
	}
	if len(v1.Annotations) != 5 || *v1.Spec.TargetCPUUtilizationPercentage != 50 || *v1.Status.CurrentCPUUtilizationPercentage != 40 {
		t.Errorf("got %+v", v1)
	}
	back := convert[*autoscalingv2.HorizontalPodAutoscaler](t, s, v1, autoscalingv2.GroupVersion)
	delete(hub.Annotations, "autoscaling.alpha.kubernetes.io/behavior")
	if !reflect.DeepEqual(back, hub) && !scheme.Equal(back, hub) {
		got, _ := json.Marshal(back)
		want, _ := json.Marshal(hub)
		t.Errorf("round trip:\ngot  %s\nwant %s", got, want)
	}
}

func TestToHub(t *testing.T) {
	s := newScheme(t)
	const cpu = `{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":`
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", `{}`, `"metrics":[` + cpu + `80}}}]`},
		{"CPU", `{"spec":{"targetCPUUtilizationPercentage":7}}`, `"metrics":[` + cpu + `7}}}]`},
		{"CPU comes last", `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"targetAverageUtilization\":5}}]"}},
			"spec":{"targetCPUUtilizationPercentage":7}}`, `"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":5}}},` + cpu + `7}}}]`},
		{"no JSON", `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"x","autoscaling.alpha.kubernetes.io/behavior":"{}",
			"autoscaling.alpha.kubernetes.io/current-metrics":"x","autoscaling.alpha.kubernetes.io/conditions":"x"}},"status":{"currentCPUUtilizationPercentage":3}}`,
			`"metrics":[` + cpu + `80}}}]},"status":{"desiredReplicas":0,"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":3}}}]}`},
		{"measurements of annotations", `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/current-metrics":"[]"}},"status":{"currentCPUUtilizationPercentage":3}}`,
			`"status":{"desiredReplicas":0,"currentMetrics":[]}`},
	} {
		v1 := decode[autoscalingv1.HorizontalPodAutoscaler](t, tt.in)
		v1.SetGroupVersionKind(autoscalingv1.GroupVersion.WithKind("HorizontalPodAutoscaler"))
		hub := convert[*autoscalingv2.HorizontalPodAutoscaler](t, s, v1, autoscalingv2.GroupVersion)
		got, err := json.Marshal(hub)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), tt.want) || len(hub.Annotations) > 0 {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestFromHub: autoscaling/v1 shows the first target for CPU and the last measurement of CPU.
func TestFromHub(t *testing.T) {
	s := newScheme(t)
	hub := decode[autoscalingv2.HorizontalPodAutoscaler](t, `{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","spec":{"metrics":[
		{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":1}}},{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":2}}}]},
		"status":{"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":3}}},
			{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":4}}},{"type":"Resource","resource":{"name":"cpu","current":{}}},{"type":"Resource"}]}}`)
	v1 := convert[*autoscalingv1.HorizontalPodAutoscaler](t, s, hub, autoscalingv1.GroupVersion)
	if *v1.Spec.TargetCPUUtilizationPercentage != 1 || *v1.Status.CurrentCPUUtilizationPercentage != 4 || len(v1.Annotations) != 1 {
		t.Errorf("got %+v", v1)
	}
	plain := &autoscalingv2.HorizontalPodAutoscaler{}
	plain.SetGroupVersionKind(autoscalingv2.GroupVersion.WithKind("HorizontalPodAutoscaler"))
	if v1 := convert[*autoscalingv1.HorizontalPodAutoscaler](t, s, plain, autoscalingv1.GroupVersion); v1.Annotations != nil {
		t.Errorf("annotations: got %v, want none", v1.Annotations)
	}
}
