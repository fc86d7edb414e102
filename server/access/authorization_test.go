package access_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// authorizationWebhook is a webhook over TLS that decides by the attributes of a request, and notes
// what it is asked.
type authorizationWebhook struct {
	*httptest.Server
	kubeconfig string

	mu    sync.Mutex
	asked []string // user verb resource
	last  map[string]any
	fails bool
}

func newAuthorizationWebhook(t *testing.T) *authorizationWebhook {
	j := new(authorizationWebhook)
	j.Server = httptest.NewTLSServer(http.HandlerFunc(j.serve))
	t.Cleanup(j.Close)
	folder := t.TempDir()
	ca := pki.EncodeCertificates(j.Certificate())
	j.kubeconfig = filepath.Join(folder, "webhook.kubeconfig")
	write(t, filepath.Join(folder, "ca.pem"), string(ca))
	write(t, j.kubeconfig, `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: j, user: u}}],
		clusters: [{name: j, cluster: {server: "`+j.URL+`/authorize", certificate-authority: ca.pem}}], users: [{name: u, user: {token: secret}}]}`)
	return j
}

func (j *authorizationWebhook) serve(w http.ResponseWriter, r *http.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/authorize" {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	j.last = review
	spec := review["spec"].(map[string]any)
	resource, _ := spec["resourceAttributes"].(map[string]any)
	what := fmt.Sprint(spec["user"], " ", resource["verb"], " ", resource["resource"])
	j.asked = append(j.asked, what)
	if j.fails {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	review["status"] = map[string]any{"allowed": what == "alice list pods", "denied": resource["resource"] == "secrets", "reason": "because of " + what}
	json.NewEncoder(w).Encode(review)
}

func (j *authorizationWebhook) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	asked := j.asked
	j.asked = nil
	return asked
}

func (j *authorizationWebhook) fail(yes bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fails = yes
}

// authorizing starts a server with users alice and bob, and returns a function that sends it a GET.
func authorizing(t *testing.T, c access.Config) (*servertest.Server, func(token, target string) (int, string)) {
	s := servertest.Start(t, server.Config{
		Controllers:    []string{},
		Serving:        server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authentication: identity.Config{TokenAuthFile: tokensOf(t, `alice,alice,1,"dev"`, `bob,bob,2`)},
		Authorization:  c,
	})
	return s, func(token, target string) (int, string) {
		t.Helper()
		return do(t, s.Server, token, "GET", target, "")
	}
}

// TestWebhookMode: the webhook is asked, and its answers are remembered for their TTLs.
func TestWebhookMode(t *testing.T) {
	j := newAuthorizationWebhook(t)
	_, get := authorizing(t, access.Config{
		Modes:   []string{access.RBAC, access.Webhook},
		Webhook: access.WebhookConfig{ConfigFile: j.kubeconfig, UnauthorizedTTL: -1},
	})
	for range 2 {
		if code, body := get("alice", "/api/v1/pods?labelSelector=a%20in%20(c,b)&fieldSelector=spec.nodeName!%3Dx"); code != http.StatusOK {
			t.Fatalf("allowed: got %d %s", code, body)
		}
	}
	if asked := j.take(); len(asked) != 1 || asked[0] != "alice list pods" {
		t.Errorf("requests to the webhook for an allowed action: %q, want one", asked)
	}
	want := `{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview","metadata":{},"spec":{"group":["dev","system:authenticated"],` +
		`"resourceAttributes":{"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"NotIn","values":["x"]}]},` +
		`"labelSelector":{"requirements":[{"key":"a","operator":"In","values":["b","c"]}]},"resource":"pods","verb":"list","version":"v1"},` +
		`"uid":"1","user":"alice"},"status":`
	if got, _ := json.Marshal(j.last); !strings.HasPrefix(string(got), want) {
		t.Errorf("the webhook was sent\n%s, want\n%s", got, want)
	}
	if code, _ := get("alice", "/api/v1/pods"); code != http.StatusOK || len(j.take()) != 1 {
		t.Errorf("without selectors: %d, or it was not asked again", code)
	}
	for range 2 {
		if code, body := get("bob", "/api/v1/pods"); code != http.StatusForbidden || !strings.Contains(body, "because of bob list pods") {
			t.Errorf("not allowed: got %d %s", code, body)
		}
	}
	if asked := j.take(); len(asked) != 2 {
		t.Errorf("requests to the webhook for a denied action: %q, want two", asked)
	}
	j.fail(true)
	if code, body := get("bob", "/api/v1/services"); code != http.StatusInternalServerError {
		t.Errorf("a webhook that fails: got %d %s", code, body)
	}
	if code, body := get("bob", "/api"); code != http.StatusOK {
		t.Errorf("allowed by another mode: got %d %s", code, body)
	}
}

