package differential

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	theirv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"
	theirmatching "k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	ourv1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestMatching asks Kubernetes' matchers of webhooks and of policies, and ours, which random hooks
// match random requests. It compares the target of each match and the errors.
func TestMatching(t *testing.T) {
	rnd := random("matching")
	w := newMatchWorld(t)
	var matched, refused, elsewhere int
	for range times(1250) {
		hooks := make([]*matchHook, 4)
		for i := range hooks {
			hooks[i] = w.hook(t, rnd, i)
		}
		index := matching.NewIndex(hooks, func(h *matchHook) *matching.Matcher { return h.ours })
		for range 4 {
			theirs, ours := w.request(rnd)
			var candidates []*matchHook
			for h := range index.Candidates(ours, w.ours) {
				candidates = append(candidates, h)
			}
			for _, h := range hooks {
				want := h.theirs(t.Context(), theirs)
				got := h.match(t.Context(), ours, w.ours)
				if got != want {
					t.Fatalf("%s\n%s\n got %+v\nwant %+v", encode(h.criteria), matchWhat(ours), got, want)
				}
				if want != (matchVerdict{}) && !slices.Contains(candidates, h) {
					t.Fatalf("%s\n%s: the hook is no candidate", encode(h.criteria), matchWhat(ours))
				}
				switch {
				case want.err != "":
					refused++
				case want.matched && want.resource != theirs.GetResource().String():
					elsewhere++
				case want.matched:
					matched++
				}
			}
		}
	}
	t.Logf("%d matched, %d of them as an equivalent resource, %d failed", matched+elsewhere, elsewhere, refused)
	if matched < 100 || elsewhere < 20 || refused < 20 {
		t.Error("too little has matched or failed")
	}
}

// matchVerdict is the answer of a matcher.
type matchVerdict struct {
	matched        bool
	resource, kind string
	err            string
}

func (v matchVerdict) failed(err error) matchVerdict {
	if err != nil {
		return matchVerdict{err: err.Error()}
	}
	return v
}

// matchHook is a webhook or a policy for both sides.
type matchHook struct {
	criteria any // theirs
	theirs   func(context.Context, theiradmission.Attributes) matchVerdict
	ours     *matching.Matcher
}

func (h *matchHook) match(ctx context.Context, a *admission.Attributes, w *matching.World) matchVerdict {
	target, ok, err := h.ours.Match(ctx, a, w)
	if !ok || err != nil {
		return matchVerdict{}.failed(err)
	}
	return matchVerdict{matched: true, resource: theirGVR(target.Resource).String(), kind: schema.GroupVersionKind(target.Kind).String()}
}

func theirGVR(r meta.GroupVersionResource) schema.GroupVersionResource {
	return schema.GroupVersionResource(r)
}

func matchWhat(a *admission.Attributes) string {
	return fmt.Sprintf("%s %v/%s, namespace %q, name %q, object %s, old %s", a.Operation, a.Resource, a.Subresource, a.Namespace, a.Name,
		encode(a.Object), encode(a.Old))
}

// matchWorld is a cluster whose resources have equivalents and whose namespaces have labels.
type matchWorld struct {
	webhooks *generic.Webhook
	policies *theirmatching.Matcher
	objects  theiradmission.ObjectInterfaces
	ours     *matching.World
}

// matchResources are the resources of the world, in the order in which kube-apiserver registers
// them.
var matchResources = []matchResource{
	{"", "v1", "events", "", "Event", true}, {"events.k8s.io", "v1beta1", "events", "", "Event", true}, {"events.k8s.io", "v1", "events", "", "Event", true},
	{"apps", "v1", "deployments", "", "Deployment", true}, {"apps", "v1", "deployments", "scale", "Scale", true},
	{"apps", "v1beta2", "deployments", "", "Deployment", true}, {"apps", "v1beta1", "deployments", "", "Deployment", true},
	{"apps", "v1beta1", "deployments", "scale", "Scale", true},
	{"", "v1", "pods", "", "Pod", true}, {"", "v1", "pods", "exec", "PodExecOptions", true}, {"", "v1", "nodes", "", "Node", false},
	{"", "v1", "namespaces", "", "Namespace", false}, {"", "v1", "namespaces", "status", "Namespace", false},
	{"e.io", "v2", "namespaces", "", "Own", false}, {"e.io", "v1", "namespaces", "", "Own", false},
}

