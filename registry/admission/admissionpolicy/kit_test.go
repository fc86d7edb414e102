package admissionpolicy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// world is a cluster that both plugins read: namespaces, parameters, policies and bindings.
type world struct {
	tb     testing.TB
	kinds  *kind.Types
	codecs *codec.Factory

	validating        *admissionpolicy.Objects[*v1.ValidatingAdmissionPolicy]
	validatingBound   *admissionpolicy.Objects[*v1.ValidatingAdmissionPolicyBinding]
	mutating          *admissionpolicy.Objects[*v1.MutatingAdmissionPolicy]
	mutatingBound     *admissionpolicy.Objects[*v1.MutatingAdmissionPolicyBinding]
	params            map[string]*corev1.ConfigMap // by namespace/name
	checks            []admissionpolicy.Check
	conditions        int
	warnings          []string
	annotations       map[string]string
	validator         *admissionpolicy.Validating
	mutator           *admissionpolicy.Mutating
	errPolicies       error
	lookedUpNamespace int
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	v1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		tb.Fatal(err)
	}
	w := &world{tb: tb, codecs: codec.NewFactory(s), params: map[string]*corev1.ConfigMap{}, annotations: map[string]string{}}
	w.kinds = kind.NewTypes(s, w.codecs)
	w.set()
	about := &admissionpolicy.World{
		Matching: &matching.World{Namespaces: admission.NewNamespaces(
			func(context.Context, string, request.Freshness) (admission.Namespace, error) {
				return admission.Namespace{Labels: meta.Set{"team": "a"}}, nil
			})},
		Namespace: w.namespace, Params: w.paramsOf, Authorizer: w, Observe: w,
	}
	w.validator = admissionpolicy.NewValidating(about, source(w, &w.validating), source(w, &w.validatingBound))
	w.mutator = admissionpolicy.NewMutating(about, source(w, &w.mutating), source(w, &w.mutatingBound))
	return w
}

func source[T any](w *world, at **admissionpolicy.Objects[T]) admissionpolicy.Source[T] {
	return func(context.Context) (*admissionpolicy.Objects[T], error) { return *at, w.errPolicies }
}

// set sets all policies and bindings, given as YAML.
func (w *world) set(texts ...string) {
	w.tb.Helper()
	var (
		validating      []*v1.ValidatingAdmissionPolicy
		validatingBound []*v1.ValidatingAdmissionPolicyBinding
		mutating        []*v1.MutatingAdmissionPolicy
		mutatingBound   []*v1.MutatingAdmissionPolicyBinding
	)
	for _, text := range texts {
		obj := w.decode("admissionregistration.k8s.io/v1", text)
		switch obj := obj.(type) {
		case *v1.ValidatingAdmissionPolicy:
			validating = append(validating, obj)
		case *v1.ValidatingAdmissionPolicyBinding:
			validatingBound = append(validatingBound, obj)
		case *v1.MutatingAdmissionPolicy:
			mutating = append(mutating, obj)
		case *v1.MutatingAdmissionPolicyBinding:
			mutatingBound = append(mutatingBound, obj)
		}
	}
	w.validating, w.validatingBound = admissionpolicy.NewObjects(validating), admissionpolicy.NewObjects(validatingBound)
	w.mutating, w.mutatingBound = admissionpolicy.NewObjects(mutating), admissionpolicy.NewObjects(mutatingBound)
}

// decode decodes an object, which lacks its apiVersion, and completes it with defaults.
func (w *world) decode(apiVersion, text string) meta.Object {
	w.tb.Helper()
	decoded, err := w.codecs.Decode(codec.DecodeRequest{Data: []byte("apiVersion: " + apiVersion + "\n" + text), Type: codec.YAML})
	if err != nil {
		w.tb.Fatalf("%v in\n%s", err, text)
	}
	if err := w.kinds.Kind(decoded.GVK.GroupKind()).Default(context.Background(), decoded.Object); err != nil {
		w.tb.Fatal(err)
	}
	return decoded.Object.(meta.Object)
}

func (w *world) namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	w.lookedUpNamespace++
	if name == "gone" {
		return nil, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
	}
	return &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"team": "a"}}}, nil
}

func (w *world) paramsOf(k meta.GroupVersionKind) *admissionpolicy.Params {
	if k != (meta.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}) {
		return nil
	}
	return &admissionpolicy.Params{
		Namespaced: true,
		Get: func(_ context.Context, namespace, name string) (meta.Typed, error) {
			if p := w.params[namespace+"/"+name]; p != nil {
				return p, nil
			}
			return nil, meta.NewNotFound(meta.GroupResource{Resource: "configmaps"}, name)
		},
		List: func(_ context.Context, namespace string, which meta.LabelRequirements) (list []meta.Typed, _ error) {
			for _, key := range []string{namespace + "/a", namespace + "/b"} {
				if p := w.params[key]; p != nil && which.Matches(meta.Set(p.Labels)) {
					list = append(list, p)
				}
			}
			return list, nil
		},
	}
}

// Authorize implements request.Authorizer: it allows every get.
func (w *world) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	if a.Verb == "get" {
		return request.Allow, "", nil
	}
	return request.Deny, "", errors.New("no")
}

// Checked implements admissionpolicy.Observer.
func (w *world) Checked(c admissionpolicy.Check) {
	c.Took = 0
	w.checks = append(w.checks, c)
}

// Conditions implements admissionpolicy.Observer.
func (w *world) Conditions(string, admission.Operation, time.Duration, int) { w.conditions++ }

// write is a write of a ConfigMap in the namespace ns.
func (w *world) write(op admission.Operation, obj, old meta.Object) *admission.Attributes {
	a := &admission.Attributes{
		Operation: op, Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind: meta.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "ns", Name: "c",
		User: &request.User{Name: "alice"}, Type: w.kinds.Kind(meta.GroupKind{Kind: "ConfigMap"}),
	}
	if obj != nil {
		a.Object = obj
	}
	if old != nil {
		a.Old = old
	}
	a.Listen(func(text string) { w.warnings = append(w.warnings, text) }, func(key, value string) { w.annotations[key] = value })
	return a
}

// configMap returns a ConfigMap with data of the form "key=value".
func configMap(data ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "c", Namespace: "ns"}, Data: map[string]string{}}
	c.APIVersion, c.Kind = "v1", "ConfigMap"
	for i := 0; i+1 < len(data); i += 2 {
		c.Data[data[i]] = data[i+1]
	}
	return c
}

const match = `
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]}`

func validatingPolicy(name, spec string) string {
	return "kind: ValidatingAdmissionPolicy\nmetadata: {name: " + name + "}\nspec:" + match + spec
}

func validatingBinding(name, policy, spec string) string {
	return "kind: ValidatingAdmissionPolicyBinding\nmetadata: {name: " + name + "}\nspec:\n  policyName: " + policy + spec
}

func mutatingPolicy(name, spec string) string {
	return "kind: MutatingAdmissionPolicy\nmetadata: {name: " + name + "}\nspec:" + match + spec
}

func mutatingBinding(name, policy, spec string) string {
	return "kind: MutatingAdmissionPolicyBinding\nmetadata: {name: " + name + "}\nspec:\n  policyName: " + policy + spec
}
