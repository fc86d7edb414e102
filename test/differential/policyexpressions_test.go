package differential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	celref "github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"

	ouradmission "github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	ourv1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	ourcorev1 "github.com/coracle-project/coracle/scheme/api/corev1"
	mine "github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// expressionKinds are the kinds of the objects over which policies run. Together they have all
// sorts of types.
var expressionKinds = []string{
	"Pod.v1.", "Secret.v1.", "ConfigMap.v1.", "Service.v1.", "Node.v1.", "Deployment.v1.apps", "ControllerRevision.v1.apps",
	"Event.v1.events.k8s.io", "CustomResourceDefinition.v1.apiextensions.k8s.io", "Lease.v1.coordination.k8s.io",
	"HorizontalPodAutoscaler.v2.autoscaling", "Ingress.v1.networking.k8s.io", "Namespace.v1.",
}

// TestPoliciesRun runs random policies of variables, match conditions, validations, messages and
// mutations over random objects of built-in and custom kinds, as kube-apiserver's plugins run them.
// It compares results, errors and costs.
func TestPoliciesRun(t *testing.T) {
	eachKindThat(t, func(k bothKind) bool {
		return slices.Contains(expressionKinds, fmt.Sprintf("%s.%s.%s", k.Kind, k.Version, k.Group))
	}, func(t *testing.T, k bothKind) {
		g := &policyGame{t: t, rnd: random("policyexpressions", k.String()), kind: k.GroupVersionKind}
		f := k.fuzzer("policyexpressions")
		for i := range times(2) {
			object := func(i int) policyObject {
				fuzzed := k.fuzzed(t, f, i)
				fillBytes(fuzzed)
				text := k.write(t, theirJSON, fuzzed)
				return policyObject{k.read(t, theirJSON, text), k.ourRead(t, codec.JSON, text), treeOfJSON(t, text)}
			}
			g.play(object(i), object(i), 10)
		}
	})
	t.Run("custom", func(t *testing.T) {
		g := &policyGame{t: t, rnd: random("policyexpressions"), kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}}
		for range times(6) {
			g.play(g.custom(), g.custom(), 10)
		}
	})
}

// policyObject is an object for both sides.
type policyObject struct {
	theirs runtime.Object
	ours   meta.Typed
	tree   any
}

func treeOfJSON(t *testing.T, text []byte) (tree any) {
	t.Helper()
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// custom makes a custom resource.
func (g *policyGame) custom() policyObject {
	tree := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "shop", "labels": map[string]any{"a": "b"}},
		"spec":     g.tree(4), "status": g.tree(2),
	}
	text, err := json.Marshal(tree)
	if err != nil {
		g.t.Fatal(err)
	}
	theirs := &unstructured.Unstructured{}
	if err := theirs.UnmarshalJSON(text); err != nil {
		g.t.Fatal(err)
	}
	ours := &scheme.Unstructured{}
	if err := ours.UnmarshalJSON(text); err != nil {
		g.t.Fatal(err)
	}
	return policyObject{theirs, ours, treeOfJSON(g.t, text)}
}

// tree makes a random JSON tree.
func (g *policyGame) tree(depth int) any {
	switch n := g.rnd.IntN(9); {
	case n < 3 && depth > 0:
		tree := map[string]any{}
		for range g.rnd.IntN(5) {
			tree[pickString(g.rnd, []string{"a", "b", "sizes", "x-y", "in", "a__b", "1"})] = g.tree(depth - 1)
		}
		return tree
	case n < 5 && depth > 0:
		list := []any{}
		for range g.rnd.IntN(4) {
			list = append(list, g.tree(depth-1))
		}
		return list
	case n == 5:
		return g.rnd.IntN(5)
	case n == 6:
		return 1.5
	case n == 7:
		return []any{true, false, nil}[g.rnd.IntN(3)]
	}
	return strings.Trim(pickString(g.rnd, celOdd), "'")
}

// policyGame has both sides run policies over objects of a kind.
type policyGame struct {
	t    *testing.T
	rnd  *rand.Rand
	kind schema.GroupVersionKind
}

