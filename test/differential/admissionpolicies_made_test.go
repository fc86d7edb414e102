package differential

import (
	"fmt"

	theirv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// This file makes the random policies, bindings and requests of TestAdmissionPolicies.

// madeBools, madeTexts and madeNotes are expressions of validations and conditions, of
// messages, and of annotations. Some fail for some objects, and some do not compile.
var (
	madeBools = []string{
		"true", "true", "true", " true ", "false", "object == null || object.metadata.name == 'x'", "has(object.metadata.labels)", "object.data.a == '1'",
		"object.data.a != '3'", "oldObject == null || object == null || oldObject.metadata.name == object.metadata.name",
		"request.operation == 'CREATE'", "request.resource.resource != 'pods'", "request.kind.version == 'v1'", "request.requestKind.version == 'v1'",
		"request.namespace == 'one'", "request.name != 'y'", "request.dryRun", "params != null && params.data.a == '1'", "params == null", "params.metadata.name == 'p'",
		"namespaceObject != null && namespaceObject.metadata.name == 'one'", "namespaceObject.metadata.labels.a == '1'", "variables.v0", "variables.v1 == 'x'",
		"authorizer.requestResource.check('get').allowed()", "authorizer.group('apps').resource('deployments').check('list').allowed()",
		"request.userInfo.username == 'user'", "object.spec.replicas > 1", "object.metadata.nope == 1", "nope", "'text'", "1 / 0 == 1",
		"object.kind == 'Pod' && object.apiVersion == 'v1'", "request.options.fieldManager == 'm'", "request.?options.kind.orValue('') != 'UpdateOptions'",
		"has(object.spec) && has(object.spec.metrics)", "object.spec.containers.all(c, c.image != 'bad')",
	}
	madeTexts = []string{
		"", "", "'m ' + object.metadata.name", "'a\\nb'", "'  '", "string(params.metadata.name)", "object.metadata.nope", "variables.v1", "1", "request.operation",
		"['x', 'y'].join(' ')", "string(authorizer.requestResource.check('get').allowed())", "oldObject == null ? 'new' : 'old'",
	}
	madeNotes = []string{
		"'v'", "null", "string(object.metadata.name)", "' '", "string(object.data.a)", "string(params.data.a)", "nope", "request.operation == 'CREATE' ? 'made' : ''",
		"namespaceObject.metadata.name", "variables.v1",
	}
	madeVariables = []string{
		"object != null", "'x'", "object.data.a", "params.data.a", "variables.v0 ? 'x' : 'y'", "nope", "namespaceObject.metadata.name", "request.operation == 'UPDATE'",
	}
	madeConfigurations = []string{
		"Object{}", "Object{metadata: Object.metadata{labels: {'k': 'v'}}}", "Object{metadata: Object.metadata{labels: {'n': object.metadata.name}}}",
		"Object{metadata: Object.metadata{labels: {'n': object.metadata.?labels.n.orValue('') + 'x'}}}", "Object{data: {'b': object.data.a + 'x'}}",
		"Object{spec: Object.spec{replicas: 3}}", "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', image: 'i'}]}}",
		"Object{spec: Object.spec{containers: [Object.spec.containers{name: 'new', image: 'i'}, Object.spec.containers{name: 'c', tty: true}]}}",
		"Object{metadata: Object.metadata{finalizers: ['x.io/f']}}", "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['x']}]}}",
		"Object{spec: Object.status{}}", "Object{nope: 1}", "Object{spec: Object.spec{replicas: 'x'}}", "true", "Object{data: {'k': params.data.a}}",
		"Object{metadata: Object.metadata{annotations: {'v': variables.v1}}}", "Object{metadata: Object.metadata{annotations: {'ns': namespaceObject.metadata.name}}}",
		"Object{spec: Object.spec{maxReplicas: 9}}", "Object{spec: Object.spec{targetCPUUtilizationPercentage: 7}}", "object.data.a == '1' ? Object{data: {'a': '2'}} : Object{}",
		"Object{spec: Object.spec{containers: [Object.spec.containers{image: 'nameless'}]}}", "Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: 'u'}]}}",
		"Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'k'}]}}", "Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsUser: 1}}}",
		"Object{spec: Object.spec{securityContext: Object.spec.securityContext{}}}", "Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {'x': 'y'}}}}}",
		"Object{metadata: Object.metadata{generation: 5, name: 'renamed'}}",
	}
	madePatches = []string{
		"[]", "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]", "[JSONPatch{op: 'add', path: '/metadata/labels/k', value: 'v'}]",
		"[JSONPatch{op: 'remove', path: '/data/a'}]", "[JSONPatch{op: 'test', path: '/data/a', value: '1'}, JSONPatch{op: 'replace', path: '/data/a', value: '2'}]",
		"[JSONPatch{op: 'replace', path: '/data/a', value: object.data.a + 'x'}]", "[JSONPatch{op: 'add', path: '/spec/nope', value: 1}]",
		"[JSONPatch{op: 'copy', from: '/data/a', path: '/data/c'}]", "[JSONPatch{op: 'move', from: '/data/a', path: '/data/c'}]",
		"[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x.io/k'), value: 'v'}]", "[JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'd', image: 'i'}}]",
		"[JSONPatch{op: 'add', path: '/spec/containers/0/args', value: ['x', 'y']}]", "[JSONPatch{op: 'replace', path: '/spec/replicas', value: 4}]",
		"[JSONPatch{op: 'replace', path: '/spec/replicas', value: 'x'}]", "[JSONPatch{op: 'nope', path: '/a'}]", "[JSONPatch{op: 'remove', path: '/spec/containers/7'}]",
		"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'v': string(variables.v1)}}]", "[JSONPatch{op: 'add', path: '/spec/maxReplicas', value: 8}]",
		"[JSONPatch{op: 'remove', path: '/spec/containers/x'}]", "[JSONPatch{op: 'add', path: '/none/of/it', value: 1}]", "Object{}", "[JSONPatch{op: 'test', path: '/metadata/name', value: 'nope'}]",
	}
)

func (g *policyPlay) one(of []string) string { return of[g.rnd.IntN(len(of))] }

// policySpec holds the fields that the specs of both kinds of policies have.
type policySpec struct {
	params     *theirv1.ParamKind
	match      *theirv1.MatchResources
	variables  []theirv1.Variable
	failures   *theirv1.FailurePolicyType
	conditions []theirv1.MatchCondition
}

// policySpec makes one. If other is true, rules may name another version of autoscaling than
// requests do.
func (g *policyPlay) policySpec(other bool) (s policySpec) {
	if chance(g.rnd, 2) {
		s.params = oneOf(g.rnd, &theirv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}, &theirv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			&theirv1.ParamKind{APIVersion: "v1", Kind: "Namespace"}, &theirv1.ParamKind{APIVersion: "x.io/v1", Kind: "X"})
	}
	s.match = g.matchResources(other)
	if len(s.match.ResourceRules) == 0 {
		s.match.ResourceRules = []theirv1.NamedRuleWithOperations{g.policyRule(other)}
	}
	for i := range g.rnd.IntN(3) {
		s.variables = append(s.variables, theirv1.Variable{Name: fmt.Sprint("v", i), Expression: g.one(madeVariables)})
	}
	if chance(g.rnd, 3) {
		s.failures = new(oneOf(g.rnd, theirv1.Ignore, theirv1.Fail))
	}
	for i := range g.rnd.IntN(6) / 4 {
		s.conditions = append(s.conditions, theirv1.MatchCondition{Name: fmt.Sprint("c", i), Expression: g.one(madeBools)})
	}
	return s
}