// TestAuthorizationConfig: the chain of authorizers comes from a file, which is read again when it
// changes. An invalid file changes nothing.
func TestAuthorizationConfig(t *testing.T) {
	j := newAuthorizationWebhook(t)
	file := filepath.Join(t.TempDir(), "authz.yaml")
	config := func(policy, condition, more string) string {
		return `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: first.example.com
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: ` + policy + `
    cacheAuthorizedRequests: false
    cacheUnauthorizedRequests: false
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: ` + j.kubeconfig + `}
    matchConditions:
    - expression: ` + condition + `
- {type: AlwaysAllow, name: alwaysallow}
` + more
	}
	write(t, file, config("Deny", "request.user != 'bob' && has(request.resourceAttributes)", ""))
	s, get := authorizing(t, access.Config{ConfigFile: file})
	if code, _ := get("alice", "/api/v1/secrets"); code != http.StatusForbidden {
		t.Errorf("denied by the webhook: got %d", code)
	}
	if code, _ := get("alice", "/api/v1/services"); code != http.StatusOK {
		t.Errorf("no opinion of the webhook: got %d", code)
	}
	j.take()
	if code, _ := get("bob", "/api/v1/secrets"); code != http.StatusOK || len(j.take()) > 0 {
		t.Errorf("excluded by a condition: got %d, or it was asked", code)
	}
	j.fail(true)
	if code, _ := get("alice", "/api/v1/services"); code != http.StatusInternalServerError {
		t.Errorf("a failure that denies: got %d", code)
	}
	write(t, file, config("NoOpinion", "request.user != 'bob'", ""))
	eventually(t, "the failure policy was not taken up", func() bool { code, _ := get("alice", "/api/v1/services"); return code == http.StatusOK })
	failures := func() bool {
		_, metrics := get(s.Token, "/metrics")
		return strings.Contains(metrics, `status="failure"} 1`)
	}
	write(t, file, config("NoOpinion", "request.nobody", ""))
	eventually(t, "a wrong file was not told of", failures)
	if code, _ := get("alice", "/api/v1/services"); code != http.StatusOK {
		t.Errorf("after an invalid file: got %d, want the old configuration", code)
	}
	_, metrics := get(s.Token, "/metrics")
	metrics = anywhere(metrics)
	write(t, file, config("NoOpinion", "request.user != 'bob'", "")) // the configuration in force, to compute its hash
	for _, want := range []string{
		`apiserver_authorization_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:X",status="success"} 1`,
		`apiserver_authorization_config_controller_last_config_info{apiserver_id_hash="sha256:X",hash="` + fileHash(t, file) + `"} 1`,
		`apiserver_authorization_decisions_total{decision="denied",name="first.example.com",type="Webhook"}`,
		`apiserver_authorization_webhook_evaluations_total{name="first.example.com",result="success"}`,
		`apiserver_authorization_webhook_evaluations_fail_open_total{name="first.example.com",result="error"}`,
		`apiserver_authorization_match_condition_exclusions_total{name="first.example.com",type="Webhook"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics: no %s", want)
		}
	}
}

// TestAuthorizationMistakes: an invalid configuration is an error before the server starts.
func TestAuthorizationMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthorizationConfiguration"}`)
	for want, c := range map[string]access.Config{
		`authorization-mode "Maybe" is not a valid mode`:                            {Modes: []string{"Maybe"}},
		`authorization-mode ["Node" "Node"] has mode specified more than once`:      {Modes: []string{"Node", "Node"}},
		`at least one authorization-mode must be passed`:                            {Modes: []string{}},
		`authorization-mode ABAC's authorization policy file not passed`:            {Modes: []string{"ABAC"}},
		`authorization-mode Webhook's authorization config file not passed`:         {Modes: []string{"Webhook"}},
		`cannot specify --authorization-policy-file without mode ABAC`:              {PolicyFile: file},
		`cannot specify --authorization-webhook-config-file without mode Webhook`:   {Webhook: access.WebhookConfig{ConfigFile: file}},
		`--authorization-config can not be specified when --authorization-mode or`:  {ConfigFile: file, Modes: []string{"Node"}},
		`authorizers: Required value: at least one authorization mode must be defi`: {ConfigFile: file},
		`unsupported webhook authorizer version "v2", supported versions are`:       {Modes: []string{"Webhook"}, Webhook: access.WebhookConfig{ConfigFile: newAuthorizationWebhook(t).kubeconfig, Version: "v2"}},
	} {
		s, err := servertest.New(t, server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Authorization: c})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", c, err, want)
		}
	}
}