type matchResource struct {
	group, version, plural, sub, kind string
	namespaced                        bool
}

func (r *matchResource) theirs() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.group, Version: r.version, Resource: r.plural}
}

func (r *matchResource) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind}
}

// same reports whether a store keeps the objects of both resources at one place.
func (r *matchResource) same(other *matchResource) bool {
	return r.plural == other.plural && r.sub == other.sub && (r.group == other.group || r.plural == "events")
}

// matchNamespaces are namespaces by name. One more, "broken", cannot be read.
var matchNamespaces = map[string]map[string]string{"plain": nil, "one": {"a": "1"}, "two": {"a": "2", "b": "1"}}

func newMatchWorld(t *testing.T) *matchWorld {
	t.Helper()
	var stored []runtime.Object
	for name, l := range matchNamespaces {
		stored = append(stored, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: l}})
	}
	boom := errors.New("boom")
	client := fake.NewClientset(stored...)
	client.PrependReactor("get", "namespaces", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.(clienttesting.GetAction).GetName() == "broken", nil, boom
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	w := &matchWorld{webhooks: newTheirWebhooks(t, client, factory), objects: matchObjects()}
	w.policies = theirmatching.NewMatcher(factory.Core().V1().Namespaces().Lister(), client)
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSyncWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	w.ours = &matching.World{
		Equivalents: func(r meta.GroupVersionResource, sub string) []matching.Target {
			return matchEquivalents(theirGVR(r), sub)
		},
		Namespaces: admission.NewNamespaces(func(_ context.Context, name string, _ request.Freshness) (admission.Namespace, error) {
			l, ok := matchNamespaces[name]
			switch {
			case name == "broken":
				return admission.Namespace{}, boom
			case !ok:
				return admission.Namespace{}, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
			}
			return admission.Namespace{Labels: meta.Set(l)}, nil
		}),
	}
	return w
}

// newTheirWebhooks makes the part of Kubernetes' plugins that both kinds of webhooks share.
func newTheirWebhooks(t *testing.T, client kubernetes.Interface, factory informers.SharedInformerFactory) *generic.Webhook {
	t.Helper()
	w, err := generic.NewWebhook(theiradmission.NewHandler(theiradmission.Create), nil,
		func(informers.SharedInformerFactory) generic.Source { return nil },
		func(*webhookutil.ClientManager) generic.Dispatcher { return nil })
	if err != nil {
		t.Fatal(err)
	}
	w.SetExternalKubeClientSet(client)
	w.SetExternalKubeInformerFactory(factory)
	return w
}

// matchObjects describes matchResources to Kubernetes. Both groups of events are stored at one
// place.
func matchObjects() theiradmission.ObjectInterfaces {
	registry := runtime.NewEquivalentResourceRegistryWithIdentity(func(gr schema.GroupResource) string {
		if gr.Resource == "events" {
			return "events"
		}
		return ""
	})
	for i := range matchResources {
		r := &matchResources[i]
		registry.RegisterKindFor(r.theirs(), r.sub, r.gvk())
	}
	return &theiradmission.RuntimeObjectInterfaces{EquivalentResourceMapper: registry}
}

// matchEquivalents returns the equivalents among matchResources, as our server does.
func matchEquivalents(of schema.GroupVersionResource, sub string) (list []matching.Target) {
	known := slices.IndexFunc(matchResources, func(r matchResource) bool { return r.theirs() == of && r.sub == sub })
	for i := range matchResources {
		if r := &matchResources[i]; known >= 0 && r.same(&matchResources[known]) {
			list = append(list, matching.Target{
				Resource: meta.GroupVersionResource(r.theirs()), Subresource: r.sub, Kind: meta.GroupVersionKind(r.gvk()),
			})
		}
	}
	return list
}