// play runs some policies over a request that changes old to object.
func (g *policyGame) play(object, old policyObject, n int) {
	w := &policyWriter{g.rnd, map[string]any{
		"object": object.tree, "oldObject": old.tree, "params": nil,
		"request": map[string]any{"kind": map[string]any{"group": "", "kind": "", "version": ""}, "operation": "", "name": "",
			"userInfo": map[string]any{"username": "", "groups": []any{"", ""}, "extra": map[string]any{"k": []any{""}}}, "dryRun": true, "options": map[string]any{}},
		"namespaceObject": map[string]any{"metadata": map[string]any{"name": "", "labels": map[string]any{"a": ""}}, "spec": map[string]any{"finalizers": []any{""}}},
	}}
	s := g.sides(object, old, w)
	for range n {
		policy := w.policy()
		got, want := s.ours(policy), s.theirs(policy)
		for range 20 { // some answers depend on the random order of maps
			if got != want && !strings.HasSuffix(want, errPanic.Error()) {
				got, want = s.ours(policy), s.theirs(policy)
			}
		}
		if got == want || strings.HasSuffix(want, errPanic.Error()) {
			continue
		}
		text, _ := json.Marshal(object.tree)
		g.t.Fatalf("%s\n%s\nwith: %s", policy, different(got, want), text)
	}
}

// different returns the lines in which two texts differ.
func different(ours, theirs string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	if len(a) != len(b) {
		return fmt.Sprintf("   ours: %s\n theirs: %s", ours, theirs)
	}
	var out strings.Builder
	for i := range a {
		if a[i] != b[i] {
			fmt.Fprintf(&out, "   ours: %s\n theirs: %s\n", a[i], b[i])
		}
	}
	return out.String()
}

// policyText are the expressions of a policy.
type policyText struct {
	variables, conditions, validations, messages, audits []string
	apply, patch                                         string
}

// String returns all expressions, for people.
func (p *policyText) String() string {
	text, _ := json.MarshalIndent(map[string]any{
		"variables": p.variables, "conditions": p.conditions, "validations": p.validations, "messages": p.messages, "audits": p.audits,
		"apply": p.apply, "patch": p.patch,
	}, "", " ")
	return strings.NewReplacer(`\u003e`, ">", `\u003c`, "<", `\u0026`, "&").Replace(string(text))
}

// policySides holds a request as both sides see it.
type policySides struct {
	t          *testing.T
	attributes *admission.VersionedAttributes
	request    *admissionv1.AdmissionRequest
	namespace  *corev1.Namespace
	params     runtime.Object
	inputs     policies.Inputs
	matching   *policies.Request // for match conditions
	budget     int64
}

