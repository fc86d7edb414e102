package webhooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// body returns a hook that answers every request with a text.
func body(text string) hook {
	return func(w http.ResponseWriter, _ *http.Request, _ *asked) { io.WriteString(w, text) }
}

// status returns a hook that answers with an HTTP status and no review.
func status(code int) hook {
	return func(w http.ResponseWriter, _ *http.Request, _ *asked) {
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.WriteHeader(code)
		io.WriteString(w, "the secret of the house")
	}
}

// drips answers one byte at a time until the client has gone.
func drips(w http.ResponseWriter, r *http.Request, _ *asked) {
	for r.Context().Err() == nil {
		io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// failures has hooks that give no valid answer. Each has the text of its failure, and the HTTP
// status that metrics get. "URL" stands for the URL of the hook.
var failures = []struct {
	name string
	hook hook
	want string
	code int
}{
	{"never answers", func(_ http.ResponseWriter, r *http.Request, _ *asked) { <-r.Context().Done() },
		`failed to call webhook: Post "URL?timeout=1s": context deadline exceeded`, 503},
	{"answers after the deadline", func(w http.ResponseWriter, r *http.Request, q *asked) {
		<-r.Context().Done()
		says(allowed)(w, r, q)
	}, `failed to call webhook: Post "URL?timeout=1s": context deadline exceeded`, 503},
	{"drips", drips,
		"failed to call webhook: unexpected error when reading response body. Please retry. Original error: context deadline exceeded", 503},
	{"a body of 1 GB", func(w http.ResponseWriter, _ *http.Request, _ *asked) {
		part := bytes.Repeat([]byte(" "), 1<<20)
		for range 1 << 10 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}, "failed to call webhook: the response is larger than 6291456 bytes", 503},
	{"closes in the middle", func(w http.ResponseWriter, _ *http.Request, _ *asked) {
		io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, "failed to call webhook: unexpected error when reading response body. Please retry. Original error: stream error", 503},
	{"an error", status(500), `failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding`, 500},
	{"not found", status(404), "failed to call webhook: the server could not find the requested resource", 404},
	{"a redirect to another host", status(307), "failed to call webhook: the server responded with the status code 307 but did not return more information", 307},
	{"an empty body", body(""), "failed to call webhook: 0-length response with status code: 200 and content type: application/json", 503},
	{"no JSON", body("{x"), "failed to call webhook: couldn't get version/kind; json parse error: invalid character 'x' looking for beginning of object key string", 503},
	{"another kind", body(`{"kind":"Pod","apiVersion":"v1"}`), `failed to call webhook: no kind "Pod" is registered for version "v1"`, 503},
	{"another version", body(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}`),
		"failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion", 503},
	{"another type", body(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"allowed":"yes"}}`),
		"failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool", 503},
	{"deep", body(strings.Repeat("[", 1<<20)), "failed to call webhook: ", 503},
	{"no response", body(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`), "received invalid webhook response: webhook response was absent", 503},
	{"the wrong uid", body(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"x"}}`),
		`received invalid webhook response: expected response.uid="`, 503},
	{"no kind", func(w http.ResponseWriter, _ *http.Request, q *asked) {
		fmt.Fprintf(w, `{"response":{"uid":%q}}`, q.Request.UID)
	}, "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=", 503},
}

// TestFailures: the failure policy applies to each hook that fails. A call ends within the timeout
// of its hook and within bounded memory, and the message gives the cause.
func TestFailures(t *testing.T) {
	for _, tt := range failures {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			k.hooks["h"] = tt.hook
			fails(t, k, tt.want, tt.code)
		})
	}
}

// fails checks that the hook "h" fails in both plugins and by both failure policies.
func fails(t *testing.T, k *kit, want string, code int, options ...func(*v1.MutatingWebhook)) {
	t.Helper()
	want = strings.ReplaceAll(`Internal error occurred: failed calling webhook "h.example.com": `+want, "URL", k.server.URL+"/h")
	short := func(w *v1.MutatingWebhook) { w.TimeoutSeconds = new(int32(1)) }
	for _, ignores := range []bool{false, true} {
		all := append([]func(*v1.MutatingWebhook){short}, options...)
		if ignores {
			all = append(all, ignore)
		}
		k.both("h", all...)
		for name, run := range k.runs() {
			k.calls = nil
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			err := run(t.Context(), k.write(admission.Create, configMap(), nil))
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			runtime.ReadMemStats(&after)
			if most := before.HeapInuse + 256<<20; after.HeapInuse > most {
				t.Errorf("%s: %d bytes in use", name, after.HeapInuse)
			}
			outcome := webhooks.FailedClose
			if ignores {
				outcome = webhooks.FailedOpen
			}
			if len(k.calls) != 1 || k.calls[0].Outcome != outcome || k.calls[0].Code != code || k.calls[0].Canceled {
				t.Errorf("%s: calls %+v", name, k.calls)
			}
			if ignores {
				noted := k.notes["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"] +
					k.notes["failed-open.mutation.webhook.admission.k8s.io/round_0_index_0"]
				if err != nil || noted != "h.example.com" {
					t.Errorf("%s: got %v and %v, want that the write passes", name, err, k.notes)
				}
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), want) || meta.StatusOf(err).Code != 500 {
				t.Errorf("%s:\ngot  %v\nwant %s", name, err, want)
			}
		}
	}
}

