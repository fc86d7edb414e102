package webhooks_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kinds are the built-in kinds.
var kinds = sync.OnceValue(func() *kind.Types {
	s := scheme.New()
	api.AddToScheme(s)
	if err := s.Complete(); err != nil {
		panic(err)
	}
	return kind.NewTypes(s, codec.NewFactory(s))
})

// asked is a review as the server of the hooks receives it.
type asked struct {
	APIVersion string `json:"apiVersion"`
	Request    struct {
		UID    string          `json:"uid"`
		Object json.RawMessage `json:"object"`
	} `json:"request"`
	body []byte
}

// answer returns the text of an answer whose response has further members, such as
// `"allowed":true`.
func (q *asked) answer(members string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":%q,"response":{"uid":%q,%s}}`,
		q.APIVersion, q.Request.UID, members)
}

const allowed = `"allowed":true`

// patched returns the members of a response that allows and has a JSON patch.
func patched(patch string) string {
	return allowed + `,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(patch)) + `"`
}

// hook answers a review.
type hook func(w http.ResponseWriter, r *http.Request, q *asked)

// says returns a hook that always answers with the same members.
func says(members string) hook {
	return func(w http.ResponseWriter, _ *http.Request, q *asked) { io.WriteString(w, q.answer(members)) }
}

// kit has a TLS server of hooks, and a chain with both plugins.
type kit struct {
	t      testing.TB
	server *httptest.Server
	ca     *pkitest.Authority
	pool   *callout.Pool
	world  *matching.World

	open   atomic.Int64  // connections
	closed chan struct{} // gets a token for each connection that ends

	quick func(w http.ResponseWriter, body []byte) // answers instead of the hooks, unless nil
	last  []byte                                   // the body of the last request to quick

	mu        sync.Mutex
	hooks     map[string]hook // by path
	log       []string        // the paths that were called
	bodies    []string        // the bodies of reviews, with 0 for their UIDs
	calls     []webhooks.Call
	evaluated []webhooks.Evaluation

	compilers         [2]*webhooks.Compiler
	mutating          []*v1.MutatingWebhookConfiguration
	validating        []*v1.ValidatingWebhookConfiguration
	warnings          []string
	notes, fullNotes  map[string]string
	chain             admission.Chain
	before, afterward admission.Mutator // run before and after the plugin that mutates; may be nil
}

func newKit(t testing.TB) *kit {
	t.Helper()
	k := &kit{t: t, ca: pkitest.NewAuthority(t, "ca"), hooks: map[string]hook{}, world: &matching.World{}, closed: make(chan struct{}, 1000)}
	k.server = httptest.NewUnstartedServer(k)
	k.server.TLS = &tls.Config{Certificates: []tls.Certificate{k.ca.Server("127.0.0.1", "localhost", "hooks.team.svc").TLS()}}
	k.server.EnableHTTP2 = true
	k.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	k.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			k.open.Add(1)
		case http.StateClosed:
			k.open.Add(-1)
			k.closed <- struct{}{}
		}
	}
	k.server.StartTLS()
	t.Cleanup(k.server.Close)
	resolve := func(context.Context, callout.Service) (string, error) { return k.server.Listener.Addr().String(), nil }
	k.pool = callout.NewPool(webhooks.PoolConfig(resolve, nil), nil)
	t.Cleanup(k.pool.Close)
	k.compilers = [2]*webhooks.Compiler{webhooks.NewCompiler(k.pool), webhooks.NewCompiler(k.pool)}
	means := webhooks.Means{World: k.world, Observer: webhooks.Observer{
		Called:    func(c webhooks.Call) { c.Took = 0; k.calls = append(k.calls, c) },
		Evaluated: func(e webhooks.Evaluation) { e.Took = 0; k.evaluated = append(k.evaluated, e) },
	}}
	k.chain = admission.Chain{
		around{&k.before},
		webhooks.NewMutating(func(context.Context) (*webhooks.Hooks, error) { return k.compilers[0].Mutating(k.mutating), nil }, means),
		around{&k.afterward},
		webhooks.NewValidating(func(context.Context) (*webhooks.Hooks, error) { return k.compilers[1].Validating(k.validating), nil }, means),
	}
	return k
}

// fixed returns the plugins with Hooks that do not change.
func (k *kit) fixed(mutating, validating *webhooks.Hooks) admission.Chain {
	return admission.Chain{
		webhooks.NewMutating(func(context.Context) (*webhooks.Hooks, error) { return mutating, nil }, webhooks.Means{World: k.world}),
		webhooks.NewValidating(func(context.Context) (*webhooks.Hooks, error) { return validating, nil }, webhooks.Means{World: k.world}),
	}
}

// around is a mutator that calls another one, which a test may replace.
type around struct{ to *admission.Mutator }

func (around) Name() string                     { return "around" }
func (around) Handles(admission.Operation) bool { return true }
func (p around) Mutate(ctx context.Context, a *admission.Attributes) error {
	if *p.to == nil {
		return nil
	}
	return (*p.to).Mutate(ctx, a)
}

