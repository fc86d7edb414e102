package differential

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	theirv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme"
	ourapi "github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
)

// TestWebhooks passes random writes through Kubernetes' plugins of webhooks and through ours, with
// random configurations. The hooks run on the loopback and do all sorts of things. The test
// compares the calls in their order, the reviews without their uid, the error, the object, the
// warnings and the audit annotations.
func TestWebhooks(t *testing.T) {
	rnd := random("webhooks")
	w := newHookWorld(t)
	var calls, refused, changed, again int
	for range times(150) {
		run := w.made(t, rnd)
		theirs := run.theirs(t)
		ours := run.ours(t)
		if run.validates {
			slices.Sort(theirs.calls)
			slices.Sort(ours.calls)
			slices.Sort(theirs.warnings)
			slices.Sort(ours.warnings)
		}
		if diff := theirs.differs(&ours); diff != "" {
			t.Fatalf("%s\n%s", run, diff)
		}
		calls += len(theirs.calls)
		if theirs.err != "" {
			refused++
		}
		if theirs.changed {
			changed++
		}
		if theirs.again {
			again++
		}
	}
	t.Logf("%d calls, %d writes refused, %d objects changed, %d second runs", calls, refused, changed, again)
	if n := times(150); calls < n || refused < n/20 || refused > n*3/4 || changed < n/20 || again < n/50 {
		t.Error("the configurations are too random")
	}
}

// hookTold is the outcome of a write: the calls and everything that the client and the audit log
// see.
type hookTold struct {
	calls          []string // the name of the hook, and the review
	err            string
	object         string
	warnings       []string
	notes          map[string]string // audit annotations, with their level
	changed, again bool
}

// differs returns the first difference in ours, "" if there is none.
func (h *hookTold) differs(ours *hookTold) string {
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"calls", ours.calls, h.calls}, {"error", ours.err, h.err}, {"annotations", ours.notes, h.notes},
		{"warnings", ours.warnings, h.warnings}, {"object", ours.object, h.object}, {"second run", ours.again, h.again},
	} {
		if !reflect.DeepEqual(f.got, f.want) {
			return fmt.Sprintf("%s:\n got %s\nwant %s", f.name, encode(f.got), encode(f.want))
		}
	}
	return ""
}

// hookWorld is the server of the hooks, with the state that both plugins share.
type hookWorld struct {
	server *httptest.Server
	ca     *pkitest.Authority
	kinds  *kind.Types
	pool   *callout.Pool

	mu    sync.Mutex
	hooks map[string]func(w http.ResponseWriter, q *hookQuestion)
	calls []string
	uids  []string // the uids of reviews, each followed by "UID", for strings.NewReplacer
}

// hookQuestion holds the fields of a review that a hook needs for its answer.
type hookQuestion struct {
	APIVersion string `json:"apiVersion"`
	Request    struct {
		UID    string          `json:"uid"`
		Object json.RawMessage `json:"object"`
	} `json:"request"`
}

func newHookWorld(t *testing.T) *hookWorld {
	w := &hookWorld{ca: pkitest.NewAuthority(t, "hooks")}
	w.server = httptest.NewUnstartedServer(w)
	w.server.TLS = &tls.Config{Certificates: []tls.Certificate{w.ca.Server("127.0.0.1", "hooks.team.svc").TLS()}}
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	s := scheme.New()
	ourapi.AddToScheme(s)
	must(s.Complete())
	w.kinds = kind.NewTypes(s, codec.NewFactory(s))
	w.pool = callout.NewPool(webhooks.PoolConfig(func(context.Context, callout.Service) (string, error) {
		return w.server.Listener.Addr().String(), nil
	}, nil), nil)
	t.Cleanup(w.pool.Close)
	return w
}

