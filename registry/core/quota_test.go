package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestLimitRange(t *testing.T) {
	r := resource(t, "limitranges")
	const q, std = "spec.limits[0].", "must be a standard resource type or fully qualified"
	const qname = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	for _, tt := range []struct{ in, want string }{
		{``, ``},
		{`{"type":"Container","max":{"cpu":"2"},"min":{"cpu":"1"},"maxLimitRequestRatio":{"cpu":"2"}},{"type":"Pod","max":{"cpu":"1"}},
			{"type":"PersistentVolumeClaim","min":{"storage":"1"}},{"type":"a.b/c","max":{"storage":"1"},"default":{"pods":"1"}}`, ``},
		{`{"type":"Other"}`, q + `type: Invalid value: "Other": must be a standard limit type or fully qualified`},
		{`{"type":"a b"}`, q + `type: Invalid value: "a b": ` + qname},
		{`{"type":"Pod"},{"type":"Pod"}`, `spec.limits[1].type: Duplicate value: "Pod"`},
		{`{"type":"Pod","max":{"storage":"1"},"min":{"x":"1"},"maxLimitRequestRatio":{"pods":"1"}}`, q + `max[storage]: Invalid value: "storage": must be a standard resource for containers
` + q + `min[x]: Invalid value: "x": ` + std + `
` + q + `min[x]: Invalid value: "x": must be a standard resource for containers
` + q + `maxLimitRequestRatio[pods]: Invalid value: "pods": must be a standard resource for containers`},
		{`{"type":"Pod","default":{"cpu":"1"},"defaultRequest":{"cpu":"2"}}`, q + "default: Forbidden: may not be specified when `type` is 'Pod'\n" +
			q + "defaultRequest: Forbidden: may not be specified when `type` is 'Pod'"},
		{`{"type":"a.b/c","default":{"x":"1"},"defaultRequest":{"y":"1"}}`, q + `default[x]: Invalid value: "x": ` + std + "\n" + q + `defaultRequest[y]: Invalid value: "y": ` + std},
		{`{"type":"PersistentVolumeClaim","max":{"cpu":"1"}}`, q + `limits: Required value: either minimum or maximum storage value is required, but neither was provided`},
		{`{"type":"PersistentVolumeClaim","max":{"storage":"1"}}`, ``},
		{`{"type":"Pod","max":{"cpu":"1"},"min":{"cpu":"2"}}`, q + `min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`},
		{`{"type":"a.b/c","max":{"cpu":"4"},"min":{"cpu":"3"},"default":{"cpu":"1"},"defaultRequest":{"cpu":"2"}}`, q + `defaultRequest[cpu]: Invalid value: "2": min value 3 is greater than default request value 2
` + q + `defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1
` + q + `default[cpu]: Invalid value: "3": min value 3 is greater than default value 1`},
		{`{"type":"a.b/c","max":{"cpu":"1"},"default":{"cpu":"3"},"defaultRequest":{"cpu":"2"}}`, q + `defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1
` + q + `default[cpu]: Invalid value: "1": default value 3 is greater than max value 1`},
		{`{"type":"Pod","maxLimitRequestRatio":{"cpu":"999m","memory":"1"}}`, q + `maxLimitRequestRatio[cpu]: Invalid value: "999m": ratio 999m is less than 1`},
		{`{"type":"Pod","min":{"cpu":"2"},"max":{"cpu":"3"},"maxLimitRequestRatio":{"cpu":"1500m"}}`, ``},
		{`{"type":"Pod","min":{"cpu":"2"},"max":{"cpu":"3"},"maxLimitRequestRatio":{"cpu":"1501m"}}`,
			q + `maxLimitRequestRatio[cpu]: Invalid value: "1501m": ratio 1501m is greater than max/min = 1.500000`},
		{`{"type":"Pod","min":{"memory":"3Ei"},"max":{"memory":"4Ei"},"maxLimitRequestRatio":{"memory":"1"}}`, ``},
		{`{"type":"Pod","min":{"memory":"3Ei"},"max":{"memory":"4Ei"},"maxLimitRequestRatio":{"memory":"1100m"}}`,
			q + `maxLimitRequestRatio[memory]: Invalid value: "1100m": ratio 1100m is greater than max/min = 1.333333`},
		{`{"type":"a.b/c","default":{"a.b/gpu":"2"},"defaultRequest":{"a.b/gpu":"1"}}`,
			q + `defaultRequest[a.b/gpu]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in a.b/gpu`},
		{`{"type":"a.b/c","default":{"a.b/gpu":"1"},"defaultRequest":{"a.b/gpu":"1"}}`, ``},
		{`{"type":"a.b/c","default":{"hugepages-1Mi":"2"},"defaultRequest":{"hugepages-1Mi":"1"}}`,
			q + `defaultRequest[hugepages-1Mi]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in hugepages-1Mi`},
	} {
		checktest.Want(t, create(r, checktest.Decode[corev1.LimitRange](t, `{"spec":{"limits":[`+tt.in+`]}}`)), tt.want)
	}
}

// TestLimitRangeNames: an object without a name gets a random UID as its name.
func TestLimitRangeNames(t *testing.T) {
	prepare := resource(t, "limitranges").Strategy.Prepare
	for _, tt := range []struct {
		m    meta.ObjectMeta
		made bool
	}{{meta.ObjectMeta{}, true}, {meta.ObjectMeta{Name: "a"}, false}, {meta.ObjectMeta{GenerateName: "a"}, false}} {
		l := &corev1.LimitRange{ObjectMeta: tt.m}
		if prepare(nil, l, nil); (len(l.Name) == 36) != tt.made {
			t.Errorf("%+v: got the name %q", tt.m, l.Name)
		}
	}
}

