package admissionpolicy

import (
	"context"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file tells of policies in the story of a write, if somebody wants it. A hook of the story is
// a policy with one binding and one object of params.

// told begins to tell of a policy that is evaluated.
func (f *facts) told(policy string, b *binding, shown *view, param meta.Typed) *admission.HookTeller {
	if !f.a.Told() {
		return nil
	}
	h := request.Hook{Name: policy, Binding: b.name, Kind: shown.target.Kind, Resource: shown.target.Resource}
	if param, ok := param.(meta.Object); ok {
		m := param.GetObjectMeta()
		if h.Params = m.Name; m.Namespace != "" {
			h.Params = m.Namespace + "/" + m.Name
		}
	}
	return f.a.TellHook(h)
}

// tellSkipped tells why a policy or binding is not for a write. b is nil for a policy. It is called
// only if somebody wants the story.
func tellSkipped(a *admission.Attributes, policy string, b *binding, reason string) {
	h := request.Hook{Name: policy}
	if b != nil {
		h.Binding = b.name
	}
	to := a.TellHook(h)
	to.Because(reason)
	to.End(request.OutcomeSkipped, 0)
}

// tellUnbound tells of the policies without a binding, in the order of their names.
func (b *book[P, B, R]) tellUnbound(a *admission.Attributes) {
	j := b.last.Load()
	bound := map[string]bool{}
	for _, each := range j.bound {
		bound[each.policy] = true
	}
	var names []string
	for _, r := range j.rules {
		if !bound[r.name] {
			names = append(names, r.name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		tellSkipped(a, name, nil, "no binding names it")
	}
}

// tellMisconfigured tells why a policy or binding cannot be used. b is nil for a policy.
func tellMisconfigured(a *admission.Attributes, policy string, b *binding, ignored bool, err error) {
	if !a.Told() {
		return
	}
	h := request.Hook{Name: policy}
	if b != nil {
		h.Binding = b.name
	}
	to := a.TellHook(h)
	to.Because(err.Error())
	to.End(failedOutcome(ignored), 0)
}

// failedOutcome returns the outcome of a failure.
func failedOutcome(ignored bool) request.Outcome {
	if ignored {
		return request.OutcomeFailedOpen
	}
	return request.OutcomeFailed
}

// tellOutcome tells what a validating policy says, and what its binding makes of it.
func (v *validating) tellOutcome(to *admission.HookTeller, policy string, b *binding, out *outcome) {
	if to == nil {
		return
	}
	took := to.Age()
	if out.excluded {
		to.Because(out.match.Why())
		to.End(request.OutcomeSkipped, took)
		return
	}
	gravest := request.OutcomeAdmitted
	for i := range out.decisions {
		d := &out.decisions[i]
		if !d.deny && !d.failed {
			continue
		}
		to.Because(fmt.Sprintf("validation %d: %s", i, d.message))
		gravest = graver(gravest, b.makesOf(d))
	}
	for i := range out.annotations {
		if n := &out.annotations[i]; n.failure != "" {
			to.Because(fmt.Sprintf("audit annotation %s: %s", n.key, n.failure))
			gravest = graver(gravest, request.OutcomeFailed)
		}
	}
	if d := v.denied; d != nil && d.policy == policy && d.binding == b.name {
		to.Refused(d.refusal(v.a))
	}
	to.End(gravest, took)
}

// makesOf returns what a binding makes of a decision that is not in favour of the request.
func (b *binding) makesOf(d *decision) request.Outcome {
	if !d.deny {
		return request.OutcomeFailedOpen
	}
	gravest := request.OutcomeAdmitted
	for _, action := range b.actions {
		switch {
		case action == v1.Deny && d.failed:
			gravest = request.OutcomeFailed
		case action == v1.Deny:
			gravest = request.OutcomeRefused
		case action == v1.Warn:
			gravest = graver(gravest, request.OutcomeWarned)
		case action == v1.Audit:
			gravest = graver(gravest, request.OutcomeAudited)
		}
	}
	return gravest
}

// gravity has the outcomes of a validating policy, the gravest last.
var gravity = map[request.Outcome]int{
	request.OutcomeFailedOpen: 1, request.OutcomeAudited: 2, request.OutcomeWarned: 3, request.OutcomeFailed: 4,
	request.OutcomeRefused: 5,
}

// graver returns the graver of two outcomes.
func graver(a, b request.Outcome) request.Outcome {
	if gravity[b] > gravity[a] {
		return b
	}
	return a
}

// toldCall makes a call of a mutating policy and tells of it.
func (m *mutating) toldCall(
	ctx context.Context, c *call, state *state, namespace *corev1.Namespace,
) (called bool, err error) {
	to := m.told(c.rule.name, c.binding, c.view, c.param)
	m.ignored = nil
	before, failures := c.view.shown(), len(m.failures)
	called, err = m.call(ctx, c, state, namespace)
	took, outcome := to.Age(), request.OutcomeAdmitted
	switch {
	case err != nil:
		to.Refused(err)
		outcome = request.OutcomeFailed
	case len(m.failures) > failures:
		for _, f := range m.failures[failures:] {
			to.Because(f.text)
		}
		outcome = request.OutcomeFailed
	case len(m.ignored) > 0:
		for _, err := range m.ignored {
			to.Because(err.Error())
		}
		outcome = request.OutcomeFailedOpen
	case !called && !m.match.Matched:
		to.Because(m.match.Why())
		outcome = request.OutcomeSkipped
	case !called:
		to.Because("in the second run, it is called only if reinvocationPolicy is IfNeeded and the object has " +
			"changed after its call")
		outcome = request.OutcomeSkipped
	}
	to.Changed(before, c.view.shown())
	to.End(outcome, took)
	return called, err
}

// shown returns the object as JSON, nil if there is none or it cannot be encoded.
func (v *view) shown() []byte {
	if v.object == nil {
		return nil
	}
	data, err := v.encode()
	if err != nil {
		return nil
	}
	return data
}
