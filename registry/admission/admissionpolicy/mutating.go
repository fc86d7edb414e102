package admissionpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin MutatingAdmissionPolicy: which policies match a request, and in which
// order they change its object. Chain.Mutate calls it at most twice for each try of a write.
// mutation.go evaluates one mutation, and reinvoke.go says what the second run repeats.

// Mutating is the plugin MutatingAdmissionPolicy.
type Mutating struct {
	*World
	hooks shelf[*v1.MutatingAdmissionPolicy, *v1.MutatingAdmissionPolicyBinding, *mutations]
}

// NewMutating returns the plugin, which takes policies and bindings from these sources.
func NewMutating(
	w *World, policies Source[*v1.MutatingAdmissionPolicy], bindings Source[*v1.MutatingAdmissionPolicyBinding],
) *Mutating {
	p := &Mutating{World: w}
	p.hooks.api = newBook(policies, bindings, func(policy *v1.MutatingAdmissionPolicy) *rule[*mutations] {
		s := &policy.Spec
		return newRule(policy.Name, s.FailurePolicy, s.ParamKind, s.MatchConstraints, func() *mutations {
			return compileMutations(s)
		})
	}, func(b *v1.MutatingAdmissionPolicyBinding) *binding {
		return newBinding(b.Name, b.Spec.PolicyName, b.Spec.MatchResources, b.Spec.ParamRef, nil)
	})
	return p
}

// WithFiles adds policies and bindings in files to p and returns it. The caller calls it before p
// is used. As long as nothing has changed, now returns the same pointer.
func (p *Mutating) WithFiles(
	now func() *Files[*v1.MutatingAdmissionPolicy, *v1.MutatingAdmissionPolicyBinding],
) *Mutating {
	p.hooks.addFiles(now)
	return p
}

// mutatingName is the name of the plugin, under which Attributes keep its state.
const mutatingName = "MutatingAdmissionPolicy"

// Name is the plugin's name.
func (*Mutating) Name() string { return mutatingName }

// Handles is true for all operations that have an object.
func (*Mutating) Handles(op admission.Operation) bool { return op != admission.Delete }

// Mutate changes the object as policies say. It refuses the request if a policy fails, unless the
// policy ignores failures.
func (p *Mutating) Mutate(ctx context.Context, a *admission.Attributes) error {
	hooks, err := p.hooks.hooksFor(ctx, a)
	if hooks == nil {
		return err
	}
	var run *mutating
	for h := range hooks.Candidates(a, p.Matching) {
		target, matched, err := h.matcher.Match(ctx, a, p.Matching)
		if !matched && err == nil {
			if a.Told() {
				tellSkipped(a, h.name, nil, h.matcher.Why(a, p.Matching))
			}
			continue
		}
		if run == nil {
			run = &mutating{facts: newFacts(ctx, p.World, a)}
		}
		if err != nil {
			run.misconfigured(h.rule, nil, err)
		} else {
			run.hook(ctx, h, &target)
		}
	}
	if run == nil {
		return nil
	}
	if len(run.calls) > 0 {
		if err := run.dispatch(ctx); err != nil {
			return err
		}
	}
	return run.refusal()
}

// mutating is one run of the plugin.
type mutating struct {
	*facts
	views    []*view // one for each kind as which policies see the object
	calls    []call
	failures []failure // of policies that do not ignore failures

	// For the story of the present call: what the match conditions say, and the failures that the
	// policy ignores.
	match   policies.Match
	ignored []error
}

// call is the evaluation of a policy by one binding with one object of params.
type call struct {
	rule    *rule[*mutations]
	binding *binding
	view    *view
	param   meta.Typed
}

// failure is a reason to refuse a request.
type failure struct {
	text   string
	reason meta.StatusReason // "": Forbidden
}

// hook adds the calls of a policy that matches the request: one for each binding that matches and
// each object of its params.
func (m *mutating) hook(ctx context.Context, h *hook[*mutations], t *matching.Target) {
	from, err := h.source(m.World)
	if err != nil {
		m.misconfigured(h.rule, nil, err)
		return
	}
	for _, b := range h.bindings {
		if b.matcher != nil {
			_, matched, err := b.matcher.Match(ctx, m.a, m.Matching)
			if err != nil {
				m.misconfigured(h.rule, b, err)
			} else if !matched && m.a.Told() {
				tellSkipped(m.a, h.name, b, b.matcher.Why(m.a, m.Matching))
			}
			if !matched {
				continue
			}
		}
		shown, err := m.viewOf(ctx, t)
		if err != nil {
			m.misconfigured(h.rule, nil, err)
			continue
		}
		params, err := b.find(ctx, from, m.request.Namespace)
		if err != nil {
			m.misconfigured(h.rule, b, err)
			continue
		}
		if len(params) == 0 && m.a.Told() {
			tellSkipped(m.a, h.name, b, noParamsFound)
		}
		for _, param := range params {
			m.calls = append(m.calls, call{h.rule, b, shown, param})
		}
	}
}

