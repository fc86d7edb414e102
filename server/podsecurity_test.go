package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestPodSecurity writes pods, a deployment and namespaces on a server whose configuration has a
// default level and exempts a namespace: verdicts, warnings and metrics.
func TestPodSecurity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admission.yaml")
	const config = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {warn: baseline, warn-version: v1.30}
    exemptions: {namespaces: [free]}
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newInProcess(t, func(c *server.Config) { c.Admission.ConfigFile = file })
	const (
		spec     = `"spec":{"hostPID":true,"containers":[{"name":"c","image":"i"}]}`
		pod      = `{"metadata":{"name":"a"},` + spec + `}`
		workload = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + spec + `}}}`
		enforce  = `"labels":{"pod-security.kubernetes.io/enforce":"baseline"}`
		why      = `PodSecurity \"baseline:latest\": host namespaces (hostPID=true)`
	)
	for _, step := range []struct {
		name, method, path, body string
		code                     int
		message                  string // a part of the answer
		warnings                 []string
	}{
		{"a pod that the default warns of", "POST", "/api/v1/namespaces/ns/pods", pod, 201, "",
			[]string{`would violate PodSecurity \"baseline:v1.30\": host namespaces (hostPID=true)`}},
		{"a level that the pod violates", "PATCH", "/api/v1/namespaces/ns", `{"metadata":{` + enforce + `}}`, 200, "",
			[]string{`existing pods in namespace \"ns\" violate the new PodSecurity enforce level \"baseline:latest\"`, `a: host namespaces`}},
		{"a namespace", "POST", "/api/v1/namespaces", `{"metadata":{"name":"held",` + enforce + `}}`, 201, "", nil},
		{"a wrong label", "PATCH", "/api/v1/namespaces/held", `{"metadata":{"labels":{"pod-security.kubernetes.io/warn":"x"}}}`, 422,
			`metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: \"x\": must be one of privileged, baseline, restricted`, nil},
		{"a pod that is refused", "POST", "/api/v1/namespaces/held/pods", pod, 403, `pods \"a\" is forbidden: violates ` + why, nil},
		{"a deployment", "POST", "/apis/apps/v1/namespaces/held/deployments", workload, 201, "",
			[]string{`would violate PodSecurity \"baseline:v1.30\": host namespaces (hostPID=true)`}},
		{"a pod", "POST", "/api/v1/namespaces/held/pods", strings.Replace(pod, `"hostPID":true,`, "", 1), 201, "", nil},
		{"a container to debug it", "PATCH", "/api/v1/namespaces/held/pods/a/ephemeralcontainers",
			`{"spec":{"ephemeralContainers":[{"name":"e","image":"i","securityContext":{"seccompProfile":{"type":"Unconfined"}}}]}}`, 403,
			`violates PodSecurity \"baseline:latest\": seccompProfile (container \"e\" must not set securityContext.seccompProfile.type to \"Unconfined\")`, nil},
		{"an exempt namespace", "POST", "/api/v1/namespaces", `{"metadata":{"name":"free",` + enforce + `}}`, 201, "",
			[]string{`namespace \"free\" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored`}},
		{"a pod in it", "POST", "/api/v1/namespaces/free/pods", pod, 201, "", nil},
	} {
		w := p.Serve(p.Request(step.method, step.path, strings.NewReader(step.body), "Content-Type", contentTypeOf(step.method)))
		var want []string
		for _, text := range step.warnings {
			want = append(want, `299 - "`+text+`"`)
		}
		got := w.Header().Values("Warning")
		if w.Code != step.code || !strings.Contains(w.Body.String(), step.message) || !slices.Equal(got, want) {
			t.Errorf("%s: got %d %s\nwarnings %q", step.name, w.Code, w.Body, got)
		}
	}
	for _, series := range []string{
		`pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="baseline",policy_version="latest",request_operation="create",resource="pod",subresource=""} 1`,
		`pod_security_evaluations_total{decision="deny",mode="warn",policy_level="baseline",policy_version="v1.30",request_operation="create",resource="controller",subresource=""} 1`,
		`pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="baseline",policy_version="latest",request_operation="update",resource="pod",subresource="ephemeralcontainers"} 1`,
		`pod_security_evaluations_total{decision="allow",mode="enforce",policy_level="privileged",policy_version="latest",request_operation="update",resource="pod",subresource=""} 0`,
		`pod_security_exemptions_total{request_operation="create",resource="pod",subresource=""} 1`,
		`pod_security_exemptions_total{request_operation="update",resource="controller",subresource=""} 0`,
	} {
		if got := lines(p, series); len(got) != 1 {
			t.Errorf("%s: got %q", series, lines(p, "pod_security"))
		}
	}
}

func contentTypeOf(method string) string {
	if method == http.MethodPatch {
		return "application/strategic-merge-patch+json"
	}
	return "application/json"
}

// TestPodSecurityMisconfigured: a server does not start with a wrong configuration, and the error
// names the file and the field.
func TestPodSecurityMisconfigured(t *testing.T) {
	dir := t.TempDir()
	main, own := filepath.Join(dir, "admission.yaml"), filepath.Join(dir, "pods.yaml")
	for file, text := range map[string]string{
		main: "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, path: pods.yaml}]\n",
		own:  "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\ndefaults: {enforce: none}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := servertest.New(t, server.Config{DataDir: dir, Admission: plugins.Config{ConfigFile: main}})
	want := own + `: defaults.enforce: Invalid value: "none": must be one of privileged, baseline, restricted`
	if !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