// ServeHTTP implements http.Handler.
func (k *kit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &asked{}
	q.body, _ = io.ReadAll(r.Body)
	if k.quick != nil {
		k.last = q.body
		k.quick(w, q.body)
		return
	}
	if err := json.Unmarshal(q.body, q); err != nil {
		k.t.Errorf("the review %q: %v", q.body, err)
	}
	k.mu.Lock()
	k.log = append(k.log, strings.TrimPrefix(r.URL.Path, "/"))
	k.bodies = append(k.bodies, strings.ReplaceAll(string(q.body), q.Request.UID, "0"))
	h := k.hooks[strings.TrimPrefix(r.URL.Path, "/")]
	k.mu.Unlock()
	if h == nil {
		h = says(allowed)
	}
	h(w, r, q)
}

// called returns the paths that were called since its last call.
func (k *kit) called() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	log := strings.Join(k.log, " ")
	k.log, k.bodies = nil, nil
	return log
}

// everything is the rule that matches all requests.
var everything = []v1.RuleWithOperations{{Operations: []v1.OperationType{"*"}, Rule: v1.Rule{
	APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"},
}}}

func (k *kit) client(path string) v1.WebhookClientConfig {
	return v1.WebhookClientConfig{URL: new(k.server.URL + "/" + path), CABundle: k.ca.CertPEM}
}

// mutates returns a mutating webhook. Its path, and the beginning of its name, is path.
func (k *kit) mutates(path string, options ...func(*v1.MutatingWebhook)) v1.MutatingWebhook {
	w := v1.MutatingWebhook{
		Name: path + ".example.com", ClientConfig: k.client(path), Rules: everything,
		FailurePolicy: new(v1.Fail), MatchPolicy: new(v1.Equivalent), NamespaceSelector: &meta.LabelSelector{},
		ObjectSelector: &meta.LabelSelector{}, SideEffects: new(v1.SideEffectClassNone), TimeoutSeconds: new(int32(10)),
		AdmissionReviewVersions: []string{"v1"}, ReinvocationPolicy: new(v1.NeverReinvocationPolicy),
	}
	for _, option := range options {
		option(&w)
	}
	return w
}

// validates returns a validating webhook with the same fields as the mutating webhook of mutates.
func (k *kit) validates(path string, options ...func(*v1.MutatingWebhook)) v1.ValidatingWebhook {
	w := k.mutates(path, options...)
	return v1.ValidatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
		NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
		TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
	}
}

func ignore(w *v1.MutatingWebhook)   { w.FailurePolicy = new(v1.Ignore) }
func ifNeeded(w *v1.MutatingWebhook) { w.ReinvocationPolicy = new(v1.IfNeededReinvocationPolicy) }

// configure adds a configuration with mutating webhooks.
func (k *kit) configure(name string, hooks ...v1.MutatingWebhook) {
	k.mutating = append(k.mutating, &v1.MutatingWebhookConfiguration{ObjectMeta: meta.ObjectMeta{Name: name}, Webhooks: hooks})
}

// configureChecks adds a configuration with validating webhooks.
func (k *kit) configureChecks(name string, hooks ...v1.ValidatingWebhook) {
	k.validating = append(k.validating,
		&v1.ValidatingWebhookConfiguration{ObjectMeta: meta.ObjectMeta{Name: name}, Webhooks: hooks})
}

// both replaces all configurations by one mutating and one validating hook for a path.
func (k *kit) both(path string, options ...func(*v1.MutatingWebhook)) {
	k.mutating, k.validating = nil, nil
	k.configure("m", k.mutates(path, options...))
	k.configureChecks("v", k.validates(path, options...))
}

// write returns a write of a config map. The kit notes its warnings and annotations.
func (k *kit) write(op admission.Operation, obj, old *corev1.ConfigMap) *admission.Attributes {
	a := &admission.Attributes{
		Operation: op, Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind: meta.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "team", Name: "a",
		User: &request.User{Name: "alice", Groups: []string{"g"}},
		Type: kinds().Kind(meta.GroupKind{Kind: "ConfigMap"}),
	}
	if obj != nil {
		a.Object = obj
	}
	if old != nil {
		a.Old = old
	}
	k.warnings, k.notes, k.fullNotes = nil, map[string]string{}, map[string]string{}
	a.Listen(func(text string) { k.warnings = append(k.warnings, text) }, func(key, value string) { k.notes[key] = value })
	a.ListenRequest(func(key, value string) { k.fullNotes[key] = value })
	return a
}

// configMap returns a config map with the data of pairs.
func configMap(pairs ...string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "a", Namespace: "team"}, Data: map[string]string{}}
	for pair := range slices.Chunk(pairs, 2) {
		m.Data[pair[0]] = pair[1]
	}
	return m
}

// dataOf returns the data of the object of a write.
func dataOf(a *admission.Attributes) string {
	m, ok := a.Object.(*corev1.ConfigMap)
	if !ok {
		return fmt.Sprintf("a %T", a.Object)
	}
	text, _ := json.Marshal(m.Data)
	return string(text)
}

// addsTo returns a hook that appends a letter to the value of a key of the data.
func addsTo(key, letter string) hook {
	return func(w http.ResponseWriter, _ *http.Request, q *asked) {
		var obj struct {
			Data map[string]string `json:"data"`
		}
		_ = json.Unmarshal(q.Request.Object, &obj)
		io.WriteString(w, q.answer(patched(fmt.Sprintf(`[{"op":"add","path":"/data/%s","value":%q}]`, key, obj.Data[key]+letter))))
	}
}
