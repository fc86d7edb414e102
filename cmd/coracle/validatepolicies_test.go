package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replicaPolicy bounds the replicas of deployments by params, and says in which namespace it is.
const replicaPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: PARAMS, kind: KIND}
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  variables: [{name: max, expression: "int(params.data.max)"}]
  validations:
  - expression: "object.spec.replicas <= variables.max"
    messageExpression: "'at most ' + string(variables.max) + ' in ' + namespaceObject.metadata.name"
  auditAnnotations: [{key: max, valueExpression: "string(variables.max)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec:
  policyName: replicas
  paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}
  validationActions: [ACTIONS]
  matchResources: {namespaceSelector: {matchLabels: {env: prod}}}
`

const (
	limits     = "\n---\napiVersion: PARAMS\nkind: KIND\nmetadata: {name: limits, namespace: policies}\ndata: {max: '3'}\n"
	prod       = "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {env: prod}}\n"
	deployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}
`
	role            = "\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"
	limitDefinition = `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.quay.example.com}
spec:
  group: quay.example.com
  scope: Namespaced
  names: {plural: limits, kind: Limit}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
      data: {type: object, properties: {max: {type: string}}}}}}}
`
	mutatingPolicy = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: fewer}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'replace', path: '/spec/replicas', value: N}]"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: fewer}
spec: {policyName: fewer}
`
	roleBinding = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: roles}
spec: {policyName: roles, validationActions: [Deny]}
`
)

// rolePolicy returns a policy for Roles with one validation.
func rolePolicy(expression string) string {
	return `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: roles}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], operations: [CREATE], resources: ["*"]}]}
  validations: [{reason: Forbidden, expression: "` + expression + `"}]
`
}

// withParams returns the policy for replicas with params of a kind, and the actions of its binding.
func withParams(text, apiVersion, kind, actions string) string {
	return strings.NewReplacer("PARAMS", apiVersion, "KIND", kind, "ACTIONS", actions).Replace(text)
}

// TestValidatePolicies judges objects by the policies of files. Each case lists all that is
// printed.
func TestValidatePolicies(t *testing.T) {
	policies := func(actions string) string { return withParams(replicaPolicy+limits, "v1", "ConfigMap", actions) }
	const denied = `app.yaml: Deployment "web": deployments.apps "web" is forbidden: ` +
		"ValidatingAdmissionPolicy 'replicas' with binding 'few' denied request: at most 3 in shop"
	const noRole = `app.yaml: Role "r": roles.rbac.authorization.k8s.io "r" is forbidden: ` +
		"ValidatingAdmissionPolicy 'roles' with binding 'roles' denied request: "
	for name, tt := range map[string]struct {
		policies, objects string
		want              string
		fails             bool
	}{
		"deny":                         {policies("Deny, Audit") + prod, deployment, denied, true},
		"namespace among the objects":  {policies("Deny"), deployment + prod, denied, true},
		"namespace in both":            {policies("Deny") + prod, deployment + strings.Replace(prod, "prod", "test", 1), denied, true},
		"namespace of other labels":    {policies("Deny"), deployment, "4 objects are valid", false},
		"few enough":                   {policies("Deny") + prod, strings.Replace(deployment, "4", "3", 1), "", false},
		"warn":                         {policies("Warn") + prod, deployment, `app.yaml: Deployment "web": Warning: Validation failed for ValidatingAdmissionPolicy 'replicas' with binding 'few': at most 3 in shop`, false},
		"audit":                        {policies("Audit") + prod, deployment, "", false},
		"custom params":                {withParams(replicaPolicy+limits+limitDefinition, "quay.example.com/v1", "Limit", "Deny") + prod, deployment, denied, true},
		"no params":                    {withParams(replicaPolicy, "v1", "ConfigMap", "Deny") + prod, deployment, strings.Replace(denied, "at most 3 in shop", "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction", 1), true},
		"no kind of params":            {withParams(replicaPolicy, "quay.example.com/v1", "Limit", "Deny") + prod, deployment, "failed to configure policy: failed to find resource referenced by paramKind: 'quay.example.com/v1, Kind=Limit'", true},
		"mutated before it is judged":  {policies("Deny") + prod + strings.Replace(mutatingPolicy, "N}", "2}", 1), deployment, "", false},
		"mutated to be denied":         {policies("Deny") + prod + strings.Replace(mutatingPolicy, "N}", "5}", 1), strings.Replace(deployment, "4", "1", 1), denied, true},
		"mutated to be invalid":        {strings.Replace(mutatingPolicy, "N}", "-1}", 1), deployment, `app.yaml: Deployment "web": spec.replicas: Invalid value: -1: must be greater than or equal to 0`, true},
		"anonymous user":               {rolePolicy("request.userInfo.username != 'system:anonymous' || 'system:unauthenticated' in request.userInfo.groups && !request.dryRun && request.operation == 'CREATE'") + roleBinding, role, "", false},
		"nobody is authorized":         {rolePolicy("authorizer.group('').resource('pods').check('get').allowed()") + roleBinding, role, noRole + "failed expression: authorizer.group('').resource('pods').check('get').allowed()", true},
		"fails at run time":            {rolePolicy("object.rules[7].verbs.size() > 0") + roleBinding, role, noRole + "expression 'object.rules[7].verbs.size() > 0' resulted in error: index out of bounds: 7", true},
		"does not compile":             {rolePolicy("object.nme ==") + roleBinding, role, `policies.yaml: ValidatingAdmissionPolicy "roles": spec.validations[0].expression: Invalid value: "object.nme ==": compilation failed`, true},
		"policies are not judged":      {strings.Replace(rolePolicy("false"), "[rbac.authorization.k8s.io]", "['*']", 1) + roleBinding + role, "", "", false},
		"policy without a binding":     {rolePolicy("true"), role, `policies.yaml: ValidatingAdmissionPolicy "roles": Warning: it has no effect, because no binding in the files of --policies names it`, false},
		"binding without a policy":     {roleBinding, role, `policies.yaml: ValidatingAdmissionPolicyBinding "roles": Warning: it has no effect, because its policy "roles" is not in the files of --policies`, false},
		"webhooks":                     {strings.Replace(hook, `"%s"`, `"true"`, 1), role, `policies.yaml: ValidatingWebhookConfiguration "a": Warning: it has no effect, because webhooks are not called`, false},
		"policies twice":               {rolePolicy("true") + roleBinding + rolePolicy("true"), role, `validatingadmissionpolicies.admissionregistration.k8s.io "roles" already exists`, true},
		"only a policy of the objects": {"", rolePolicy("false") + roleBinding + role, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for file, text := range map[string]string{"policies.yaml": tt.policies, "app.yaml": tt.objects} {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			printed, err := validate(t, "", "-f", "app.yaml", "--policies", "policies.yaml")
			if (err != nil) != tt.fails || !strings.Contains(printed, tt.want) {
				t.Errorf("got %q, %v; want %q", printed, err, tt.want)
			}
			if lines := strings.Count(printed, "\n"); tt.want == "" && lines != 1 {
				t.Errorf("got %q, want one line", printed)
			}
		})
	}
}

