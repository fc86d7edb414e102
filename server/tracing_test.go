package server_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/servertest"
)

// collector records the traces that are sent to a socket.
type collector struct {
	mu   sync.Mutex
	sent []byte
}

func (c *collector) serve(t *testing.T, path string) {
	servePlugin(t, path, "opentelemetry.proto.collector.trace.v1.TraceService", map[string]func([]byte) ([]byte, error){
		"Export": func(in []byte) ([]byte, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.sent = append(c.sent, in...)
			return nil, nil
		},
	})
}

// sentSpan is a span that a collector got. Its ids are bytes.
type sentSpan struct{ trace, id, parent, name string }

// spans returns the spans of the recorded traces (ExportTraceServiceRequest.resource_spans.
// scope_spans.spans).
func (c *collector) spans() (all []sentSpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	within := func(message []byte, number protowire.Number, each func([]byte)) {
		_ = callout.Fields(message, func(field protowire.Number, value []byte, _ uint64) {
			if field == number {
				each(value)
			}
		})
	}
	within(c.sent, 1, func(resource []byte) {
		within(resource, 2, func(scope []byte) {
			within(scope, 2, func(span []byte) {
				fields := fieldsOf(span)
				all = append(all, sentSpan{fields[1], fields[2], fields[4], fields[5]})
			})
		})
	})
	return all
}

// tree returns the spans of the trace whose first span has the name root, by the names from there
// to the span, as the traceparent of requests within the span. It wants all of them to be in one
// tree.
func (c *collector) tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all, byID := c.spans(), map[string]sentSpan{}
	for _, s := range all {
		byID[s.id] = s
	}
	first := slices.IndexFunc(all, func(s sentSpan) bool { return s.name == root })
	if first < 0 {
		t.Fatalf("there is no span %s", root)
	}
	paths := map[string]string{}
	for _, s := range all {
		if s.trace != all[first].trace {
			continue
		}
		path, at := s.name, s
		for at.parent != "" {
			at = byID[at.parent]
			path = at.name + " > " + path
		}
		if at != all[first] {
			t.Errorf("%s is not part of the tree", path)
		}
		paths[path] = fmt.Sprintf("00-%x-%x-01", s.trace, s.id)
	}
	return paths
}

// has reports whether the recorded traces contain text.
func (c *collector) has(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(string(c.sent), text)
}

func tracingFile(t *testing.T, text string) server.ServingConfig {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.ServingConfig{Debug: inspect.Config{TracingFile: file}}
}

// TestTracing: the server sends spans of all requests, or of those whose client has sampled them.
// It ignores the sampling of strangers.
func TestTracing(t *testing.T) {
	const trace, path = "0af7651916cd43dd8448eb211c80319c", "/api/v1/namespaces/default/configmaps/a"
	id, err := hex.DecodeString(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, rate      string
		token, parent   bool // whether the request has them
		span, continues bool // whether a span is sent, and whether it belongs to the trace of the client
	}{
		{"none is sampled", "0", true, false, false, false},
		{"all are sampled", "1000000", true, false, true, false},
		{"whose trace it is", "0", true, true, true, true},
		{"a stranger's trace", "0", false, true, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c collector
			socket := filepath.Join(t.TempDir(), "s")
			c.serve(t, socket)
			t.Run("serve", func(t *testing.T) { // the end of the server sends the last spans
				s := servertest.Start(t, server.Config{Controllers: []string{}, Storage: server.StorageConfig{Engine: server.StorageMemory},
					Serving: tracingFile(t, "endpoint: unix://"+socket+"\nsamplingRatePerMillion: "+tt.rate+"\n")})
				r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if tt.token {
					r.Header.Set("Authorization", "Bearer "+s.Token)
				}
				if tt.parent {
					r.Header.Set("traceparent", "00-"+trace+"-b7ad6b7169203331-01")
				}
				transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, s.CAPEM)}}
				defer transport.CloseIdleConnections()
				resp, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if want := map[bool]int{true: http.StatusNotFound, false: http.StatusForbidden}[tt.token]; resp.StatusCode != want {
					t.Errorf("got %d, want %d", resp.StatusCode, want)
				}
			})
			if got := c.has("GET /api/v1/namespaces/{:namespace}/configmaps/{:name}") && c.has(path) && c.has("http.response.status_code"); got != tt.span {
				t.Errorf("traced: got %t, want %t", got, tt.span)
			}
			if got := c.has(string(id)); got != tt.continues {
				t.Errorf("as part of its trace: got %t, want %t", got, tt.continues)
			}
		})
	}
}

