package admissionregistration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/field"
)

const rules = `"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]`

func validatingPolicy(t *testing.T, spec string) *admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	return checktest.Decode[admissionregistrationv1.ValidatingAdmissionPolicy](t, `{"spec":{"matchConstraints":{`+rules+`}`+spec+`}}`)
}

func TestValidatingPolicies(t *testing.T) {
	const ok = `,"validations":[{"expression":"true"}]`
	const either = "validations or auditAnnotations must contain at least one item"
	for _, tt := range []struct{ spec, want string }{
		{ok, ""},
		{`,"auditAnnotations":[{"key":"a","valueExpression":"''"}]`, ""},
		{``, "spec.validations: Required value: " + either + "\nspec.auditAnnotations: Required value: " + either},
		{ok + `,"failurePolicy":"X"`, `spec.failurePolicy: Unsupported value: "X": supported values: "Fail", "Ignore"`},
		{ok + `,"matchConstraints":null`, `spec.matchConstraints: Required value`},
		{ok + `,"matchConstraints":{"resourceRules":[]}`, `spec.matchConstraints.resourceRules: Required value`},
		{ok + `,"matchConditions":[{"name":"a/b/c","expression":""}]`, `spec.matchConditions[0].expression: Required value
spec.matchConditions[0].name: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`},
		{ok + `,"variables":[{},{"name":" ","expression":" "},{"name":"1a","expression":"1"},{"name":"while","expression":"1"},{"name":"_a","expression":"1"}]`,
			`spec.variables[0].name: Required value: name is not specified
spec.variables[0].expression: Required value: expression is not specified
spec.variables[1].name: Required value: name is not specified
spec.variables[1].expression: Required value: expression is not specified
spec.variables[2].name: Invalid value: "1a": must be a valid CEL identifier
spec.variables[3].name: Invalid value: "while": must be a valid CEL identifier`},
		{`,"validations":[{"expression":" ","messageExpression":" ","message":" ","reason":"Unauthorized"},{"expression":"true","message":"a\nb"}]`,
			`spec.validations[0].expression: Required value: expression is not specified
spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified
spec.validations[0].message: Invalid value: " ": must be non-empty if specified
spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"
spec.validations[1].message: Invalid value: "a\nb": must not contain line breaks`},
		{`,"validations":[{"expression":"true","message":"a\n","messageExpression":"''","reason":"Forbidden"}]`, ""},
		{`,"auditAnnotations":[{"key":"a","valueExpression":" "},{"key":"a","valueExpression":"''"}]`,
			`spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified
spec.auditAnnotations[1].key: Duplicate value: "a"`},
		{`,"auditAnnotations":[{"key":"a","valueExpression":" '` + strings.Repeat("a", 5118) + `' "}]`, ""},
		{`,"auditAnnotations":[{"key":"a","valueExpression":"` + strings.Repeat("a", 5121) + `"}]`,
			`spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length`},
	} {
		checktest.Want(t, checkValidatingPolicy(t.Context(), validatingPolicy(t, tt.spec), nil), tt.want)
	}
	nameless := validatingPolicy(t, `,"auditAnnotations":[{"key":"a","valueExpression":"''"}]`)
	nameless.Name = ""
	checktest.Want(t, checkValidatingPolicy(t.Context(), nameless, nil), `spec.auditAnnotations[0].key: Invalid value: "a": requires metadata.name be non-empty`)
}

func TestManyAuditAnnotations(t *testing.T) {
	var list []string
	for i := range 21 {
		list = append(list, fmt.Sprintf(`{"key":"k%d","valueExpression":"''"}`, i))
	}
	checktest.Want(t, checkValidatingPolicy(t.Context(), validatingPolicy(t, `,"auditAnnotations":[`+strings.Join(list[:20], ",")+`]`), nil), "")
	errs := checkValidatingPolicy(t.Context(), validatingPolicy(t, `,"auditAnnotations":[`+strings.Join(list, ",")+`]`), nil)
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), `spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExpression":"''"},`) ||
		!strings.HasSuffix(errs[0].Error(), "must not have more than 20 auditAnnotations") {
		t.Errorf("got %v, want that there are too many", errs)
	}
}

// TestSameConditions: match conditions are compiled again if they change or the kind of the
// parameters changes.
func TestSameConditions(t *testing.T) {
	const bad, want = `,"matchConditions":[{"expression":"true"}]`, "spec.matchConditions[0].name: Required value"
	for _, tt := range []struct{ old, now, want string }{
		{bad, bad, ""},
		{``, bad, want},
		{bad, bad + `,"paramKind":{"apiVersion":"v1","kind":"A"}`, want},
		{bad + `,"paramKind":{"apiVersion":"v1","kind":"A"}`, bad, want},
		{bad + `,"paramKind":{"apiVersion":"v1","kind":"A"}`, bad + `,"paramKind":{"apiVersion":"v1","kind":"A"}`, ""},
	} {
		const validations = `,"validations":[{"expression":"true"}]`
		checktest.Want(t, checkValidatingPolicy(t.Context(), validatingPolicy(t, validations+tt.now), validatingPolicy(t, validations+tt.old)), tt.want)
		checktest.Want(t, checkMutatingPolicy(t.Context(), mutatingPolicy(t, patched+tt.now), mutatingPolicy(t, patched+tt.old)), tt.want)
	}
}

