package matching_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ruleOf returns a rule from words such as "CREATE,UPDATE apps v1 deployments,deployments/scale",
// to which a scope and names of objects may be added. "core" stands for the group "".
func ruleOf(t testing.TB, text string) v1.NamedRuleWithOperations {
	t.Helper()
	words := strings.Fields(text)
	if len(words) < 4 {
		t.Fatalf("rule %q: want operations, groups, versions and resources", text)
	}
	var r v1.NamedRuleWithOperations
	for _, op := range strings.Split(words[0], ",") {
		r.Operations = append(r.Operations, v1.OperationType(op))
	}
	r.APIGroups = strings.Split(strings.ReplaceAll(words[1], "core", ""), ",")
	r.APIVersions = strings.Split(words[2], ",")
	r.Resources = strings.Split(words[3], ",")
	if len(words) > 4 {
		r.Scope = new(v1.ScopeType(words[4]))
	}
	if len(words) > 5 {
		r.ResourceNames = strings.Split(words[5], ",")
	}
	return r
}

func rulesOf(t testing.TB, texts ...string) (rules []v1.NamedRuleWithOperations) {
	t.Helper()
	for _, text := range texts {
		rules = append(rules, ruleOf(t, text))
	}
	return rules
}

// requestOf returns a request from words such as "CREATE apps/v1/deployments/scale ns/name". A
// cluster-scoped object is "/name".
func requestOf(t testing.TB, text string) *admission.Attributes {
	t.Helper()
	words := strings.Fields(text)
	if len(words) != 3 {
		t.Fatalf("request %q: want operation, resource and name", text)
	}
	path := strings.SplitN(words[1], "/", 4)
	a := &admission.Attributes{Operation: admission.Operation(words[0])}
	a.Resource = meta.GroupVersionResource{
		Group: strings.ReplaceAll(path[0], "core", ""), Version: path[1], Resource: path[2],
	}
	if len(path) > 3 {
		a.Subresource = path[3]
	}
	a.Kind = a.Resource.GroupVersion().WithKind("Kind")
	a.Namespace, a.Name, _ = strings.Cut(words[2], "/")
	return a
}

var everything = &meta.LabelSelector{}

// selecting returns the selector of one label, a=b.
func selecting(label string) *meta.LabelSelector {
	key, value, _ := strings.Cut(label, "=")
	return &meta.LabelSelector{MatchLabels: map[string]string{key: value}}
}

var invalid = &meta.LabelSelector{MatchExpressions: []meta.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}

func labelled(label string) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{}
	if key, value, ok := strings.Cut(label, "="); ok {
		obj.Labels = map[string]string{key: value}
	}
	return obj
}

// TestRules matches one rule with requests.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		rule, request string
		want          bool
	}{
		{"CREATE apps v1 deployments", "CREATE apps/v1/deployments ns/a", true},
		{"CREATE apps v1 deployments", "UPDATE apps/v1/deployments ns/a", false},
		{"CREATE,UPDATE apps v1 deployments", "UPDATE apps/v1/deployments ns/a", true},
		{"* apps v1 deployments", "CONNECT apps/v1/deployments ns/a", true},
		{"create apps v1 deployments", "CREATE apps/v1/deployments ns/a", false},
		{"CREATE batch v1 deployments", "CREATE apps/v1/deployments ns/a", false},
		{"CREATE * v1 deployments", "CREATE apps/v1/deployments ns/a", true},
		{"CREATE core v1 pods", "CREATE core/v1/pods ns/a", true},
		{"CREATE batch,apps v2,v1 jobs,deployments", "CREATE apps/v1/deployments ns/a", true},
		{"CREATE apps v2 deployments", "CREATE apps/v1/deployments ns/a", false},
		{"CREATE apps * deployments", "CREATE apps/v1/deployments ns/a", true},
		{"CREATE core v1 pods", "CREATE core/v1/pods/status ns/a", false},
		{"CREATE core v1 pods/status", "CREATE core/v1/pods/status ns/a", true},
		{"CREATE core v1 pods/status", "CREATE core/v1/pods ns/a", false},
		{"CREATE core v1 pods/*", "CREATE core/v1/pods ns/a", true}, // as in Kubernetes
		{"CREATE core v1 pods/*", "CREATE core/v1/pods/exec ns/a", true},
		{"CREATE core v1 */exec", "CREATE core/v1/pods/exec ns/a", true},
		{"CREATE core v1 */exec", "CREATE core/v1/pods ns/a", false},
		{"CREATE core v1 *", "CREATE core/v1/pods ns/a", true},
		{"CREATE core v1 *", "CREATE core/v1/pods/exec ns/a", false},
		{"CREATE core v1 */*", "CREATE core/v1/pods/exec ns/a", true},
		{"CREATE core v1 pods/a/b", "CREATE core/v1/pods/a/b ns/a", true},
		{"* * * * Namespaced", "CREATE core/v1/pods ns/a", true},
		{"* * * * Namespaced", "CREATE core/v1/nodes /a", false},
		{"* * * * Cluster", "CREATE core/v1/pods ns/a", false},
		{"* * * * Cluster", "CREATE core/v1/nodes /a", true},
		{"* * * * *", "CREATE core/v1/nodes /a", true},
		{"* * * * Planet", "CREATE core/v1/nodes /a", false},
		{"* * * * Cluster", "UPDATE core/v1/namespaces /a", true},
		{"* * * * Namespaced", "UPDATE core/v1/namespaces /a", false},
		{"* * * * Namespaced", "CREATE e.io/v1/namespaces /a", false},
		{"* * * * Namespaced", "UPDATE e.io/v1/namespaces /a", true}, // its path is /namespaces/a, so that a is its namespace
		{"* * * * * a,b", "UPDATE core/v1/nodes /b", true},
		{"* * * * * a,b", "UPDATE core/v1/nodes /c", false},
		{"* * * * * a,b", "CREATE core/v1/nodes /", false},
	} {
		m := matching.Compile(matching.Criteria{
			Rules: rulesOf(t, tt.rule), Namespaces: everything, Objects: everything,
		})
		a := requestOf(t, tt.request)
		target, got, err := m.Match(t.Context(), a, &matching.World{})
		if got != tt.want || err != nil {
			t.Errorf("rule %q, request %q: got %t, %v, want %t", tt.rule, tt.request, got, err, tt.want)
		}
		if got && (target.Resource != a.Resource || target.Subresource != a.Subresource || target.Kind != a.Kind) {
			t.Errorf("rule %q, request %q: got the target %+v", tt.rule, tt.request, target)
		}
	}
}