// ServeHTTP implements http.Handler.
func (w *hookWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	q, whole := &hookQuestion{}, map[string]any{}
	must(json.Unmarshal(body, q))
	must(json.Unmarshal(body, &whole))
	delete(whole["request"].(map[string]any), "uid")
	name := strings.TrimPrefix(r.URL.Path, "/")
	w.mu.Lock()
	w.uids = append(w.uids, q.Request.UID, "UID")
	w.calls = append(w.calls, fmt.Sprintf("%s?%s %s %s", name, r.URL.RawQuery, r.Header.Get("Content-Type"), encode(whole)))
	h := w.hooks[name]
	w.mu.Unlock()
	h(rw, q)
}

// status returns an error as clients see it, without the uids of reviews.
func (w *hookWorld) status(s any) string {
	return unexplained.ReplaceAllString(strings.NewReplacer(w.uids...).Replace(pluginStatus(s)), "")
}

// unexplained finds the name of a scheme, which only Kubernetes' texts have.
var unexplained = regexp.MustCompile(` in scheme \\"[^"]*"`)

// taken returns the calls since the last call of taken.
func (w *hookWorld) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

// hookRun is a write with the configurations in force.
type hookRun struct {
	*hookWorld
	validates  bool
	mutating   []*theirv1.MutatingWebhookConfiguration
	validating []*theirv1.ValidatingWebhookConfiguration
	op         theiradmission.Operation
	resource   *hookResource
	obj, old   map[string]any // nil: none
	options    runtime.Object
	dryRun     bool
	late       bool // another plugin changes the object in the second run
	generated  bool // the server generates the name
}

func (r *hookRun) String() string {
	text := fmt.Sprintf("%s %s, dry run %t, late %t\nobject %s\nold %s\nmutating %s\nvalidating %s", r.op, r.resource.plural, r.dryRun, r.late,
		encode(r.obj), encode(r.old), encode(r.mutating), encode(r.validating))
	return strings.ReplaceAll(text, string(encode(r.ca.CertPEM)), `"CA"`)
}

// hookResource is a resource that is written.
type hookResource struct {
	group, version, plural, kind string
	others                       []schema.GroupVersion // other versions in which its objects are served
	object                       func(rnd *rand.Rand) map[string]any
}

func (r *hookResource) gv() schema.GroupVersion {
	return schema.GroupVersion{Group: r.group, Version: r.version}
}

func hookData(rnd *rand.Rand) map[string]any {
	return map[string]any{"data": map[string]any{"k": oneOf(rnd, "", "v", "<&>")}}
}

func hookScaler(rnd *rand.Rand) map[string]any {
	return map[string]any{"spec": map[string]any{
		"maxReplicas": 1 + rnd.IntN(3), "scaleTargetRef": map[string]any{"kind": "Deployment", "name": oneOf(rnd, "a", "b")},
	}}
}

func hookEvent(rnd *rand.Rand) map[string]any {
	return map[string]any{oneOf(rnd, "reason", "type"): oneOf(rnd, "a", "b")}
}

var (
	hookScalers   = schema.GroupVersion{Group: "autoscaling", Version: "v2"}
	hookEvents    = schema.GroupVersion{Version: "v1"}
	hookResources = []*hookResource{
		{"", "v1", "configmaps", "ConfigMap", nil, hookData},
		{"", "v1", "secrets", "Secret", nil, func(*rand.Rand) map[string]any { return map[string]any{"stringData": map[string]any{"a": "b"}} }},
		{"autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", []schema.GroupVersion{hookScalers}, hookScaler},
		{"events.k8s.io", "v1", "events", "Event", []schema.GroupVersion{hookEvents}, hookEvent},
		{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", nil,
			func(*rand.Rand) map[string]any { return map[string]any{} }},
	}
)

