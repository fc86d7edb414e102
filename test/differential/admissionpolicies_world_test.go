package differential

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	theirv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	theirmeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	theirmatching "k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	ourv1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	mine "github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the cluster of TestAdmissionPolicies, twice: resources, namespaces, params, and how
// each side compiles policies.

// policyKind is a resource that policies judge.
type policyKind struct {
	resource   schema.GroupVersionResource
	gvk        schema.GroupVersionKind
	namespaced bool
}

// policyKinds are in the order in which kube-apiserver registers them.
var policyKinds = []*policyKind{
	newPolicyKind("", "v1", "configmaps", "ConfigMap", true), newPolicyKind("", "v1", "pods", "Pod", true),
	newPolicyKind("apps", "v1", "deployments", "Deployment", true), newPolicyKind("", "v1", "namespaces", "Namespace", false),
	newPolicyKind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true),
	newPolicyKind("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true),
}

func newPolicyKind(group, version, resource, kind string, namespaced bool) *policyKind {
	gv := schema.GroupVersion{Group: group, Version: version}
	return &policyKind{gv.WithResource(resource), gv.WithKind(kind), namespaced}
}

// policyWorld is the cluster as both sides see it.
type policyWorld struct {
	objects theiradmission.ObjectInterfaces
	theirs  *theirmatching.Matcher
	params  map[string]informers.GenericInformer // by kind
	ours    *admissionpolicy.World
	kinds   *kind.Types
	codecs  *codec.Factory
}

// policyNamespaces are the namespaces by name.
var policyNamespaces = map[string]map[string]string{"plain": nil, "one": {"a": "1"}, "two": {"a": "2", "b": "1"}}

// policyParams are the ConfigMaps in the namespaces "one" and "two" by name.
var policyParams = map[string]map[string]string{"p": {"a": "1", "k": "v"}, "q": {"a": "2"}}

func newPolicyWorld(t *testing.T) *policyWorld {
	t.Helper()
	var stored []runtime.Object
	for name, l := range policyNamespaces {
		stored = append(stored, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: l}})
	}
	for _, namespace := range []string{"one", "two"} {
		for name, data := range policyParams {
			stored = append(stored, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"which": name}}, Data: data,
			})
		}
	}
	client := fake.NewClientset(stored...)
	factory := informers.NewSharedInformerFactory(client, 0)
	w := &policyWorld{params: map[string]informers.GenericInformer{}}
	w.theirs = theirmatching.NewMatcher(factory.Core().V1().Namespaces().Lister(), client)
	for kind, resource := range map[string]string{"ConfigMap": "configmaps", "Namespace": "namespaces"} {
		informer, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource(resource))
		must(err)
		w.params[kind] = inOrder{informer}
	}
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSyncWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	equivalents := runtime.NewEquivalentResourceRegistry()
	for _, k := range policyKinds {
		equivalents.RegisterKindFor(k.resource, "", k.gvk)
	}
	w.objects = &theiradmission.RuntimeObjectInterfaces{
		ObjectCreater: legacyscheme.Scheme, ObjectTyper: legacyscheme.Scheme, ObjectDefaulter: legacyscheme.Scheme,
		ObjectConvertor: legacyscheme.Scheme, EquivalentResourceMapper: equivalents,
	}
	w.openOurs(t)
	return w
}

// inOrder is an informer whose lists have an order.
type inOrder struct{ informers.GenericInformer }

func (i inOrder) Lister() cache.GenericLister { return listInOrder{i.GenericInformer.Lister()} }

type listInOrder struct{ cache.GenericLister }

func (l listInOrder) List(s labels.Selector) ([]runtime.Object, error) {
	return byName(l.GenericLister.List(s))
}

func (l listInOrder) ByNamespace(namespace string) cache.GenericNamespaceLister {
	return namespaceInOrder{l.GenericLister.ByNamespace(namespace)}
}

type namespaceInOrder struct{ cache.GenericNamespaceLister }

func (l namespaceInOrder) List(s labels.Selector) ([]runtime.Object, error) {
	return byName(l.GenericNamespaceLister.List(s))
}

func byName(list []runtime.Object, err error) ([]runtime.Object, error) {
	slices.SortFunc(list, func(a, b runtime.Object) int {
		return cmp.Compare(a.(metav1.Object).GetName(), b.(metav1.Object).GetName())
	})
	return list, err
}

