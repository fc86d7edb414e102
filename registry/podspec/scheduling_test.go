package podspec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestTolerations(t *testing.T) {
	for _, tt := range []struct{ tolerations, want string }{
		{`{"operator":"Exists"},{"key":"a/b","value":"c","effect":"NoExecute","tolerationSeconds":1},{"key":"a","operator":"Equal","effect":"PreferNoSchedule"},
			{"key":"k","operator":"Exists","effect":"NoSchedule"}`, ``},
		{`{"key":"a b","operator":"Exists"}`, `$.tolerations[0].key: Invalid value: "a b": ` + qualified},
		{`{"key":"k","value":"a b"}`, `$.tolerations[0].operator: Invalid value: "a b": ` + labelValue},
		{`{"value":"v"}`, "$.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values and all keys\""},
		{`{"key":"k","operator":"Lt"},{"key":"k","operator":"Odd"}`, `
$.tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"
$.tolerations[1].operator: Unsupported value: "Odd": supported values: "Equal", "Exists"`},
	} {
		checkSpec(t, `"containers":[{"name":"c","image":"i"}],"tolerations":[`+tt.tolerations+`]`, tt.want)
	}
}

// TestAffinity checks the terms of node affinity and of pod affinity. In want, H and S are the
// paths of required and of preferred terms.
func TestAffinity(t *testing.T) {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	nodes := func(hard, soft string) string {
		return `"nodeAffinity":{"` + required + `":{"nodeSelectorTerms":[` + hard + `]},"` + preferred + `":[` + soft + `]}`
	}
	pods := func(hard, soft string) string {
		return `"podAntiAffinity":{"` + required + `":[` + hard + `],"` + preferred + `":[` + soft + `]}`
	}
	const selector = `"topologyKey":"k","labelSelector":{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"Exists"},{"key":"b","operator":"Exists"}]}`
	for _, tt := range []struct{ affinity, want string }{
		{nodes(`{},{"matchExpressions":[{"key":"a","operator":"In","values":["b","c"]},{"key":"a","operator":"NotIn","values":["b"]},{"key":"a","operator":"Exists"},
			{"key":"a","operator":"DoesNotExist"},{"key":"a","operator":"Gt","values":["1"]},{"key":"a","operator":"Lt","values":["1"]}],
			"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]},{"key":"metadata.name","operator":"NotIn","values":["n"]}]}`,
			`{"weight":1,"preference":{}},{"weight":100,"preference":{"matchExpressions":[{"key":"a","operator":"In","values":["b c"]}]}}`), ``},
		{nodes(`{"matchExpressions":[{"key":"a b","operator":"NotIn"},{"key":"a","operator":"Exists","values":["b"]},{"key":"a","operator":"DoesNotExist","values":["b"]},
			{"key":"a","operator":"Gt"},{"key":"a","operator":"Lt","values":["1","2"]},{"key":"a","operator":"Odd"},{"key":"a","operator":"In","values":["b","b c"]}]}`,
			`{"weight":101,"preference":{"matchExpressions":[{"key":"a b","operator":"Exists"}]}}`), `
H.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when ` + "`operator`" + ` is 'In' or 'NotIn'
H.nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "a b": ` + qualified + `
H.nodeSelectorTerms[0].matchExpressions[1].values: Forbidden: may not be specified when ` + "`operator`" + ` is 'Exists' or 'DoesNotExist'
H.nodeSelectorTerms[0].matchExpressions[2].values: Forbidden: may not be specified when ` + "`operator`" + ` is 'Exists' or 'DoesNotExist'
H.nodeSelectorTerms[0].matchExpressions[3].values: Required value: must be specified single value when ` + "`operator`" + ` is 'Lt' or 'Gt'
H.nodeSelectorTerms[0].matchExpressions[4].values: Required value: must be specified single value when ` + "`operator`" + ` is 'Lt' or 'Gt'
H.nodeSelectorTerms[0].matchExpressions[5].operator: Invalid value: "Odd": not a valid selector operator
H.nodeSelectorTerms[0].matchExpressions[6].values[1]: Invalid value: "b c": ` + labelValue + `
S[0].weight: Invalid value: 101: must be in the range 1-100
S[0].preference.matchExpressions[0].key: Invalid value: "a b": ` + qualified},
		{nodes(`{"matchFields":[{"key":"metadata.name","operator":"Exists"},{"key":"metadata.name","operator":"In","values":["a","b c"]}]}`, ``), `
H.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator
H.nodeSelectorTerms[0].matchFields[1].values: Required value: must be only one value when ` + "`operator`" + ` is 'In' or 'NotIn' for node field selector
H.nodeSelectorTerms[0].matchFields[1].values[1]: Invalid value: "b c": ` + checktest.Subdomain},

		{pods(`{`+selector+`,"namespaces":["n"],"namespaceSelector":{},"matchLabelKeys":["c"],"mismatchLabelKeys":["a","b"]}`,
			`{"weight":1,"podAffinityTerm":{`+selector+`}},{"weight":100,"podAffinityTerm":{`+selector+`}}`), ``},
		{pods(`{"topologyKey":"a b","labelSelector":{"matchLabels":{"a b":"c"}},"namespaceSelector":{"matchLabels":{"a":"b c"}},"namespaces":["N"]}`,
			`{"weight":0,"podAffinityTerm":{"topologyKey":"k","mismatchLabelKeys":["a"]}},{"weight":101,"podAffinityTerm":{`+selector+`,"matchLabelKeys":["a b","c"],"mismatchLabelKeys":["c","d e"]}}`), `
H[0].labelSelector.matchLabels: Invalid value: "a b": ` + qualified + `
H[0].namespaceSelector.matchLabels: Invalid value: "b c": ` + labelValue + `
H[0].namespace: Invalid value: "N": ` + checktest.Label + `
H[0].topologyKey: Invalid value: "a b": ` + qualified + `
S[0].weight: Invalid value: 0: must be in the range 1-100
S[0].podAffinityTerm.mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not set
S[1].weight: Invalid value: 101: must be in the range 1-100
S[1].podAffinityTerm.matchLabelKeys[0]: Invalid value: "a b": ` + qualified + `
S[1].podAffinityTerm.mismatchLabelKeys[1]: Invalid value: "d e": ` + qualified + `
S[1].podAffinityTerm.matchLabelKeys[1]: Invalid value: "c": exists in both matchLabelKeys and mismatchLabelKeys`},
		// The index in the path is that of the key, not that of a requirement.
		{pods(`{`+selector+`,"matchLabelKeys":["a","b"]}`, ``), `H[0][1]: Invalid value: "b": exists in both matchLabelKeys and labelSelector`},
	} {
		sort, _, _ := strings.Cut(strings.TrimPrefix(tt.affinity, `"`), `"`)
		want := strings.NewReplacer("\nH", "\n$.affinity."+sort+"."+required, "\nS", "\n$.affinity."+sort+"."+preferred).Replace("\n" + tt.want)
		checkSpec(t, `"containers":[{"name":"c","image":"i"}],"affinity":{`+tt.affinity+`}`, want)
	}
}