// made makes up a write, configurations and hooks.
func (w *hookWorld) made(t *testing.T, rnd *rand.Rand) *hookRun {
	t.Helper()
	r := &hookRun{hookWorld: w, validates: chance(rnd, 3), resource: oneOf(rnd, hookResources...), dryRun: chance(rnd, 8), late: chance(rnd, 4)}
	if rnd.IntN(10) < 7 {
		r.resource = oneOf(rnd, hookResources[0], hookResources[2])
	}
	r.op = oneOf(rnd, theiradmission.Create, theiradmission.Create, theiradmission.Update, theiradmission.Delete)
	object := func() map[string]any {
		obj := r.resource.object(rnd)
		obj["kind"], obj["apiVersion"] = r.resource.kind, r.resource.gv().String()
		head := map[string]any{"name": "a", "namespace": "team"}
		if r.resource.group == "admissionregistration.k8s.io" {
			delete(head, "namespace")
		}
		if chance(rnd, 2) {
			head["labels"] = map[string]any{"l": oneOf(rnd, "1", "2")}
		}
		obj["metadata"] = head
		return obj
	}
	r.options = &metav1.CreateOptions{TypeMeta: metav1.TypeMeta{Kind: "CreateOptions", APIVersion: "meta.k8s.io/v1"}, FieldManager: oneOf(rnd, "", "m")}
	if r.op != theiradmission.Delete {
		r.obj = object()
	} else {
		r.options = &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "meta.k8s.io/v1"}}
	}
	if r.op != theiradmission.Create {
		r.old = object()
	}
	if r.op == theiradmission.Update {
		r.options = &metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{Kind: "UpdateOptions", APIVersion: "meta.k8s.io/v1"}}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks = map[string]func(http.ResponseWriter, *hookQuestion){}
	bad := false // whether a hook refuses or fails; at most one may, because timing decides which error of parallel hooks comes first
	for _, name := range []string{"c", "a", "b"}[:1+rnd.IntN(3)] {
		m := &theirv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v := &theirv1.ValidatingWebhookConfiguration{ObjectMeta: m.ObjectMeta}
		for i := range 1 + rnd.IntN(3) {
			hook := w.hook(rnd, fmt.Sprintf("%s%d", name, i), r.validates, &bad)
			m.Webhooks = append(m.Webhooks, hook)
			v.Webhooks = append(v.Webhooks, theirv1.ValidatingWebhook{
				Name: hook.Name, ClientConfig: hook.ClientConfig, Rules: hook.Rules, FailurePolicy: hook.FailurePolicy,
				MatchPolicy: hook.MatchPolicy, NamespaceSelector: hook.NamespaceSelector, ObjectSelector: hook.ObjectSelector,
				SideEffects: hook.SideEffects, TimeoutSeconds: hook.TimeoutSeconds,
				AdmissionReviewVersions: hook.AdmissionReviewVersions, MatchConditions: hook.MatchConditions,
			})
		}
		if r.validates {
			r.validating = append(r.validating, v)
		} else {
			r.mutating = append(r.mutating, m)
		}
	}
	return r
}

