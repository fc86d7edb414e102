package admissionpolicy

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file prepares what expressions see of a request. Both plugins use it.

// facts are what all policies see of a request. They belong to one run of a plugin.
type facts struct {
	*World
	a         *admission.Attributes
	rights    *admission.Rights
	request   *policies.Request // with kind and resource as the client sent them
	namespace *corev1.Namespace
	hasRead   bool // namespace has been read
}

func newFacts(ctx context.Context, w *World, a *admission.Attributes) *facts {
	return &facts{
		World: w, a: a, rights: admission.NewRights(ctx, w.Authorizer, a.User), request: a.Reviewed(a.Kind, a.Resource),
	}
}

// within returns the namespace of the object, nil if the object is in none. A Namespace is an
// object that is in none.
func (f *facts) within(ctx context.Context) (*corev1.Namespace, error) {
	name := f.a.ReviewedNamespace()
	if f.hasRead || name == "" || f.a.Kind == (meta.GroupVersionKind{Version: "v1", Kind: "Namespace"}) {
		return f.namespace, nil
	}
	found, err := f.Namespace(ctx, name)
	if err != nil {
		return nil, err
	}
	f.namespace, f.hasRead = found, true
	return found, nil
}

// view is a request as one target shows it.
type view struct {
	target      matching.Target
	object, old meta.Typed
	dirty       bool // object is the result of a mutation
	// request is the variable request of the policy's expressions. forConditions is the variable of
	// its match conditions, which see the resource that the client named.
	request, forConditions *policies.Request
}

// view returns the request as a target shows it.
func (f *facts) view(ctx context.Context, t *matching.Target) (*view, error) {
	v := &view{target: *t, request: f.request, forConditions: f.request}
	var err error
	if v.old, err = t.Old(ctx, f.a); err != nil {
		return nil, err
	}
	if v.object, err = t.Object(ctx, f.a); err != nil {
		return nil, err
	}
	if t.Kind != f.a.Kind || t.Resource != f.a.Resource {
		conditions := *f.request
		conditions.Kind = policies.KindOf(t.Kind)
		whole := conditions
		whole.Resource = policies.ResourceOf(t.Resource)
		v.forConditions, v.request = &conditions, &whole
	}
	return v, nil
}

// inputs returns the variables of a policy's expressions. namespace is nil if the object is in
// none.
func (f *facts) inputs(v *view, params meta.Typed, namespace *corev1.Namespace) policies.Inputs {
	return policies.Inputs{
		Object: v.object, OldObject: v.old, Params: params, Namespace: namespace, Request: v.request,
		Authorizer: f.rights,
	}
}

// conditions evaluates the match conditions of a policy.
func (f *facts) conditions(
	ctx context.Context, policy string, c *policies.Conditions, v *view, in policies.Inputs,
) policies.Match {
	in.Request = v.forConditions
	began := time.Now()
	m := c.Match(ctx, &in)
	if f.Observe != nil && (!m.Matched || m.Failures > 0) {
		f.Observe.Conditions(policy, f.a.Operation, time.Since(began), m.Failures)
	}
	return m
}