func (g *policyPlay) validatingPolicy(i int) (*theirv1.ValidatingAdmissionPolicy, []*theirv1.ValidatingAdmissionPolicyBinding) {
	s := g.policySpec(true)
	p := &theirv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}}
	p.SetGroupVersionKind(theirv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"))
	p.Spec = theirv1.ValidatingAdmissionPolicySpec{
		ParamKind: s.params, MatchConstraints: s.match, Variables: s.variables, FailurePolicy: s.failures, MatchConditions: s.conditions,
	}
	for range 1 + g.rnd.IntN(3) {
		v := theirv1.Validation{Expression: g.one(madeBools), MessageExpression: g.one(madeTexts), Message: oneOf(g.rnd, "", " said ")}
		if chance(g.rnd, 3) {
			v.Reason = new(oneOf(g.rnd, metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge))
		}
		p.Spec.Validations = append(p.Spec.Validations, v)
	}
	for i := range g.rnd.IntN(3) {
		p.Spec.AuditAnnotations = append(p.Spec.AuditAnnotations, theirv1.AuditAnnotation{Key: fmt.Sprint("k", i), ValueExpression: g.one(madeNotes)})
	}
	legacyscheme.Scheme.Default(p)
	var bindings []*theirv1.ValidatingAdmissionPolicyBinding
	for j := range min(g.rnd.IntN(4), 2) {
		b := &theirv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d-%d", i, j)}}
		b.SetGroupVersionKind(theirv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"))
		b.Spec = theirv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: p.Name, ParamRef: g.paramRef(), MatchResources: g.boundTo()}
		b.Spec.ValidationActions = oneOf(g.rnd, []theirv1.ValidationAction{theirv1.Deny}, []theirv1.ValidationAction{theirv1.Deny},
			[]theirv1.ValidationAction{theirv1.Warn}, []theirv1.ValidationAction{theirv1.Audit, theirv1.Deny}, []theirv1.ValidationAction{theirv1.Warn, theirv1.Audit})
		legacyscheme.Scheme.Default(b)
		bindings = append(bindings, b)
	}
	return p, bindings
}

