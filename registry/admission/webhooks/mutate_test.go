package webhooks_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// execOptions are the options of a connect.
type execOptions struct {
	meta.TypeMeta `json:",inline"`
	Command       []string `json:"command,omitempty"`
}

// TestReview compares the whole review of each operation.
func TestReview(t *testing.T) {
	k := newKit(t)
	k.configure("c", k.mutates("m"))
	object := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"team"},"data":{"x":"<1>"}}`
	object = strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(object)
	for _, tt := range []struct {
		op              admission.Operation
		obj, old        *corev1.ConfigMap
		dryRun          bool
		options         meta.Typed
		object, oldText string
		rest            string
	}{
		{admission.Create, configMap("x", "<1>"), nil, false, &meta.CreateOptions{FieldManager: "me"}, object, "null",
			`"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"me"}`},
		{admission.Update, configMap("x", "<1>"), configMap("x", "<1>"), true, &meta.UpdateOptions{DryRun: []string{"All"}}, object, object,
			`"dryRun":true,"options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"]}`},
		{admission.Delete, nil, configMap("x", "<1>"), false, &meta.DeleteOptions{TypeMeta: meta.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}},
			"null", object, `"dryRun":false,"options":{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1"}`},
	} {
		a := k.write(tt.op, tt.obj, tt.old)
		a.DryRun, a.Options = tt.dryRun, tt.options
		if err := k.chain.Mutate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		want := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"0",` +
			`"kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},` +
			`"requestKind":{"group":"","version":"v1","kind":"ConfigMap"},"requestResource":{"group":"","version":"v1","resource":"configmaps"},` +
			`"name":"a","namespace":"team","operation":"` + string(tt.op) + `","userInfo":{"username":"alice","groups":["g"]},` +
			`"object":` + tt.object + `,"oldObject":` + tt.oldText + `,` + tt.rest + "}}\n"
		if got := k.bodies[len(k.bodies)-1]; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	a := k.write(admission.Connect, nil, nil)
	a.Kind, a.Resource.Resource, a.Subresource = meta.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, "pods", "exec"
	a.Object, a.Name = &execOptions{Command: []string{"sh"}}, ""
	a.User.Extra = map[string][]string{"b": {"1", "2"}, "a": nil}
	if err := k.chain.Mutate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	body := k.bodies[len(k.bodies)-1]
	for _, want := range []string{
		`"subResource":"exec","requestKind"`, `"requestSubResource":"exec","namespace":"team"`, `"operation":"CONNECT"`,
		`"extra":{"a":null,"b":["1","2"]}}`, `"object":{"kind":"PodExecOptions","apiVersion":"v1","command":["sh"]}`, `"options":null}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the review of a connect lacks %s: %s", want, body)
		}
	}
}

// TestOrder: mutating hooks run in the order of their configurations and of their places there.
// Each sees the changes of the hooks before it, and annotations record each call.
func TestOrder(t *testing.T) {
	k := newKit(t)
	for _, name := range []string{"one", "two", "three"} {
		k.hooks[name] = addsTo("x", name[:1])
	}
	k.hooks["silent"] = says(allowed + `,"warnings":["w1","w2"],"auditAnnotations":{"b":"2","a":"1","not valid":"3"}`)
	k.configure("a", k.mutates("one"), k.mutates("elsewhere", func(w *v1.MutatingWebhook) { w.Rules = nil }), k.mutates("two"))
	k.configure("b", k.mutates("silent", func(w *v1.MutatingWebhook) { w.AdmissionReviewVersions = []string{"v7", "v1beta1"} }), k.mutates("three"))
	a := k.write(admission.Create, configMap("x", "0"), nil)
	if err := k.chain.Mutate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got := k.called() + " " + dataOf(a); got != `one two silent three {"x":"0ott"}` {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(k.warnings, " "); got != "w1 w2" {
		t.Errorf("warnings: got %s", got)
	}
	note := func(configuration, name string, mutated bool) string {
		return fmt.Sprintf(`{"configuration":%q,"webhook":"%s.example.com","mutated":%t}`, configuration, name, mutated)
	}
	want := map[string]string{
		"mutation.webhook.admission.k8s.io/round_0_index_0": note("a", "one", true),
		"mutation.webhook.admission.k8s.io/round_0_index_2": note("a", "two", true),
		"mutation.webhook.admission.k8s.io/round_0_index_3": note("b", "silent", false),
		"mutation.webhook.admission.k8s.io/round_0_index_4": note("b", "three", true),
		"silent.example.com/a":                              "1", "silent.example.com/b": "2",
	}
	if !maps.Equal(k.notes, want) {
		t.Errorf("annotations: got %v, want %v", k.notes, want)
	}
	const full = `{"configuration":"a","webhook":"two.example.com","patch":[{"op":"add","path":"/data/x","value":"0ot"}],"patchType":"JSONPatch"}`
	if got := k.fullNotes["patch.webhook.admission.k8s.io/round_0_index_2"]; got != full || len(k.fullNotes) != 3 {
		t.Errorf("annotations of patches: got %v", k.fullNotes)
	}
	if len(k.calls) != 4 || k.calls[0] != (webhooks.Call{Webhook: "one.example.com", Operation: admission.Create, Code: 200}) {
		t.Errorf("calls: got %+v", k.calls)
	}
}

// doing is a mutator that is built into the server.
type doing func(a *admission.Attributes)

func (doing) Name() string                     { return "doing" }
func (doing) Handles(admission.Operation) bool { return true }
func (f doing) Mutate(_ context.Context, a *admission.Attributes) error {
	f(a)
	return nil
}

// TestReinvocation: a hook with reinvocationPolicy IfNeeded runs a second time if another hook or
// plugin changes the object after it.
func TestReinvocation(t *testing.T) {
	set := func(letter string) admission.Mutator {
		return doing(func(a *admission.Attributes) { a.Object.(*corev1.ConfigMap).Data["other"] = letter })
	}
	only := func(second bool, m admission.Mutator) admission.Mutator {
		return doing(func(a *admission.Attributes) {
			if a.Reinvoked == second {
				_ = m.Mutate(context.Background(), a)
			}
		})
	}
	again := doing(func(a *admission.Attributes) { a.Reinvoke() })
	for _, tt := range []struct {
		name              string
		hooks             string // hooks by letter; "!": reinvoked if needed; "+": changes the object each time
		before, afterward admission.Mutator
		want              string
	}{
		{"nothing changes", "a! b! c!", nil, nil, "a b c"},
		{"the last changes it", "a! b c!+", nil, nil, "a b c a"},
		{"its own change does not count", "a!+", nil, nil, "a"},
		{"the first changes it", "a!+ b!", nil, nil, "a b"},
		{"two change it", "a!+ b!+ c", nil, nil, "a b c a b"},
		{"nobody wants a second time", "a b c+", nil, nil, "a b c"},
		{"another plugin asks, and changes nothing", "a! b!", nil, again, "a b"},
		{"another plugin changes it in the second run", "a! b c!", only(true, set("2")), again, "a b c a c"},
		{"another plugin changes it after the hooks", "a! b!", nil, doing(func(a *admission.Attributes) {
			_ = set("1").Mutate(context.Background(), a)
			a.Reinvoke()
		}), "a b a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t)
			k.before, k.afterward = tt.before, tt.afterward
			var list []v1.MutatingWebhook
			for _, word := range strings.Fields(tt.hooks) {
				w := k.mutates(word[:1])
				if strings.Contains(word, "!") {
					ifNeeded(&w)
				}
				if strings.Contains(word, "+") {
					k.hooks[word[:1]] = addsTo("x", word[:1])
				}
				list = append(list, w)
			}
			k.configure("c", list...)
			a := k.write(admission.Update, configMap("x", "0"), configMap())
			if err := k.chain.Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if got := k.called(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestNewcomers: a hook that did not match the object in the first run is not called in the second.
func TestNewcomers(t *testing.T) {
	k := newKit(t)
	label := says(patched(`[{"op":"add","path":"/metadata/labels","value":{"l":"1"}}]`))
	k.hooks["b"] = label
	k.configure("c", k.mutates("new", ifNeeded, func(w *v1.MutatingWebhook) {
		w.ObjectSelector = &meta.LabelSelector{MatchLabels: map[string]string{"l": "1"}}
	}), k.mutates("old", ifNeeded), k.mutates("b"))
	if err := k.chain.Mutate(t.Context(), k.write(admission.Create, configMap(), nil)); err != nil {
		t.Fatal(err)
	}
	if got := k.called(); got != "old b old" {
		t.Errorf("got %s", got)
	}
	if want := "mutation.webhook.admission.k8s.io/round_1_index_1"; k.notes[want] == "" {
		t.Errorf("annotations of the second run: got %v", slices.Collect(maps.Keys(k.notes)))
	}
}

// TestVersions: a hook sees the object in the version that its rule names. The patched object gets
// the defaults of that version and is converted back.
func TestVersions(t *testing.T) {
	k := newKit(t)
	typ := kinds().Kind(meta.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"})
	hub := typ.New()
	*hub.GetObjectMeta() = meta.ObjectMeta{Name: "a", Namespace: "team"}
	a := k.write(admission.Create, nil, nil)
	a.Type, a.Object = typ, hub
	a.Kind = meta.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	a.Resource = a.Kind.GroupVersion().WithResource("horizontalpodautoscalers")
	old := a.Kind
	old.Version = "v1"
	k.world.Equivalents = equivalentTo(typ, a.Resource, old)
	k.hooks["m"] = func(w http.ResponseWriter, _ *http.Request, q *asked) {
		if !strings.Contains(string(q.Request.Object), `"apiVersion":"autoscaling/v1"`) {
			t.Errorf("the hook sees %s", q.Request.Object)
		}
		io.WriteString(w, q.answer(patched(`[{"op":"add","path":"/spec/targetCPUUtilizationPercentage","value":70}]`)))
	}
	k.configure("c", k.mutates("m", func(w *v1.MutatingWebhook) {
		w.Rules = []v1.RuleWithOperations{{Operations: []v1.OperationType{"*"}, Rule: v1.Rule{
			APIGroups: []string{"autoscaling"}, APIVersions: []string{"v1"}, Resources: []string{"*"}}}}
	}), k.mutates("second"))
	if err := k.chain.Mutate(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(k.bodies[0], `"requestKind":{"group":"autoscaling","version":"v2"`) ||
		!strings.Contains(k.bodies[1], `"averageUtilization":70`) || !strings.Contains(k.bodies[1], `"minReplicas":1`) {
		t.Errorf("got %s", k.bodies)
	}
}
