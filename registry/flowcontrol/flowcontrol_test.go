package flowcontrol

import (
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestDeclarations(t *testing.T) {
	for _, r := range Resources() {
		s := r.Strategy
		if s.AllowCreateOnUpdate || !s.AllowUnconditionalUpdate || s.Metadata != registry.MetaObject || len(r.Generation) != 1 {
			t.Errorf("%s: got %v, want an object that is replaced without a version, created by POST, and counted", r.Kind, s)
		}
	}
}

// schema returns a flow schema whose spec has a priority level and the given fields.
func schema(t *testing.T, name, spec string) meta.Object {
	t.Helper()
	return checktest.Decode[flowcontrolv1.FlowSchema](t, `{"metadata":{"name":"`+name+`"},"spec":{"priorityLevelConfiguration":{"name":"a.b"},`+spec+`}}`)
}

// TestFlowSchemas checks the validation of specs. In want, $ is the path of the spec.
func TestFlowSchemas(t *testing.T) {
	s := checktest.Resource(t, Resources(), "FlowSchema").Strategy
	const precedence = `$.matchingPrecedence: Invalid value: `
	for spec, want := range map[string]string{
		`"matchingPrecedence":0`: ``, `"matchingPrecedence":2`: ``, `"matchingPrecedence":10000`: ``, // 0 is unset
		`"matchingPrecedence":-1`:                      precedence + `-1: must be a positive value`,
		`"matchingPrecedence":1`:                       precedence + `1: only the schema named 'exempt' may have matchingPrecedence 1`,
		`"matchingPrecedence":10001`:                   precedence + `10001: must not be greater than 10000`,
		`"distinguisherMethod":{"type":"ByUser"}`:      ``,
		`"distinguisherMethod":{"type":"ByNamespace"}`: ``,
		`"distinguisherMethod":{"type":"Odd"}`:         `$.distinguisherMethod.type: Unsupported value: {"Type":"Odd"}: supported values: "ByNamespace", "ByUser"`,
		`"priorityLevelConfiguration":{"name":""}`:     `$.priorityLevelConfiguration.name: Required value: must reference a priority level`,
		`"priorityLevelConfiguration":{"name":"A"}`:    `$.priorityLevelConfiguration.name: Invalid value: "A": ` + checktest.Subdomain,
		`"rules":[{}]`: `
$.rules[0].subjects: Required value: subjects must contain at least one value
$.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`,
	} {
		t.Run(spec, func(t *testing.T) {
			checktest.Want(t, s.Validate(schema(t, "x", spec), nil), strings.ReplaceAll(want, "$", "spec"))
		})
	}
}

// TestWithoutDefaults checks the validation of specs without their defaults.
func TestWithoutDefaults(t *testing.T) {
	checktest.Want(t, checkPrecedence(nil, "exempt", 0), "<nil>: Invalid value: 0: must be a positive value")
	checktest.Want(t, checkPrecedence(nil, "exempt", 1), "")
	checktest.Want(t, checkQueuing(field.NewPath("q"), &flowcontrolv1.QueuingConfiguration{}), `
q.queueLengthLimit: Invalid value: 0: must be positive
q.queues: Invalid value: 0: must be positive
q.handSize: Invalid value: 0: must be positive`)
}

// TestSubjects checks the validation of subjects. In want, $ is the path of the subject.
func TestSubjects(t *testing.T) {
	s := checktest.Resource(t, Resources(), "FlowSchema").Strategy
	const (
		user, group, account = `,"user":{"name":"a b"}`, `,"group":{"name":"*"}`, `,"serviceAccount":{"namespace":"a","name":"*"}`
		noUser               = "$.user: Forbidden: user is forbidden when subject kind is not 'User'"
		noGroup              = "$.group: Forbidden: group is forbidden when subject kind is not 'Group'"
		noAccount            = "$.serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'"
	)
	for subject, want := range map[string]string{
		`"User"` + user: ``, `"Group"` + group: ``, `"ServiceAccount"` + account: ``,
		`"User"`:                               `$.user: Required value: user is required when subject kind is 'User'`,
		`"Group"`:                              `$.group: Required value: group is required when subject kind is 'Group'`,
		`"ServiceAccount"`:                     `$.serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'`,
		`"User","user":{}`:                     `$.user.name: Required value`,
		`"Group","group":{}`:                   `$.group.name: Required value`,
		`"ServiceAccount","serviceAccount":{}`: "$.serviceAccount.name: Required value\n$.serviceAccount.namespace: Required value: must specify namespace for service account",
		`"ServiceAccount","serviceAccount":{"namespace":"A","name":"A"}`: `
$.serviceAccount.name: Invalid value: "A": ` + checktest.Subdomain + `
$.serviceAccount.namespace: Invalid value: "A": ` + checktest.Label,
		`"User"` + user + group + account:           noAccount + "\n" + noGroup,
		`"Group"` + user + group + account:          noAccount + "\n" + noUser,
		`"ServiceAccount"` + user + group + account: noUser + "\n" + noGroup,
		`"Odd"` + user + group:                      `$.kind: Unsupported value: "Odd": supported values: "Group", "ServiceAccount", "User"`,
	} {
		t.Run(subject, func(t *testing.T) {
			obj := schema(t, "x", `"rules":[{"subjects":[{"kind":`+subject+`}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]`)
			checktest.Want(t, s.Validate(obj, nil), strings.ReplaceAll(want, "$", "spec.rules[0].subjects[0]"))
		})
	}
}

// TestRules checks the validation of rules. In want, $ is the path of the first resource rule, &
// that of the first non-resource rule.
func TestRules(t *testing.T) {
	s := checktest.Resource(t, Resources(), "FlowSchema").Strategy
	const member = "each member of this list must be '*' or a DNS-1123 label; "
	resources := func(text string) string { return `"resourceRules":[{` + text + `}]` }
	others := func(text string) string {
		return `"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":[` + text + `]}]`
	}
	for rules, want := range map[string]string{
		resources(`"verbs":["get","proxy"],"apiGroups":["","a"],"resources":["a","b/c"],"namespaces":["a","b"]`): ``,
		resources(`"verbs":["*"],"apiGroups":["*"],"resources":["*"],"namespaces":["*"],"clusterScope":true`):    ``,
		resources(`"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true`):                       ``,
		resources(``): `
$.verbs: Required value: verbs must contain at least one value
$.apiGroups: Required value: resource rules must supply at least one api group
$.resources: Required value: resource rules must supply at least one resource
$.namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
		resources(`"verbs":["*","get"],"apiGroups":["*","a"],"resources":["a","*"],"namespaces":["*","A"]`): `
$.verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs
$.apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other api groups
$.resources: Invalid value: ["a","*"]: if '*' is present, must not specify other resources
$.namespaces: Invalid value: ["*","A"]: if '*' is present, must not specify other namespaces`,
		resources(`"verbs":["get","odd"],"apiGroups":["a"],"resources":["a"],"namespaces":["a","B"],"clusterScope":true`): `
$.verbs: Unsupported value: ["get","odd"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"
$.namespaces[1]: Invalid value: "B": ` + member + checktest.Label,
		others(`"/","/a","/a/*","/*"`): ``,
		others(`"*"`):                  ``,
		others(``):                     `&.nonResourceURLs: Required value: nonResourceURLs must contain at least one value`,
		others(`"*","a"`):              `&.nonResourceURLs: Invalid value: ["*","a"]: if '*' is present, must not specify other non-resource URLs`,
		others(`"","a","/a b","/a//b","/a*","/*/a","/*/*"`): `
&.nonResourceURLs[0]: Invalid value: "": must not be empty
&.nonResourceURLs[1]: Invalid value: "a": must start with slash
&.nonResourceURLs[2]: Invalid value: "/a b": must not contain white-space
&.nonResourceURLs[3]: Invalid value: "/a//b": must not contain double slash
&.nonResourceURLs[4]: Invalid value: "/a*": wildcard can only do suffix matching
&.nonResourceURLs[5]: Invalid value: "/*/a": wildcard can only do suffix matching
&.nonResourceURLs[6]: Invalid value: "/*/*": wildcard can only do suffix matching`,
		`"nonResourceRules":[{"verbs":["odd"],"nonResourceURLs":["*"]}]`: `
&.verbs: Unsupported value: ["odd"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"`,
	} {
		t.Run(rules, func(t *testing.T) {
			obj := schema(t, "x", `"rules":[{"subjects":[{"kind":"User","user":{"name":"a"}}],`+rules+`}]`)
			want := strings.NewReplacer("$", "spec.rules[0].resourceRules[0]", "&", "spec.rules[0].nonResourceRules[0]").Replace(want)
			checktest.Want(t, s.Validate(obj, nil), want)
		})
	}
}

// TestMandatorySchemas checks that the specs of the mandatory schemas cannot differ from the fixed
// values.
func TestMandatorySchemas(t *testing.T) {
	s := checktest.Resource(t, Resources(), "FlowSchema").Strategy
	const all = `"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],
		"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]`
	exempt := `"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,
		"rules":[{"subjects":[{"kind":"Group","group":{"name":"system:masters"}}],` + all + `}]`
	catchAll := `"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,"distinguisherMethod":{"type":"ByUser"},
		"rules":[{"subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}},{"kind":"Group","group":{"name":"system:authenticated"}}],` + all + `}]`
	for name, spec := range map[string]string{"exempt": exempt, "catch-all": catchAll} {
		checktest.Want(t, s.Validate(schema(t, name, spec), nil), "")
		errs := s.Validate(schema(t, name, strings.Replace(spec, "system:", "system:x", 1)), nil)
		if want := "spec of '" + name + "' must equal the fixed value"; len(errs) != 1 || !strings.HasSuffix(errs[0].Error(), want) {
			t.Errorf("%s, changed: got %v, want %s", name, errs, want)
		}
	}
	checktest.Want(t, s.Validate(schema(t, "exempt", `"matchingPrecedence":5`), nil), `spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"a.b"},`+
		`"MatchingPrecedence":5,"DistinguisherMethod":null,"Rules":null}: spec of 'exempt' must equal the fixed value`)
}

// level returns a priority level. In spec, $ stands for the beginning of a limited level, up to the
// parameters of its queues.
func level(t *testing.T, name, spec string) meta.Object {
	t.Helper()
	spec = strings.ReplaceAll(spec, "$", `"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":`)
	return checktest.Decode[flowcontrolv1.PriorityLevelConfiguration](t, `{"metadata":{"name":"`+name+`"},"spec":{`+spec+`}}`)
}

// TestPriorityLevels checks the validation of priority levels. In want, $ is the path of the spec,
// & that of the queues.
func TestPriorityLevels(t *testing.T) {
	s := checktest.Resource(t, Resources(), "PriorityLevelConfiguration").Strategy
	const reject = `"limitResponse":{"type":"Reject"}`
	for spec, want := range map[string]string{
		`"type":"Limited","limited":{` + reject + `}`: ``,
		`"type":"Limited","limited":{` + reject + `,"nominalConcurrencyShares":0,"lendablePercent":100,"borrowingLimitPercent":0}`: ``,
		`"type":"Limited","limited":{` + reject + `,"nominalConcurrencyShares":-1,"lendablePercent":101,"borrowingLimitPercent":-1}`: `
$.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer
$.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive
$.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer`,
		`"type":"Limited"`: `$.limited: Required value: must not be empty when type is Limited`,
		`"type":"Limited","exempt":{},"limited":{` + reject + `}`: `$.exempt: Forbidden: must be nil if the type is Limited`,
		``:             `$.type: Required value`,
		`"type":"Odd"`: `$.type: Unsupported value: "Odd": supported values: "Exempt", "Limited"`,
		`"type":"Exempt","limited":{` + reject + `}`: `
$.type: Invalid value: "Exempt": must be 'Exempt' if and only if ` + "`name`" + ` is 'exempt'
$.limited: Forbidden: must be nil if the type is not Limited`,
		`"type":"Limited","limited":{"limitResponse":{}}`:                             `$.limited.limitResponse.type: Required value`,
		`"type":"Limited","limited":{"limitResponse":{"type":"Odd"}}`:                 `$.limited.limitResponse.type: Unsupported value: "Odd": supported values: "Queue", "Reject"`,
		`"type":"Limited","limited":{"limitResponse":{"type":"Reject","queuing":{}}}`: `&: Forbidden: must be nil if limited.limitResponse.type is not Limited`,
		`"type":"Limited","limited":{"limitResponse":{"type":"Queue"}}`:               `&: Required value: must not be empty if limited.limitResponse.type is Limited`,
		`${}}}`: ``,
		`${"queues":10000000,"handSize":2,"queueLengthLimit":1}}}`: ``,
		`${"queues":1024,"handSize":6}}}`:                          ``,
		`${"queues":1024,"handSize":7}}}`:                          `&.handSize: Invalid value: 7: required entropy bits of deckSize 1024 and handSize 7 should not be greater than 60`,
		`${"queues":3,"handSize":3}}}`:                             ``,
		`${"queues":3,"handSize":4}}}`:                             `&.handSize: Invalid value: 4: should not be greater than queues (3)`,
		`${"queues":10000001,"handSize":-1,"queueLengthLimit":-1}}}`: `
&.queueLengthLimit: Invalid value: -1: must be positive
&.queues: Invalid value: 10000001: must not be greater than 10000000
&.handSize: Invalid value: -1: must be positive`,
		`${"queues":-1,"handSize":1}}}`: `
&.queues: Invalid value: -1: must be positive
&.handSize: Invalid value: 1: should not be greater than queues (-1)`,
	} {
		t.Run(spec, func(t *testing.T) {
			want := strings.NewReplacer("$", "spec", "&", "spec.limited.limitResponse.queuing").Replace(want)
			checktest.Want(t, s.Validate(level(t, "x", spec), nil), want)
		})
	}
	odd := checktest.Decode[flowcontrolv1.PriorityLevelConfiguration](t, `{"metadata":{"annotations":{
		"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares":""}},"spec":{"type":"Limited","limited":{`+reject+`}}}`)
	checktest.Want(t, s.Validate(odd, nil), "metadata.annotations: Forbidden: annotation 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden")
}

// TestMandatoryLevels checks that the specs of the mandatory levels cannot differ from the fixed
// values, but for the field exempt of the level "exempt".
func TestMandatoryLevels(t *testing.T) {
	s := checktest.Resource(t, Resources(), "PriorityLevelConfiguration").Strategy
	for _, tt := range []struct{ name, spec, want string }{
		{"exempt", `"type":"Exempt"`, ``},
		{"exempt", `"type":"Exempt","exempt":{"nominalConcurrencyShares":9,"lendablePercent":9}`, ``},
		{"exempt", `"type":"Exempt","exempt":{"nominalConcurrencyShares":-1,"lendablePercent":-1}`, `
spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer
spec.exempt.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive`},
		{"exempt", `"type":"Limited","exempt":{"nominalConcurrencyShares":9}`, `
spec.type: Invalid value: "Limited": must be 'Exempt' if and only if ` + "`name`" + ` is 'exempt'
spec.exempt: Forbidden: must be nil if the type is Limited
spec.limited: Required value: must not be empty when type is Limited
spec: Invalid value: {"Type":"Limited","Limited":null,"Exempt":{"NominalConcurrencyShares":9,"LendablePercent":0}}: ` +
			`spec of 'exempt' except the 'spec.exempt' field must equal the fixed value`},
		{"catch-all", `"type":"Limited","limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"}}`, ``},
		{"catch-all", `"type":"Limited","limited":{"nominalConcurrencyShares":6,"limitResponse":{"type":"Reject"}}`, `
spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":6,"LimitResponse":{"Type":"Reject","Queuing":null},` +
			`"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: spec of 'catch-all' must equal the fixed value`},
	} {
		checktest.Want(t, s.Validate(level(t, tt.name, tt.spec), nil), tt.want)
	}
}

// TestStatus: a status has one condition of each type. A write of the status changes only the
// status.
func TestStatus(t *testing.T) {
	const conditions = `{"metadata":{"labels":{"a":"b"}},"status":{"conditions":[{"type":"A"},{"type":"B"},{"type":"A"},{}]}}`
	const want = "status.conditions[2].type: Duplicate value: \"A\"\nstatus.conditions[3].type: Required value"
	for kind, objects := range map[string][2]meta.Object{
		"FlowSchema": {checktest.Decode[flowcontrolv1.FlowSchema](t, conditions), checktest.Decode[flowcontrolv1.FlowSchema](t, `{}`)},
		"PriorityLevelConfiguration": {checktest.Decode[flowcontrolv1.PriorityLevelConfiguration](t, conditions),
			checktest.Decode[flowcontrolv1.PriorityLevelConfiguration](t, `{}`)},
	} {
		status, obj, old := checktest.Resource(t, Resources(), kind).Status, objects[0], objects[1]
		checktest.Want(t, status.Validate(obj, old), want)
		if status.Prepare(nil, obj, old); obj.GetObjectMeta().Labels != nil {
			t.Errorf("%s: got the labels %v from the door to status, want none", kind, obj.GetObjectMeta().Labels)
		}
	}
}

func TestTables(t *testing.T) {
	r := checktest.Resource(t, Resources(), "FlowSchema")
	checktest.WantCells(t, r, schema(t, "x", `"rules":[]`), time.Now(), "x", "a.b", int64(1000), "<none>", "<unknown>", "?")
	dangling := checktest.Decode[flowcontrolv1.FlowSchema](t, `{"spec":{"distinguisherMethod":{"type":"ByUser"}},
		"status":{"conditions":[{"type":"A","status":"Unknown"},{"type":"Dangling","status":"True"},{"type":"Dangling","status":"False"}]}}`)
	checktest.WantCells(t, r, dangling, time.Now(), "x", "", int64(1000), "ByUser", "<unknown>", "True")
	r = checktest.Resource(t, Resources(), "PriorityLevelConfiguration")
	for spec, want := range map[string][]any{
		`"type":"Exempt"`:                                   {"x", "Exempt", "<none>", "<none>", "<none>", "<none>", "<unknown>"},
		`"type":"Limited","limited":{}`:                     {"x", "Limited", int64(30), "<none>", "<none>", "<none>", "<unknown>"},
		`${"queues":4,"handSize":2,"queueLengthLimit":9}}}`: {"x", "Limited", int64(30), int64(4), int64(2), int64(9), "<unknown>"},
	} {
		checktest.WantCells(t, r, level(t, "x", spec), time.Now(), want...)
	}
	bare := &flowcontrolv1.PriorityLevelConfiguration{Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{}}}
	checktest.WantCells(t, r, bare, time.Now(), "", "", int64(0), "<none>", "<none>", "<none>", "<unknown>")
}