// mutatingPolicy makes a policy. Its rules name no other version than requests do: with another
// one, Kubernetes could not convert the object back and would refuse the request.
func (g *policyPlay) mutatingPolicy(i int) (*theirv1.MutatingAdmissionPolicy, []*theirv1.MutatingAdmissionPolicyBinding) {
	s := g.policySpec(false)
	p := &theirv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}}
	p.SetGroupVersionKind(theirv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"))
	p.Spec = theirv1.MutatingAdmissionPolicySpec{
		ParamKind: s.params, MatchConstraints: s.match, Variables: s.variables, FailurePolicy: s.failures, MatchConditions: s.conditions,
		ReinvocationPolicy: oneOf(g.rnd, theirv1.NeverReinvocationPolicy, theirv1.IfNeededReinvocationPolicy),
	}
	for range 1 + g.rnd.IntN(3) {
		m := theirv1.Mutation{PatchType: theirv1.PatchTypeApplyConfiguration, ApplyConfiguration: &theirv1.ApplyConfiguration{Expression: g.one(madeConfigurations)}}
		if chance(g.rnd, 2) {
			m = theirv1.Mutation{PatchType: theirv1.PatchTypeJSONPatch, JSONPatch: &theirv1.JSONPatch{Expression: g.one(madePatches)}}
		}
		p.Spec.Mutations = append(p.Spec.Mutations, m)
	}
	legacyscheme.Scheme.Default(p)
	var bindings []*theirv1.MutatingAdmissionPolicyBinding
	for j := range min(g.rnd.IntN(4), 2) {
		b := &theirv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d-%d", i, j)}}
		b.SetGroupVersionKind(theirv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"))
		b.Spec = theirv1.MutatingAdmissionPolicyBindingSpec{PolicyName: p.Name, ParamRef: g.paramRef(), MatchResources: g.boundTo()}
		legacyscheme.Scheme.Default(b)
		bindings = append(bindings, b)
	}
	return p, bindings
}

// paramRef makes the params of a binding.
func (g *policyPlay) paramRef() *theirv1.ParamRef {
	if chance(g.rnd, 5) {
		return nil
	}
	r := &theirv1.ParamRef{Name: oneOf(g.rnd, "p", "q", "one", "none", ""), Namespace: oneOf(g.rnd, "", "", "one", "plain")}
	if r.Name == "" {
		r.Selector = oneOf(g.rnd, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"which": "q"}},
			&metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "1"}})
	}
	if !chance(g.rnd, 8) {
		r.ParameterNotFoundAction = new(oneOf(g.rnd, theirv1.DenyAction, theirv1.AllowAction))
	}
	return r
}

// boundTo makes the matchResources of a binding.
func (g *policyPlay) boundTo() *theirv1.MatchResources {
	if chance(g.rnd, 2) {
		return nil
	}
	return g.matchResources(true)
}

func (g *policyPlay) matchResources(other bool) *theirv1.MatchResources {
	m := &theirv1.MatchResources{}
	for range g.rnd.IntN(3) {
		m.ResourceRules = append(m.ResourceRules, g.policyRule(other))
	}
	if chance(g.rnd, 8) {
		m.ExcludeResourceRules = []theirv1.NamedRuleWithOperations{g.policyRule(other)}
	}
	if chance(g.rnd, 5) {
		m.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": oneOf(g.rnd, "1", "2", "1 2")}}
	}
	if chance(g.rnd, 6) {
		m.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"l": oneOf(g.rnd, "1", "2")}}
	}
	if chance(g.rnd, 4) {
		m.MatchPolicy = new(oneOf(g.rnd, theirv1.Exact, theirv1.Equivalent))
	}
	return m
}

