package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/audit/backend"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// alertRules is the file docs/operating/alerts.yaml.
type alertRules struct {
	Groups []struct {
		Name  string      `json:"name"`
		Rules []alertRule `json:"rules"`
	} `json:"groups"`
}

// alertRule is one rule of the file.
type alertRule struct {
	Alert  string `json:"alert"`
	Expr   string `json:"expr"`
	For    string `json:"for"`
	Labels struct {
		Severity string `json:"severity"`
	} `json:"labels"`
	Annotations struct {
		Summary string `json:"summary"`
	} `json:"annotations"`
}

// dashboard is what the tests read of docs/dashboards/coracle.json.
type dashboard struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ Expr, LegendFormat string }
	}
}

var (
	legendLabel  = regexp.MustCompile(`\{\{(\w+)\}\}`)
	summaryLabel = regexp.MustCompile(`\$labels\.(\w+)`)
	alertRow     = regexp.MustCompile(`(?m)^\| (\w+) \| [^|]+ \| [^|]+ \|$`)
)

// labelsIn returns the labels that a text about a result shows.
func labelsIn(pattern *regexp.Regexp, text string) (labels []string) {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		labels = append(labels, found[1])
	}
	return labels
}

// readDocument returns a file of docs.
func readDocument(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readAlerts returns the alerts of docs/operating/alerts.yaml.
func readAlerts(t *testing.T) []alertRule {
	t.Helper()
	text, repeated, err := codec.YAMLToJSON(readDocument(t, "operating/alerts.yaml"), true, nil)
	if err != nil || repeated != "" {
		t.Fatal(err, repeated)
	}
	var file alertRules
	strict, err := codec.DecodeStrict(text, &file)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
	if len(file.Groups) != 1 {
		t.Fatalf("got %d groups of alerts, want 1", len(file.Groups))
	}
	return file.Groups[0].Rules
}

// TestAlertsAreDocumented: docs/operating.md says of each alert what it means and what to do.
func TestAlertsAreDocumented(t *testing.T) {
	t.Parallel()
	var names []string
	for _, rule := range readAlerts(t) {
		names = append(names, rule.Alert)
		if !slices.Contains([]string{"critical", "warning"}, rule.Labels.Severity) || rule.Annotations.Summary == "" {
			t.Errorf("%s: it has no severity or no summary", rule.Alert)
		}
		if _, err := time.ParseDuration(rule.For); err != nil && rule.For != "" {
			t.Errorf("%s: %v", rule.Alert, err)
		}
	}
	var rows []string
	for _, row := range alertRow.FindAllStringSubmatch(string(readDocument(t, "operating.md")), -1) {
		if row[1] != "alert" {
			rows = append(rows, row[1])
		}
	}
	if !slices.Equal(rows, names) || len(names) != 12 {
		t.Errorf("docs/operating.md has rows for %q, want the twelve alerts %q", rows, names)
	}
}

// TestQueries: each query of the dashboard and each expression of an alert selects series that the
// server has after it has done, and failed to do, a bit of everything.
func TestQueries(t *testing.T) {
	t.Parallel()
	scraped := promSeries{"job": "apiserver", "instance": "127.0.0.1:6443"}
	page := readSeries(t, "up 1\n"+troubledMetrics(t), scraped)
	for _, rule := range readAlerts(t) {
		checkQuery(t, page, rule.Expr, labelsIn(summaryLabel, rule.Annotations.Summary))
	}
	var board dashboard
	if err := json.Unmarshal(readDocument(t, "dashboards/coracle.json"), &board); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$job", "apiserver", "$instance", ".*", "$__rate_interval", "5m")
	ids, places := map[int]bool{}, map[[2]int]bool{}
	for _, panel := range board.Panels {
		place := [2]int{panel.GridPos.X, panel.GridPos.Y}
		if ids[panel.ID] || places[place] || (panel.Type == "row") != (len(panel.Targets) == 0) {
			t.Errorf("the panel %q has another one's id or place, or no query", panel.Title)
		}
		ids[panel.ID], places[place] = true, true
		for _, target := range panel.Targets {
			checkQuery(t, page, variables.Replace(target.Expr), labelsIn(legendLabel, target.LegendFormat))
		}
	}
	if len(board.Panels) < 30 {
		t.Errorf("got %d panels; the file has another form", len(board.Panels))
	}
}

// troubledMetrics runs a server, makes it do and fail to do what the queries show, and returns its
// page of metrics.
func troubledMetrics(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	engine, err := embedded.Open(t.Context(), embedded.Config{Dir: filepath.Join(folder, "store"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	store := storagetest.NewFaulty(engine)
	var cfg server.Config
	cfg.Storage.Store = store
	cfg.Serving.Audit.PolicyFile = filepath.Join("..", "docs", "operating", "audit-policy.yaml")
	cfg.Serving.Audit.Log = backend.DefaultLog()
	cfg.Serving.Audit.Log.Path = filepath.Join(folder, "audit.log")
	cfg.Serving.Audit.Log.Truncate = backend.Truncate{Enabled: true, EventBytes: 10_000, BatchBytes: 10_000}
	s := servertest.Start(t, cfg)
	want := func(code int, method, path, body string) {
		t.Helper()
		if got, answer := do(t, s, method, path, body); got != code {
			t.Errorf("%s %s: got %d %s, want %d", method, path, got, answer, code)
		}
	}
	const registration, here = "/apis/admissionregistration.k8s.io/v1/", "/api/v1/namespaces/default/"
	want(201, "POST", registration+"validatingwebhookconfigurations", `{"metadata":{"name":"dead"},"webhooks":[
		{"name":"open.example.com","failurePolicy":"Ignore","admissionReviewVersions":["v1"],"sideEffects":"None",
		"clientConfig":{"url":"https://127.0.0.1:1/"},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},
		{"name":"closed.example.com","failurePolicy":"Fail","admissionReviewVersions":["v1"],"sideEffects":"None",
		"clientConfig":{"url":"https://127.0.0.1:1/"},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["secrets"]}]}]}`)
	want(201, "POST", registration+"validatingadmissionpolicies", `{"metadata":{"name":"p"},"spec":{
		"validations":[{"expression":"object.metadata.name != 'x'"}],"matchConstraints":{"resourceRules":[
		{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}}}`)
	want(201, "POST", registration+"validatingadmissionpolicybindings",
		`{"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":["Deny"]}}`)

	want(201, "POST", here+"configmaps", `{"metadata":{"name":"a"}}`)
	want(422, "POST", here+"configmaps", `{"metadata":{"name":"x"}}`)
	want(500, "POST", here+"secrets", `{"metadata":{"name":"a"}}`)
	want(504, "GET", here+"configmaps/a?timeout=1ns", "")
	want(200, "PATCH", here+"configmaps/a", `{"data":{"a":"b"}}`)
	want(200, "GET", here+"configmaps/a", "")
	want(200, "GET", here+"configmaps", "")
	want(200, "GET", here+"configmaps?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "")
	store.Plan(func(_ int, op string) storagetest.Fault {
		if op == "put" {
			return storagetest.Refuse
		}
		return storagetest.None
	})
	want(503, "PATCH", here+"configmaps/a", `{"data":{"a":"c"}}`)
	store.Plan(nil)
	want(200, "DELETE", here+"configmaps/a", "")
	want(404, "GET", here+"configmaps/a?x="+strings.Repeat("x", 10_000), "") // its audit event is too large
	_, metrics := do(t, s, "GET", "/metrics", "")
	return metrics
}