// TestUnusable configures hooks that cannot be called at all.
func TestUnusable(t *testing.T) {
	k := newKit(t)
	stranger := pkitest.NewAuthority(t, "stranger").CertPEM
	for _, tt := range []struct {
		name    string
		options func(*v1.MutatingWebhook)
		want    string
		code    int
	}{
		{"of a stranger", func(w *v1.MutatingWebhook) { w.ClientConfig.CABundle = stranger },
			`failed to call webhook: Post "URL?timeout=1s": tls: failed to verify certificate: x509: certificate signed by unknown authority`, 503},
		{"another name", func(w *v1.MutatingWebhook) {
			w.ClientConfig.URL, w.ClientConfig.Service = nil, &v1.ServiceReference{Namespace: "team", Name: "others"}
		}, `failed to call webhook: Post "https://others.team.svc:443/?timeout=1s": tls: failed to verify certificate: x509: certificate is valid for localhost, hooks.team.svc, not others.team.svc`, 503},
		{"no certificates", func(w *v1.MutatingWebhook) { w.ClientConfig.CABundle = []byte("none") },
			"could not get REST client: the CA bundle holds no certificate in PEM", 500},
		{"a future version", func(w *v1.MutatingWebhook) { w.AdmissionReviewVersions = []string{"v2"} },
			"could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)", 400},
	} {
		t.Run(tt.name, func(t *testing.T) { fails(t, k, tt.want, tt.code, tt.options) })
	}
}

// TestDryRun: hooks with side effects are not called in dry runs.
func TestDryRun(t *testing.T) {
	for class, want := range map[v1.SideEffectClass]string{
		v1.SideEffectClassNone: "", v1.SideEffectClassNoneOnDryRun: "",
		v1.SideEffectClassSome:    `admission webhook "h.example.com" does not support dry run`,
		v1.SideEffectClassUnknown: `admission webhook "h.example.com" does not support dry run`,
		"":                        `Internal error occurred: failed calling webhook "h.example.com": Webhook SideEffects is nil`,
	} {
		k := newKit(t)
		k.both("h", func(w *v1.MutatingWebhook) {
			if w.SideEffects = &class; class == "" {
				w.SideEffects = nil
			}
		})
		for name, run := range k.runs() {
			a := k.write(admission.Create, configMap(), nil)
			a.DryRun = true
			if err := run(t.Context(), a); (err == nil) != (want == "") || err != nil && err.Error() != want {
				t.Errorf("%s, %s: got %v, want %q", name, class, err, want)
			}
		}
	}
}

