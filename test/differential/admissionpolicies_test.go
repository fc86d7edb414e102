package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	theirv1 "k8s.io/api/admissionregistration/v1"
	theirmeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestAdmissionPolicies has Kubernetes' dispatchers and our plugins judge random requests by random
// policies with bindings and params. It compares answers, warnings, audit annotations, and objects
// after mutations.
func TestAdmissionPolicies(t *testing.T) {
	w := newPolicyWorld(t)
	for _, mutates := range []bool{false, true} {
		t.Run(fmt.Sprintf("mutates=%t", mutates), func(t *testing.T) {
			g := &policyPlay{policyWorld: w, t: t, rnd: random("admissionpolicies", mutates)}
			for range times(150) {
				if mutates {
					g.mutating()
				} else {
					g.validating()
				}
			}
			t.Logf("%d policies, %d requests: %d refused, %d warned, %d annotated, %d changed", g.policies, g.requests, g.refused, g.warned, g.annotated, g.changed)
			if seen := min(g.refused, g.requests-g.refused, max(g.warned, g.changed), max(g.annotated, g.changed)); seen < g.requests/50 {
				t.Error("too few requests were judged in some way")
			}
		})
	}
}

// policyPlay makes random policies and requests, and has both sides judge them.
type policyPlay struct {
	*policyWorld
	t   *testing.T
	rnd *rand.Rand

	policies, requests, refused, warned, annotated, changed int
}

// policyVerdict is the outcome of a request.
type policyVerdict struct {
	refused     string // as clients see it; "": it is accepted
	object      string // JSON
	warnings    []string
	annotations map[string]string
}

func (v policyVerdict) String() string { return string(encode(v)) }

// MarshalJSON writes all fields; they are unexported.
func (v policyVerdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"refused": v.refused, "object": v.object, "warnings": v.warnings, "annotations": v.annotations})
}

// validating has both sides judge requests by validating policies.
func (g *policyPlay) validating() {
	var hooks []validating.PolicyHook
	var texts [][]byte
	for i := range 1 + g.rnd.IntN(3) {
		p, bindings := g.validatingPolicy(i)
		if len(bindings) > 0 { // else the policy is not in force
			hooks = append(hooks, g.validatingHook(p, bindings))
		}
		texts = append(texts, encode(p))
		for _, b := range bindings {
			texts = append(texts, encode(b))
		}
		g.policies++
	}
	theirs := validating.NewDispatcher(theirAuthorizer, generic.NewPolicyMatcher(g.theirs))
	ours := g.ourValidating(texts)
	for range 3 {
		r := g.request(true)
		want := g.askTheirs(r, func(ctx context.Context, a theiradmission.Attributes) error {
			return theirs.Dispatch(ctx, a, g.objects, hooks)
		})
		got := g.askOurs(r, func(ctx context.Context, a *admission.Attributes) error {
			return (admission.Chain{ours}).Validate(ctx, a)
		})
		g.compare(r, texts, got, want)
	}
}

// mutating has both sides judge requests by mutating policies, with another mutator after them.
func (g *policyPlay) mutating() {
	var hooks []mutating.PolicyHook
	var texts [][]byte
	for i := range 1 + g.rnd.IntN(3) {
		p, bindings := g.mutatingPolicy(i)
		if len(bindings) > 0 { // else the policy is not in force
			hooks = append(hooks, g.mutatingHook(p, bindings))
		}
		texts = append(texts, encode(p))
		for _, b := range bindings {
			texts = append(texts, encode(b))
		}
		g.policies++
	}
	theirs := mutating.NewDispatcher(theirAuthorizer, g.theirs, staticTypes{})
	ours := g.ourMutating(texts)
	for range 3 {
		r := g.request(false)
		behind := g.rnd.IntN(3)
		want := g.askTheirs(r, func(ctx context.Context, a theiradmission.Attributes) error {
			again := a.GetReinvocationContext()
			for range 2 {
				if err := theirs.Dispatch(ctx, a, g.objects, hooks); err != nil {
					return err
				}
				if accessor, err := theirmeta.Accessor(a.GetObject()); err == nil && behind > 0 && !again.IsReinvoke() {
					accessor.SetLabels(map[string]string{"behind": "x"})
					if behind == 2 {
						again.SetShouldReinvoke()
					}
				}
				if !again.ShouldReinvoke() || again.IsReinvoke() {
					break
				}
				again.SetIsReinvoke()
			}
			return nil
		})
		got := g.askOurs(r, func(ctx context.Context, a *admission.Attributes) error {
			return (admission.Chain{ours, policyBehind(behind)}).Mutate(ctx, a)
		})
		g.compare(r, texts, got, want)
	}
}

