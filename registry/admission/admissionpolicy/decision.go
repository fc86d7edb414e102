package admissionpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"

	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file evaluates a validating policy with one object of params. validating.go calls validate
// for each binding of the policy and each object of its params, and then acts on the decisions.

// validation is a compiled validating policy.
type validation struct {
	conditions *policies.Conditions
	checks     []v1.Validation
	keys       []v1.AuditAnnotation
	// The expressions of checks, their messageExpressions, and the expressions of keys.
	expressions, messages, values *policies.Set
	// messagesCost is more than all messages and the variables that they read can cost.
	messagesCost cel.Budget
}

// compileValidation compiles a policy. Expressions of messages and annotations are evaluated
// without an authorizer, as in Kubernetes. A message that uses the authorizer does not even
// compile.
func compileValidation(spec *v1.ValidatingAdmissionPolicySpec) *validation {
	scope := policies.WithVariables(context.Background())
	uses := policies.Uses{Params: spec.ParamKind != nil, Authorizer: true}
	for _, each := range spec.Variables {
		scope.Variable(each.Name, each.Expression, uses)
	}
	v := &validation{
		checks: spec.Validations, keys: spec.AuditAnnotations,
		conditions: scope.Conditions(spec.MatchConditions, uses, ignores(spec.FailurePolicy)),
	}
	expressions := make([]*policies.Expression, len(v.checks))
	messages := make([]*policies.Expression, len(v.checks))
	plain := policies.Uses{Params: uses.Params}
	for i := range v.checks {
		expressions[i] = scope.Compile(v.checks[i].Expression, uses, types.BoolType)
		if text := v.checks[i].MessageExpression; text != "" {
			messages[i] = scope.Compile(text, plain, types.StringType)
			v.messagesCost += 2 * cel.CallLimit // a run may exceed the limit by its last step
		}
	}
	if v.messagesCost > 0 {
		v.messagesCost += cel.Budget(len(spec.Variables)) * 2 * cel.CallLimit
	}
	values := make([]*policies.Expression, len(v.keys))
	for i := range v.keys {
		values[i] = scope.Compile(v.keys[i].ValueExpression, uses, types.StringType, types.NullType)
	}
	v.expressions, v.messages, v.values = scope.Set(expressions...), scope.Set(messages...), scope.Set(values...)
	return v
}

// outcome is what a policy says about a request with one object of params.
type outcome struct {
	decisions   []decision // one for each validation, or a single one about a failure of the policy
	annotations []note
	// excluded says that the match conditions exclude the request, and match then says why.
	excluded bool
	match    policies.Match
}

// decision is what one validation says.
type decision struct {
	deny    bool
	failed  bool // the expression failed, so that failurePolicy has decided
	message string
	reason  meta.StatusReason
	took    time.Duration
}

// note is an audit annotation, or the failure of its expression.
type note struct {
	key, value string
	failure    string // "" if there is none
	took       time.Duration
}

// validate evaluates the policy. The messages share the budget that the validations leave. The
// annotations have a budget of their own. validate may change in.
func (v *validation) validate(
	ctx context.Context, f *facts, r *rule[*validation], shown *view, in *policies.Inputs,
) outcome {
	match := f.conditions(ctx, r.name, v.conditions, shown, *in)
	if match.Err != nil {
		return failed(r, match.Err)
	}
	if !match.Matched {
		return outcome{excluded: true, match: match}
	}
	budget := cel.ObjectBudget
	results, err := v.expressions.Evaluate(ctx, in, &budget)
	if err != nil {
		return failed(r, err)
	}
	in.Authorizer = nil
	out := outcome{decisions: v.decide(ctx, r, in, results, budget)}
	if len(v.keys) == 0 {
		return out
	}
	budget = cel.ObjectBudget
	values, err := v.values.Evaluate(ctx, in, &budget)
	if err != nil {
		return failed(r, err)
	}
	out.annotations = v.notes(r, values)
	return out
}

// decide returns the decisions that follow from the results of the validations. budget is that of
// the messages. If the messages exceed it, every validation fails, even a true one. So messages are
// evaluated if a validation is false, or if they might exceed the budget.
func (v *validation) decide(
	ctx context.Context, r *rule[*validation], in *policies.Inputs, results []policies.Result, budget cel.Budget,
) []decision {
	var messages []policies.Result
	var err error
	isFalse := func(r policies.Result) bool { return r.Value == types.False }
	if budget < v.messagesCost || slices.ContainsFunc(results, isFalse) {
		messages, err = v.messages.Evaluate(ctx, in, &budget)
	}
	decisions := make([]decision, len(results))
	for i := range results {
		d := &decisions[i]
		d.took = results[i].Took
		switch {
		case results[i].Err != nil:
			d.deny, d.failed, d.message = !r.ignore, true, results[i].Err.Error()
		case err != nil:
			d.deny, d.failed, d.message = !r.ignore, true, fmt.Sprintf("failed messageExpression: %s", err)
		case results[i].Value != types.True:
			d.deny, d.reason, d.message = true, meta.StatusReasonInvalid, messageOf(&v.checks[i], &messages[i])
			if reason := v.checks[i].Reason; reason != nil {
				d.reason = *reason
			}
		}
	}
	return decisions
}

// failed is the outcome of a policy that cannot be evaluated.
func failed(r *rule[*validation], err error) outcome {
	return outcome{decisions: []decision{{deny: !r.ignore, failed: true, message: err.Error()}}}
}

// maxMessage bounds the result of a messageExpression, in bytes.
const maxMessage = 5 << 10

// messageOf returns the message of a validation that is false. It is the result of
// messageExpression, unless that failed or is blank, too long or of several lines.
func messageOf(check *v1.Validation, result *policies.Result) string {
	if result.Err == nil && result.Value != nil {
		if text, ok := result.Value.Value().(string); ok {
			text = strings.TrimSpace(text)
			if text != "" && len(text) <= maxMessage && !strings.Contains(text, "\n") {
				return text
			}
		}
	}
	if text := strings.TrimSpace(check.Message); text != "" {
		return text
	}
	return "failed expression: " + strings.TrimSpace(check.Expression)
}

// notes returns the annotations to publish, and the failed ones unless the policy ignores failures.
func (v *validation) notes(r *rule[*validation], values []policies.Result) (list []note) {
	for i := range values {
		n := note{key: v.keys[i].Key, took: values[i].Took}
		switch err := values[i].Err; {
		case err != nil && r.ignore:
			continue
		case err != nil:
			n.failure = err.Error()
		default:
			text, _ := values[i].Value.Value().(string) // null, the only other type, publishes nothing
			if n.value = strings.TrimSpace(text); n.value == "" {
				continue
			}
		}
		list = append(list, n)
	}
	return list
}
