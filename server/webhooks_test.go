package server_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/server"
)

// patching is a webhook that allows every write and answers with the same JSON patch, or with none
// if it is "".
type patching struct {
	*httptest.Server
	calls atomic.Int64
	patch atomic.Pointer[string]
	came  atomic.Pointer[http.Request] // the last request
	delay time.Duration                // before an answer
}

func newPatching(t *testing.T) *patching {
	h := &patching{}
	h.set("[]")
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		h.calls.Add(1)
		h.came.Store(r)
		select {
		case <-time.After(h.delay):
		case <-r.Context().Done():
		}
		patch := *h.patch.Load()
		if patch != "" {
			patch = fmt.Sprintf(`,"patchType":"JSONPatch","patch":%q`, base64.StdEncoding.EncodeToString([]byte(patch)))
		}
		fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,"allowed":true%s}}`,
			review.Request.UID, patch)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *patching) set(patch string) { h.patch.Store(&patch) }

// configuration returns a MutatingWebhookConfiguration that sends config maps to the webhook.
func (h *patching) configuration() string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	return fmt.Sprintf(`{"metadata":{"name":"w"},"webhooks":[{"name":"w.example.com","sideEffects":"None",
		"admissionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q},
		"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]}]}`,
		h.URL+"/mutate", base64.StdEncoding.EncodeToString(ca))
}

// TestWebhookAtOnce creates and deletes the configuration of a webhook many times. The webhook is
// asked about the write that follows the creation, and not about the one that follows the deletion.
func TestWebhookAtOnce(t *testing.T) {
	p, h := newInProcess(t), newPatching(t)
	const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	for i := range int64(20) {
		p.must("POST", configurations, h.configuration())
		p.must("POST", "/api/v1/namespaces/ns/configmaps?dryRun=All", `{"metadata":{"name":"x"}}`)
		if got := h.calls.Load(); got != i+1 {
			t.Fatalf("the webhook was asked %d times after %d creations", got, i+1)
		}
		if code, answer := p.do("DELETE", configurations+"/w", ""); code != http.StatusOK {
			t.Fatalf("got %d %s", code, answer)
		}
		p.must("POST", "/api/v1/namespaces/ns/configmaps?dryRun=All", `{"metadata":{"name":"x"}}`)
		if got := h.calls.Load(); got != i+1 {
			t.Fatalf("the webhook was asked after %d deletions", i+1)
		}
	}
}

// TestSlowWebhookIsLogged: the line of a request that a webhook has made slow says so.
func TestSlowWebhookIsLogged(t *testing.T) {
	core, logged := observer.New(zapcore.InfoLevel)
	p, h := newInProcess(t, func(c *server.Config) { c.Log = zap.New(core) }), newPatching(t)
	h.delay = 510 * time.Millisecond // a request is slow from 500 ms on
	p.must("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", h.configuration())
	p.must("POST", "/api/v1/namespaces/ns/configmaps", `{"metadata":{"name":"x"}}`)
	lines := logged.FilterMessage("request").FilterField(zap.String("resource", "configmaps")).All()
	if len(lines) != 1 || lines[0].Level != zapcore.InfoLevel {
		t.Fatalf("got lines %v", lines)
	}
	steps, _ := lines[0].ContextMap()["steps"].([]any)
	for name, about := range map[string]string{
		"Call mutating webhook": "w.example.com", "HTTP POST": "", "admission plugin": "MutatingAdmissionWebhook",
	} {
		if !slices.ContainsFunc(steps, func(step any) bool {
			s := step.(map[string]any)
			took, _ := s["took"].(time.Duration)
			return s["step"] == name && (about == "" || s["about"] == about) && took >= h.delay
		}) {
			t.Errorf("there is no step %s of %s that took its time in %v", name, about, steps)
		}
	}
}

// TestWebhookChangesIdentity has a webhook change the namespace, kind, UID or name of an object.
// The write is refused, and nothing is stored.
func TestWebhookChangesIdentity(t *testing.T) {
	p, h := newInProcess(t), newPatching(t)
	const maps = "/api/v1/namespaces/ns/configmaps"
	p.must("POST", maps, `{"metadata":{"name":"old"}}`)
	_, before := p.do("GET", maps+"/old", "")
	p.must("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", h.configuration())
	for _, tt := range []struct {
		method, path, patch string
		code                int
		says                string
	}{
		{"POST", maps, `[{"op":"replace","path":"/metadata/namespace","value":"other"}]`, 400,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{"POST", maps, `[{"op":"remove","path":"/data"},{"op":"replace","path":"/kind","value":"Secret"}]`, 500, "unknown conversion"},
		{"PUT", maps + "/old", `[{"op":"replace","path":"/metadata/namespace","value":"other"}]`, 400, "namespace"},
		{"PUT", maps + "/old", `[{"op":"replace","path":"/metadata/uid","value":"u"}]`, 422, "metadata.uid"},
		{"PUT", maps + "/old", `[{"op":"replace","path":"/metadata/name","value":"n"}]`, 422, "metadata.name"},
	} {
		h.set(tt.patch)
		name := "new"
		if tt.method == "PUT" {
			name = "old"
		}
		code, answer := p.do(tt.method, tt.path, `{"metadata":{"name":"`+name+`","namespace":"ns"},"data":{"a":"b"}}`)
		if code != tt.code || !strings.Contains(answer, tt.says) {
			t.Errorf("%s with %s: got %d %s, want %d and %q", tt.method, tt.patch, code, answer, tt.code, tt.says)
		}
	}
	if _, after := p.do("GET", maps+"/old", ""); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
	if code, answer := p.do("GET", maps+"/new", ""); code != http.StatusNotFound {
		t.Errorf("got %d %s", code, answer)
	}
}