// hook makes up a webhook and serves it at path. The caller holds mu.
func (w *hookWorld) hook(rnd *rand.Rand, path string, validates bool, bad *bool) theirv1.MutatingWebhook {
	h := theirv1.MutatingWebhook{
		Name:          oneOf(rnd, path, path, path, "same") + ".example.com",
		FailurePolicy: new(oneOf(rnd, theirv1.Fail, theirv1.Ignore)), MatchPolicy: new(oneOf(rnd, theirv1.Exact, theirv1.Equivalent, theirv1.Equivalent)),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}, TimeoutSeconds: new(int32(5 + rnd.IntN(3))),
		SideEffects:             new(oneOf(rnd, theirv1.SideEffectClassNone, theirv1.SideEffectClassNoneOnDryRun, theirv1.SideEffectClassNone)),
		AdmissionReviewVersions: oneOf(rnd, []string{"v1"}, []string{"v1", "v1beta1"}, []string{"v2", "v1beta1", "v1"}),
		ReinvocationPolicy:      new(oneOf(rnd, theirv1.NeverReinvocationPolicy, theirv1.IfNeededReinvocationPolicy)),
		ClientConfig:            theirv1.WebhookClientConfig{CABundle: w.ca.CertPEM},
	}
	if chance(rnd, 3) {
		h.ClientConfig.Service = &theirv1.ServiceReference{Namespace: "team", Name: "hooks", Path: new("/" + path)}
	} else {
		h.ClientConfig.URL = new(w.server.URL + "/" + path + oneOf(rnd, "", "", "/"))
	}
	rule := theirv1.RuleWithOperations{
		Operations: oneOf(rnd, []theirv1.OperationType{"*"}, []theirv1.OperationType{"*"}, []theirv1.OperationType{"CREATE", "UPDATE"}),
		Rule: theirv1.Rule{APIGroups: oneOf(rnd, []string{"*"}, []string{"*"}, []string{"", "autoscaling"}),
			APIVersions: oneOf(rnd, []string{"*"}, []string{"*"}, []string{"v2"}, []string{"v1"}), Resources: []string{"*"}},
	}
	h.Rules = []theirv1.RuleWithOperations{rule}
	if chance(rnd, 8) {
		h.ObjectSelector.MatchLabels = map[string]string{oneOf(rnd, "l", "patched"): oneOf(rnd, "1", "2")}
	}
	if chance(rnd, 6) {
		h.MatchConditions = []theirv1.MatchCondition{{Name: "c", Expression: oneOf(rnd, "true", "request.operation == 'CREATE'",
			"object != null && has(object.metadata.labels)", "object.metadata.labels.l == '1'", "request.resource.resource == 'configmaps'")}}
		if validates && !*bad && strings.Contains(h.MatchConditions[0].Expression, "l ==") {
			*bad = true
		} else if validates {
			h.MatchConditions = nil
		}
	}
	harmless := validates && *bad
	switch n := rnd.IntN(20); {
	case n == 0 && !harmless && !validates:
		h.SideEffects = new(theirv1.SideEffectClassSome)
	case n == 1 && !harmless:
		h.AdmissionReviewVersions, *bad = []string{"v9"}, true
	case n == 2 && !harmless:
		h.ClientConfig.CABundle, *bad = nil, true
	case n == 3 && !harmless:
		h.ClientConfig.URL, h.ClientConfig.Service, *bad = new("https://127.0.0.1:1/"+path), nil, true
	}
	w.hooks[path] = hookDoing(rnd, path, validates, harmless, bad)
	return h
}

// hookDoing makes up the handler of a hook.
func hookDoing(rnd *rand.Rand, path string, validates, harmless bool, bad *bool) func(http.ResponseWriter, *hookQuestion) {
	says := func(members string) func(http.ResponseWriter, *hookQuestion) {
		return func(w http.ResponseWriter, q *hookQuestion) {
			fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":%q,"response":{"uid":%q,%s}}`, q.APIVersion, q.Request.UID, members)
		}
	}
	patched := func(patch string) string {
		return `"allowed":true,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(patch)) + `"`
	}
	more := oneOf(rnd, "", "", `,"warnings":["w <1>","w2"]`, `,"auditAnnotations":{"a":"1","b/c":"2","_":"3","":"4","d.e-f":"5"}`)
	switch n := rnd.IntN(20); {
	case n < 9 && !validates:
		key := oneOf(rnd, "/metadata/labels", "/metadata/annotations")
		return func(w http.ResponseWriter, q *hookQuestion) {
			var obj struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
			}
			_ = json.Unmarshal(q.Request.Object, &obj)
			patch := fmt.Sprintf(`[{"op":"add","value":{"patched":%q},"path":%q}]`, obj.Metadata.Annotations["patched"]+path, key)
			says(patched(patch)+more)(w, q)
		}
	case n < 11 && !validates:
		return says(patched(oneOf(rnd, hookPatches...)) + more)
	case n < 16 || harmless:
		return says(`"allowed":true` + more)
	case n < 18:
		*bad = true
		return says(`"allowed":false` + oneOf(rnd, "", `,"status":{"message":"no <way>"}`, `,"status":{"code":403,"reason":"Forbidden"}`, `,"status":null`,
			`,"status":{"code":200,"status":"Success","message":"x","details":{"name":"n","causes":[{"reason":"r","message":"m","field":"f"}]}}`,
			`,"status":{"code":422,"reason":"Invalid","metadata":{"resourceVersion":"7"}}`) + more)
	}
	*bad = true
	if chance(rnd, 3) {
		code := oneOf(rnd, 304, 400, 401, 403, 404, 405, 406, 409, 413, 415, 418, 422, 429, 500, 502, 503, 504)
		return func(w http.ResponseWriter, _ *hookQuestion) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
		}
	}
	text := oneOf(rnd, hookAnswers...)
	return func(w http.ResponseWriter, q *hookQuestion) {
		io.WriteString(w, strings.NewReplacer("UID", q.Request.UID, "VERSION", q.APIVersion).Replace(text))
	}
}