// sides makes the request.
func (g *policyGame) sides(object, old policyObject, w *policyWriter) *policySides {
	var namespace corev1.Namespace
	namespace.Name, namespace.Labels, namespace.Status.Phase = "shop", map[string]string{"a": "b"}, corev1.NamespaceActive
	namespace.UID, namespace.ManagedFields = "u", []metav1.ManagedFieldsEntry{{Manager: "m"}}
	var ourNamespace ourcorev1.Namespace
	text, err := json.Marshal(&namespace)
	if err == nil {
		err = codec.DecodeJSON(text, &ourNamespace)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	ourNamespace.SetGroupVersionKind(meta.GroupVersionKind{Version: "v1", Kind: "Namespace"}) // expressions do not see it

	who := &user.DefaultInfo{Name: "user", UID: "1", Groups: []string{"a", "b"}, Extra: map[string][]string{"k": {"v"}}}
	resource := schema.GroupVersionResource{Group: g.kind.Group, Version: "v9", Resource: "things"}
	matched := schema.GroupVersionResource{Group: g.kind.Group, Version: g.kind.Version, Resource: "things"}
	options := &metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "UpdateOptions"}, FieldManager: "m"}
	s := &policySides{t: g.t, namespace: &namespace, budget: []int64{10_000_000, 10_000_000, int64(g.rnd.IntN(60))}[g.rnd.IntN(3)]}
	kind := g.kind
	kind.Version = "v9"
	s.attributes = &admission.VersionedAttributes{
		Attributes:      admission.NewAttributesRecord(object.theirs, old.theirs, kind, "shop", "w", resource, "status", admission.Update, options, true, who),
		VersionedObject: object.theirs, VersionedOldObject: old.theirs, VersionedKind: g.kind,
	}
	a := &ouradmission.Attributes{
		Operation: ouradmission.Update, Resource: meta.GroupVersionResource(resource), Kind: meta.GroupVersionKind(kind), Subresource: "status",
		Namespace: "shop", Name: "w", DryRun: true, Options: &meta.UpdateOptions{FieldManager: "m"},
		User: &request.User{Name: who.Name, UID: who.UID, Groups: who.Groups, Extra: who.Extra},
	}
	s.inputs = policies.Inputs{Object: object.ours, OldObject: old.ours, Namespace: &ourNamespace, Authorizer: celMay{"user"}}
	switch g.rnd.IntN(4) {
	case 0:
		s.attributes.VersionedObject, s.inputs.Object = nil, nil
		w.roots["object"] = nil
	case 1:
		s.attributes.VersionedOldObject, s.inputs.OldObject = nil, nil
		w.roots["oldObject"] = nil
	case 2:
		s.params, s.inputs.Params = old.theirs, old.ours
		w.roots["params"] = old.tree
	}
	if g.rnd.IntN(4) == 0 {
		s.namespace, s.inputs.Namespace = nil, nil
		w.roots["namespaceObject"] = nil
	}
	s.request = plugincel.CreateAdmissionRequest(s.attributes.Attributes, metav1.GroupVersionResource(matched), metav1.GroupVersionKind(g.kind))
	s.inputs.Request = a.Reviewed(meta.GroupVersionKind(g.kind), meta.GroupVersionResource(matched))
	s.matching = a.Reviewed(meta.GroupVersionKind(g.kind), a.Resource)
	return s
}

// theirAuthorizer decides as celMay does.
var theirAuthorizer = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	allowed, reason, err := celMay{a.GetUser().GetName()}.Authorize(mine.Access{
		Verb: a.GetVerb(), Path: a.GetPath(), Group: a.GetAPIGroup(), Resource: a.GetResource(), Subresource: a.GetSubresource(),
		Namespace: a.GetNamespace(), Name: a.GetName(),
	})
	if allowed {
		return authorizer.DecisionAllow, reason, err
	}
	return authorizer.DecisionNoOpinion, reason, err
})

// ours has Coracle run a policy.
func (s *policySides) ours(p *policyText) string {
	var o celOutcome
	uses, quiet := policies.Uses{Params: true, Authorizer: true}, policies.Uses{Params: true}
	scope := policies.WithVariables(s.t.Context())
	for i, text := range p.variables {
		scope.Variable(fmt.Sprint("v", i), text, uses)
	}
	conditions := func(scope *policies.Scope, uses policies.Uses) *policies.Conditions {
		var list []ourv1.MatchCondition
		for i, text := range p.conditions {
			list = append(list, ourv1.MatchCondition{Name: fmt.Sprint(i), Expression: text})
		}
		return scope.Conditions(list, uses, len(p.conditions) == 2)
	}
	in := s.inputs
	in.Request = s.matching
	for _, c := range []*policies.Conditions{conditions(scope, uses), conditions(policies.New(s.t.Context()), policies.Uses{Authorizer: true})} {
		m := c.Match(s.t.Context(), &in)
		o.add("matched %v %q %v; ", m.Matched, m.Failed, m.Err)
	}
	run := func(what string, in policies.Inputs, budget mine.Budget, texts []string, uses policies.Uses, results ...*types.Type) mine.Budget {
		var all []*policies.Expression
		for _, text := range texts {
			all = append(all, scope.Compile(text, uses, results...))
		}
		got, err := scope.Set(all...).Evaluate(s.t.Context(), &in, &budget)
		o.add("\n%s: %v, %d left", what, err, budget)
		for _, r := range got {
			o.addResult(r.Value, r.Err)
		}
		return budget
	}
	left := run("validations", s.inputs, mine.Budget(s.budget), p.validations, uses, types.BoolType)
	without := s.inputs
	without.Authorizer = nil
	run("messages", without, left, p.messages, quiet, types.StringType)
	run("audits", without, mine.Budget(s.budget), p.audits, uses, types.StringType, types.NullType)
	if s.inputs.Object != nil {
		tree, err := scope.ApplyConfiguration(p.apply, uses).Apply(s.t.Context(), &s.inputs)
		o.add("\napply: %s %v", applyText(tree), err)
		patch, err := scope.JSONPatch(p.patch, uses).Patch(s.t.Context(), &s.inputs)
		o.add("\npatch: %s %v", patchText(patch), err)
	}
	return goTypes.Replace(o.b.String())
}

