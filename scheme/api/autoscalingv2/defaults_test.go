package autoscalingv2_test

import (
	"encoding/json"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
)

func TestDefaults(t *testing.T) {
	s := scheme.New()
	autoscalingv2.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	const (
		plain = `"scaleTargetRef":{"kind":"","name":""},`
		cpu   = `"maxReplicas":0,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]`
		down  = `"scaleDown":{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}`
	)
	for in, want := range map[string]string{
		`{}`: `{` + plain + `"minReplicas":1,` + cpu + `}`,
		`{"minReplicas":3,"metrics":[{"type":"Pods"}]}`: `{` + plain + `"minReplicas":3,"maxReplicas":0,"metrics":[{"type":"Pods"}]}`,
		`{"behavior":{}}`: `{` + plain + `"minReplicas":1,` + cpu + `,"behavior":{"scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Max",` +
			`"policies":[{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]},` + down + `}}`,
		`{"behavior":{"scaleUp":{"stabilizationWindowSeconds":9,"selectPolicy":"Min","policies":[]},"scaleDown":{"stabilizationWindowSeconds":8}}}`: `{` + plain + `"minReplicas":1,` + cpu +
			`,"behavior":{"scaleUp":{"stabilizationWindowSeconds":9,"selectPolicy":"Min"},"scaleDown":{"stabilizationWindowSeconds":8,` + down[len(`"scaleDown":{`):] + `}}`,
	} {
		a := &autoscalingv2.HorizontalPodAutoscaler{}
		if err := json.Unmarshal([]byte(in), &a.Spec); err != nil {
			t.Fatal(err)
		}
		s.Default(a)
		got, err := json.Marshal(a.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, want)
		}
	}
}
