package admissionpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin ValidatingAdmissionPolicy: which policies match a request, and what
// follows from their decisions. Chain.Validate calls it once for each try of a write. decision.go
// evaluates one policy.

// Validating is the plugin ValidatingAdmissionPolicy.
type Validating struct {
	*World
	hooks shelf[*v1.ValidatingAdmissionPolicy, *v1.ValidatingAdmissionPolicyBinding, *validation]
}

// NewValidating returns the plugin, which takes policies and bindings from these sources.
func NewValidating(
	w *World, policies Source[*v1.ValidatingAdmissionPolicy], bindings Source[*v1.ValidatingAdmissionPolicyBinding],
) *Validating {
	p := &Validating{World: w}
	p.hooks.api = newBook(policies, bindings, func(policy *v1.ValidatingAdmissionPolicy) *rule[*validation] {
		s := &policy.Spec
		return newRule(policy.Name, s.FailurePolicy, s.ParamKind, s.MatchConstraints, func() *validation {
			return compileValidation(s)
		})
	}, func(b *v1.ValidatingAdmissionPolicyBinding) *binding {
		return newBinding(b.Name, b.Spec.PolicyName, b.Spec.MatchResources, b.Spec.ParamRef, b.Spec.ValidationActions)
	})
	return p
}

// WithFiles adds policies and bindings in files to p and returns it. The caller calls it before p
// is used. As long as nothing has changed, now returns the same pointer.
func (p *Validating) WithFiles(
	now func() *Files[*v1.ValidatingAdmissionPolicy, *v1.ValidatingAdmissionPolicyBinding],
) *Validating {
	p.hooks.addFiles(now)
	return p
}

// Name is the plugin's name.
func (*Validating) Name() string { return "ValidatingAdmissionPolicy" }

// Handles is true for all operations.
func (*Validating) Handles(admission.Operation) bool { return true }

// Validate refuses a request that a policy denies. The error names the first policy that denies it,
// and has the code and reason of the validation.
func (p *Validating) Validate(ctx context.Context, a *admission.Attributes) error {
	hooks, err := p.hooks.hooksFor(ctx, a)
	if hooks == nil {
		return err
	}
	var run *validating
	for h := range hooks.Candidates(a, p.Matching) {
		target, matched, err := h.matcher.Match(ctx, a, p.Matching)
		if !matched && err == nil {
			if a.Told() {
				tellSkipped(a, h.name, nil, h.matcher.Why(a, p.Matching))
			}
			continue
		}
		if run == nil {
			run = &validating{facts: newFacts(ctx, p.World, a)}
		}
		if err != nil {
			run.misconfigured(h.rule, nil, err)
		} else if err := run.hook(ctx, h, &target); err != nil {
			return err
		}
	}
	if run == nil || run.denied == nil {
		return nil
	}
	return run.denied.refusal(a)
}

// validating is one run of the plugin.
type validating struct {
	*facts
	denied *denial // the first reason to refuse the request; nil if there is none
}

// denial is a reason to refuse a request.
type denial struct {
	policy, binding string // binding is "" if the policy itself cannot be used
	message         string
	reason          meta.StatusReason // "" counts as Invalid
}

// refusal returns the answer to a request that is denied.
func (d *denial) refusal(a *admission.Attributes) error {
	text := fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy, d.message)
	if d.binding != "" {
		text = fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy, d.binding, d.message)
	}
	e := a.Forbidden("%s", text)
	e.Status.Reason, e.Status.Code = meta.StatusReasonInvalid, http.StatusUnprocessableEntity
	if d.reason != "" {
		e.Status.Reason = d.reason
	}
	switch d.reason {
	case meta.StatusReasonForbidden:
		e.Status.Code = http.StatusForbidden
	case meta.StatusReasonUnauthorized:
		e.Status.Code = http.StatusUnauthorized
	case meta.StatusReasonRequestEntityTooLarge:
		e.Status.Code = http.StatusRequestEntityTooLarge
	}
	e.Status.Details.Causes = append(e.Status.Details.Causes, meta.StatusCause{Message: text})
	return e
}

// deny notes a reason to refuse the request. Only the first is kept, because the answer names only
// one.
func (v *validating) deny(d denial) {
	if v.denied == nil {
		v.denied = &d
	}
}

// misconfigured denies the request because of a policy or binding that cannot be used, unless the
// policy ignores failures. b is nil if the policy itself cannot be used.
func (v *validating) misconfigured(r *rule[*validation], b *binding, err error) {
	tellMisconfigured(v.a, r.name, b, r.ignore, err)
	switch {
	case r.ignore:
	case b == nil:
		v.deny(denial{policy: r.name, message: "failed to configure policy: " + err.Error()})
	default:
		v.deny(denial{policy: r.name, binding: b.name, message: "failed to configure binding: " + err.Error()})
	}
}

// hook evaluates a policy that matches the request. The error refuses the request whatever other
// policies say.
func (v *validating) hook(ctx context.Context, h *hook[*validation], t *matching.Target) error {
	params, err := h.source(v.World)
	if err != nil {
		v.misconfigured(h.rule, nil, err)
		return nil
	}
	shown := (*view)(nil)
	found := annotations{}
	for _, b := range h.bindings {
		if err := v.binding(ctx, h, b, t, &shown, params, &found); err != nil {
			return err
		}
	}
	found.publish(h.name, v.a)
	return nil
}

