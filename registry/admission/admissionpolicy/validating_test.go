package admissionpolicy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/scheme/meta"
)

// denies is a binding that denies.
var denies = validatingBinding("b", "p", "\n  validationActions: [Deny]")

// TestValidate checks the result for a ConfigMap with a=1 in the namespace ns.
func TestValidate(t *testing.T) {
	const about = `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `
	deny := []string{denies}
	for _, tt := range []struct {
		name     string
		policy   string // its spec
		bindings []string
		want     string // the refusal after the name of the object; "": none
		code     int32
	}{
		{"true", `
  validations: [{expression: "object.data.a == '1' && request.operation == 'CREATE'"}]`, deny, "", 0},
		{"false", `
  validations: [{expression: " object.data.a == '2' "}]`, deny, about + "failed expression: object.data.a == '2'", 422},
		{"without a binding", `
  validations: [{expression: "false"}]`, nil, "", 0},
		{"a message", `
  validations: [{expression: "false", message: " nope "}]`, deny, about + "nope", 422},
		{"a made message", `
  validations: [{expression: "false", message: nope, messageExpression: "'not ' + object.data.a"}]`, deny, about + "not 1", 422},
		{"a blank message", `
  validations: [{expression: "false", message: nope, messageExpression: "'  '"}]`, deny, about + "nope", 422},
		{"a message of two lines", `
  validations: [{expression: "false", message: nope, messageExpression: "'a\\nb'"}]`, deny, about + "nope", 422},
		{"a message that fails", `
  validations: [{expression: "false", message: nope, messageExpression: "object.data.b"}]`, deny, about + "nope", 422},
		{"a reason", `
  validations: [{expression: "false", reason: Forbidden}]`, deny, about + "failed expression: false", 403},
		{"variables and the namespace", `
  variables: [{name: team, expression: "namespaceObject.metadata.labels.team"}]
  validations: [{expression: "variables.team == 'b'"}]`, deny, about + "failed expression: variables.team == 'b'", 422},
		{"rights", `
  validations: [{expression: "authorizer.requestResource.check('get').allowed()"}, {expression: "authorizer.requestResource.check('list').allowed()"}]`,
			deny, about + "failed expression: authorizer.requestResource.check('list').allowed()", 422},
		{"a failure", `
  validations: [{expression: "object.data.b == ''"}]`, deny, about + "expression 'object.data.b == ''' resulted in error: no such key: b", 422},
		{"an ignored failure", `
  failurePolicy: Ignore
  validations: [{expression: "object.data.b == ''"}]`, deny, "", 0},
		{"another namespace", `
  validations: [{expression: "false"}]`, []string{validatingBinding("b", "p", `
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {team: b}}}`)}, "", 0},
		{"conditions", `
  matchConditions: [{name: x, expression: "object.data.a == '2'"}]
  validations: [{expression: "false"}]`, deny, "", 0},
		{"conditions that fail", `
  matchConditions: [{name: x, expression: "object.data.b == '2'"}]
  validations: [{expression: "false"}]`, deny, about + "expression 'object.data.b == '2'' resulted in error: no such key: b", 422},
		{"an unknown paramKind", `
  paramKind: {apiVersion: x.io/v1, kind: X}
  validations: [{expression: "true"}]`, deny,
			"ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x.io/v1, Kind=X'", 422},
		{"an annotation that fails", `
  auditAnnotations: [{key: k, valueExpression: "string(object.data.b)"}]
  validations: [{expression: "true"}]`, deny, about + "expression 'string(object.data.b)' resulted in error: no such key: b", 422},
		{"the first binding by name", `
  validations: [{expression: "false"}]`, []string{validatingBinding("z", "p", "\n  validationActions: [Deny]"), denies}, about + "failed expression: false", 422},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.set(append(tt.bindings, validatingPolicy("p", tt.policy))...)
			err := w.validator.Validate(t.Context(), w.write(admission.Create, configMap("a", "1"), nil))
			wantRefusal(t, err, `configmaps "c" is forbidden: `, tt.want, tt.code)
		})
	}
}

// wantRefusal checks the message of an error after a prefix, and its code; message "" is no error.
func wantRefusal(t *testing.T, err error, prefix, message string, code int32) {
	t.Helper()
	refused, _ := errors.AsType[*meta.StatusError](err)
	switch {
	case message == "" && err == nil:
	case message == "" || refused == nil:
		t.Errorf("got %v, want %q", err, message)
	case refused.Status.Message != prefix+message || refused.Status.Code != code:
		t.Errorf("got %d %s,\nwant %d %s", refused.Status.Code, refused.Status.Message, code, prefix+message)
	case len(refused.Status.Details.Causes) == 0:
		t.Error("the status has no causes")
	}
}

