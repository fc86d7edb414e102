package audit_test

import (
	"os"
	"testing"

	"github.com/coracle-project/coracle/filters/audit"
)

// TestPolicyToStartWith: docs/operating/audit-policy.yaml decides as its comments and
// docs/operating.md say.
func TestPolicyToStartWith(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating/audit-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := audit.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	const node, manager = "system:node:n1,system:nodes", "system:kube-controller-manager"
	for asked, want := range map[string]audit.Level{
		"bob get /healthz": audit.None, "- get /livez/ping": audit.None, "bob get /readyz": audit.None,
		"bob get /metrics": audit.None, "bob get /metrics/slis": audit.None, "bob get /version": audit.None,
		"bob get /openapi/v3": audit.None, "bob get /apis/apps/v1": audit.None, "bob get /api": audit.None,
		"bob put /debug/flags/v": audit.Metadata, "bob get /logs/": audit.Metadata, "- get /secrets": audit.Metadata,

		node + " update leases.coordination.k8s.io in kube-node-lease named n1": audit.None,
		node + " patch nodes/status named n1":                                   audit.None,
		node + " patch nodes named n1":                                          audit.Request,
		node + " get secrets in a named b":                                      audit.Metadata,
		"bob patch nodes/status named n1":                                       audit.Request,
		"bob update leases.coordination.k8s.io in a named b":                    audit.Request,
		manager + " update leases.coordination.k8s.io in kube-system named m":   audit.None,
		manager + " delete leases.coordination.k8s.io in kube-system named m":   audit.Request,

		"bob create events in a": audit.None, "bob list events.events.k8s.io": audit.None,

		"bob get secrets in a named b": audit.Metadata, "bob create secrets in a": audit.Metadata,
		"bob list secrets": audit.Metadata, "bob patch configmaps in a named b": audit.Metadata,
		"bob create serviceaccounts/token in a named b":        audit.Metadata,
		"bob create tokenreviews.authentication.k8s.io":        audit.Metadata,
		"bob create serviceaccounts in a named b":              audit.Request,
		"bob create subjectaccessreviews.authorization.k8s.io": audit.Request,
		"bob create pods/exec in a named b":                    audit.Metadata, "bob get pods/exec in a named b": audit.Metadata,

		"bob create clusterroles.rbac.authorization.k8s.io":                              audit.RequestResponse,
		"bob delete rolebindings.rbac.authorization.k8s.io in a named b":                 audit.RequestResponse,
		"bob patch validatingwebhookconfigurations.admissionregistration.k8s.io named b": audit.RequestResponse,
		"bob get validatingadmissionpolicies.admissionregistration.k8s.io named b":       audit.Metadata,
		"bob create pods in a":                          audit.Request,
		"bob update deployments.apps in a named b":      audit.Request,
		"bob patch deployments/scale.apps in a named b": audit.Request,
		"bob deletecollection boats.example.com in a":   audit.Request,
		"bob get pods in a named b":                     audit.Metadata, "bob list pods": audit.Metadata, "bob watch pods": audit.Metadata,
	} {
		got := policy.Decide(ask(asked))
		if got.Level != want {
			t.Errorf("%s: got the level %v, want %v", asked, got.Level, want)
		}
		if want == audit.None {
			continue
		}
		if !got.Omits(audit.RequestReceived) || got.Omits(audit.ResponseComplete) || got.Omits(audit.Panic) || !got.OmitManagedFields {
			t.Errorf("%s: got %+v, want no event at RequestReceived, all later ones, and no managed fields", asked, got)
		}
	}
}