// binding evaluates a policy by one of its bindings. shown is made when the first binding needs it.
func (v *validating) binding(
	ctx context.Context, h *hook[*validation], b *binding, t *matching.Target, shown **view, from *Params,
	found *annotations,
) error {
	if b.matcher != nil {
		_, matched, err := b.matcher.Match(ctx, v.a, v.Matching)
		if err != nil {
			v.misconfigured(h.rule, b, err)
		} else if !matched && v.a.Told() {
			tellSkipped(v.a, h.name, b, b.matcher.Why(v.a, v.Matching))
		}
		if !matched {
			return nil
		}
	}
	params, err := b.find(ctx, from, v.request.Namespace)
	if err == nil && *shown == nil && len(params) > 0 {
		if *shown, err = v.view(ctx, t); err != nil {
			err = fmt.Errorf("failed to convert object version: %w", err)
		}
	}
	if err != nil {
		v.misconfigured(h.rule, b, err)
		return nil
	}
	if len(params) == 0 && v.a.Told() {
		tellSkipped(v.a, h.name, b, noParamsFound)
	}
	namespace, err := v.within(ctx)
	if err != nil {
		return err
	}
	v.evaluate(ctx, h, b, *shown, params, namespace, found)
	return nil
}

// evaluate evaluates a policy with each object of its params, and applies the actions of the
// binding to the decisions.
func (v *validating) evaluate(
	ctx context.Context, h *hook[*validation], b *binding, shown *view, params []meta.Typed,
	namespace *corev1.Namespace,
	found *annotations,
) {
	for _, param := range params {
		in := v.inputs(shown, param, namespace)
		to := v.told(h.name, b, shown, param)
		out := h.compiled().validate(ctx, v.facts, h.rule, shown, &in)
		for i := range out.decisions {
			v.act(h.name, b, i, &out.decisions[i])
		}
		for i := range out.annotations {
			v.note(h.name, b, &out.annotations[i], found)
		}
		v.tellOutcome(to, h.name, b, &out)
	}
}

// act applies the actions of a binding to a decision. index is the place of the validation in the
// policy.
func (v *validating) act(policy string, b *binding, index int, d *decision) {
	if !d.deny {
		if d.failed {
			v.checked(policy, b, ActionAllow, d)
		}
		return
	}
	for _, action := range b.actions {
		switch action {
		case v1.Deny:
			v.deny(denial{policy, b.name, d.message, d.reason})
			v.checked(policy, b, ActionDeny, d)
		case v1.Audit:
			v.audit(b, index, d)
			v.checked(policy, b, ActionAudit, d)
		case v1.Warn:
			v.a.Warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s",
				policy, b.name, d.message))
			v.checked(policy, b, ActionWarn, d)
		}
	}
}

func (v *validating) checked(policy string, b *binding, action Action, d *decision) {
	if v.Observe != nil {
		v.Observe.Checked(Check{
			Policy: policy, Binding: b.name, Action: action, Failure: failureOf(d.message), Took: d.took,
		})
	}
}

// failureOf returns the Failure that a message of the expression evaluator stands for.
func failureOf(message string) Failure {
	switch {
	case strings.HasPrefix(message, "compilation"):
		return FailureCompile
	case strings.HasPrefix(message, "validation failed due to running out of cost budget"):
		return FailureBudget
	}
	return FailureInvalid
}

// failedValidation describes a validation that is false. The audit annotation about it is a JSON
// list with this one item.
type failedValidation struct {
	Message         string                `json:"message"`
	Policy          string                `json:"policy"`
	Binding         string                `json:"binding"`
	ExpressionIndex int                   `json:"expressionIndex"`
	Actions         []v1.ValidationAction `json:"validationActions"`
}

// audit adds the audit annotation about a validation that is false. The audit record keeps only the
// first such annotation of a request.
func (v *validating) audit(b *binding, index int, d *decision) {
	value, err := json.Marshal([]failedValidation{{d.message, b.policy, b.name, index, b.actions}})
	if err == nil { // strings can always be encoded
		v.a.Annotate("validation.policy.admission.k8s.io/validation_failure", string(value))
	}
}

// maxAnnotation bounds the value of an audit annotation, in bytes.
const maxAnnotation = 10 << 10

// note collects an audit annotation, or denies the request if the annotation failed.
func (v *validating) note(policy string, b *binding, n *note, found *annotations) {
	if n.failure == "" {
		found.add(n.key, n.value[:min(len(n.value), maxAnnotation)])
		return
	}
	v.deny(denial{policy: policy, binding: b.name, message: n.failure})
	v.checked(policy, b, ActionDeny, &decision{message: n.failure, took: n.took})
}

// annotations are the audit annotations of one policy: the values of each key, in the order in
// which they appeared.
type annotations []annotation

type annotation struct {
	key    string
	values []string
}

// add adds a value to those of key, unless key has it already.
func (l *annotations) add(key, value string) {
	i := slices.IndexFunc(*l, func(a annotation) bool { return a.key == key })
	if i < 0 {
		i = len(*l)
		*l = append(*l, annotation{key: key})
	}
	if a := &(*l)[i]; !slices.Contains(a.values, value) {
		a.values = append(a.values, value)
	}
}

// publish adds the annotations to the audit record. It joins the values of a key with ", ".
func (l annotations) publish(policy string, a *admission.Attributes) {
	for _, each := range l {
		a.Annotate(policy+"/"+each.key, strings.Join(each.values, ", "))
	}
}
