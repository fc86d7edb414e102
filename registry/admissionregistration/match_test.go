package admissionregistration

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/field"
)

func TestRules(t *testing.T) {
	const rest = `,"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]`
	for _, tt := range []struct{ rule, want string }{
		{`"operations":["CREATE","UPDATE","DELETE","CONNECT"]` + rest, ""},
		{`"operations":["*"]` + rest, ""},
		{`"operations":["*","CREATE"]` + rest, `r.operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`},
		{`"operations":["create"]` + rest,
			`r.operations[0]: Unsupported value: "create": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`},
		{`"operations":["CREATE"],"apiGroups":["","*"],"apiVersions":["v1"],"resources":["pods"]`,
			`r.apiGroups: Invalid value: ["","*"]: if '*' is present, must not specify other API groups`},
		{`"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["","*"],"resources":["pods"]`,
			`r.apiVersions: Invalid value: ["","*"]: if '*' is present, must not specify other API versions
r.apiVersions[0]: Required value`},
		{`"operations":["CREATE"],"scope":"Namespaced"` + rest, ""},
		{`"operations":["CREATE"],"scope":""` + rest, `r.scope: Unsupported value: "": supported values: "*", "Cluster", "Namespaced"`},
	} {
		rule := checktest.Decode[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, `{"spec":{"matchResources":{"resourceRules":[{`+tt.rule+`}]}}}`).
			Spec.MatchResources.ResourceRules[0]
		checktest.Want(t, checkRule(field.NewPath("r"), &rule.RuleWithOperations), tt.want)
	}
}

func TestRuleResources(t *testing.T) {
	for _, tt := range []struct {
		resources []string
		want      string
	}{
		{nil, "r: Required value"},
		{[]string{"pods", "pods/log", "*/scale", "deployments/*"}, ""},
		{[]string{"pods", ""}, "r[1]: Required value"},
		{[]string{"*"}, ""},
		{[]string{"*/*"}, ""},
		{[]string{"*", "pods/log"}, ""},
		{[]string{"pods/*", "pods/log"}, `r[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`},
		{[]string{"*/log", "pods/log"}, `r[1]: Invalid value: "pods/log": if '*/log' is present, must not specify pods/log`},
		{[]string{"pods/log", "*/log", "pods/*"}, ""},
		{[]string{"*/*", "pods"}, `r: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`},
		{[]string{"*", "pods"}, `r: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`},
		{[]string{"pods", "*"}, ""},
	} {
		checktest.Want(t, checkResources(field.NewPath("r"), tt.resources), tt.want)
	}
}

func TestMatchResources(t *testing.T) {
	checktest.Want(t, checkMatch(field.NewPath("m"), &admissionregistrationv1.MatchResources{}), `m.matchPolicy: Required value
m.namespaceSelector: Required value
m.objectSelector: Required value`)
	const rule = `"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]`
	m := checktest.Decode[admissionregistrationv1.MutatingAdmissionPolicyBinding](t, `{"spec":{"matchResources":{
		"matchPolicy":"X","namespaceSelector":{"matchExpressions":[{"key":"a","operator":"Y"}]},"objectSelector":{"matchLabels":{"a":"!"}},
		"resourceRules":[{"resourceNames":["a","b","a","c/d"],`+rule+`}],
		"excludeResourceRules":[{"resourceNames":["."],"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]
	}}}`).Spec.MatchResources
	checktest.Want(t, checkMatch(field.NewPath("m"), m), `m.matchPolicy: Unsupported value: "X": supported values: "Equivalent", "Exact"
m.namespaceSelector.matchExpressions[0].operator: Invalid value: "Y": not a valid selector operator
m.objectSelector.matchLabels: Invalid value: "!": `+badLabel+`
m.resourceRules[0].resourceNames[2]: Duplicate value: "a"
m.resourceRules[0].resourceNames[3]: Invalid value: "c/d": may not contain '/'
m.excludeResourceRules[0].resourceNames[0]: Invalid value: ".": may not be '.'`)
	checktest.Want(t, checkMutable(field.NewPath("m"), m),
		`m.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`)
	checktest.Want(t, checkMutable(field.NewPath("m"), nil), "")
}
