package differential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
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
	ourcorev1 "github.com/coracle-project/coracle/scheme/api/corev1"
	mine "github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// expressionKinds are the kinds over whose objects policies are run: those that have all sorts of
// types in them.
var expressionKinds = []string{
	"Pod.v1.", "Secret.v1.", "ConfigMap.v1.", "Service.v1.", "Node.v1.", "Deployment.v1.apps", "ControllerRevision.v1.apps",
	"Event.v1.events.k8s.io", "CustomResourceDefinition.v1.apiextensions.k8s.io", "Lease.v1.coordination.k8s.io",
	"HorizontalPodAutoscaler.v2.autoscaling", "Ingress.v1.networking.k8s.io", "Namespace.v1.",
}

// TestPoliciesRun runs random policies of variables, match conditions, validations, messages
// and mutations over random objects of built-in and custom kinds, as kube-apiserver's plugins run
// them: results, errors, costs.
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

// policyObject is an object of both.
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

// tree makes a tree of JSON.
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

// policyGame has both sides run policies about objects of a kind.
type policyGame struct {
	t    *testing.T
	rnd  *rand.Rand
	kind schema.GroupVersionKind
}

// play runs some policies about a request that changes old to object.
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
		for range 20 { // the order of maps is random, so some answers are, too
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

// String returns all of it, for people.
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
	ourNamespace.SetGroupVersionKind(meta.GroupVersionKind{Version: "v1", Kind: "Namespace"}) // which is not shown

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
		var list []policies.Condition
		for i, text := range p.conditions {
			list = append(list, policies.Condition{Name: fmt.Sprint(i), Expression: text})
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

// goTypes are the Go types of our values, of which some messages of cel-go speak.
var goTypes = func() *strings.Replacer {
	const objects = "github.com/coracle-project/coracle/scheme/cel/objects"
	return strings.NewReplacer("*objects.mapping["+objects+".object]", "*types.baseMap", "*objects.mapping["+objects+".entries]", "*types.baseMap",
		"*objects.mapping["+objects+".unstructured]", "*types.baseMap", "*objects.list", "*types.baseList")
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

// applyText is an apply configuration in words. Values that are not JSON are all alike: Kubernetes
// refuses them when it merges.
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

// theirApply is what Kubernetes' patcher does with the value of an expression, before it merges.
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

// theirPatch is what Kubernetes' patcher does with the value of an expression, before it patches.
// It panics for a list of objects.
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

// A policyWriter writes expressions about objects.
type policyWriter struct {
	rnd   *rand.Rand
	roots map[string]any // variables, and trees that are like their values
}

// policy writes a policy.
func (w *policyWriter) policy() *policyText {
	p := &policyText{}
	several := func(most int, write func() string) (list []string) {
		for range w.rnd.IntN(most + 1) {
			list = append(list, write())
		}
		return list
	}
	depth := 1 + w.rnd.IntN(3)
	p.variables = several(3, func() string { return w.any(depth) })
	p.conditions = several(3, func() string { return w.bool(depth) })
	p.validations = several(4, func() string { return w.bool(depth) })
	p.messages = several(2, func() string { return w.text(depth) })
	p.audits = several(2, func() string { return w.text(depth) })
	p.apply, p.patch = w.object("Object", depth), w.operations(depth)
	return p
}

func (w *policyWriter) pick(of ...func() string) string { return of[w.rnd.IntN(len(of))]() }

// path writes the path to a value in one of the variables, often one that exists.
func (w *policyWriter) path() string {
	if w.rnd.IntN(6) == 0 {
		return "variables.v" + strconv.Itoa(w.rnd.IntN(4))
	}
	root := pickString(w.rnd, []string{"object", "object", "object", "object", "oldObject", "oldObject", "request", "namespaceObject", "params"})
	text, tree := root, w.roots[root]
	if root == "namespaceObject" && w.rnd.IntN(3) == 0 || root == "request" && w.rnd.IntN(3) == 0 {
		text = "dyn(" + root + ")"
	}
	for w.rnd.IntN(8) > 0 {
		switch at := tree.(type) {
		case map[string]any:
			key := pickString(w.rnd, []string{"none", "name", "metadata", "spec", "a"})
			if keys := slices.Sorted(mapKeys(at)); len(keys) > 0 && w.rnd.IntN(12) > 0 {
				key = pickString(w.rnd, keys)
			}
			text, tree = text+w.selects(key), at[key]
		case []any:
			i := w.rnd.IntN(len(at) + 1)
			if w.rnd.IntN(10) > 0 && len(at) > 0 {
				i = w.rnd.IntN(len(at))
			}
			text += fmt.Sprintf("[%d]", i)
			if i == len(at) {
				return text
			}
			tree = at[i]
		default:
			if w.rnd.IntN(10) > 0 {
				return text
			}
			text += ".more"
		}
	}
	return text
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// selects writes the selection of a key.
func (w *policyWriter) selects(key string) string {
	plain := key != "" && key != "in" && !strings.ContainsFunc(key, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
	switch {
	case plain && w.rnd.IntN(15) == 0:
		return ".?" + key
	case plain && w.rnd.IntN(8) > 0:
		return "." + key
	case w.rnd.IntN(8) == 0:
		return "[?" + strconv.Quote(key) + "]"
	}
	return "[" + strconv.Quote(key) + "]"
}

// any writes a value of any type.
func (w *policyWriter) any(depth int) string {
	if depth <= 0 {
		return w.pick(w.path, w.path, w.path, func() string {
			return pickString(w.rnd, append([]string{"1", "2.5", "true", "null", "dyn([])", "dyn({})", "x"}, celOdd...))
		})
	}
	a := func() string { return w.any(depth - 1) }
	forms := []string{"%d", "%d", "%d + %d", "%d.map(x, x)", "%d.filter(x, x == %d)", "%d.size()", "size(%d)", "string(%d)", "int(%d)", "double(%d)", "quantity(%d)",
		"[%d, %d]", "{'a': %d, 'b': %d}", "{%d: %d}", "%b ? %d : %d", "%d[%d]", "%d.a", "%d.sum()", "%d.min()", "%d.isSorted()", "%d.join(',')", "%d.indexOf(%d)",
		"%d.orValue(%d)", "optional.of(%d)", "optional.ofNonZeroValue(%d)", "'%%s'.format([%d])", "%d.flatten()", "%d.distinct()", "%d.reverse()", "%d.slice(0, 1)",
		"timestamp(%d)", "duration(%d)", "type(%d)", "bytes(%d)", "%d.transformList(i, v, [i, v])", "%d.split('a')", "%d.first()", "%d.sort()", "%d - %d", "%d * 2", "-%d",
		"authorizer.requestResource.check('get').reason()", "authorizer.group(%d).resource('pods').name(%d).check('get').reason()", "size(dyn(variables))", "type(dyn(variables))", "dyn(request) == %d",
		"%d.optMap(x, x)", "lists.range(3)", "url(%d)", "ip(%d)", "%d.trim()", "%d.lowerAscii()", "%d.replace('a', 'b')", "%d.find('[a-z]+')", "%d.matches('a')"}
	return w.fill(pickString(w.rnd, forms), a)
}

// bool writes a condition.
func (w *policyWriter) bool(depth int) string {
	if w.rnd.IntN(15) == 0 {
		return w.any(depth)
	}
	forms := []string{"%d == %d", "%d != %d", "%p == %p", "has(%p.name)", "has(%p.spec)", "%d in %d", "%d in %d", "%d.all(x, %b)", "%d.exists(x, x == %d)", "%d.all(x, has(x.name))",
		"%d.exists(x, x.name.startsWith('a'))", "size(%d) > 1", "%d < %d", "%d >= %d", "!%b", "%b && %b", "%b || %b", "%d.startsWith('a')", "%d.contains(%d)", "%d.matches('^[a-z]*$')",
		"request.operation == 'UPDATE'", "type(%d) == %t", "authorizer.requestResource.check('get').allowed()", "authorizer.path('/x').check(%d).allowed()",
		"sets.contains(%d, %d)", "sets.intersects(%d, [%d])", "%d.exists_one(x, x == %d)", "%d.all(i, x, i != x)", "%d.hasValue()", "isQuantity(%d)", "%p.orValue(%d) == %d", "object == oldObject",
		"variables.v0", "variables.v1 == variables.v0", "object.metadata.name == object.metadata.name", "object.metadata.labels.all(k, k != '')", "true"}
	if depth <= 0 {
		return pickString(w.rnd, []string{"true", "false", "x == 1", "has(" + w.path() + ".name)", w.path() + " == " + w.path()})
	}
	return w.fill(pickString(w.rnd, forms), func() string { return w.any(depth - 1) })
}

// fill writes the parts of a form: %d is a dynamic value, %p a path, %b a condition, %t a type.
func (w *policyWriter) fill(form string, value func() string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(form, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		switch after[0] {
		case 'd':
			fmt.Fprintf(&b, "dyn(%s)", value())
		case 'p':
			b.WriteString(w.path())
		case 'b':
			fmt.Fprintf(&b, "(%s)", w.bool(0))
		case 't':
			b.WriteString(pickString(w.rnd, []string{"map", "list", "string", "int", "double", "bool", "null_type"}))
		default:
			b.WriteString("%")
		}
		form = after[1:]
	}
}

// text writes a string.
func (w *policyWriter) text(depth int) string {
	return w.pick(func() string { return "string(" + w.any(depth) + ")" }, func() string { return "'a' + string(" + w.path() + ")" },
		func() string { return "null" }, func() string { return w.path() }, func() string { return "request.name" })
}

// object writes an object of a type.
func (w *policyWriter) object(typ string, depth int) string {
	if typ == "Object" && w.rnd.IntN(10) == 0 {
		return w.pick(func() string { return w.any(1) }, func() string { return w.bool(1) + " ? Object{} : " + w.object(typ, 1) }, func() string { return "Object.spec{}" })
	}
	var fields []string
	for _, name := range []string{"metadata", "spec", "a", "b"} {
		if w.rnd.IntN(3) > 0 {
			continue
		}
		inner := func() string { return w.object(typ+"."+name, depth-1) }
		fields = append(fields, w.pick(
			func() string { return name + ": " + w.path() }, func() string { return name + ": " + w.any(1) }, func() string { return "?" + name + ": optional.of(" + w.any(0) + ")" },
			func() string {
				if depth <= 0 {
					return name + ": 1"
				}
				return name + ": " + w.pick(inner, inner, func() string { return "[" + inner() + "]" }, func() string { return "{'k': " + inner() + "}" },
					func() string { return w.object(typ+".wrong", 0) }, func() string { return "has(" + inner() + ".a)" }, func() string { return inner() + ".b" },
					func() string { return inner() + " == " + inner() })
			}))
	}
	return typ + "{" + strings.Join(fields, ", ") + "}"
}

// operations writes a JSON patch.
func (w *policyWriter) operations(depth int) string {
	operation := func() string {
		fields := []string{"op: " + pickString(w.rnd, []string{"'add'", "'test'", "'remove'", "request.name", "dyn(1)"}), "path: " + w.pick(
			func() string { return "'/a/' + jsonpatch.escapeKey('a/~b')" }, func() string { return "'/metadata'" }, func() string { return "dyn(" + w.path() + ")" })}
		if w.rnd.IntN(4) == 0 {
			fields = append(fields, "from: '/b'")
		}
		if w.rnd.IntN(3) > 0 {
			fields = append(fields, "value: "+w.pick(w.path, func() string { return w.any(depth) }, func() string { return w.object("Object.a", depth) }))
		}
		return "JSONPatch{" + strings.Join(fields, ", ") + "}"
	}
	return w.pick(func() string { return "[" + operation() + "]" }, func() string { return "[" + operation() + ", " + operation() + "]" },
		func() string {
			return "[" + operation() + "].filter(o, o.op != 'test' && has(o.value) || o.path == '/metadata')"
		},
		func() string {
			return "[" + operation() + "] == [" + operation() + "] ? [" + operation() + "] : [" + operation() + "]"
		},
		func() string { return w.any(depth) })
}