// hookPatches are patches of all sorts. None removes the kind, because Kubernetes then shows the
// object to the next hook without its kind.
var hookPatches = []string{
	"", "[]", "null", "{}", "[", `"x"`, `[{}]`, `[null]`, `[{"op":"add"}]`, `[{"op":"nothing","path":"/kind"}]`,
	`[{"op":"add","path":"/metadata/labels","value":{"l":"1"}}]`, `[{"op":"remove","path":"/metadata/labels"}]`,
	`[{"op":"remove","path":"/metadata/nothing"}]`, `[{"op":"test","path":"/metadata/name","value":"a"}]`,
	`[{"op":"test","path":"/metadata/name","value":"b"}]`, `[{"op":"replace","path":"/metadata/name","value":"b"}]`,
	`[{"op":"replace","path":"/metadata","value":{"name":"a","namespace":"other","uid":"u"}}]`, `[{"op":"add","path":"/metadata/labels","value":7}]`,
	`[{"op":"add","path":"/metadata/labels/l","value":"2"}]`, `[{"op":"add","path":"/unknown","value":{"a":1.50}}]`,
	`[{"value":{"<":"1"},"path":"/metadata/annotations","op":"add"},{"op":"copy","from":"/metadata/name","path":"/metadata/annotations/copy"}]`,
	`[{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]`, `[{"op":"add","path":"/metadata/labels/-","value":"2"}]`,
	`[{"op":"replace","path":"/spec/maxReplicas","value":5}]`, `[{"op":"replace","path":"/data/k","value":"changed"}]`,
	`[{"op":"remove","path":"/spec/minReplicas"}]`,
	`[{"op":"remove","path":"/metadata/nothing/deeper"}]`, `[{"op":"copy","from":"/nothing","path":"/metadata/labels"}]`,
}

// hookAnswers are wrong answers. None is YAML, because Kubernetes also reads YAML.
var hookAnswers = []string{
	"", "{", "[]", "7", `"x"`, "null", "{}", `{"kind":"AdmissionReview"}`, `{"apiVersion":"VERSION"}`, `{"kind":"AdmissionReview","apiVersion":"VERSION"}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":null}`, `{"kind":"AdmissionReview","apiVersion":"VERSION","response":{}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"x","allowed":true}}`, `{"response":{"uid":"UID","allowed":true}}`,
	`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"UID","allowed":true}}`,
	`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"UID","allowed":true}}`,
	`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v7","response":{"uid":"UID","allowed":true}}`,
	`{"kind":"Pod","apiVersion":"v1"}`, `{"kind":7}`, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","code":418}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":"true"}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","Allowed":true}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":true,"patch":"W10="}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":true,"patchType":"JSONPatch"}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":true,"patch":"W3t9XQ==","patchType":"Other"}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":true,"patch":"W3t9XQ==","patchType":""}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":true,"patch":"=="}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":true,"warnings":"w"}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":"UID","allowed":true,"status":{"code":"x"}}}`,
	`{"kind":"AdmissionReview","apiVersion":"VERSION","response":{"uid":7}}`, `{"kind":"AdmissionReview","apiVersion":"a/b/c"}`,
}
