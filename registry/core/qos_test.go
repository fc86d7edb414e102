package core

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func TestQOSClass(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"none", `{"containers":[{"name":"c"}]}`, "BestEffort"},
		{"some", `{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}`, "Burstable"},
		{"all", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}`, "Guaranteed"},
		{"one of two", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"d"}]}`, "Burstable"},
		{"less requested", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1m"}}}]}`, "Burstable"},
		{"zero", `{"containers":[{"name":"c","resources":{"requests":{"cpu":"0"}}}]}`, "BestEffort"},
		{"more requested", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"2","memory":"1Gi"}}}]}`, "Burstable"},
		{"zero limit", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"0","memory":"1Gi"}}}]}`, "Burstable"},
		{"no limit", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"1"},"requests":{"cpu":"1","memory":"1Gi"}}}]}`, "Burstable"},
		{"zero limits", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"0","memory":"0"}}}]}`, "BestEffort"},
		{"two", `{"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"d","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}`, "Guaranteed"},
		{"init container", `{"initContainers":[{"name":"i"}],"containers":[{"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}`, "Burstable"},
		{"empty pod level", `{"resources":{},"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}`, "BestEffort"},
		{"pod level requests", `{"resources":{"requests":{"cpu":"1"}},"containers":[{"name":"c"}]}`, "Burstable"},
		{"pod level", `{"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"containers":[{"name":"c"}]}`, "Guaranteed"},
	} {
		pod := checktest.Decode[corev1.Pod](t, `{"spec":`+tt.spec+`}`)
		if got := qosClass(&pod.Spec); string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