// hook makes a random webhook or policy.
func (w *matchWorld) hook(t *testing.T, rnd *rand.Rand, i int) *matchHook {
	t.Helper()
	m := &theirv1.MatchResources{
		NamespaceSelector: matchSelector(rnd), ObjectSelector: matchSelector(rnd), MatchPolicy: matchPolicy(rnd),
	}
	for range rnd.IntN(4) {
		m.ResourceRules = append(m.ResourceRules, matchRule(rnd))
	}
	if chance(rnd, 2) {
		return w.webhook(t, m, i)
	}
	for range rnd.IntN(5) / 3 {
		m.ExcludeResourceRules = append(m.ExcludeResourceRules, matchRule(rnd))
	}
	return &matchHook{
		criteria: m, ours: matching.Compile(matching.OfResources(ourMatch(t, m))),
		theirs: func(_ context.Context, a theiradmission.Attributes) matchVerdict {
			ok, resource, kind, err := w.policies.Matches(a, w.objects, matchCriteria{m})
			if !ok || err != nil {
				return matchVerdict{}.failed(err)
			}
			return matchVerdict{matched: true, resource: resource.String(), kind: kind.String()}
		},
	}
}

// webhook makes a webhook of the criteria of a policy, without names of objects.
func (w *matchWorld) webhook(t *testing.T, m *theirv1.MatchResources, i int) *matchHook {
	t.Helper()
	hook := &theirv1.ValidatingWebhook{
		Name: "a", NamespaceSelector: m.NamespaceSelector, ObjectSelector: m.ObjectSelector, MatchPolicy: m.MatchPolicy,
	}
	for _, r := range m.ResourceRules {
		hook.Rules = append(hook.Rules, r.RuleWithOperations)
	}
	accessor := webhook.NewValidatingWebhookAccessor(fmt.Sprint(i), "a", hook)
	c := ourMatch(t, m)
	rules := make([]ourv1.RuleWithOperations, len(c.ResourceRules))
	for i := range rules {
		rules[i] = c.ResourceRules[i].RuleWithOperations
	}
	return &matchHook{
		criteria: hook, ours: matching.Compile(matching.OfWebhook(rules, c.MatchPolicy, c.NamespaceSelector, c.ObjectSelector)),
		theirs: func(ctx context.Context, a theiradmission.Attributes) matchVerdict {
			called, err := w.webhooks.ShouldCallHook(ctx, accessor, a, w.objects, nil)
			switch {
			case err != nil:
				return matchVerdict{}.failed(err)
			case called == nil:
				return matchVerdict{}
			}
			return matchVerdict{matched: true, resource: called.Resource.String(), kind: called.Kind.String()}
		},
	}
}

// ourMatch converts their criteria to ours.
func ourMatch(t *testing.T, m *theirv1.MatchResources) *ourv1.MatchResources {
	t.Helper()
	out := &ourv1.MatchResources{}
	if err := decode(encode(m), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// matchCriteria are the criteria of a policy of theirs.
type matchCriteria struct{ m *theirv1.MatchResources }

func (c matchCriteria) GetParsedNamespaceSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.m.NamespaceSelector)
}

func (c matchCriteria) GetParsedObjectSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.m.ObjectSelector)
}

func (c matchCriteria) GetMatchResources() theirv1.MatchResources { return *c.m }

func matchPolicy(rnd *rand.Rand) *theirv1.MatchPolicyType {
	if chance(rnd, 6) {
		return nil
	}
	return new(oneOf(rnd, theirv1.Exact, theirv1.Equivalent, theirv1.Equivalent))
}

