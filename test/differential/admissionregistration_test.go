package differential

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	mutatingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy/storage"
	mutatingbindingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding/storage"
	mutatingwebhookstore "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration/storage"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	validatingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy/storage"
	validatingbindingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding/storage"
	validatingwebhookstore "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration/storage"
)

// The registries have no authorizer. With one they would check the right to read parameters.
func init() {
	registration := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
	}
	unresolved := resolver.ResourceResolverFunc(func(schema.GroupVersionKind) (schema.GroupVersionResource, error) {
		return schema.GroupVersionResource{}, errors.New("nobody asks")
	})
	add(
		Row{Kind: registration("ValidatingWebhookConfiguration"), Resource: "validatingwebhookconfigurations", Cluster: true,
			REST: alone(validatingwebhookstore.NewREST)},
		Row{Kind: registration("MutatingWebhookConfiguration"), Resource: "mutatingwebhookconfigurations", Cluster: true,
			REST: alone(mutatingwebhookstore.NewREST)},
		Row{Kind: registration("ValidatingAdmissionPolicy"), Resource: "validatingadmissionpolicies", Cluster: true,
			REST: withStatus(func(o generic.RESTOptionsGetter) (*validatingstore.REST, *validatingstore.StatusREST, error) {
				return validatingstore.NewREST(o, nil, unresolved)
			})},
		Row{Kind: registration("ValidatingAdmissionPolicyBinding"), Resource: "validatingadmissionpolicybindings", Cluster: true,
			REST: alone(func(o generic.RESTOptionsGetter) (*validatingbindingstore.REST, error) {
				return validatingbindingstore.NewREST(o, nil, nil, unresolved)
			})},
		Row{Kind: registration("MutatingAdmissionPolicy"), Resource: "mutatingadmissionpolicies", Cluster: true,
			REST: alone(func(o generic.RESTOptionsGetter) (*mutatingstore.REST, error) {
				return mutatingstore.NewREST(o, nil, unresolved)
			})},
		Row{Kind: registration("MutatingAdmissionPolicyBinding"), Resource: "mutatingadmissionpolicybindings", Cluster: true,
			REST: alone(func(o generic.RESTOptionsGetter) (*mutatingbindingstore.REST, error) {
				return mutatingbindingstore.NewREST(o, nil, nil, unresolved)
			})},
	)
}

// policyExpressions are expressions for the fields of policies and webhooks, right and wrong in
// many ways.
var policyExpressions = []string{
	"true", " true ", "1", "'a'", "null", "object", "object.spec.replicas > 1", "object.a.b", "has(object.metadata.labels) && has(oldObject.a)", "oldObject == null",
	"request.name == 'a' && request.dryRun", "request.kind.kind == request.requestKind.group", "request.resource.resource + request.requestResource.version == ''",
	"request.kind.resource == 'a'", "request.userInfo.extra['a'][0] in request.userInfo.groups", "request.userInfo.name == 'a'", "request.options.dryRun == ['All']",
	"request.options", "request.object == object", "request.subResource + request.requestSubResource + request.namespace + request.operation == 1", "Request",
	"namespaceObject.metadata.name", "namespaceObject.metadata.labels['a'] == 'b'", "namespaceObject.metadata.UID == namespaceObject.metadata.uid",
	"namespaceObject.metadata.creationTimestamp < timestamp('2020-01-02T03:04:05Z')", "namespaceObject.spec.finalizers[0] == namespaceObject.status.phase",
	"namespaceObject.status.conditions.exists(c, c.type == 'a' && c.lastTransitionTime > c.status)", "namespaceObject.metadata.generation + 1 == 2",
	"namespaceObject.metadata.ownerReferences.size() == 0", "params", "params.max > 1", "params == null", "authorizer.group('').resource('pods').check('get').allowed()",
	"authorizer.requestResource.check('get').reason()", "authorizer", "authorizer.requestResource", "authorizer.path('/a')", "variables", "variables.a", "variables.number + 1",
	"variables.text", "variables.list[0]", "variables.map['a'] == 1", "variables.quantity.isGreaterThan(quantity('1'))", "variables.optional.hasValue()", "variables.wrong == 1",
	"variables.late", "variables.nested.map(x, x[0])", "variables.typed", "Object{}", "Object{spec: Object.spec{replicas: 3}}", "Object.spec{}", "Object{spec: {'a': 1}}", "Object{}.spec.a", "Object",
	"[JSONPatch{op: 'add', path: '/a', value: 3}]", "[JSONPatch{}]", "[]", "[JSONPatch{op: 1}]", "JSONPatch{op: 'test'}",
	"[JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey('a/b'), value: Object{a: 1}}]", "[JSONPatch{op: 'add', path: jsonpatch.escapeKey(1)}]",
	"true ? [JSONPatch{from: 'a'}] : []", "[dyn(JSONPatch{})]", "dyn(Object{})", "Other{}", "kubernetes.AdmissionRequest{}", "kubernetes.variables{}", "a.b", "1 +", "(", "", " ", "'a' +\n 1",
	"'a'.find('(') == ''", "'a'.matches('(')", "'a'.matches(object.a)", "[1, 'a'] == []", "duration('x') == duration('1s')", "quantity('1')", "quantity('1') == 1", "cidr('10.0.0.0/8').containsIP('10.0.0.1')",
	"semver('1.2.3').major() == 1", "format.named('uri').hasValue()", "lists.range(3).all(i, i < 3)", "{'a': 1}.all(k, v, v == 1)", "sets.contains([1], [2])", "optional.none()", "[?object.?a]", "type(1) == int",
	"'%s'.format([object])", "string(object)", "object.a.orValue('b')", "object.?a.orValue('b')", "true || 1", "!object", "-1", "1u", "1.5", "b'a'", "timestamp('2020-01-02T03:04:05Z')", "object ? 'a' : null",
	"true ? 'a' : 1", "size(object) == 1 && size(request) == 1", "unknown(1)", "object.map(x, x).exists_one(y, y)", "self", "self.a", "request.namespace.startsWith('a')", "{1: 2}", "[]",
}