// TestTraceIsTree sends one request to an extension server, whose own request to the server in
// front of it calls an admission webhook. All spans are one tree, and both servers get the span of
// their call as the parent of their own spans.
func TestTraceIsTree(t *testing.T) {
	var c collector
	socket := filepath.Join(t.TempDir(), "s")
	c.serve(t, socket)
	var hook *patching
	var b *behind
	t.Run("serve", func(t *testing.T) { // the end of the server sends the last spans
		hook = newPatching(t)
		var front atomic.Pointer[servertest.Server]
		b = newBehind(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				hello(w, r)
				return
			}
			own := newRequest(t, front.Load(), "POST", "/api/v1/namespaces/default/configmaps", strings.NewReader(`{"metadata":{"name":"a"}}`))
			own.Header["Traceparent"] = r.Header["Traceparent"]
			resp, err := front.Load().Client.Do(own)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			w.WriteHeader(resp.StatusCode)
		})
		s := b.front(t, func(cfg *server.Config) {
			cfg.Serving = tracingFile(t, "endpoint: unix://"+socket+"\nsamplingRatePerMillion: 1000000\n")
			cfg.Storage.Engine = server.StorageMemory
			cfg.Controllers = []string{}
		})
		front.Store(s)
		if code, body := do(t, s, "POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", hook.configuration()); code != http.StatusCreated {
			t.Fatal(code, body)
		}
		if code, body := do(t, s, "POST", skiffs+"/namespaces/default/boats", "{}"); code != http.StatusCreated {
			t.Fatal(code, body)
		}
	})
	const root, inner = "POST /apis/skiffs.example.com/v1/namespaces/{:namespace}/boats", "POST /api/v1/namespaces/{:namespace}/configmaps"
	paths := c.tree(t, root)
	for _, want := range []string{
		root, root + " > authentication", root + " > authorization", root + " > HTTP POST",
		root + " > HTTP POST > " + inner,
		root + " > HTTP POST > " + inner + " > authentication",
		root + " > HTTP POST > " + inner + " > authorization",
		root + " > HTTP POST > " + inner + " > read body",
		root + " > HTTP POST > " + inner + " > decode body",
		root + " > HTTP POST > " + inner + " > Call mutating webhook",
		root + " > HTTP POST > " + inner + " > Call mutating webhook > HTTP POST",
		root + " > HTTP POST > " + inner + " > Txn etcd3",
		root + " > HTTP POST > " + inner + " > SerializeObject",
	} {
		if paths[want] == "" {
			t.Errorf("there is no span %s", want)
		}
	}
	for path, r := range map[string]*http.Request{
		root + " > HTTP POST": b.came.Load(), root + " > HTTP POST > " + inner + " > Call mutating webhook > HTTP POST": hook.came.Load(),
	} {
		if got := r.Header.Get("traceparent"); got != paths[path] {
			t.Errorf("%s: got traceparent %s, want %s", path, got, paths[path])
		}
	}
	if t.Failed() {
		for path := range paths {
			t.Log(path)
		}
	}
}

// shallops is a definition with two versions and a conversion webhook, whose address and
// certificate are to be filled in.
const shallops = `{"metadata":{"name":"shallops.example.com"},"spec":{"group":"example.com","scope":"Cluster",
	"names":{"plural":"shallops","singular":"shallop","kind":"Shallop","listKind":"ShallopList"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
		{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}],
	"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q}}}}}`

