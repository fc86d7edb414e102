package rbac

import (
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestDeclarations checks that clients can create all resources by PUT, and update them with a
// resourceVersion or without.
func TestDeclarations(t *testing.T) {
	for _, r := range Resources(Config{}) {
		s := &r.Strategy
		if !s.AllowCreateOnUpdate || !s.AllowUnconditionalUpdate || s.Metadata != registry.MetaWhole {
			t.Errorf("%s: got %v, want an object that can be put", r.Kind, s)
		}
		for name, good := range map[string]bool{"system:node": true, "A b": true, ".": false, "a/b": false, "a%b": false} {
			for _, prefix := range []bool{false, true} {
				if msgs := s.ValidateName(name, prefix); (len(msgs) == 0) != good {
					t.Errorf("%s %q: got %v, want it valid: %t", r.Kind, name, msgs, good)
				}
			}
		}
	}
}

const (
	noGroups    = "apiGroups: Required value: resource rules must supply at least one api group"
	noResources = "resources: Required value: resource rules must supply at least one resource"
)

func TestRoles(t *testing.T) {
	role := checktest.Resource(t, Resources(Config{}), "Role")
	for rules, want := range map[string]string{
		`[]`: ``,
		`[{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]}]`: ``,
		`[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{}]`: `
rules[1].verbs: Required value: verbs must contain at least one value
rules[1].` + noGroups + `
rules[1].` + noResources,
		`[{"verbs":["get"],"nonResourceURLs":["/a"]}]`: `
rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs`,
	} {
		obj := checktest.Decode[rbacv1.Role](t, `{"rules":`+rules+`}`)
		checktest.Want(t, role.Strategy.Validate(obj, nil), want)
	}
}

func TestClusterRoles(t *testing.T) {
	role := checktest.Resource(t, Resources(Config{}), "ClusterRole")
	const both = `rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs`
	for text, want := range map[string]string{
		`{"rules":[{"verbs":["get"],"nonResourceURLs":["/a"]}]}`:                       ``,
		`{"rules":[{"verbs":["get"],"nonResourceURLs":["/a"],"apiGroups":["a"]}]}`:     both,
		`{"rules":[{"verbs":["get"],"nonResourceURLs":["/a"],"resources":["a"]}]}`:     both,
		`{"rules":[{"verbs":["get"],"nonResourceURLs":["/a"],"resourceNames":["a"]}]}`: both,
		`{"rules":[{"nonResourceURLs":["/a"]}]}`:                                       `rules[0].verbs: Required value: verbs must contain at least one value`,
		`{"aggregationRule":{"clusterRoleSelectors":[{},{"matchLabels":{"a":"b"}}]}}`:  ``,
		`{"aggregationRule":{}}`: `
aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil`,
		`{"aggregationRule":{"clusterRoleSelectors":[{},{"matchExpressions":[{"key":"a","operator":"Odd"}]}]}}`: `
aggregationRule.clusterRoleSelectors[1].matchExpressions[0].operator: Invalid value: "Odd": not a valid selector operator
aggregationRule.clusterRoleSelectors[1]: Invalid value: null: invalid label selector.`,
	} {
		checktest.Want(t, role.Strategy.Validate(checktest.Decode[rbacv1.ClusterRole](t, text), nil), want)
	}
}

func TestBindings(t *testing.T) {
	const ref = `"roleRef":{"kind":"ClusterRole","name":"view"}`
	for _, tt := range []struct{ text, want, cluster string }{
		{ref, ``, ``},
		{`"roleRef":{"kind":"Role","name":"system:view"}`, ``, `roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`},
		{`"roleRef":{"apiGroup":"apps","kind":"Odd","name":"a/b"}`, `
roleRef.apiGroup: Unsupported value: "apps": supported values: "rbac.authorization.k8s.io"
roleRef.kind: Unsupported value: "Odd": supported values: "Role", "ClusterRole"
roleRef.name: Invalid value: "a/b": may not contain '/'`, `
roleRef.apiGroup: Unsupported value: "apps": supported values: "rbac.authorization.k8s.io"
roleRef.kind: Unsupported value: "Odd": supported values: "ClusterRole"
roleRef.name: Invalid value: "a/b": may not contain '/'`},
		{`"roleRef":{"kind":"ClusterRole"}`, `roleRef.name: Required value`, `roleRef.name: Required value`},
		{`"subjects":[{"kind":"User","name":"A b"},{"kind":"Group","name":"*"},{"kind":"ServiceAccount","name":"a","namespace":"b"}],` + ref, ``, ``},
		{`"subjects":[{"kind":"ServiceAccount","name":"a"}],` + ref, ``, `subjects[0].namespace: Required value`},
		{`"subjects":[{"kind":"ServiceAccount","name":"A","apiGroup":"a","namespace":"b"},{"kind":"ServiceAccount","namespace":"b"}],` + ref, `
subjects[0].name: Invalid value: "A": ` + checktest.Subdomain + `
subjects[0].apiGroup: Unsupported value: "a": supported values: ""
subjects[1].name: Required value`, `
subjects[0].name: Invalid value: "A": ` + checktest.Subdomain + `
subjects[0].apiGroup: Unsupported value: "a": supported values: ""
subjects[1].name: Required value`},
		{`"subjects":[{"kind":"User"},{"kind":"Group","name":"a","apiGroup":"a"},{"kind":"Odd","name":"a"}],` + ref, `
subjects[0].name: Required value
subjects[1].apiGroup: Unsupported value: "a": supported values: "rbac.authorization.k8s.io"
subjects[2].kind: Unsupported value: "Odd": supported values: "ServiceAccount", "User", "Group"`, `
subjects[0].name: Required value
subjects[1].apiGroup: Unsupported value: "a": supported values: "rbac.authorization.k8s.io"
subjects[2].kind: Unsupported value: "Odd": supported values: "ServiceAccount", "User", "Group"`},
	} {
		t.Run(tt.text, func(t *testing.T) {
			s := checktest.Resource(t, Resources(Config{}), "RoleBinding").Strategy
			checktest.Want(t, s.Validate(checktest.Decode[rbacv1.RoleBinding](t, `{`+tt.text+`}`), nil), tt.want)
			s = checktest.Resource(t, Resources(Config{}), "ClusterRoleBinding").Strategy
			checktest.Want(t, s.Validate(checktest.Decode[rbacv1.ClusterRoleBinding](t, `{`+tt.text+`}`), nil), tt.cluster)
		})
	}
}

func TestRoleOfBindingStays(t *testing.T) {
	const view, edit = `{"roleRef":{"kind":"ClusterRole","name":"view"}}`, `{"roleRef":{"kind":"ClusterRole","name":"edit"}}`
	const changed = `roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef`
	for text, want := range map[string]string{view: "", edit: changed} {
		s := checktest.Resource(t, Resources(Config{}), "RoleBinding").Strategy
		checktest.Want(t, s.Validate(checktest.Decode[rbacv1.RoleBinding](t, text), checktest.Decode[rbacv1.RoleBinding](t, view)), want)
		s = checktest.Resource(t, Resources(Config{}), "ClusterRoleBinding").Strategy
		checktest.Want(t, s.Validate(checktest.Decode[rbacv1.ClusterRoleBinding](t, text), checktest.Decode[rbacv1.ClusterRoleBinding](t, view)), want)
	}
}

func TestTables(t *testing.T) {
	const text = `{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","name":"u"},{"kind":"User","name":"v"},
		{"kind":"Group","name":"g"},{"kind":"ServiceAccount","name":"a","namespace":"n"},{"kind":"ServiceAccount","name":"b"},{"kind":"Odd","name":"x"}]}`
	for kind, obj := range map[string]meta.Object{
		"RoleBinding":        checktest.Decode[rbacv1.RoleBinding](t, text),
		"ClusterRoleBinding": checktest.Decode[rbacv1.ClusterRoleBinding](t, text),
	} {
		checktest.WantCells(t, checktest.Resource(t, Resources(Config{}), kind), obj, time.Now(), "b", "ClusterRole/view", "<unknown>", "u, v", "g", "n/a, /b")
	}
}