// matchSelector makes a selector: most select everything, a few are invalid.
func matchSelector(rnd *rand.Rand) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	switch rnd.IntN(12) {
	case 0:
		return nil
	case 1, 2:
		s.MatchLabels = map[string]string{oneOf(rnd, "a", "b", "a b"): oneOf(rnd, "1", "2", "1", "2", "!")}
	case 3, 4:
		e := metav1.LabelSelectorRequirement{
			Key: oneOf(rnd, "a", "b"), Operator: metav1.LabelSelectorOperator(oneOf(rnd, "In", "NotIn", "Exists", "DoesNotExist", "Like")),
		}
		if e.Operator == "In" || e.Operator == "NotIn" || chance(rnd, 5) {
			e.Values = []string{oneOf(rnd, "1", "2"), "3"}
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

// matchRule makes a rule that names about half of matchResources.
func matchRule(rnd *rand.Rand) theirv1.NamedRuleWithOperations {
	var r theirv1.NamedRuleWithOperations
	some := func(from ...string) (list []string) {
		for range 1 + rnd.IntN(2) {
			list = append(list, oneOf(rnd, from...))
		}
		return list
	}
	for range 1 + rnd.IntN(3) {
		r.Operations = append(r.Operations, oneOf(rnd, theirv1.OperationAll, theirv1.Create, theirv1.Update, theirv1.Delete, theirv1.Connect, "Create"))
	}
	r.APIGroups = some("*", "", "apps", "events.k8s.io", "e.io")
	r.APIVersions = some("*", "v1", "v1beta1", "v1beta2", "v2")
	r.Resources = some("*", "*/*", "events", "deployments", "deployments/*", "*/scale", "pods/exec", "namespaces", "namespaces/status", "pods", "nodes", "Pods")
	if chance(rnd, 2) {
		r.Scope = new(oneOf(rnd, theirv1.AllScopes, theirv1.NamespacedScope, theirv1.ClusterScope, "Planet"))
	}
	if chance(rnd, 6) {
		r.ResourceNames = some("x", "one", "y")
	}
	return r
}

// request makes a random request, as Kubernetes and as we describe it. A request for a namespace
// has that namespace as its own only with Kubernetes.
func (w *matchWorld) request(rnd *rand.Rand) (theiradmission.Attributes, *admission.Attributes) {
	r := &matchResources[rnd.IntN(len(matchResources))]
	op := oneOf(rnd, theiradmission.Create, theiradmission.Update, theiradmission.Delete)
	if r.sub == "exec" {
		op = theiradmission.Connect
	} else if r.sub != "" {
		op = theiradmission.Update
	}
	name := oneOf(rnd, "x", "one", "two", "broken", "gone")
	a := &admission.Attributes{
		Operation: admission.Operation(op), Resource: meta.GroupVersionResource(r.theirs()), Kind: meta.GroupVersionKind(r.gvk()),
		Subresource: r.sub, Name: name,
	}
	if r.namespaced {
		a.Namespace = oneOf(rnd, "plain", "one", "two", "two", "broken", "gone")
	}
	namespace := a.Namespace
	if r.plural == "namespaces" && (r.group == "" || op != theiradmission.Create) {
		namespace = name
	}
	if chance(rnd, 5) && op == theiradmission.Create && r.plural != "namespaces" {
		name, a.Name = "", "" // the server makes the name
	}
	var object, old runtime.Object
	random := func() (*corev1.ConfigMap, *ourcore.ConfigMap) {
		theirs, ours := &corev1.ConfigMap{}, &ourcore.ConfigMap{}
		theirs.Labels = matchNamespaces[oneOf(rnd, "plain", "one", "two")]
		ours.Labels = theirs.Labels
		return theirs, ours
	}
	switch {
	case op == theiradmission.Connect && chance(rnd, 2):
		object, a.Object = &corev1.PodExecOptions{}, &meta.CreateOptions{} // neither has metadata
	case op == theiradmission.Create || op == theiradmission.Update:
		object, a.Object = random()
	}
	if op == theiradmission.Update || op == theiradmission.Delete {
		theirs, ours := random()
		if l, ok := matchNamespaces[name]; ok && r.plural == "namespaces" && r.group == "" {
			theirs.Labels, ours.Labels = l, l // the stored namespace
		} else if r.plural == "namespaces" && r.group == "" {
			name = "plain"
			a.Name, namespace, theirs.Labels, ours.Labels = name, name, nil, nil
		}
		old, a.Old = theirs, ours
	}
	return theiradmission.NewAttributesRecord(object, old, r.gvk(), namespace, name, r.theirs(), r.sub, op, nil, false, nil), a
}