func (g *policyPlay) policyRule(other bool) (r theirv1.NamedRuleWithOperations) {
	if chance(g.rnd, 8) {
		r.ResourceNames = []string{"x"}
	}
	r.Operations = oneOf(g.rnd, []theirv1.OperationType{theirv1.OperationAll}, []theirv1.OperationType{theirv1.OperationAll}, []theirv1.OperationType{theirv1.Create},
		[]theirv1.OperationType{theirv1.Update, theirv1.Delete})
	r.APIGroups, r.Resources = []string{"*"}, []string{oneOf(g.rnd, "*", "*", "configmaps", "pods", "deployments", "horizontalpodautoscalers", "namespaces")}
	r.APIVersions = []string{"*"}
	if other {
		r.APIVersions = []string{oneOf(g.rnd, "*", "v1", "v2")}
	}
	return r
}

// request makes a request. Only a request for validating policies may be a deletion.
func (g *policyPlay) request(deletes bool) *policyRequest {
	r := &policyRequest{
		kind: policyKinds[g.rnd.IntN(len(policyKinds))], name: oneOf(g.rnd, "x", "y"), dryRun: chance(g.rnd, 4),
		op: oneOf(g.rnd, theiradmission.Create, theiradmission.Update, theiradmission.Delete),
	}
	if chance(g.rnd, 3) {
		r.kind = policyKinds[0]
	}
	if !deletes && r.op == theiradmission.Delete {
		r.op = theiradmission.Create
	}
	if r.kind.namespaced {
		r.namespace = oneOf(g.rnd, "one", "one", "two", "plain", "gone")
	} else {
		r.name = oneOf(g.rnd, "one", "two")
	}
	if r.op != theiradmission.Delete {
		r.object = g.object(r)
	}
	if r.op != theiradmission.Create {
		r.old = g.object(r)
	}
	return r
}

// object makes an object of a request.
func (g *policyPlay) object(r *policyRequest) map[string]any {
	head := map[string]any{"name": r.name}
	if r.namespace != "" {
		head["namespace"] = r.namespace
	}
	switch {
	case r.kind.gvk.Kind == "Namespace" && policyNamespaces[r.name] != nil:
		head["labels"] = policyNamespaces[r.name]
	case chance(g.rnd, 2):
		head["labels"] = map[string]any{"l": oneOf(g.rnd, "1", "2"), "n": "n"}
	}
	object := map[string]any{"apiVersion": r.kind.gvk.GroupVersion().String(), "kind": r.kind.gvk.Kind, "metadata": head}
	container := map[string]any{"name": "c", "image": oneOf(g.rnd, "good", "bad")}
	if chance(g.rnd, 2) {
		container["args"] = []any{"a", "b"}
	}
	pod := map[string]any{"containers": []any{container}}
	if chance(g.rnd, 3) {
		pod["securityContext"] = map[string]any{"runAsUser": 7, "fsGroup": 8}
	}
	switch r.kind.gvk.Kind {
	case "ConfigMap":
		object["data"] = map[string]any{"a": oneOf(g.rnd, "1", "2", "3")}
		if chance(g.rnd, 4) {
			object["data"] = map[string]any{"b": "b"}
		}
	case "Pod":
		object["spec"] = pod
	case "Deployment":
		object["spec"] = map[string]any{"replicas": g.rnd.IntN(4), "selector": map[string]any{"matchLabels": map[string]any{"x": "y"}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"x": "y"}}, "spec": pod}}
	case "HorizontalPodAutoscaler":
		spec := map[string]any{"maxReplicas": 3, "scaleTargetRef": map[string]any{"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}
		object["spec"] = spec
		if r.kind.gvk.Version == "v1" && chance(g.rnd, 2) {
			spec["targetCPUUtilizationPercentage"] = 50
		} else if chance(g.rnd, 2) && r.kind.gvk.Version == "v2" {
			spec["metrics"] = []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": 60}}}}
		}
	}
	return object
}