// TestPolicyExpressions has both sides judge expressions in each field that may hold one.
func TestPolicyExpressions(t *testing.T) {
	c, began := newCourt(t), time.Now()
	reports := map[string]*report{}
	for _, row := range rows {
		reports[row.Kind.Kind] = newReport(row)
	}
	send := func(kind string, object map[string]any, notes string) {
		t.Helper()
		r := reports[kind]
		object["apiVersion"], object["kind"], object["metadata"] = "admissionregistration.k8s.io/v1", kind, map[string]any{"name": "made"}
		r.compare(c.request(r.row, http.MethodPost, r.row.collection(), object, notes))
	}
	list := func(some []string, each func(i int, text string) map[string]any) []any {
		made := make([]any, len(some))
		for i, text := range some {
			made[i] = each(i, text)
		}
		return made
	}
	for some := range slices.Chunk(policyExpressions, 10) {
		conditions := list(some, func(i int, text string) map[string]any {
			return map[string]any{"name": fmt.Sprint("c", i), "expression": text}
		})
		for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
			send(kind, map[string]any{"webhooks": []any{map[string]any{
				"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://a.b/"},
				"matchConditions": conditions,
			}}}, "conditions")
		}
		for i := range 4 {
			spec := func(operation string) map[string]any {
				spec := map[string]any{"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
					"operations": []any{operation}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"},
				}}}}
				if i&1 > 0 {
					spec["paramKind"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
				}
				if i&2 > 0 {
					spec["variables"] = policyVariables
				}
				return spec
			}
			notes := fmt.Sprintf("params %v, variables %v", i&1 > 0, i&2 > 0)
			for name, values := range map[string][]any{
				"matchConditions": conditions,
				"validations":     list(some, func(_ int, text string) map[string]any { return map[string]any{"expression": text} }),
				"messages": list(some, func(_ int, text string) map[string]any {
					return map[string]any{"expression": "true", "messageExpression": text}
				}),
				"auditAnnotations": list(some, func(i int, text string) map[string]any {
					return map[string]any{"key": fmt.Sprint("k", i), "valueExpression": text}
				}),
			} {
				s := spec("CREATE")
				s["validations"] = []any{map[string]any{"expression": "true"}}
				if name == "messages" {
					s["validations"] = values
				} else {
					s[name] = values
				}
				send("ValidatingAdmissionPolicy", map[string]any{"spec": s}, name+" "+notes)
			}
			s := spec("UPDATE")
			s["reinvocationPolicy"] = "Never"
			s["mutations"] = slices.Concat(list(some, func(_ int, text string) map[string]any {
				return map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": text}}
			}), list(some, func(_ int, text string) map[string]any {
				return map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": text}}
			}))
			send("MutatingAdmissionPolicy", map[string]any{"spec": s}, "mutations "+notes)
		}
	}
	for _, r := range reports {
		if r.trials > 0 {
			r.print(t, r.trials, time.Since(began))
		}
	}
}

// policyVariables are of many types, and one is used before it is declared.
var policyVariables = func() (list []any) {
	for _, v := range [][2]string{
		{"number", "1"}, {"text", "'a' + string(variables.number)"}, {"list", "[1, 2]"}, {"map", "{'a': variables.number}"}, {"quantity", "quantity('1')"},
		{"optional", "optional.of(1)"}, {"wrong", "1 + 'a'"}, {"early", "variables.late"}, {"late", "object.a"}, {"nested", "[[quantity('1')], [quantity('2')]]"},
		{"typed", "request.userInfo"}, {"patch", "[JSONPatch{}]"}, {"allowed", "authorizer.requestResource.check('get')"}, {"limit", "params.max"},
	} {
		list = append(list, map[string]any{"name": v[0], "expression": v[1]})
	}
	return list
}()