// TestParams checks which objects a policy is evaluated with.
func TestParams(t *testing.T) {
	policy := validatingPolicy("p", `
  paramKind: {apiVersion: v1, kind: ConfigMap}
  validations: [{expression: "params != null && params.kind == 'ConfigMap' && object.data.a == params.data.a", messageExpression: "string(params == null ? dyn('null') : params.metadata.name)"}]`)
	for _, tt := range []struct{ name, ref, want string }{
		{"none", "", "null"},
		{"that fits", "{name: a, parameterNotFoundAction: Deny}", ""},
		{"that does not fit", "{name: b, parameterNotFoundAction: Deny}", "b"},
		{"of another namespace", "{name: c, namespace: other, parameterNotFoundAction: Deny}", "c"},
		{"that is missing and allowed", "{name: x, parameterNotFoundAction: Allow}", ""},
		{"that is missing", "{name: x, parameterNotFoundAction: Deny}",
			"failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
		{"by labels", "{selector: {}, parameterNotFoundAction: Deny}", "b"},
		{"by other labels", "{selector: {matchLabels: {which: a}}, parameterNotFoundAction: Deny}", ""},
		{"by labels of none", "{selector: {matchLabels: {which: x}}, parameterNotFoundAction: Deny}",
			"failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for key, value := range map[string]string{"ns/a": "1", "ns/b": "2", "other/c": "3"} {
				p := configMap("a", value)
				p.Namespace, p.Name, _ = strings.Cut(key, "/")
				p.Labels = map[string]string{"which": p.Name}
				w.params[key] = p
			}
			ref := tt.ref
			if ref != "" {
				ref = "\n  paramRef: " + ref
			}
			w.set(policy, validatingBinding("b", "p", "\n  validationActions: [Deny]"+ref))
			err := w.validator.Validate(t.Context(), w.write(admission.Create, configMap("a", "1"), nil))
			wantRefusal(t, err, `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: `, tt.want, 422)
		})
	}
}

// TestActions checks warnings, annotations and what observers are told.
func TestActions(t *testing.T) {
	w := newWorld(t)
	w.set(validatingPolicy("p", `
  auditAnnotations: [{key: k, valueExpression: "string(object.data.a)"}, {key: none, valueExpression: "null"}]
  validations: [{expression: "true"}, {expression: "object.data.a == '2'", message: two}]`),
		validatingBinding("b1", "p", "\n  validationActions: [Warn, Audit]"), validatingBinding("b2", "p", "\n  validationActions: [Audit]"))
	if err := w.validator.Validate(t.Context(), w.write(admission.Create, configMap("a", "1"), nil)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b1': two"}; !slices.Equal(w.warnings, want) {
		t.Errorf("got the warnings %q, want %q", w.warnings, want)
	}
	const failure = "validation.policy.admission.k8s.io/validation_failure"
	if got, want := w.annotations["p/k"], "1"; got != want || len(w.annotations) != 2 {
		t.Errorf("got the annotations %q", w.annotations)
	}
	if got, want := w.annotations[failure], `[{"message":"two","policy":"p","binding":"b2","expressionIndex":1,"validationActions":["Audit"]}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var actions []string
	for _, c := range w.checks {
		actions = append(actions, c.Binding+" "+string(c.Action)+" "+string(c.Failure))
	}
	if want := []string{"b1 warn invalid_error", "b1 audit invalid_error", "b2 audit invalid_error"}; !slices.Equal(actions, want) {
		t.Errorf("got the checks %q, want %q", actions, want)
	}
}

// TestPoliciesChange: a policy is in force as soon as the source has it, and compiled once.
func TestPoliciesChange(t *testing.T) {
	w := newWorld(t)
	validate := func() error {
		return w.validator.Validate(t.Context(), w.write(admission.Create, configMap(), nil))
	}
	if err := validate(); err != nil {
		t.Fatal(err)
	}
	w.set(validatingPolicy("p", "\n  validations: [{expression: \"false\"}]"), denies)
	if err := validate(); err == nil {
		t.Error("a new policy is not in force")
	}
	first := w.validating.Items[0]
	w.set(denies)
	w.validating.Items = append(w.validating.Items, first)
	if err := validate(); err == nil {
		t.Error("a policy is not in force after a change of its binding")
	}
	w.set(validatingPolicy("p", "\n  validations: [{expression: \"false\"}]"))
	if err := validate(); err != nil {
		t.Errorf("a policy without bindings refuses: %v", err)
	}
	w.errPolicies = meta.NewInternalError(errors.New("down"))
	if err := validate(); !errors.Is(err, w.errPolicies) {
		t.Errorf("got %v, want the error of the source", err)
	}
}

// TestUnseen: no policy sees writes of policies.
func TestUnseen(t *testing.T) {
	w := newWorld(t)
	w.set("kind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n  validations: [{expression: 'false'}]\n"+
		"  matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}]}", denies)
	a := w.write(admission.Delete, nil, configMap())
	if err := w.validator.Validate(t.Context(), a); err == nil {
		t.Error("the deletion of a ConfigMap is allowed")
	}
	a.Resource = meta.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	if err := w.validator.Validate(t.Context(), a); err != nil {
		t.Errorf("the deletion of a policy: %v", err)
	}
}

// TestNobodyWants: a request that no policy matches allocates nothing.
func TestNobodyWants(t *testing.T) {
	w := newWorld(t)
	w.set(unmatched(200)...)
	validating := admissionpolicy.NewFiles(w.validating.Items, w.validatingBound.Items)
	mutating := admissionpolicy.NewFiles(w.mutating.Items, w.mutatingBound.Items)
	a := w.write(admission.Create, configMap(), nil)
	for _, what := range []string{"without files", "with files"} {
		got := testing.AllocsPerRun(100, func() {
			if err := w.validator.Validate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if err := w.mutator.Mutate(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		})
		if got > 0 {
			t.Errorf("%s: got %v allocations, want none", what, got)
		}
		w.validator.WithFiles(func() *validatingFiles { return validating })
		w.mutator.WithFiles(func() *mutatingFiles { return mutating })
	}
	if w.lookedUpNamespace > 0 {
		t.Errorf("the namespace was looked up %d times", w.lookedUpNamespace)
	}
}