// TestWithoutRules: a policy without rules is for all requests, a webhook for none.
func TestWithoutRules(t *testing.T) {
	a := requestOf(t, "DELETE core/v1/pods/status ns/a")
	policy := matching.Compile(matching.OfResources(
		&v1.MatchResources{NamespaceSelector: everything, ObjectSelector: everything}))
	if _, got, err := policy.Match(t.Context(), a, &matching.World{}); !got || err != nil {
		t.Errorf("a policy: got %t, %v", got, err)
	}
	webhook := matching.Compile(matching.OfWebhook(nil, nil, everything, everything))
	if _, got, err := webhook.Match(t.Context(), a, &matching.World{}); got || err != nil {
		t.Errorf("a webhook: got %t, %v", got, err)
	}
}

// TestExcluded: a rule that excludes wins over one that includes.
func TestExcluded(t *testing.T) {
	m := matching.Compile(matching.OfResources(&v1.MatchResources{
		ResourceRules:        rulesOf(t, "* * * *"),
		ExcludeResourceRules: rulesOf(t, "* apps * *", "* core * secrets * kept"),
		NamespaceSelector:    everything, ObjectSelector: everything,
	}))
	for text, want := range map[string]bool{
		"CREATE apps/v1/deployments ns/a": false,
		"CREATE core/v1/secrets ns/kept":  false,
		"CREATE core/v1/secrets ns/other": true,
	} {
		if _, got, err := m.Match(t.Context(), requestOf(t, text), &matching.World{}); got != want || err != nil {
			t.Errorf("%s: got %t, %v, want %t", text, got, err, want)
		}
	}
}

// spaces counts how often the namespace was looked up.
type spaces struct {
	labels map[string]string // one label each, by namespace
	err    error
	asked  int
}

func (s *spaces) lookUp(_ context.Context, name string, fresh request.Freshness) (admission.Namespace, error) {
	s.asked++
	if fresh > request.ReadYourWrites {
		return admission.Namespace{}, errors.New("the look-up may be older than a write of this server")
	}
	label, ok := s.labels[name]
	switch {
	case s.err != nil:
		return admission.Namespace{}, s.err
	case !ok:
		return admission.Namespace{}, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
	}
	return admission.Namespace{Labels: meta.Set(labelled(label).Labels)}, nil
}