// goTypes replaces the Go types of our values by those of Kubernetes' values, because some messages
// of cel-go name them.
var goTypes = func() *strings.Replacer {
	const pkg = "github.com/coracle-project/coracle/scheme/cel"
	var pairs []string
	for _, of := range []string{"object", "entries", "unstructured", "converted"} {
		pairs = append(pairs, "*objects.mapping["+pkg+"/objects."+of+"]", "*types.baseMap")
	}
	return strings.NewReplacer(append(pairs, "*objects.list", "*types.baseList", "cel.ipValue", "cel.IP", "cel.cidrValue", "cel.CIDR",
		"*cel.value["+pkg+".quantity]", "cel.Quantity", "*cel.value[*net/url.URL]", "cel.URL",
		"*cel.value[github.com/blang/semver/v4.Version]", "cel.Semver")...)
}()

// addResult adds the outcome of one expression.
func (o *celOutcome) addResult(value celref.Val, err error) {
	if err != nil {
		o.add("\n  error %v", err)
		return
	}
	if value != nil {
		o.add("\n  %s", celText(value))
	}
}

// applyText is the text of an apply configuration. All values that are not JSON have the same text,
// because Kubernetes refuses them when it merges.
func applyText(tree map[string]any) string {
	text, err := json.Marshal(onlyJSON(tree))
	if err != nil {
		return fmt.Sprintf("%v", tree)
	}
	return string(text)
}

func onlyJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		tree := map[string]any{}
		for key, held := range v {
			tree[key] = onlyJSON(held)
		}
		return tree
	case []any:
		list := []any{}
		for _, held := range v {
			list = append(list, onlyJSON(held))
		}
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) // the keys of a map have no order
		return list
	case nil, bool, string, int64, float64:
		return v
	}
	return "no JSON"
}

// patchText is a JSON patch with its keys in order.
func patchText(patch []byte) string {
	var operations []any
	if json.Unmarshal(patch, &operations) != nil {
		return string(patch)
	}
	for i := range operations {
		operations[i] = onlyJSON(operations[i])
	}
	text, _ := json.Marshal(operations)
	return string(text)
}

