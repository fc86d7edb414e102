package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/filters/audit/backend"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// auditedServer returns the configuration of a server that records what rules in YAML say into a
// file, and the path of that file.
func auditedServer(t testing.TB, rules string) (server.Config, string) {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n"+rules+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := server.Config{Controllers: []string{}, Storage: server.StorageConfig{Engine: server.StorageMemory}}
	c.Serving.Audit.PolicyFile, c.Serving.Audit.Log.Path = policy, log
	return c, log
}

// auditEvent is what tests read of a line of the log.
type auditEvent struct {
	AuditID, Stage, Level, Verb, RequestURI string
	ResponseStatus                          struct{ Code int }
	Annotations                             map[string]string
}

// readAudit returns the events in a log.
func readAudit(t testing.TB, path string) []auditEvent {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []auditEvent
	for line := range bytes.Lines(data) {
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			t.Fatalf("%v: the line %q", err, line)
		}
		events = append(events, e)
	}
	return events
}

// TestAuditUntilTheEnd: a server that is stopped under load has recorded every request that it has
// answered, once for each stage, in each mode.
func TestAuditUntilTheEnd(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{backend.ModeBatch, backend.ModeBlocking, backend.ModeBlockingStrict} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c, path := auditedServer(t, "- {level: Request, users: [someone]}\n- {level: Metadata}")
			c.Serving.Audit.Log = backend.DefaultLog()
			c.Serving.Audit.Log.Path, c.Serving.Audit.Log.Mode = path, mode
			s := servertest.Start(t, c)
			client := s.Client
			var mu sync.Mutex
			answered := map[string]int{}
			var clients sync.WaitGroup
			enough := make(chan struct{}, 1)
			for i := range 8 {
				clients.Go(func() {
					for n := 0; ; n++ {
						id := fmt.Sprintf("%d-%d", i, n)
						r, err := http.NewRequest("POST", s.URL+"/api/v1/namespaces/default/configmaps", strings.NewReader(`{"metadata":{"generateName":"a-"}}`))
						if err != nil {
							t.Error(err)
							return
						}
						r.Header.Set("Audit-Id", id)
						r.Header.Set("Content-Type", "application/json")
						answer, err := client.Do(r)
						if err != nil {
							return
						}
						_ = answer.Body.Close()
						if answer.StatusCode == http.StatusServiceUnavailable {
							return
						}
						mu.Lock()
						answered[id] = answer.StatusCode
						if len(answered) == 400 {
							enough <- struct{}{}
						}
						mu.Unlock()
					}
				})
			}
			<-enough
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			clients.Wait()
			stages := map[string]map[string]int{}
			for _, e := range readAudit(t, path) {
				if stages[e.AuditID] == nil {
					stages[e.AuditID] = map[string]int{}
				}
				if stages[e.AuditID][e.Stage]++; stages[e.AuditID][e.Stage] > 1 {
					t.Errorf("%s is recorded twice at %s", e.AuditID, e.Stage)
				}
				if code := answered[e.AuditID]; e.Stage == "ResponseComplete" && code != 0 && e.ResponseStatus.Code != code {
					t.Errorf("%s: recorded %d, answered %d", e.AuditID, e.ResponseStatus.Code, code)
				}
			}
			for id := range answered {
				if got := stages[id]; got["RequestReceived"] != 1 || got["ResponseComplete"] != 1 {
					t.Fatalf("%s, which was answered, is recorded at %v", id, got)
				}
			}
		})
	}
}

// TestAuditCounts: the metrics count the events in the log.
func TestAuditCounts(t *testing.T) {
	t.Parallel()
	c, path := auditedServer(t, "- {level: None, nonResourceURLs: [/metrics]}\n- {level: Metadata}")
	s := newInProcess(t, func(to *server.Config) { to.Serving.Audit = c.Serving.Audit })
	for range 3 {
		s.do("GET", "/api/v1/namespaces/default/configmaps/a", "")
	}
	_, metrics := s.do("GET", "/metrics", "")
	events := len(readAudit(t, path))
	for _, want := range []string{
		fmt.Sprintf("\napiserver_audit_event_total %d\n", events), fmt.Sprintf("\napiserver_audit_level_total{level=\"Metadata\"} %d\n", events/2),
		"\napiserver_audit_level_total{level=\"None\"} 1\n", "\napiserver_audit_requests_rejected_total 0\n",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
}

// TestAuditWithout: a server with half of the configuration records nothing, says so, and starts.
func TestAuditWithout(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*server.AuditConfig){
		"no audit policy":        func(c *server.AuditConfig) { c.PolicyFile = "" },
		"neither a log nor a we": func(c *server.AuditConfig) { c.Log.Path = "" },
	} {
		c, path := auditedServer(t, "- {level: Metadata}")
		core, lines := observer.New(zap.WarnLevel)
		s := newInProcess(t, func(to *server.Config) {
			to.Serving.Audit, to.Log = c.Serving.Audit, zap.New(core)
			change(&to.Serving.Audit)
		})
		s.do("GET", "/api/v1/namespaces/default/configmaps/a", "")
		if got := fmt.Sprint(lines.All()); !strings.Contains(got, name) {
			t.Errorf("%s: got %s", name, got)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: there is a log", name)
		}
	}
}

// TestAuditMistakes: a server does not start with a policy or a backend that it cannot use.
func TestAuditMistakes(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*server.AuditConfig){
		"loading audit policy file": func(c *server.AuditConfig) { c.PolicyFile = "none" },
		"opening the audit log":     func(c *server.AuditConfig) { c.Log.Path = "/dev/null/a" },
		"audit webhook":             func(c *server.AuditConfig) { c.Webhook.Kubeconfig = "none" },
		"invalid audit log mode":    func(c *server.AuditConfig) { c.Log.Mode = "sometimes" },
	} {
		c, _ := auditedServer(t, "- {level: Metadata}")
		change(&c.Serving.Audit)
		if s, err := servertest.New(t, c); err == nil || !strings.Contains(err.Error(), want) {
			if s != nil {
				_ = s.Close()
			}
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
