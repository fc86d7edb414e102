package differential

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	theirv1 "k8s.io/api/admissionregistration/v1"
	extensionscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	generated "k8s.io/kubernetes/pkg/generated/openapi"

	ourv1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/server/loops/typechecks"
)

// TestTypeChecks has Kubernetes' checker and ours judge random policies for the kinds that our
// server serves. Each finds the kinds and their schemas in its own way.
func TestTypeChecks(t *testing.T) {
	o := newOurs(t)
	typedDefinition(t, o)
	theirs := newTheirChecker(t, o)
	served, err := typechecks.NewServed(t.Context(), o.server.Client())
	if err != nil {
		t.Fatal(err)
	}
	rnd := random("type checks")
	var warned, custom, expressions int
	for range times(30) {
		policy := typedPolicy(rnd)
		ours := &ourv1.ValidatingAdmissionPolicy{}
		if err := decode(encode(policy), ours); err != nil {
			t.Fatal(err)
		}
		want, got := typeWarnings(theirs.Check(policy)), typeWarnings(typechecks.Check(t.Context(), ours, served))
		if got != want {
			t.Fatalf("%s\n got %s\nwant %s", indent(policy.Spec), got, want)
		}
		warned += strings.Count(want, ".expression") + strings.Count(want, ".messageExpression")
		custom += strings.Count(want, "Kind=Ship: ")
		expressions += len(policy.Spec.Validations)
	}
	t.Logf("%d warnings about %d validations, %d paragraphs about custom resources", warned, expressions, custom)
	if warned == 0 {
		t.Error("nothing was found")
	}
}

// typedSchema is a schema with features that only custom resources have.
const typedSchema = `{"type":"object","properties":{
	"spec":{"type":"object","required":["size"],"properties":{
		"size":{"type":"integer","format":"int64"},"ratio":{"type":"number"},"port":{"x-kubernetes-int-or-string":true},
		"any":{"x-kubernetes-preserve-unknown-fields":true},"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}},
		"child":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
		"children":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}}},
		"when":{"type":"string","format":"date-time"},"day":{"type":"string","format":"date"},"wait":{"type":"string","format":"duration"},"raw":{"type":"string","format":"byte"},
		"list":{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"b":{"type":"boolean"}}}}},
		"map":{"type":"object","additionalProperties":{"type":"object","properties":{"c":{"type":"integer"}}}},
		"blind":{"type":"object","additionalProperties":{"x-kubernetes-preserve-unknown-fields":true}},
		"namespace":{"type":"string","nullable":true},"a-b":{"type":"string","enum":["x"]},"a__b":{"type":"string"},"$x":{"type":"string"}}},
	"status":{"type":"object","properties":{"phase":{"type":"string","maxLength":3}}}}}`