// informer returns the informer and the scope of a paramKind as Kubernetes' plugins have them.
func (w *policyWorld) informer(k *theirv1.ParamKind) (informers.GenericInformer, theirmeta.RESTScope, error) {
	switch {
	case k == nil:
		return nil, nil, nil
	case k.Kind == "ConfigMap":
		return w.params[k.Kind], theirmeta.RESTScopeNamespace, nil
	case k.Kind == "Namespace":
		return w.params[k.Kind], theirmeta.RESTScopeRoot, nil
	}
	gv, err := schema.ParseGroupVersion(k.APIVersion)
	must(err)
	return nil, nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gv.WithKind(k.Kind))
}

// openOurs makes our half.
func (w *policyWorld) openOurs(t *testing.T) {
	t.Helper()
	s := scheme.New()
	api.AddToScheme(s)
	must(s.Complete())
	w.codecs = codec.NewFactory(s)
	w.kinds = kind.NewTypes(s, w.codecs)
	namespace := func(name string) (*ourcore.Namespace, error) {
		l, ok := policyNamespaces[name]
		if !ok {
			return nil, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
		}
		found := &ourcore.Namespace{ObjectMeta: meta.ObjectMeta{Name: name, Labels: l}}
		found.APIVersion, found.Kind = "v1", "Namespace"
		return found, nil
	}
	w.ours = &admissionpolicy.World{
		Matching: &matching.World{
			Equivalents: w.equivalents,
			Namespaces: admission.NewNamespaces(func(_ context.Context, name string, _ request.Freshness) (admission.Namespace, error) {
				found, err := namespace(name)
				if err != nil {
					return admission.Namespace{}, err
				}
				return admission.Namespace{Labels: meta.Set(found.Labels)}, nil
			}),
		},
		Namespace:  func(_ context.Context, name string) (*ourcore.Namespace, error) { return namespace(name) },
		Authorizer: policyAuthorizer{},
		Params: func(k meta.GroupVersionKind) *admissionpolicy.Params {
			switch k {
			case meta.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}:
				return ourParams(true, ourConfigMap, sortedKeys(policyParams))
			case meta.GroupVersionKind{Version: "v1", Kind: "Namespace"}:
				return ourParams(false, func(_, name string) (meta.Object, error) { return namespace(name) }, sortedKeys(policyNamespaces))
			}
			return nil
		},
	}
}

func (w *policyWorld) equivalents(r meta.GroupVersionResource, _ string) (list []matching.Target) {
	for _, k := range policyKinds {
		if k.resource.Group == r.Group && k.resource.Resource == r.Resource {
			gvk := meta.GroupVersionKind(k.gvk)
			list = append(list, matching.Target{Resource: meta.GroupVersionResource(k.resource), Kind: gvk, Type: w.kinds.Kind(gvk.GroupKind())})
		}
	}
	return list
}

// ourConfigMap returns one of the params.
func ourConfigMap(namespace, name string) (meta.Object, error) {
	data, ok := policyParams[name]
	if !ok || namespace != "one" && namespace != "two" {
		return nil, meta.NewNotFound(meta.GroupResource{Resource: "configmaps"}, name)
	}
	found := &ourcore.ConfigMap{
		ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"which": name}}, Data: data,
	}
	found.APIVersion, found.Kind = "v1", "ConfigMap"
	return found, nil
}

// ourParams reads params with get. names are the names of all of them.
func ourParams(namespaced bool, get func(namespace, name string) (meta.Object, error), names []string) *admissionpolicy.Params {
	return &admissionpolicy.Params{
		Namespaced: namespaced,
		Get: func(_ context.Context, namespace, name string) (meta.Typed, error) {
			found, err := get(namespace, name)
			if err != nil {
				return nil, err
			}
			return found, nil
		},
		List: func(_ context.Context, namespace string, which meta.LabelRequirements) (list []meta.Typed, _ error) {
			for _, name := range names {
				if obj, err := get(namespace, name); err == nil && which.Matches(meta.Set(obj.GetObjectMeta().Labels)) {
					list = append(list, obj)
				}
			}
			return list, nil
		},
	}
}

// policyAuthorizer decides as theirAuthorizer does.
type policyAuthorizer struct{}

