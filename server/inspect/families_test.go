package inspect_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/servertest"
)

// kubeFamily is a family of kube-apiserver 1.36, in testdata/metrics.json. The file has all
// families of the stages STABLE and BETA, and those of other stages on which common alerts rely.
type kubeFamily struct {
	Stability string
	Type      string
	Labels    []string
	Buckets   []string // nil: not known
	Path      string   // "" is /metrics
}

// leftOut are the families of kube-apiserver that this server does not have, by prefix, each with
// the reason.
var leftOut = map[string]string{
	"apiserver_flowcontrol_":                               "requests have seats, but wait in no queues of priority levels",
	"apiserver_validation_declarative_validation_mismatch": "an object is validated once, so there are no two results to compare",
	"apiserver_validation_declarative_validation_panic":    "an object is validated once; a panic is a panic of the request",
	"registered_metrics_total":                             "metrics are registered without Kubernetes' levels of stability",
	"running_managed_controllers":                          "controller managers have it; a kube-apiserver shows no series",
}

// reasonFor returns why a family is left out, "" if it is not.
func reasonFor(name string) string {
	for prefix, why := range leftOut {
		if strings.HasPrefix(name, prefix) {
			return why
		}
	}
	return ""
}

// TestFamilies compares the families of this server, after it has done a bit of everything, with
// kube-apiserver's: name, type, labels and buckets.
func TestFamilies(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]kubeFamily
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	s := busyServer(t)
	shown := families(t, scrape(t, s, "/metrics"))
	slis := families(t, scrape(t, s, "/metrics/slis"))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		want, got, why := all[name], shown[name], reasonFor(name)
		if want.Path != "" {
			got = slis[name]
		}
		switch {
		case got == nil && why == "":
			t.Errorf("%s: missing", name)
			continue
		case got != nil && why != "":
			t.Errorf("%s: is served, although it is listed as left out (%s)", name, why)
			continue
		case got == nil:
			continue
		}
		if got.Type != want.Type {
			t.Errorf("%s: type: got %s, want %s", name, got.Type, want.Type)
		}
		if labels := slices.Sorted(maps.Keys(got.labels)); !slices.Equal(labels, want.Labels) {
			t.Errorf("%s: labels: got %q, want %q", name, labels, want.Labels)
		}
		if buckets := slices.Sorted(maps.Keys(got.buckets)); want.Buckets != nil &&
			!slices.Equal(buckets, slices.Sorted(slices.Values(want.Buckets))) {
			t.Errorf("%s: buckets: got %q, want %q", name, buckets, want.Buckets)
		}
	}
	for prefix := range leftOut {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("no family begins with %s", prefix)
		}
	}
	lint(t, s)
	holds(t, scrape(t, s, "/metrics"))
}

// holds checks what busyServer has made the server count.
func holds(t *testing.T, text string) {
	t.Helper()
	for _, line := range []string{
		`apiserver_watch_list_duration_seconds_count{group="",resource="configmaps",scope="cluster",version="v1"} 1`,
		`apiserver_storage_events_received_total{group="example.com",resource="boats"} 1`,
		"apiserver_cel_compilation_duration_seconds_count 1", "apiserver_cel_evaluation_duration_seconds_count 1",
		`kubernetes_feature_enabled{name="Rowing",stage="BETA"} 1`, "disabled_metrics_total 0", "hidden_metrics_total 1",
		`rest_client_requests_total{code="201",host="localhost",method="POST"} `, `workqueue_adds_total{name="root_ca_cert_publisher"} `,
		// The server's own requests are counted by resource, but their times are not told apart.
		`apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="serviceaccounts",scope="resource",`,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if line := `apiserver_request_duration_seconds_count{component="apiserver",dry_run="",group="",resource="serviceaccounts"`; strings.Contains(text, line) {
		t.Errorf("the metrics have %s", line)
	}
}

// otherForm are the families whose form Prometheus' linter does not accept. Kubernetes has named
// them.
var otherForm = []string{
	"apiserver_admission_webhook_fail_open_count", "authenticated_user_requests", "authentication_attempts",
	"authentication_token_cache_active_fetch_count",
}

// lint checks the form of the pages with the linter of Prometheus.
func lint(t *testing.T, s *servertest.Server) {
	t.Helper()
	for _, path := range []string{"/metrics", "/metrics/slis"} {
		problems, err := promlint.New(strings.NewReader(scrape(t, s, path))).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if !slices.Contains(otherForm, p.Metric) {
				t.Errorf("%s: %s: %s", path, p.Metric, p.Text)
			}
		}
	}
}

