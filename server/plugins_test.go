package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestAdmissionPlugins disables, enables and configures plugins.
func TestAdmissionPlugins(t *testing.T) {
	const pods = "/api/v1/namespaces/ns/pods"
	tolerations := func(c func(*plugins.Config)) string {
		p := newInProcess(t, func(config *server.Config) { c(&config.Admission) })
		code, body := p.do("POST", pods, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"a"}]}}`)
		var pod corev1.Pod
		if err := json.Unmarshal([]byte(body), &pod); err != nil || code != http.StatusCreated {
			t.Fatalf("got %d %s", code, body)
		}
		var list []string
		for _, tol := range pod.Spec.Tolerations {
			text, err := json.Marshal(tol)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(text))
		}
		return strings.Join(list, " ")
	}
	seconds := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		name   string
		change func(*plugins.Config)
		want   []string
	}{
		{"as it is", func(*plugins.Config) {}, []string{`"tolerationSeconds":300`, `"tolerationSeconds":300`}},
		{"other times", func(c *plugins.Config) { c.NotReadySeconds, c.UnreachableSeconds = seconds(0), seconds(7) },
			[]string{`not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":0`, `unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":7`}},
		{"off", func(c *plugins.Config) { c.Disable = append(c.Disable, "DefaultTolerationSeconds") }, nil},
	} {
		got := tolerations(tt.change)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", tt.name, got, want)
			}
		}
		if tt.want == nil && got != "" {
			t.Errorf("%s: got %s, want none", tt.name, got)
		}
	}
	_, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Admission: plugins.Config{Disable: []string{"Nope"}}})
	if err == nil || !strings.Contains(err.Error(), `unknown admission plugin "Nope"`) {
		t.Errorf("an unknown plugin: got %v", err)
	}
}

// TestNodeRestrictionPlugin checks when NodeRestriction is on: with the authorization mode Node, or
// if it is enabled by name, unless it is disabled.
func TestNodeRestrictionPlugin(t *testing.T) {
	const name = "NodeRestriction"
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("kubelet,system:node:a,1,system:nodes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, nodes := []string{access.AlwaysAllow}, []string{access.Node, access.AlwaysAllow}
	for _, tt := range []struct {
		modes, enable, disable []string
		want                   bool
	}{
		{all, nil, nil, false},
		{all, []string{name}, nil, true},
		{nodes, nil, nil, true},
		{nodes, nil, []string{name}, false},
	} {
		p := newInProcess(t, func(c *server.Config) {
			c.Authorization.Modes = tt.modes
			c.Admission.Enable, c.Admission.Disable = tt.enable, tt.disable
			c.Authentication.TokenAuthFile = tokens
		})
		code, body := p.do("POST", "/api/v1/nodes", `{"metadata":{"name":"b"}}`, "Authorization", "Bearer kubelet")
		if (code == http.StatusForbidden) != tt.want {
			t.Errorf("%+v: a node makes another: got %d %s", tt, code, body)
		}
	}
}

// TestDeviceAdminAccess creates claims for administrative access to devices, which a label of the
// namespace must allow.
func TestDeviceAdminAccess(t *testing.T) {
	p := newInProcess(t)
	const claims = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims"
	const claim = `{"metadata":{"name":"a"},"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c","adminAccess":true}}]}}}`
	if code, body := p.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"team"}}`); code != http.StatusCreated {
		t.Fatalf("namespace: got %d %s", code, body)
	}
	if code, body := p.do("POST", claims, claim); code != http.StatusUnprocessableEntity {
		t.Errorf("without the label: got %d %s, want %d", code, body, http.StatusUnprocessableEntity)
	}
	code, body := p.do("PATCH", "/api/v1/namespaces/team", `{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`,
		"Content-Type", "application/merge-patch+json")
	if code != http.StatusOK {
		t.Fatalf("label: got %d %s", code, body)
	}
	if code, body := p.do("POST", claims, claim); code != http.StatusCreated {
		t.Errorf("with the label: got %d %s, want %d", code, body, http.StatusCreated)
	}
}

// withoutRight is an authorizer that refuses one verb on subresources of claims. No request has
// these subresources in its path: only the plugin asks for them.
type withoutRight struct{ verb, subresource string }

func (f withoutRight) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	if a.Resource == "resourceclaims" && a.Subresource == f.subresource && a.Verb == f.verb {
		return request.Deny, "", nil
	}
	return request.NoOpinion, "", nil
}

// TestClaimStatusRights checks that a write of a claim's reservation needs the verb of the request
// on resourceclaims/binding besides the verb on resourceclaims/status.
func TestClaimStatusRights(t *testing.T) {
	const status = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a/status"
	reserved := func(uid string) string {
		return `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"a"},"status":{"allocation":{},"reservedFor":[{"resource":"pods","name":"p","uid":"` + uid + `"}]}}`
	}
	for verb, other := range map[string]string{"PUT": "PATCH", "PATCH": "PUT"} {
		p := newInProcess(t, func(cfg *server.Config) {
			cfg.Authorization.Authorizer = withoutRight{map[string]string{"PUT": "update", "PATCH": "patch"}[verb], "binding"}
		})
		if code, body := p.do("POST", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims", `{"metadata":{"name":"a"},"spec":{}}`); code != http.StatusCreated {
			t.Fatalf("claim: got %d %s", code, body)
		}
		if code, body := p.do(verb, status, reserved("1"), "Content-Type", contentTypes[verb]); code != http.StatusUnprocessableEntity ||
			!strings.Contains(body, "resourceclaims/binding") {
			t.Errorf("%s without the right: got %d %s", verb, code, body)
		}
		if code, body := p.do(other, status, reserved("1"), "Content-Type", contentTypes[other]); code != http.StatusOK {
			t.Errorf("%s with the right: got %d %s", other, code, body)
		}
	}
}

var contentTypes = map[string]string{"PUT": "application/json", "PATCH": "application/merge-patch+json"}

// TestAdmissionMetrics checks the metrics of each plugin and of all plugins together, by phase,
// operation and result.
func TestAdmissionMetrics(t *testing.T) {
	p := newInProcess(t)
	const pods = "/api/v1/namespaces/ns/pods"
	for class, want := range map[string]int{"": 201, "none": 403} {
		body := `{"metadata":{"name":"a"},"spec":{"priorityClassName":"` + class + `","containers":[{"name":"a","image":"a"}]}}`
		if code, answer := p.do("POST", pods, body); code != want {
			t.Fatalf("got %d %s, want %d", code, answer, want)
		}
	}
	for _, series := range []string{
		`apiserver_admission_controller_admission_duration_seconds_count{name="Priority",operation="CREATE",rejected="false",type="admit"} `,
		`apiserver_admission_controller_admission_duration_seconds_count{name="Priority",operation="CREATE",rejected="true",type="admit"} 1`,
		`apiserver_admission_controller_admission_duration_seconds_count{name="NamespaceLifecycle",operation="CREATE",rejected="false",type="admit"} `,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="admit"} 1`,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="false",type="validate"} `,
	} {
		if got := lines(p, series); len(got) != 1 {
			t.Errorf("%s: got %q", series, got)
		}
	}
}

// lines returns the lines of the metrics that begin with a prefix.
func lines(p *inProcess, begin string) (list []string) {
	_, metrics := p.do("GET", "/metrics", "")
	for line := range strings.SplitSeq(metrics, "\n") {
		if strings.HasPrefix(line, begin) {
			list = append(list, line)
		}
	}
	return list
}