// TestValidatePoliciesInFolders takes policies, params and custom resources from several files and
// folders. Policies judge custom resources in every version, and once for all versions.
func TestValidatePoliciesInFolders(t *testing.T) {
	dir := t.TempDir()
	sails := `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: sails}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [quay.example.com], apiVersions: [v2], operations: [CREATE], resources: [ships]}]}
  validations: [{expression: "object.apiVersion == 'quay.example.com/v2' && object.spec.sails > 2 && object.spec.rig == 'lug'"}]
`
	binding := strings.NewReplacer("roles", "sails").Replace(roleBinding)
	for file, text := range map[string]string{
		"policies/sails.yaml": sails, "policies/README.md": "policies", "bindings.yaml": binding, "ships.yaml": shipDefinition,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-f", "-", "-d", filepath.Join(dir, "ships.yaml"), "--policies", filepath.Join(dir, "policies"), "--policies", filepath.Join(dir, "bindings.yaml")}
	for _, version := range []string{"/v1", "/v2"} {
		printed, err := validate(t, strings.Replace(ship, "/v1", version, 1), args...)
		if want := `-: Ship "a": ships.quay.example.com "a" is forbidden: ValidatingAdmissionPolicy 'sails' with binding 'sails' denied request: failed expression: object.apiVersion`; err == nil || !strings.HasPrefix(printed, want) {
			t.Errorf("%s: got %q, %v; want %s", version, printed, err, want)
		}
		if printed, err := validate(t, strings.NewReplacer("/v1", version, "2", "3").Replace(ship), args...); err != nil {
			t.Errorf("%s: got %q, %v", version, printed, err)
		}
	}
	// Objects of every built-in kind may be among the policies.
	if printed, err := validate(t, role, "-f", "-", "--policies", "../../server/testdata/kinds"); err != nil {
		t.Errorf("built-in kinds: got %q, %v", printed, err)
	}
	if printed, err := validate(t, ship, "-f", "-", "--policies", filepath.Join(dir, "none")); err == nil {
		t.Errorf("a file that does not exist: got %q and no error", printed)
	}
}