// policyBehind is a mutator after the plugin: 1 changes the object, 2 also wants a second run.
type policyBehind int

func (policyBehind) Name() string                        { return "Behind" }
func (policyBehind) Handles(op admission.Operation) bool { return true }
func (b policyBehind) Mutate(_ context.Context, a *admission.Attributes) error {
	if m := a.Meta(); m != nil && b > 0 && !a.Reinvoked {
		m.Labels = map[string]string{"behind": "x"}
		if b == 2 {
			a.Reinvoke()
		}
	}
	return nil
}

// staticTypes are the schemas of Kubernetes' kinds.
type staticTypes struct{}

func (staticTypes) GetTypeConverter(schema.GroupVersionKind) managedfields.TypeConverter {
	return theirTypes()
}
func (staticTypes) Run(context.Context) {}

func (g *policyPlay) compare(r *policyRequest, texts [][]byte, got, want policyVerdict) {
	g.t.Helper()
	g.requests++
	if got.String() != want.String() {
		g.t.Fatalf("%s\n%s\n got %s\nwant %s", r, slices.Concat(texts...), got, want)
	}
	if want.refused != "" {
		g.refused++
	} else if r.object != nil && want.object != r.shown(g) {
		g.changed++
	}
	if len(want.warnings) > 0 {
		g.warned++
	}
	if len(want.annotations) > 0 {
		g.annotated++
	}
}

// policyRequest is a request for both sides.
type policyRequest struct {
	kind        *policyKind
	op          theiradmission.Operation
	namespace   string
	name        string
	object, old map[string]any
	dryRun      bool
}

func (r *policyRequest) String() string {
	return fmt.Sprintf("%s %s %s/%s, dry run %t:\n object %s\n old %s", r.op, r.kind.resource, r.namespace, r.name, r.dryRun, encode(r.object), encode(r.old))
}

// shown is the object before mutations, with defaults.
func (r *policyRequest) shown(g *policyPlay) string {
	return string(encode(versioned(g.t, internal(g.t, r.object), r.kind.gvk)))
}