func TestResourceQuota(t *testing.T) {
	r := resource(t, "resourcequotas")
	const applied = "unsupported scope applied to resource"
	const exists = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
		"ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
	for _, tt := range []struct{ in, want string }{
		{``, ``},
		{`"hard":{"pods":"1","a.b/c":"2","count/x.y":"3","requests.hugepages-2Mi":"1","limits.cpu":"1500m"}`, ``},
		{`"hard":{"storage":"1","x":"1","pods":"1500m","cpu":"-1"}`, `
spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0
spec.hard[pods]: Invalid value: "1500m": must be an integer
spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota
spec.hard[x]: Invalid value: "x": must be a standard resource type or fully qualified
spec.hard[x]: Invalid value: "x": must be a standard resource for quota`},
		{`"hard":{"pods":"1","a.b/c":"1"},"scopes":["BestEffort"]`, ``},
		{`"hard":{"requests.storage":"1","persistentvolumeclaims":"1"},"scopes":["VolumeAttributesClass"]`, ``},
		{`"hard":{"cpu":"1","secrets":"2"},"scopes":["BestEffort","Terminating"]`, `
spec.scopes: Invalid value: ["BestEffort","Terminating"]: ` + applied + `
spec.scopes: Invalid value: ["BestEffort","Terminating"]: ` + applied + `
spec.scopes: Invalid value: ["BestEffort","Terminating"]: ` + applied},
		{`"hard":{"cpu":"1"},"scopes":["Some"]`, `spec.scopes: Invalid value: ["Some"]: unsupported scope`},
		{`"scopes":["BestEffort","NotBestEffort"]`, `spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes`},
		{`"scopes":["Terminating","NotTerminating"]`, `spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes`},
		{`"scopes":["Terminating","BestEffort"]`, ``},
		{`"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["a"]},{"scopeName":"Terminating","operator":"Exists"},
			{"scopeName":"VolumeAttributesClass","operator":"DoesNotExist"},{"scopeName":"PriorityClass","operator":"NotIn","values":["b"]}]}`, ``},
		{`"hard":{"cpu":"1"},"scopeSelector":{"matchExpressions":[{"scopeName":"BestEffort","operator":"In"},{"scopeName":"NotBestEffort","operator":"Exists","values":["a"]}]}`, `
spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"In","Values":null},{"ScopeName":"NotBestEffort","Operator":"Exists","Values":["a"]}]}: ` + applied + `
spec.scopeSelector.matchExpressions.operator: Invalid value: "In": ` + exists + "\nspec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector\n" +
			`spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be no value when ` + "`operator`" + ` is 'Exist' or 'DoesNotExist' for scope selector
spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes`},
		{`"scopeSelector":{"matchExpressions":[{"scopeName":"Some","operator":"Like"}]}`, `
spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Some": unsupported scope
spec.scopeSelector.matchExpressions.operator: Invalid value: "Like": not a valid selector operator`},
	} {
		checktest.Want(t, create(r, checktest.Decode[corev1.ResourceQuota](t, `{"spec":{`+tt.in+`}}`)), tt.want)
	}
	old := checktest.Decode[corev1.ResourceQuota](t, `{"spec":{"scopes":["BestEffort","Terminating"]}}`)
	checktest.Want(t, update(r, "", checktest.Decode[corev1.ResourceQuota](t, `{"spec":{"scopes":["Terminating","BestEffort","Terminating"]}}`), old), ``)
	checktest.Want(t, update(r, "", checktest.Decode[corev1.ResourceQuota](t, `{"spec":{"scopes":["Terminating"]}}`), old), `spec.scopes: Invalid value: ["Terminating"]: field is immutable`)
	checktest.Want(t, update(r, "status", checktest.Decode[corev1.ResourceQuota](t, `{"status":{"hard":{"storage":"1"},"used":{"cpu":"-1"}}}`), old), `
status.hard[storage]: Invalid value: "storage": must be a standard resource for quota
status.used[cpu]: Invalid value: "-1": must be greater than or equal to 0`)
	checktest.Want(t, update(r, "status", checktest.Decode[corev1.ResourceQuota](t, `{"status":{"hard":{"cpu":"1"},"used":{"cpu":"2"}}}`), old), ``)
}

func TestResourceQuotaWarnings(t *testing.T) {
	warnings := resource(t, "resourcequotas").Strategy.Warnings
	q := checktest.Decode[corev1.ResourceQuota](t, `{"spec":{"hard":{"cpu":"3","requests.cpu":"1","limits.cpu":"2","memory":"2Gi","limits.memory":"1Gi",
		"storage":"2","requests.storage":"1","limits.storage":"1","requests.ephemeral-storage":"2","limits.ephemeral-storage":"1"}}}`)
	want := "ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)\n" +
		"ResourceQuota requests.ephemeral-storage (2) should be less than limits.ephemeral-storage (1)"
	if got := strings.Join(warnings(q, nil), "\n"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := warnings(q, q); got != nil {
		t.Errorf("of a change: got %q", got)
	}
}

func TestResourceQuotaCells(t *testing.T) {
	q := checktest.Decode[corev1.ResourceQuota](t, `{"status":{"hard":{"pods":"10","limits.cpu":"2","limits.memory":"1Gi","cpu":"3"},"used":{"pods":"4","limits.cpu":"500m"}}}`)
	want := []any{"x", "cpu: 0/3, pods: 4/10", "limits.cpu: 500m/2, limits.memory: 0/1Gi", "<unknown>"}
	if got := resource(t, "resourcequotas").Table.Cells(q, testTime); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