func TestParamKinds(t *testing.T) {
	for _, tt := range []struct{ version, kind, want string }{
		{"v1", "ConfigMap", ""},
		{"a.b/v1", "A", ""},
		{"/v1", "A", ""},
		{"", "", "k.apiVersion: Required value\nk.kind: Required value"},
		{"a/b/c", "A", `k.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`},
		{"/", "A", `k.apiVersion: Invalid value: "/": version must be specified`},
		{"a_/", "A", `k.apiVersion: Invalid value: "a_": ` + badSubdomain + "\n" + `k.apiVersion: Invalid value: "a_/": version must be specified`},
		{"a/1", "A", `k.apiVersion: Invalid value: "1": ` + badLabel1035},
		{"v1", "A_", `k.kind: Invalid value: "A_": may have mixed case, but should otherwise match: ` + badLabel1035},
	} {
		checktest.Want(t, checkParamKind(field.NewPath("k"), &admissionregistrationv1.ParamKind{APIVersion: tt.version, Kind: tt.kind}), tt.want)
	}
}

func TestPolicyStatus(t *testing.T) {
	for _, tt := range []struct{ status, want string }{
		{`{}`, ""},
		{`{"typeChecking":{"expressionWarnings":[{"fieldRef":"spec.a[0]","warning":"w"},{"fieldRef":" "},{"fieldRef":" a[ ","warning":"w"}]}}`,
			`status.typeChecking.expressionWarnings[1].warning: Required value
status.typeChecking.expressionWarnings[1].fieldRef: Required value
status.typeChecking.expressionWarnings[2].fieldRef: Invalid value: "a[": invalid JSONPath: unterminated array`},
		{`{"conditions":[{"type":"A","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`,
			`status.conditions[0].reason: Required value`},
	} {
		policy := checktest.Decode[admissionregistrationv1.ValidatingAdmissionPolicy](t, `{"status":`+tt.status+`}`)
		checktest.Want(t, checkPolicyStatus(policy, nil), tt.want)
	}
}

const patched = `,"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'test', path: '/a'}]"}}]`

func mutatingPolicy(t *testing.T, spec string) *admissionregistrationv1.MutatingAdmissionPolicy {
	t.Helper()
	return checktest.Decode[admissionregistrationv1.MutatingAdmissionPolicy](t, `{"spec":{"matchConstraints":{`+rules+`}`+spec+`}}`)
}

func TestMutatingPolicies(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{patched, ""},
		{``, `spec.mutations: Required value: mutations must contain at least one item
spec.reinvocationPolicy: Required value`},
		{patched + `,"reinvocationPolicy":"X"`, `spec.reinvocationPolicy: Unsupported value: "X": supported values: "IfNeeded", "Never"`},
		{patched + `,"variables":[{"name":"a"}]`, `spec.variables[0].expression: Required value: expression is not specified`},
		{patched + `,"matchConstraints":{"resourceRules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["a"]}]}`,
			`spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`},
		{`,"reinvocationPolicy":"IfNeeded","mutations":[{},{"patchType":"X"},{"patchType":"JSONPatch"},{"patchType":"ApplyConfiguration"},
			{"patchType":"JSONPatch","jsonPatch":{},"applyConfiguration":{}},{"patchType":"ApplyConfiguration","jsonPatch":{},"applyConfiguration":{}},
			{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}]`,
			`spec.mutations[0].patchType: Required value
spec.mutations[1].patchType: Unsupported value: "X": supported values: "ApplyConfiguration", "JSONPatch"
spec.mutations[2].jsonPatch: Required value: must be specified when patchType is JSONPatch
spec.mutations[3].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration
spec.mutations[4].jsonPatch.expression: Required value
spec.mutations[4].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch
spec.mutations[5].applyConfiguration.expression: Required value
spec.mutations[5].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration`},
	} {
		checktest.Want(t, checkMutatingPolicy(t.Context(), mutatingPolicy(t, tt.spec), nil), tt.want)
	}
}