// askTheirs has Kubernetes judge a request.
func (g *policyPlay) askTheirs(r *policyRequest, judge func(context.Context, theiradmission.Attributes) error) (v policyVerdict) {
	var object, old, options runtime.Object
	meta1 := schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"}
	switch r.op {
	case theiradmission.Create:
		options = &metav1.CreateOptions{FieldManager: "m"}
	case theiradmission.Update:
		options = &metav1.UpdateOptions{FieldManager: "m"}
	case theiradmission.Delete:
		options = &metav1.DeleteOptions{}
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(options)
	must(err)
	options.GetObjectKind().SetGroupVersionKind(meta1.WithKind(kinds[0].Kind))
	if r.object != nil {
		object = internal(g.t, r.object)
	}
	if r.old != nil {
		old = internal(g.t, r.old)
	}
	namespace := r.namespace
	if r.kind.gvk.Kind == "Namespace" {
		namespace = r.name
	}
	who := &user.DefaultInfo{Name: "user", Groups: []string{"g"}}
	a := &policyNoted{Attributes: theiradmission.NewAttributesRecord(object, old, r.kind.gvk, namespace, r.name, r.kind.resource, "", r.op, options, r.dryRun, who)}
	warned := &policyWarnings{}
	if err := judge(warning.WithWarningRecorder(g.t.Context(), warned), a); err != nil {
		v.refused = pluginStatus(responsewriters.ErrorToAPIStatus(err))
	}
	v.warnings, v.annotations = warned.texts, a.annotations
	if object != nil && v.refused == "" {
		v.object = string(encode(versioned(g.t, a.GetObject(), r.kind.gvk)))
	}
	return v
}

// policyNoted keeps the annotations that are added.
type policyNoted struct {
	theiradmission.Attributes
	annotations map[string]string
}

func (n *policyNoted) AddAnnotation(key, value string) error {
	err := n.Attributes.AddAnnotation(key, value)
	if err == nil {
		if n.annotations == nil {
			n.annotations = map[string]string{}
		}
		n.annotations[key] = value
	}
	return err
}

type policyWarnings struct{ texts []string }

func (w *policyWarnings) AddWarning(_, text string) { w.texts = append(w.texts, text) }

// askOurs has us judge a request.
func (g *policyPlay) askOurs(r *policyRequest, judge func(context.Context, *admission.Attributes) error) (v policyVerdict) {
	a := &admission.Attributes{
		Operation: admission.Operation(r.op), Resource: meta.GroupVersionResource(r.kind.resource), Kind: meta.GroupVersionKind(r.kind.gvk),
		Namespace: r.namespace, Name: r.name, DryRun: r.dryRun, User: &request.User{Name: "user", Groups: []string{"g"}}, Type: g.ourKind(r.kind),
	}
	switch r.op {
	case theiradmission.Create:
		a.Options = &meta.CreateOptions{FieldManager: "m"}
	case theiradmission.Update:
		a.Options = &meta.UpdateOptions{FieldManager: "m"}
	case theiradmission.Delete:
		a.Options = &meta.DeleteOptions{}
	}
	if r.object != nil {
		a.Object = g.hub(r.kind, r.object)
	}
	if r.old != nil {
		a.Old = g.hub(r.kind, r.old)
	}
	a.Listen(func(text string) { v.warnings = append(v.warnings, text) }, func(key, value string) {
		if v.annotations == nil {
			v.annotations = map[string]string{}
		}
		if _, said := v.annotations[key]; !said {
			v.annotations[key] = value
		}
	})
	if err := judge(g.t.Context(), a); err != nil {
		v.refused = pluginStatus(meta.StatusOf(err))
		return v
	}
	if r.object != nil {
		shown, err := a.Type.Convert(g.t.Context(), a.Object, r.kind.gvk.Version)
		must(err)
		text, err := a.Type.Append(nil, shown, codec.Media{})
		must(err)
		v.object = g.normal(r.kind, text)
	}
	return v
}

// normal is an object of ours as Kubernetes writes it.
func (g *policyPlay) normal(k *policyKind, text []byte) string {
	obj, err := legacyscheme.Scheme.New(k.gvk)
	must(err)
	must(json.Unmarshal(text, obj))
	obj.GetObjectKind().SetGroupVersionKind(k.gvk)
	return string(encode(tree(obj)))
}

func (g *policyPlay) ourKind(k *policyKind) kind.Kind {
	return g.kinds.Kind(meta.GroupKind{Group: k.gvk.Group, Kind: k.gvk.Kind})
}

// hub reads an object as our registry does: decoded, with defaults, in the hub.
func (g *policyPlay) hub(k *policyKind, object map[string]any) meta.Object {
	typ := g.ourKind(k)
	decoded, err := typ.Decode(codec.DecodeRequest{Data: encode(object), Default: meta.GroupVersionKind(k.gvk)})
	must(err)
	must(typ.Default(g.t.Context(), decoded.Object))
	return must1(kind.ToHub(g.t.Context(), typ, decoded.Object))
}

// validatingHook compiles a policy as Kubernetes' plugin does.
func (g *policyPlay) validatingHook(p *theirv1.ValidatingAdmissionPolicy, bindings []*theirv1.ValidatingAdmissionPolicyBinding) validating.PolicyHook {
	h := validating.PolicyHook{Policy: p, Bindings: bindings, Evaluator: theirValidator(p)}
	h.ParamInformer, h.ParamScope, h.ConfigurationError = g.informer(p.Spec.ParamKind)
	return h
}

func (g *policyPlay) mutatingHook(p *theirv1.MutatingAdmissionPolicy, bindings []*theirv1.MutatingAdmissionPolicyBinding) mutating.PolicyHook {
	h := mutating.PolicyHook{Policy: p, Bindings: bindings, Evaluator: theirMutator(p)}
	h.ParamInformer, h.ParamScope, h.ConfigurationError = g.informer(p.Spec.ParamKind)
	return h
}

// ourObjects returns the policies or bindings of type T among texts.
func ourObjects[T any, P interface {
	*T
	meta.Object
}](g *policyPlay, kindName string, texts [][]byte) admissionpolicy.Source[P] {
	var list []P
	for _, text := range texts {
		if !strings.Contains(string(text), fmt.Sprintf("%q:%q", "kind", kindName)) {
			continue
		}
		decoded := must1(g.codecs.Decode(codec.DecodeRequest{Data: text}))
		list = append(list, decoded.Object.(P))
	}
	objects := admissionpolicy.NewObjects(list)
	return func(context.Context) (*admissionpolicy.Objects[P], error) { return objects, nil }
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