func (policyAuthorizer) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	allowed, reason, err := celMay{a.User.Name}.Authorize(mine.Access{
		Verb: a.Verb, Path: a.Path, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name,
	})
	if allowed {
		return request.Allow, reason, err
	}
	return request.NoOpinion, reason, err
}

func (g *policyPlay) ourValidating(texts [][]byte) *admissionpolicy.Validating {
	return admissionpolicy.NewValidating(g.ours, ourObjects[ourv1.ValidatingAdmissionPolicy](g, "ValidatingAdmissionPolicy", texts),
		ourObjects[ourv1.ValidatingAdmissionPolicyBinding](g, "ValidatingAdmissionPolicyBinding", texts))
}

func (g *policyPlay) ourMutating(texts [][]byte) *admissionpolicy.Mutating {
	return admissionpolicy.NewMutating(g.ours, ourObjects[ourv1.MutatingAdmissionPolicy](g, "MutatingAdmissionPolicy", texts),
		ourObjects[ourv1.MutatingAdmissionPolicyBinding](g, "MutatingAdmissionPolicyBinding", texts))
}

// theirCompiler compiles the expressions of one policy as Kubernetes' plugins do.
type theirCompiler struct {
	*plugincel.CompositedCompiler
	uses plugincel.OptionalVariableDeclarations
}

func newTheirCompiler(params *theirv1.ParamKind, variables []theirv1.Variable) *theirCompiler {
	c := &theirCompiler{
		must1(plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))),
		plugincel.OptionalVariableDeclarations{HasParams: params != nil, HasAuthorizer: true},
	}
	var named []plugincel.NamedExpressionAccessor
	for _, v := range variables {
		named = append(named, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	c.CompileAndStoreVariables(named, c.uses, environment.StoredExpressions)
	return c
}

func (c *theirCompiler) conditions(list []theirv1.MatchCondition, failures *theirv1.FailurePolicyType) matchconditions.Matcher {
	if len(list) == 0 {
		return nil
	}
	var all []plugincel.ExpressionAccessor
	for i := range list {
		all = append(all, (*matchconditions.MatchCondition)(&list[i]))
	}
	return matchconditions.NewMatcher(c.CompileCondition(all, c.uses, environment.StoredExpressions), failures, "policy", "validate", "p")
}

func theirValidator(p *theirv1.ValidatingAdmissionPolicy) validating.Validator {
	c := newTheirCompiler(p.Spec.ParamKind, p.Spec.Variables)
	conditions := c.conditions(p.Spec.MatchConditions, p.Spec.FailurePolicy)
	checks := make([]plugincel.ExpressionAccessor, len(p.Spec.Validations))
	messages := make([]plugincel.ExpressionAccessor, len(p.Spec.Validations))
	for i, v := range p.Spec.Validations {
		checks[i] = &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
		if v.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	var notes []plugincel.ExpressionAccessor
	for _, n := range p.Spec.AuditAnnotations {
		notes = append(notes, &validating.AuditAnnotationCondition{Key: n.Key, ValueExpression: n.ValueExpression})
	}
	plain := plugincel.OptionalVariableDeclarations{HasParams: c.uses.HasParams}
	return validating.NewValidator(c.CompileCondition(checks, c.uses, environment.StoredExpressions), conditions,
		c.CompileCondition(notes, c.uses, environment.StoredExpressions), c.CompileCondition(messages, plain, environment.StoredExpressions),
		p.Spec.FailurePolicy, nil)
}

func theirMutator(p *theirv1.MutatingAdmissionPolicy) mutating.PolicyEvaluator {
	c := newTheirCompiler(p.Spec.ParamKind, p.Spec.Variables)
	e := mutating.PolicyEvaluator{Matcher: c.conditions(p.Spec.MatchConditions, p.Spec.FailurePolicy), CompositedCompiler: c.CompositedCompiler}
	uses := c.uses
	uses.HasPatchTypes = true
	for _, m := range p.Spec.Mutations {
		if m.JSONPatch != nil {
			x := &patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}
			e.Mutators = append(e.Mutators, patch.NewJSONPatcher(c.CompileMutatingEvaluator(x, uses, environment.StoredExpressions)))
		} else {
			x := &patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}
			e.Mutators = append(e.Mutators, patch.NewApplyConfigurationPatcher(c.CompileMutatingEvaluator(x, uses, environment.StoredExpressions)))
		}
	}
	return e
}