// busyServer starts a server and makes it do what its metrics count.
func busyServer(t *testing.T) *servertest.Server {
	t.Helper()
	folder := t.TempDir()
	configuration := func(kind, content string) string {
		file := filepath.Join(folder, kind)
		text := "apiVersion: apiserver.config.k8s.io/v1\nkind: " + kind + "\n" + content
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const anonymous, authorizers = "anonymous: {enabled: true}\n", "authorizers: [{type: RBAC, name: rbac}]\n"
	var cfg server.Config
	cfg.DataDir, cfg.Storage.Engine = filepath.Join(folder, "data"), server.StorageEmbedded
	cfg.Authentication = identity.Config{File: configuration("AuthenticationConfiguration", anonymous)}
	cfg.Authorization = access.Config{ConfigFile: configuration("AuthorizationConfiguration", authorizers)}
	cfg.Serving.Debug.Features = func() []inspect.Feature { return []inspect.Feature{{Name: "Rowing", Stage: "BETA", Enabled: true}} }
	s := servertest.Start(t, cfg)
	must := func(method, path, body string) string {
		t.Helper()
		code, answer := ask(t, s, method, path, body)
		if code/100 != 2 {
			t.Fatalf("%s %s: got %d %s", method, path, code, answer)
		}
		return answer
	}
	configuration("AuthenticationConfiguration", anonymous+"# another\n")
	configuration("AuthorizationConfiguration", authorizers+"# another\n")
	const registration = "/apis/admissionregistration.k8s.io/v1/"
	must("POST", registration+"validatingwebhookconfigurations", `{"metadata":{"name":"w"},"webhooks":[{"name":"w.example.com",
		"admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Ignore","clientConfig":{"url":"https://127.0.0.1:1/"},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}]}`)
	must("POST", registration+"validatingadmissionpolicies", `{"metadata":{"name":"p"},"spec":{"validations":[{"expression":"object.metadata.name != 'x'"}],
		"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}}}`)
	must("POST", registration+"validatingadmissionpolicybindings",
		`{"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":["Deny"]}}`)
	must("POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"c"}}`)
	if code, answer := ask(t, s, "POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"x"}}`); code != http.StatusUnprocessableEntity {
		t.Errorf("a policy is broken: got %d %s", code, answer)
	}
	must("GET", "/api/v1/namespaces/default/endpoints", "")
	must("GET", "/api/v1/configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "")
	must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"boats.example.com"},"spec":{
		"group":"example.com","scope":"Cluster","names":{"plural":"boats","kind":"Boat"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"oars":{"type":"integer"}},
		"x-kubernetes-validations":[{"rule":"self.oars % 2 == 0"}]}}}]}}`)
	eventually(t, "the boats are served", func() bool {
		code, _ := ask(t, s, "POST", "/apis/example.com/v1/boats", `{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"b"},"oars":2}`)
		return code == http.StatusCreated || code == http.StatusConflict
	})
	must("GET", "/readyz", "")
	eventually(t, "the configurations are read again", func() bool {
		return strings.Count(scrape(t, s, "/metrics"), `_config_controller_automatic_reloads_total{`) == 2
	})
	return s
}

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: this has not happened", what)
		}
	}
}