// TestTraceOfReviews: webhooks that authenticate and authorize a request, and that convert an
// object, get the spans of their calls.
func TestTraceOfReviews(t *testing.T) {
	var c collector
	socket := filepath.Join(t.TempDir(), "s")
	c.serve(t, socket)
	var asked sync.Map // by traceparent: the kind
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion, Kind string
			Request          struct {
				UID     string
				Objects []map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		asked.Store(r.Header.Get("traceparent"), review.Kind)
		if review.Kind == "ConversionReview" {
			review.Request.Objects[0]["apiVersion"] = "example.com/v2"
			json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
				"uid": review.Request.UID, "convertedObjects": review.Request.Objects, "result": map[string]any{"status": "Success"},
			}})
			return
		}
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"status":{"allowed":true,"authenticated":true,"user":{"username":"alice"}}}`,
			review.APIVersion, review.Kind)
	}))
	t.Cleanup(hook.Close)
	ca := base64.StdEncoding.EncodeToString(pki.EncodeCertificates(hook.Certificate()))
	file := filepath.Join(t.TempDir(), "hook.yaml")
	if err := os.WriteFile(file, []byte(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],`+
		`"clusters":[{"name":"c","cluster":{"server":"`+hook.URL+`","certificate-authority-data":"`+ca+`"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("serve", func(t *testing.T) {
		s := servertest.Start(t, server.Config{
			Controllers: []string{}, Storage: server.StorageConfig{Engine: server.StorageMemory},
			Serving:        tracingFile(t, "endpoint: unix://"+socket+"\nsamplingRatePerMillion: 1000000\n"),
			Authentication: identity.Config{Webhook: identity.TokenWebhook{File: file}},
			Authorization:  access.Config{Modes: []string{access.Webhook}, Webhook: access.WebhookConfig{ConfigFile: file}},
		})
		if code, body := ask(t, s, "/api/v1/namespaces/default/configmaps", nil, "Authorization", "Bearer sesame"); code != http.StatusOK {
			t.Errorf("got %d %s", code, body)
		}
		definition := fmt.Sprintf(shallops, hook.URL, ca)
		if code, body := do(t, s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition); code != http.StatusCreated {
			t.Fatal(code, body)
		}
		eventually(t, "the definition is served", func() bool {
			code, _ := do(t, s, "POST", "/apis/example.com/v1/shallops", `{"apiVersion":"example.com/v1","kind":"Shallop","metadata":{"name":"a"}}`)
			return code == http.StatusCreated
		})
		if code, body := do(t, s, "GET", "/apis/example.com/v2/shallops/a", ""); code != http.StatusOK {
			t.Errorf("got %d %s", code, body)
		}
	})
	const root, read = "GET /api/v1/namespaces/{:namespace}/configmaps", "GET /apis/example.com/v2/shallops/{:name}"
	paths := c.tree(t, root)
	for path, id := range c.tree(t, read) {
		paths[path] = id
	}
	for kind, path := range map[string]string{
		"TokenReview": root + " > authentication > HTTP POST", "SubjectAccessReview": root + " > authorization > HTTP POST",
		"ConversionReview": read + " > SerializeObject > Call conversion webhook > HTTP POST",
	} {
		if got, _ := asked.Load(paths[path]); got != kind {
			t.Errorf("the request of the span %s (%s) was %v, want a %s", path, paths[path], got, kind)
		}
	}
	if t.Failed() {
		t.Log(paths)
	}
}

// TestTracingRefused compares the errors about invalid files with kube-apiserver's texts.
func TestTracingRefused(t *testing.T) {
	for text, want := range map[string]string{
		"samplingRatePerMillion: -1":      "failed to validate tracing configuration: samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
		"samplingRatePerMillion: 1000001": "samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million",
		"endpoint: http://localhost:4317": `endpoint: Invalid value: "http://localhost:4317": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.`,
		"rate: 7":                         `failed to read tracing config: unable to decode tracing configuration data: strict decoding error: unknown field "rate"`,
		"kind: Other":                     "failed to read tracing config: unable to decode tracing configuration data: ",
		"samplingRatePerMillion: many":    "failed to read tracing config: unable to decode tracing configuration data: ",
	} {
		c := server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Serving: tracingFile(t, text)}
		if _, err := servertest.New(t, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	c := server.Config{DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}}
	c.Serving.Debug.TracingFile = filepath.Join(t.TempDir(), "none")
	if _, err := servertest.New(t, c); err == nil || !strings.Contains(err.Error(), "failed to read tracing config: unable to read tracing configuration from ") {
		t.Errorf("without the file: got %v", err)
	}
}