// theirs has Kubernetes run a policy.
func (s *policySides) theirs(p *policyText) string {
	var o celOutcome
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	uses := plugincel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true}
	compiler, err := plugincel.NewCompositedCompiler(base)
	if err != nil {
		s.t.Fatal(err)
	}
	var variables []plugincel.NamedExpressionAccessor
	for i, text := range p.variables {
		variables = append(variables, &validating.Variable{Name: fmt.Sprint("v", i), Expression: text})
	}
	compiler.CompileAndStoreVariables(variables, uses, environment.StoredExpressions)
	conditions := func(c plugincel.ConditionCompiler, uses plugincel.OptionalVariableDeclarations) matchconditions.Matcher {
		var list []plugincel.ExpressionAccessor
		for i, text := range p.conditions {
			list = append(list, &matchconditions.MatchCondition{Name: fmt.Sprint(i), Expression: text})
		}
		policy := registrationv1.Fail
		if len(p.conditions) == 2 {
			policy = registrationv1.Ignore
		}
		return matchconditions.NewMatcher(c.CompileCondition(list, uses, environment.StoredExpressions), &policy, "policy", "validate", "p")
	}
	for i, c := range []matchconditions.Matcher{
		conditions(compiler, uses),
		conditions(plugincel.NewConditionCompiler(base), plugincel.OptionalVariableDeclarations{HasAuthorizer: true}),
	} {
		params := s.params
		if i == 1 {
			params = nil
		}
		m := c.Match(s.t.Context(), s.attributes, params, theirAuthorizer)
		o.add("matched %v %q %v; ", m.Matches, m.FailedConditionName, m.Error)
	}
	with := plugincel.OptionalVariableBindings{VersionedParams: s.params, Authorizer: theirAuthorizer}
	without := plugincel.OptionalVariableBindings{VersionedParams: s.params}
	namespace := plugincel.CreateNamespaceObject(s.namespace)
	run := func(what string, bindings plugincel.OptionalVariableBindings, budget int64, uses plugincel.OptionalVariableDeclarations, list []plugincel.ExpressionAccessor) int64 {
		got, left, err := compiler.CompileCondition(list, uses, environment.StoredExpressions).
			ForInput(s.t.Context(), s.attributes, s.request, bindings, namespace, budget)
		o.add("\n%s: %v, %d left", what, err, left)
		for _, r := range got {
			o.addResult(r.EvalResult, r.Error)
		}
		return left
	}
	left := run("validations", with, s.budget, uses, accessors(p.validations, func(text string) plugincel.ExpressionAccessor {
		return &validating.ValidationCondition{Expression: text}
	}))
	run("messages", without, left, plugincel.OptionalVariableDeclarations{HasParams: true}, accessors(p.messages, func(text string) plugincel.ExpressionAccessor {
		return &validating.MessageExpressionCondition{MessageExpression: text}
	}))
	run("audits", without, s.budget, uses, accessors(p.audits, func(text string) plugincel.ExpressionAccessor {
		return &validating.AuditAnnotationCondition{ValueExpression: text}
	}))
	if s.attributes.VersionedObject == nil {
		return o.b.String()
	}
	uses.HasPatchTypes = true
	evaluate := func(x plugincel.ExpressionAccessor) (celref.Val, error) {
		e := compiler.CompileMutatingEvaluator(x, uses, environment.StoredExpressions)
		if wrong := e.CompilationErrors(); len(wrong) > 0 {
			return nil, errors.Join(wrong...)
		}
		r, _, err := e.ForInput(compiler.CreateContext(s.t.Context()), s.attributes, s.request, with, namespace, 10_000_000)
		if err == nil {
			err = r.Error
		}
		return r.EvalResult, err
	}
	tree, err := theirApply(evaluate(&patch.ApplyConfigurationCondition{Expression: p.apply}))
	o.add("\napply: %s %v", applyText(tree), err)
	text, err := theirPatch(evaluate(&patch.JSONPatchCondition{Expression: p.patch}))
	o.add("\npatch: %s %v", patchText(text), err)
	return o.b.String()
}

func accessors(texts []string, of func(string) plugincel.ExpressionAccessor) (list []plugincel.ExpressionAccessor) {
	for _, text := range texts {
		list = append(list, of(text))
	}
	return list
}

// theirApply converts the value of an expression as Kubernetes' patcher does before it merges.
func theirApply(v celref.Val, err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}
	object := v.(*dynamic.ObjectVal)
	if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
		return nil, fmt.Errorf("type mismatch: %w", err)
	}
	tree, ok := object.Value().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid return type: %T", v)
	}
	return tree, nil
}

// errPanic says that Kubernetes panicked.
var errPanic = errors.New("Kubernetes panics")

// theirPatch converts the value of an expression as Kubernetes' patcher does before it patches.
// Kubernetes panics at a list of objects.
func theirPatch(v celref.Val, err error) (_ []byte, wrong error) {
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			wrong = errPanic
		}
	}()
	list := []map[string]any{}
	for it := v.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		o := it.Next().(*mutation.JSONPatchVal)
		made := map[string]any{"op": o.Op, "path": o.Path}
		if o.From != "" {
			made["from"] = o.From
		}
		if o.Val != nil {
			if object, ok := o.Val.(*dynamic.ObjectVal); ok {
				if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
					return nil, fmt.Errorf("type mismatch: %w", err)
				}
			}
			value, err := o.Val.ConvertToNative(reflect.TypeFor[*structpb.Value]())
			if err != nil {
				return nil, fmt.Errorf("JSONPath valueExpression evaluated to a type that could not marshal to JSON: %w", err)
			}
			made["value"] = value
		}
		list = append(list, made)
	}
	return json.Marshal(list)
}