// TestSelectors evaluates selectors on the labels of the object, the old object and the namespace.
func TestSelectors(t *testing.T) {
	const inNS, outside = "UPDATE core/v1/configmaps ns/a", "UPDATE core/v1/nodes /a"
	for _, tt := range []struct {
		name, request, object, old string // "" for no object, "-" for one without labels
		namespaces, objects        *meta.LabelSelector
		err                        error // of the look-up
		want                       bool
		code                       int32 // of the error
		asked                      int
	}{
		{"empty ones", inNS, "-", "-", everything, everything, nil, true, 0, 0},
		{"nil for objects", inNS, "-", "-", everything, nil, nil, false, 0, 0},
		{"nil for namespaces", inNS, "-", "-", nil, everything, nil, false, 0, 1},
		{"nil for namespaces, not in one", outside, "-", "-", nil, everything, nil, true, 0, 0},
		{"object", inNS, "a=b", "-", everything, selecting("a=b"), nil, true, 0, 0},
		{"old object", inNS, "-", "a=b", everything, selecting("a=b"), nil, true, 0, 0},
		{"old object only", inNS, "", "a=b", everything, selecting("a=b"), nil, true, 0, 0},
		{"other object", inNS, "a=c", "-", selecting("n=1"), selecting("a=b"), nil, false, 0, 0},
		{"no object", inNS, "", "", everything, selecting("a=b"), nil, false, 0, 0},
		{"namespace", inNS, "-", "-", selecting("n=1"), everything, nil, true, 0, 1},
		{"other namespace", inNS, "-", "-", selecting("n=2"), everything, nil, false, 0, 1},
		{"not in a namespace", outside, "-", "-", selecting("n=2"), everything, nil, true, 0, 0},
		{"unknown namespace", "CREATE core/v1/configmaps other/a", "-", "", selecting("n=1"), everything, nil, false, 404, 1},
		{"a look-up that fails", inNS, "-", "-", selecting("n=1"), everything, errors.New("boom"), false, 500, 1},
		{"a look-up that fails for another object", inNS, "-", "-", selecting("n=1"), selecting("a=b"), errors.New("boom"), false, 0, 0},
		{"invalid for objects", inNS, "-", "-", everything, invalid, nil, false, 500, 0},
		{"invalid for objects in another namespace", inNS, "-", "-", selecting("n=2"), invalid, nil, false, 0, 1},
		{"invalid for namespaces", inNS, "-", "-", invalid, everything, nil, false, 500, 0},
		{"invalid for namespaces, not in one", outside, "-", "-", invalid, everything, nil, true, 0, 0},
		{"new namespace", "CREATE core/v1/namespaces /x", "n=3", "", selecting("n=3"), everything, nil, true, 0, 0},
		{"new labels of a namespace", "UPDATE core/v1/namespaces /x", "n=3", "n=4", selecting("n=4"), everything, nil, false, 0, 0},
		{"deleted namespace", "DELETE core/v1/namespaces /x", "", "n=3", selecting("n=3"), everything, nil, true, 0, 0},
		{"status of a namespace", "UPDATE core/v1/namespaces/status /x", "n=4", "n=3", selecting("n=3"), everything, nil, true, 0, 0},
		{"namespaces of another group", "DELETE e.io/v1/namespaces /ns", "", "-", selecting("n=1"), everything, nil, true, 0, 1},
		{"namespaces of another group, named otherwise", "DELETE e.io/v1/namespaces /x", "", "-", selecting("n=1"), everything, nil, false, 404, 1},
		{"new namespace whose name the server makes", "CREATE core/v1/namespaces /", "n=3", "", selecting("n=4"), everything, nil, false, 0, 0},
		{"new object of a resource of that name", "CREATE e.io/v1/namespaces /", "n=3", "", selecting("n=4"), everything, nil, false, 0, 0},
		{"collection of a resource of that name", "DELETE e.io/v1/namespaces /", "", "-", selecting("n=1"), everything, nil, false, 500, 0},
		{"a namespace without object", "CREATE core/v1/namespaces /x", "", "", selecting("n=1"), everything, nil, false, 500, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &spaces{labels: map[string]string{"ns": "n=1"}, err: tt.err}
			m := matching.Compile(matching.OfWebhook(
				[]v1.RuleWithOperations{ruleOf(t, "* * * */*").RuleWithOperations}, nil, tt.namespaces, tt.objects))
			a := requestOf(t, tt.request)
			if tt.object != "" {
				a.Object = labelled(tt.object)
			}
			if tt.old != "" {
				a.Old = labelled(tt.old)
			}
			_, got, err := m.Match(t.Context(), a, &matching.World{Namespaces: admission.NewNamespaces(s.lookUp)})
			var code int32
			if status, ok := errors.AsType[*meta.StatusError](err); ok {
				code = status.Status.Code
			}
			if got != tt.want || code != tt.code || (err == nil) != (code == 0) || s.asked != tt.asked {
				t.Errorf("got %t, %v after %d look-ups, want %+v", got, err, s.asked, tt)
			}
		})
	}
}

// TestErrorOfOthers: a hook whose rules do not match gets no error of its selectors.
func TestErrorOfOthers(t *testing.T) {
	m := matching.Compile(matching.Criteria{Rules: rulesOf(t, "* apps * *"), Namespaces: invalid, Objects: invalid})
	if _, got, err := m.Match(t.Context(), requestOf(t, "CREATE core/v1/pods ns/a"), &matching.World{}); got || err != nil {
		t.Errorf("got %t, %v", got, err)
	}
}