func TestSpread(t *testing.T) {
	for _, tt := range []struct{ constraints, want string }{
		{`{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule","minDomains":1,"nodeAffinityPolicy":"Honor","nodeTaintsPolicy":"Ignore"},
			{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":{"a":"b"}},"matchLabelKeys":["c"]},
			{"maxSkew":1,"topologyKey":"a b","whenUnsatisfiable":"ScheduleAnyway"}`, ``},
		{`{"maxSkew":-1,"topologyKey":"","whenUnsatisfiable":"Odd","nodeAffinityPolicy":"Odd","nodeTaintsPolicy":"","matchLabelKeys":["a"]},
			{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule","minDomains":0,"labelSelector":{"matchLabels":{"a":"b c"}},"matchLabelKeys":["d e"]}`, `
$[0].maxSkew: Invalid value: -1: must be greater than zero
$[0].topologyKey: Required value: can not be empty
$[0].whenUnsatisfiable: Unsupported value: "Odd": supported values: "DoNotSchedule", "ScheduleAnyway"
$[0].nodeAffinityPolicy: Unsupported value: "Odd": supported values: "Honor", "Ignore"
$[0].nodeTaintsPolicy: Unsupported value: "": supported values: "Honor", "Ignore"
$[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set
$[1].minDomains: Invalid value: 0: must be greater than zero
$[1].matchLabelKeys[0]: Invalid value: "d e": ` + qualified + `
$[1].labelSelector.matchLabels: Invalid value: "b c": ` + labelValue},
		{`{"maxSkew":1,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":1,"topologyKey":"l","whenUnsatisfiable":"DoNotSchedule"},
			{"maxSkew":2,"topologyKey":"k","whenUnsatisfiable":"DoNotSchedule"}`, `$[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{k, DoNotSchedule}"`},
	} {
		checkSpec(t, `"containers":[{"name":"c","image":"i"}],"topologySpreadConstraints":[`+tt.constraints+`]`,
			strings.ReplaceAll(tt.want, "$", "$.topologySpreadConstraints"))
	}
}

// TestMergeMatchKeys checks that a key becomes a requirement with the value of the pod's own label,
// if the pod has that label.
func TestMergeMatchKeys(t *testing.T) {
	const term = `"topologyKey":"k","labelSelector":{},"matchLabelKeys":["a","none"],"mismatchLabelKeys":["b"]`
	pod := decode(t, `{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"affinity":{
		"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{`+term+`},{"topologyKey":"k","matchLabelKeys":["a"]}]},
		"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{`+term+`}}]}},
		"topologySpreadConstraints":[{"topologyKey":"k","labelSelector":{},"matchLabelKeys":["b"]}]}}`)
	MergeMatchKeys(pod)
	const in, notIn = `{"key":"a","operator":"In","values":["1"]}`, `{"key":"b","operator":"NotIn","values":["2"]}`
	affinity := pod.Spec.Affinity
	for _, tt := range []struct {
		selector *meta.LabelSelector
		want     string
	}{
		{affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector, `{"matchExpressions":[` + in + `,` + notIn + `]}`},
		{affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[1].LabelSelector, `null`},
		{affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector, `{"matchExpressions":[` + in + `,` + notIn + `]}`},
		{pod.Spec.TopologySpreadConstraints[0].LabelSelector, `{"matchExpressions":[{"key":"b","operator":"In","values":["2"]}]}`},
	} {
		if got, err := json.Marshal(tt.selector); err != nil || string(got) != tt.want {
			t.Errorf("selector %s, %v; want %s", got, err, tt.want)
		}
	}
	MergeMatchKeys(new(corev1.Pod))
}
