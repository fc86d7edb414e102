package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPolicies creates and changes a policy with a ConfigMap as its parameter, and checks the
// result for the next pod after each change, and the metrics.
func TestPolicies(t *testing.T) {
	const (
		registration = "/apis/admissionregistration.k8s.io/v1/"
		pod          = `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
		dry          = "/api/v1/namespaces/ns/pods?dryRun=All"
	)
	p := newInProcess(t)
	create := func(code int, says string) {
		t.Helper()
		if got, answer := p.do("POST", dry, pod); got != code || !strings.Contains(answer, says) {
			t.Errorf("got %d %s, want %d and %q", got, answer, code, says)
		}
	}
	p.must("POST", registration+"validatingadmissionpolicies", policyOf("p", "", "pods",
		`"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"object.metadata.name == params.data.name"}]`))
	create(http.StatusCreated, "")
	p.must("POST", registration+"validatingadmissionpolicybindings", bindingOf("p",
		`,"validationActions":["Deny"],"paramRef":{"selector":{"matchLabels":{"for":"pods"}},"parameterNotFoundAction":"Deny"}`))
	create(http.StatusUnprocessableEntity, "no params found")
	p.must("POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"x","labels":{"for":"pods"}},"data":{"name":"b"}}`)
	create(http.StatusUnprocessableEntity, "failed expression: object.metadata.name == params.data.name")
	if code, answer := p.do("PATCH", "/api/v1/namespaces/ns/configmaps/x", `{"data":{"name":"a"}}`, "Content-Type", "application/merge-patch+json"); code != http.StatusOK {
		t.Fatalf("got %d %s", code, answer)
	}
	create(http.StatusCreated, "")
	p.must("POST", registration+"mutatingadmissionpolicies", policyOf("m", "", "pods", benchMutations))
	p.must("POST", registration+"mutatingadmissionpolicybindings", bindingOf("m", ""))
	create(http.StatusCreated, `"team":"a"`)
	if code, answer := p.do("DELETE", registration+"mutatingadmissionpolicybindings/m", ""); code != http.StatusOK {
		t.Fatalf("got %d %s", code, answer)
	}
	if _, answer := p.do("POST", dry, pod); strings.Contains(answer, "team") {
		t.Errorf("a policy without a binding changes a pod: %s", answer)
	}
	_, metrics := p.do("GET", "/metrics", "")
	for _, line := range []string{
		`apiserver_validating_admission_policy_check_total{enforcement_action="deny",error_type="invalid_error",policy="p",policy_binding="p"} 1`,
		`apiserver_mutating_admission_policy_check_total{error_type="no_error",policy="m",policy_binding="m"} 1`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}