func TestBindings(t *testing.T) {
	const policy = `"policyName":"p"`
	for _, tt := range []struct{ spec, want string }{
		{policy, ""},
		{``, `spec.policyName: Required value`},
		{`"policyName":"A"`, `spec.policyName: Invalid value: "A": ` + badSubdomain},
		{policy + `,"paramRef":{}`, `spec.paramRef: Required value: one of name or selector must be specified
spec.paramRef.parameterNotFoundAction: Required value`},
		{policy + `,"paramRef":{"name":"a/b","selector":{"matchLabels":{"a":"!"}},"parameterNotFoundAction":""}`,
			`spec.paramRef.name: Invalid value: "a/b": may not contain '/'
spec.paramRef.name: Forbidden: name and selector are mutually exclusive
spec.paramRef.selector.matchLabels: Invalid value: "!": ` + badLabel + `
spec.paramRef.selector: Forbidden: name and selector are mutually exclusive
spec.paramRef.parameterNotFoundAction: Required value`},
		{policy + `,"paramRef":{"selector":{},"parameterNotFoundAction":"X"}`,
			`spec.paramRef.parameterNotFoundAction: Unsupported value: "X": supported values: "Deny", "Allow"`},
		{policy + `,"paramRef":{"name":"a","parameterNotFoundAction":"Allow"},"matchResources":{"matchPolicy":"X"}`,
			`spec.matchResources.matchPolicy: Unsupported value: "X": supported values: "Equivalent", "Exact"`},
	} {
		mutating := checktest.Decode[admissionregistrationv1.MutatingAdmissionPolicyBinding](t, `{"spec":{`+tt.spec+`}}`)
		checktest.Want(t, checkMutatingBinding(mutating, nil), tt.want)
		spec := strings.TrimPrefix(tt.spec+`,"validationActions":["Deny"]`, ",")
		validating := checktest.Decode[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, `{"spec":{`+spec+`}}`)
		checktest.Want(t, checkValidatingBinding(validating, nil), tt.want)
	}
	deleting := checktest.Decode[admissionregistrationv1.MutatingAdmissionPolicyBinding](t, `{"spec":{`+policy+`,"matchResources":{"resourceRules":[
		{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["a"]}]}}}`)
	checktest.Want(t, checkMutatingBinding(deleting, nil),
		`spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`)
}

func TestActions(t *testing.T) {
	for _, tt := range []struct {
		actions []admissionregistrationv1.ValidationAction
		want    string
	}{
		{nil, "a: Required value: at least one validation action is required"},
		{[]admissionregistrationv1.ValidationAction{"Audit", "Warn"}, ""},
		{[]admissionregistrationv1.ValidationAction{"Audit", "Deny"}, ""},
		{[]admissionregistrationv1.ValidationAction{"X", "Audit", "Audit"}, `a[0]: Unsupported value: "X": supported values: "Audit", "Deny", "Warn"
a[2]: Duplicate value: "Audit"`},
		{[]admissionregistrationv1.ValidationAction{"Warn", "Deny"}, `a: Invalid value: ["Warn","Deny"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)`},
	} {
		checktest.Want(t, checkActions(field.NewPath("a"), tt.actions), tt.want)
	}
}

func TestPolicyCells(t *testing.T) {
	now := time.Time{}
	validations := checktest.Resource(t, Resources(false), "ValidatingAdmissionPolicy")
	checktest.WantCells(t, validations, validatingPolicy(t, `,"validations":[{},{}]`), now, "x", int64(2), "<unset>", "<unknown>")
	checktest.WantCells(t, validations, validatingPolicy(t, `,"paramKind":{"apiVersion":"a/v1","kind":"K"}`), now, "x", int64(0), "a/v1/K", "<unknown>")
	mutations := checktest.Resource(t, Resources(false), "MutatingAdmissionPolicy")
	checktest.WantCells(t, mutations, mutatingPolicy(t, patched+`,"paramKind":{"apiVersion":"v1","kind":"K"}`), now, "x", int64(1), "v1/K", "<unknown>")

	for ref, want := range map[string]string{
		`null`:                         "<unset>",
		`{}`:                           "<unset>",
		`{"name":"a"}`:                 "*/a",
		`{"name":"a","selector":{}}`:   "*/a",
		`{"name":"a","namespace":"b"}`: "b/a",
		`{"selector":{}}`:              "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}",
		`{"selector":{"matchLabels":{"c":"d","a":"b"},"matchExpressions":[{"key":"e","operator":"In","values":["f","g"]},{"key":"h","operator":"Exists"}]}}`: "&LabelSelector{MatchLabels:map[string]string{a: b,c: d,},MatchExpressions:[]LabelSelectorRequirement{" +
			"LabelSelectorRequirement{Key:e,Operator:In,Values:[f g],},LabelSelectorRequirement{Key:h,Operator:Exists,Values:[],},},}",
	} {
		spec := `{"spec":{"policyName":"p","paramRef":` + ref + `}}`
		checktest.WantCells(t, checktest.Resource(t, Resources(false), "MutatingAdmissionPolicyBinding"),
			checktest.Decode[admissionregistrationv1.MutatingAdmissionPolicyBinding](t, spec), now, "x", "p", want, "<unknown>")
		checktest.WantCells(t, checktest.Resource(t, Resources(false), "ValidatingAdmissionPolicyBinding"),
			checktest.Decode[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, spec), now, "x", "p", want, "<unknown>")
	}
}