// TestPatches answers with patches that cannot be applied, or that cost too much.
func TestPatches(t *testing.T) {
	chain := `[{"op":"add","path":"/data/x0","value":"` + strings.Repeat("x", 1<<10) + `"}`
	for i := range 30 {
		chain += fmt.Sprintf(`,{"op":"copy","from":"/data","path":"/data/x%d"}`, i+1)
	}
	many := "[" + strings.Repeat(`{"op":"add","path":"/data/x","value":"1"},`, 10000)
	for _, tt := range []struct {
		name, patch string
		want        string // the beginning of the error
		data        string // the data, if there is no error
	}{
		{"nothing", `[]`, "", `{"x":"0"}`},
		{"null", `null`, "", `{"x":"0"}`},
		{"replace", `[{"op":"replace","path":"/data/x","value":"1"}]`, "", `{"x":"1"}`},
		{"another name", `[{"op":"replace","path":"/metadata/name","value":"b"}]`, "", `{"x":"0"}`}, // the plugin accepts it; the write refuses it
		{"all new", `[{"op":"replace","path":"","value":{"data":{"y":"1"}}}]`, "", `{"y":"1"}`},
		{"no patch", `{"op":`, `Internal error occurred: failed calling webhook "h.example.com": received undecodable patch in webhook response: `, ""},
		{"not there", `[{"op":"remove","path":"/data/y"}]`, "Internal error occurred: ", ""},
		{"a test that fails", `[{"op":"test","path":"/data/x","value":"1"}]`, "Internal error occurred: testing value /data/x failed: test failed", ""},
		{"another type", `[{"op":"add","path":"/data","value":7}]`, "Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string", ""},
		{"another kind", `[{"op":"add","path":"/kind","value":"Namespace"}]`, "Internal error occurred: converting (/v1, Kind=Namespace) to (/v1, Kind=ConfigMap): unknown conversion", ""},
		{"an unknown kind", `[{"op":"add","path":"/kind","value":"Nothing"}]`, `Internal error occurred: no kind "Nothing" is registered for version "v1"`, ""},
		{"no object", `[{"op":"replace","path":"","value":7}]`, "Internal error occurred: ", ""},
		{"copies of copies", chain + "]", "Internal error occurred: ", ""},
		{"10,000 operations", strings.TrimSuffix(many, ",") + "]", "", `{"x":"1"}`},
		{"10,001 operations", many + `{"op":"add","path":"/data/x","value":"1"}]`, "Internal error occurred: The allowed maximum operations in a JSON patch is 10000, got 10001", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t)
			k.hooks["h"] = says(patched(tt.patch))
			k.configure("c", k.mutates("h"))
			a := k.write(admission.Create, configMap("x", "0"), nil)
			err := k.chain.Mutate(t.Context(), a)
			if tt.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) || dataOf(a) != `{"x":"0"}` {
					t.Errorf("got %v, want %s; %s", err, tt.want, dataOf(a))
				}
				return
			}
			if err != nil || dataOf(a) != tt.data {
				t.Errorf("got %v, %s, want %s", err, dataOf(a), tt.data)
			}
		})
	}
	k := newKit(t)
	k.hooks["h"] = says(patched(`[{"op":"remove","path":"/data"}]`))
	k.configure("c", k.mutates("h"))
	const unsupported = `Internal error occurred: admission webhook "h.example.com" attempted to modify the object, which is not supported for this operation`
	if err := k.chain.Mutate(t.Context(), k.write(admission.Delete, nil, configMap())); err == nil || err.Error() != unsupported {
		t.Errorf("a delete: got %v", err)
	}
	k.hooks["h"] = says(strings.ReplaceAll(patched(`[{"op":"remove","path":"/data"}]`), "JSONPatch", "Merge"))
	const unknown = `Internal error occurred: failed calling webhook "h.example.com": unsupported patch type "Merge"`
	if err := k.chain.Mutate(t.Context(), k.write(admission.Create, configMap(), nil)); err == nil || err.Error() != unknown {
		t.Errorf("another type of patch: got %v", err)
	}
}

// TestClientGone: when the client has gone or its time is up, the write ends, whatever the failure
// policy is. Metrics do not count that as a failure of the hook.
func TestClientGone(t *testing.T) {
	k := newKit(t)
	came := make(chan struct{}, 2)
	k.hooks["h"] = func(_ http.ResponseWriter, r *http.Request, _ *asked) {
		came <- struct{}{}
		<-r.Context().Done()
	}
	k.both("h", ignore)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	err := k.chain.Mutate(ctx, k.write(admission.Create, configMap(), nil))
	var late *meta.StatusError
	if !errors.As(err, &late) || late.Status.Code != 504 || len(k.calls) != 1 || !k.calls[0].Canceled {
		t.Errorf("got %v, %+v", err, k.calls)
	}
	if len(k.notes) != 1 { // the note says that the hook has changed nothing
		t.Errorf("annotations: %v", k.notes)
	}
	k.called()
	if err := k.chain.Validate(ctx, k.write(admission.Create, configMap(), nil)); !errors.As(err, &late) || k.called() != "" {
		t.Errorf("validating: got %v", err)
	}
}

// TestConnections: all hooks of a server share its connections. Connections outlive a change of the
// configurations, and close when the last hook of the server has gone.
func TestConnections(t *testing.T) {
	k := newKit(t)
	service := func(w *v1.MutatingWebhook) {
		w.ClientConfig.URL, w.ClientConfig.Service = nil, &v1.ServiceReference{Namespace: "team", Name: "hooks", Path: new("/h")}
	}
	k.hooks["h"] = func(w http.ResponseWriter, r *http.Request, q *asked) {
		if r.Proto != "HTTP/1.1" {
			t.Errorf("a service is called by %s", r.Proto)
		}
		says(allowed)(w, r, q)
	}
	for i := range 3 {
		k.mutating = nil
		k.configure("c", k.mutates("h", service), k.mutates("h", service, func(w *v1.MutatingWebhook) { w.Name = fmt.Sprint(i) }))
		if err := k.chain.Mutate(t.Context(), k.write(admission.Create, configMap(), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if got := k.open.Load(); got != 1 {
		t.Errorf("%d connections are open, want one", got)
	}
	k.mutating = nil
	if err := k.chain.Mutate(t.Context(), k.write(admission.Create, configMap(), nil)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-k.closed:
	case <-time.After(10 * time.Second):
		t.Error("a connection is open that no configuration needs")
	}
}