// viewOf returns the view of the request for a target. Policies that see the object as the same
// kind share it, and so see what the policies before them have changed.
func (m *mutating) viewOf(ctx context.Context, t *matching.Target) (*view, error) {
	for _, v := range m.views {
		if v.target.Kind == t.Kind && v.target.Resource == t.Resource {
			return v, nil
		}
	}
	v, err := m.view(ctx, t)
	if err == nil {
		m.views = append(m.views, v)
	}
	return v, err
}

// misconfigured notes that a policy or binding cannot be used. b is nil if the policy itself cannot
// be used.
func (m *mutating) misconfigured(r *rule[*mutations], b *binding, err error) {
	tellMisconfigured(m.a, r.name, b, r.ignore, err)
	what := "binding"
	if b == nil {
		what = "policy"
	}
	m.fail(r, b, "", fmt.Errorf("failed to configure %s: %w", what, err))
}

// fail notes a reason to refuse the request, unless the policy ignores failures.
func (m *mutating) fail(r *rule[*mutations], b *binding, reason meta.StatusReason, err error) {
	switch {
	case r.ignore && !m.a.Told():
	case r.ignore:
		m.ignored = append(m.ignored, err)
	case b == nil:
		m.failures = append(m.failures, failure{fmt.Sprintf("policy %q denied request: %s", r.name, err), reason})
	default:
		text := fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", r.name, b.name, err)
		m.failures = append(m.failures, failure{text, reason})
	}
}

// refusal returns the answer to a request for which policies have failed, nil if none has.
func (m *mutating) refusal() error {
	if len(m.failures) == 0 {
		return nil
	}
	e := m.a.Forbidden("admission request denied by policy")
	first := m.failures[0]
	e.Status.Message = first.text
	if first.reason != "" {
		e.Status.Reason = first.reason
	}
	for _, f := range m.failures {
		e.Status.Details.Causes = append(e.Status.Details.Causes, meta.StatusCause{Message: f.text})
	}
	return e
}

// dispatch makes the calls in order. The object that the last call saw and changed becomes the
// object of the request. The error refuses the request whatever the failure policies say.
func (m *mutating) dispatch(ctx context.Context) error {
	state := stateOf(m.a)
	defer state.ended(m.a)
	namespace, err := m.within(ctx)
	if err != nil {
		return err
	}
	var last *view
	for i := range m.calls {
		call := (*mutating).call
		if m.a.Told() {
			call = (*mutating).toldCall
		}
		called, err := call(m, ctx, &m.calls[i], state, namespace)
		if err != nil {
			return err
		}
		if called {
			last = m.calls[i].view
		}
	}
	if last == nil || !last.dirty {
		return nil
	}
	state.changed()
	err = last.target.Type.Prune(ctx, last.object)
	if err == nil {
		err = m.a.Replace(ctx, last.object)
	}
	if err != nil {
		return meta.NewInternalError(fmt.Errorf("failed to convert object: %w", err))
	}
	return nil
}

// call evaluates a policy. called says that its match conditions were true and, in the second run,
// that the call had to be repeated. The error refuses the request whatever the failure policies
// say.
func (m *mutating) call(
	ctx context.Context, c *call, state *state, namespace *corev1.Namespace,
) (called bool, err error) {
	policy := c.rule.compiled()
	in := m.inputs(c.view, c.param, namespace)
	match := m.conditions(ctx, c.rule.name, policy.conditions, c.view, in)
	if match.Err != nil {
		m.fail(c.rule, c.binding, meta.StatusReasonInvalid, match.Err)
		return false, nil
	}
	if m.match = match; !match.Matched || m.a.Reinvoked && !state.again[c.key()] {
		return false, nil
	}
	for i := range policy.list {
		if c.view.object == nil { // there is nothing to change
			continue
		}
		began := time.Now()
		in.Object = c.view.object
		err := m.mutate(ctx, &policy.list[i], c.view, &in)
		m.checked(c, time.Since(began), err)
		if _, ok := errors.AsType[*meta.StatusError](err); ok {
			return true, err
		}
		if err != nil {
			m.fail(c.rule, c.binding, meta.StatusReasonInvalid, err)
		}
	}
	if policy.reinvoked {
		state.add(c.key())
	}
	return true, nil
}

func (m *mutating) checked(c *call, took time.Duration, err error) {
	if m.Observe == nil {
		return
	}
	check := Check{Policy: c.rule.name, Binding: c.binding.name, Mutates: true, Failure: NoFailure, Took: took}
	if err != nil {
		check.Failure = failureOf(err.Error())
	}
	m.Observe.Checked(check)
}