// typedDefinition has our server serve a custom resource.
func typedDefinition(t *testing.T, o *ours) {
	t.Helper()
	const url = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	made := ask(o, http.MethodPost, url, []byte(`{"metadata":{"name":"ships.quay.example.com"},"spec":{"group":"quay.example.com","scope":"Namespaced",
		"names":{"plural":"ships","kind":"Ship"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+typedSchema+`}}]}}`))
	if !made.accepted() {
		t.Fatal(indent(made.Body))
	}
	for end := time.Now().Add(time.Minute); !ask(o, http.MethodGet, "/openapi/v3/apis/quay.example.com/v1", nil).accepted(); {
		if time.Now().After(end) {
			t.Fatal("the custom resource is not served")
		}
	}
}

// newTheirChecker makes the checker of kube-controller-manager, as a client of our server.
func newTheirChecker(t *testing.T, o *ours) *validating.TypeChecker {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: "http://in.process", Transport: called{o}, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return &validating.TypeChecker{
		SchemaResolver: resolver.NewDefinitionsSchemaResolver(generated.GetOpenAPIDefinitions, clientscheme.Scheme, extensionscheme.Scheme).
			Combine(&resolver.ClientDiscoveryResolver{Discovery: client}),
		RestMapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
	}
}

// typeNumber finds the number after the name of a type, which is random in Kubernetes.
var typeNumber = regexp.MustCompile(`\b([A-Z][A-Za-z]*[a-z])\d+\b`)

// typeWarnings returns the text of the warnings of either side, without type numbers.
func typeWarnings(list any) string { return typeNumber.ReplaceAllString(indent(list), "${1}N") }

// typedPaths are fields of some kinds.
var typedPaths = []string{
	"metadata", "metadata.name", "metadata.labels", "metadata.labels['a']", "metadata.annotations.a", "metadata.ownerReferences[0].uid", "metadata.managedFields[0].fieldsV1",
	"metadata.creationTimestamp", "metadata.finalizers[0]", "metadata.generation", "metadata.nam", "spec", "spec.replicas", "spec.selector.matchLabels", "spec.template.spec.containers",
	"spec.template.spec.containers[0].image", "spec.template.spec.containers[0].resources.limits", "spec.containers[0].resources.requests['cpu']", "spec.containers[0].ports[0].hostPort",
	"spec.strategy.rollingUpdate.maxSurge", "spec.ports[0].targetPort", "spec.ports[0].port", "spec.volumes[0].emptyDir.sizeLimit", "spec.serviceName", "spec.minReadySeconds", "data", "data.a",
	"data['a']", "binaryData", "binaryData.a", "stringData.a", "immutable", "note", "message", "eventTime", "series.count", "involvedObject.kind", "regarding.kind", "status", "status.phase",
	"status.conditions[0].lastTransitionTime", "rules[0].verbs[0]", "webhooks[0].clientConfig.caBundle", "spec.versions[0].schema.openAPIV3Schema.properties", "spec.group",
	"spec.versions[0].schema.openAPIV3Schema.items", "spec.metrics[0].resource.target.averageValue", "provisioner", "parameters.a", "value", "spec.podTemplate.__namespace__", "spec.claimRef.__namespace__",
	"spec.names.__namespace__", "subjects[0].__namespace__", "spec.x", "other",
	"spec.size", "spec.ratio", "spec.port", "spec.any", "spec.open", "spec.open.a", "spec.open.b", "spec.child", "spec.child.kind", "spec.child.metadata.name", "spec.child.metadata.labels",
	"spec.child.spec", "spec.children[0].spec.a", "spec.children[0].metadata.generateName", "spec.when", "spec.day", "spec.wait", "spec.raw", "spec.list", "spec.list[0][0].b", "spec.map", "spec.map.a",
	"spec.map['a'].c", "spec.blind", "spec.blind.a", "spec.__namespace__", "spec.namespace", "spec.a__dash__b", "spec.a__underscores__b", "spec.a__b", "status.phase", "kind", "apiVersion",
}

// typedForms are expressions, most of them over a value X or Y.
var typedForms = []string{
	"X", "X == 'a'", "X == 1", "X > 1", "X + 1 == 2", "X + 'a'", "X == null", "has(X)", "!has(X)", "has(X) && X != ''", "X.size() > 0", "X.all(x, x == 'a')", "X.exists(k, k.startsWith('a'))", "X.map(x, x.name)",
	"'a' in X", "X in ['a']", "X == Y", "X != Y && Y > 1", "[X, Y]", "{'a': X}.a == Y", "X.startsWith('a') || Y", "X ? 1 : Y", "string(X)", "int(X) > 3", "X.a", "X['a']", "X[0]", "timestamp(X)", "X < timestamp('2020-01-02T03:04:05Z')",
	"quantity(X).isGreaterThan(quantity('1'))", "X.orValue('a')", "object.?spec.?x.orValue(X)", "X.?a", "type(X) == int", "variables.a == X", "variables.b.c", "variables.c + 1", "variables.d[0] == X", "params.data.a == X",
	"params.x", "params == object", "authorizer.requestResource.check('get').allowed()", "authorizer.path('/a').check('get').allowed()", "request.name == X", "request.x", "namespaceObject.metadata.name == X",
	"oldObject == object", "oldObject == null || X == Y", "Deployment{}", "object.spec{}", "(", "'a' +\n X", "X.filter(x, x.y == 1).size()", "cel.bind(v, X, v == 1)", "optional.of(X).hasValue()",
}

// typedPolicy makes a policy for some kinds, with expressions that are right for a few of them.
func typedPolicy(rnd *rand.Rand) *theirv1.ValidatingAdmissionPolicy {
	expression := func() string {
		form := oneOf(rnd, typedForms...)
		for _, name := range []string{"X", "Y"} {
			value := oneOf(rnd, "object.", "object.", "object.", "oldObject.", "params.") + oneOf(rnd, typedPaths...)
			form = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllLiteralString(form, value)
		}
		return form
	}
	p := &theirv1.ValidatingAdmissionPolicy{}
	p.Spec.MatchConstraints = &theirv1.MatchResources{}
	for range 1 + rnd.IntN(2) {
		p.Spec.MatchConstraints.ResourceRules = append(p.Spec.MatchConstraints.ResourceRules, typedRule(rnd))
	}
	if chance(rnd, 2) {
		p.Spec.ParamKind = oneOf(rnd, &theirv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}, &theirv1.ParamKind{APIVersion: "apps/v1", Kind: "Deployment"},
			&theirv1.ParamKind{APIVersion: "quay.example.com/v1", Kind: "Ship"}, &theirv1.ParamKind{APIVersion: "a.io/v1", Kind: "Absent"}, &theirv1.ParamKind{APIVersion: "a/b/c", Kind: "Absent"})
	}
	for _, name := range []string{"a", "b", "c", "d"}[:rnd.IntN(5)] {
		p.Spec.Variables = append(p.Spec.Variables, theirv1.Variable{Name: name, Expression: expression()})
	}
	for range 1 + rnd.IntN(5) {
		v := theirv1.Validation{Expression: expression()}
		if chance(rnd, 3) {
			v.MessageExpression = expression()
		}
		p.Spec.Validations = append(p.Spec.Validations, v)
	}
	return p
}

// typedRule makes a rule. Some name no kind, and some name many.
func typedRule(rnd *rand.Rand) theirv1.NamedRuleWithOperations {
	var r theirv1.NamedRuleWithOperations
	r.Operations = []theirv1.OperationType{theirv1.OperationAll}
	group, resources, _ := strings.Cut(oneOf(rnd, "apps deployments statefulsets deployment/scale replicasets", " pods configmaps services", " secrets nodes events", " Pod pod PODS",
		"events.k8s.io events", "rbac.authorization.k8s.io roles rolebindings", "admissionregistration.k8s.io validatingwebhookconfigurations", "apiextensions.k8s.io customresourcedefinitions",
		"autoscaling horizontalpodautoscalers", "storage.k8s.io storageclasses", "scheduling.k8s.io priorityclasses", " deployments jobs", "* pods", "quay.example.com ships ship", "quay.example.com ships", "quay.example.com ships", " ships", "a.io absent", " persistentvolumes",
		" pods services secrets nodes events configmaps endpoints namespaces limitranges resourcequotas serviceaccounts podtemplates"), " ")
	r.APIGroups, r.Resources = []string{group}, strings.Fields(resources)
	rnd.Shuffle(len(r.Resources), func(i, j int) { r.Resources[i], r.Resources[j] = r.Resources[j], r.Resources[i] })
	if len(r.Resources) < 12 {
		r.Resources = r.Resources[:1+rnd.IntN(len(r.Resources))]
	}
	r.APIVersions = [][]string{{"v1"}, {"v1"}, {"v1"}, {"v1", "v2"}, {"*"}, {fmt.Sprint("v", rnd.IntN(4))}}[rnd.IntN(6)]
	return r
}
