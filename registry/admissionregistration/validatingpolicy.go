package admissionregistration

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The resources validatingadmissionpolicies and validatingadmissionpolicybindings: their
// declarations and their validation. Resources (doc.go) calls validatingPolicies and
// validatingBindings.

// validatingPolicies declares the resource validatingadmissionpolicies. A write to the subresource
// status keeps metadata and spec as they are stored.
func validatingPolicies() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.ValidatingAdmissionPolicy]{
		GroupResource: resource("validatingadmissionpolicies"),
		Kind:          "ValidatingAdmissionPolicy",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.ValidatingAdmissionPolicy]{
			Metadata: registry.MetaRepeat,
			ValidateRequest: func(r *registry.Request, _ field.ErrorList,
				policy, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
				return checkValidatingPolicy(r.Context, policy, old)
			},
			Warnings: nameWarnings[*admissionregistrationv1.ValidatingAdmissionPolicy],
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*admissionregistrationv1.ValidatingAdmissionPolicy]{
			Prepare:     registry.KeepMeta[*admissionregistrationv1.ValidatingAdmissionPolicy],
			Validate:    checkPolicyStatus,
			ResetFields: []string{"metadata", "spec"},
			Warnings:    nameWarnings[*admissionregistrationv1.ValidatingAdmissionPolicy],
		},
		Table: &registry.TableOf[*admissionregistrationv1.ValidatingAdmissionPolicy]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.IntegerColumn("Validations", "How much must hold for a request.", 0),
				registry.Column("ParamKind", "Kind of the objects that hold parameters.", 0),
				registry.AgeColumn,
			},
			Cells: func(p *admissionregistrationv1.ValidatingAdmissionPolicy, now time.Time) []any {
				return []any{p.Name, int64(len(p.Spec.Validations)), paramKindCell(p.Spec.ParamKind),
					registry.Age(&p.ObjectMeta, now)}
			},
		},
	})
}

// checkValidatingPolicy validates policy, which replaces old, nil if policy is new. Match
// conditions that did not change are not compiled again unless the kind of the parameters changed,
// because their type depends on it. All other expressions are compiled with every write. A policy
// with neither validations nor audit annotations is refused, because it would have no effect.
func checkValidatingPolicy(ctx context.Context,
	policy, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	p, s := field.NewPath("spec"), &policy.Spec
	errs := checkPolicy(p, s.FailurePolicy, s.ParamKind, s.MatchConstraints)
	if old == nil || !scheme.Equal(s.ParamKind, old.Spec.ParamKind) ||
		!scheme.Equal(&s.MatchConditions, &old.Spec.MatchConditions) {
		errs = append(errs, checkMatchConditions(policies.New(ctx), p.Child("matchConditions"), s.MatchConditions,
			s.ParamKind != nil)...)
	}
	e, uses := policies.New(ctx), policies.Uses{Params: s.ParamKind != nil, Authorizer: true}
	if len(s.Variables) > 0 {
		e = policies.WithVariables(ctx)
	}
	errs = append(errs, checkVariables(e, p.Child("variables"), s.Variables, uses)...)
	validations, annotations := p.Child("validations"), p.Child("auditAnnotations")
	if len(s.Validations)+len(s.AuditAnnotations) == 0 {
		const either = "validations or auditAnnotations must contain at least one item"
		return append(errs, field.Required(validations, either), field.Required(annotations, either))
	}
	for i, v := range field.Each(&errs, s.Validations) {
		errs = append(errs, checkValidation(e, validations.Index(i), v, uses)...)
	}
	return append(errs, checkAuditAnnotations(e, annotations, policy.Name, s.AuditAnnotations, uses)...)
}

// checkValidation validates one validation. Its message expression cannot use the authorizer.
func checkValidation(e *policies.Scope, p *field.Path, v *admissionregistrationv1.Validation,
	uses policies.Uses) field.ErrorList {
	errs := checkExpression(e, p.Child("expression"), v.Expression, "expression is not specified", uses, types.BoolType)
	message := p.Child("messageExpression")
	if errs = append(errs, checkNotBlank(message, v.MessageExpression)...); !isBlank(v.MessageExpression) {
		errs = append(errs, listOf(e.Check(message, v.MessageExpression, policies.Uses{Params: uses.Params},
			types.StringType))...)
	}
	errs = append(errs, checkNotBlank(p.Child("message"), v.Message)...)
	if strings.ContainsAny(strings.TrimSpace(v.Message), "\n\r") {
		errs = append(errs, field.Invalid(p.Child("message"), v.Message, "must not contain line breaks"))
	}
	return append(errs, check.OptionalOneOf(p.Child("reason"), v.Reason,
		meta.StatusReasonForbidden, meta.StatusReasonInvalid, meta.StatusReasonRequestEntityTooLarge)...)
}

// checkNotBlank refuses a text that is set but consists of white space.
func checkNotBlank(p *field.Path, text string) field.ErrorList {
	if text != "" && isBlank(text) {
		return field.ErrorList{field.Invalid(p, text, "must be non-empty if specified")}
	}
	return nil
}

// Limits of the audit annotations of a policy.
const (
	maxAuditAnnotations = 20
	maxAuditExpression  = 5 << 10 // bytes
)

// checkAuditAnnotations validates the audit annotations of the policy of that name. An annotation
// appears in audit events under the key <policy>/<key>, so that whole key is validated. uses says
// which variables the expressions may read. An expression that is too long is reported as required,
// as in kube-apiserver. Errors show the expression as it was sent, with its white space.
func checkAuditAnnotations(e *policies.Scope, p *field.Path, policy string,
	annotations []admissionregistrationv1.AuditAnnotation,
	uses policies.Uses) field.ErrorList {
	var errs field.ErrorList
	if len(annotations) > maxAuditAnnotations {
		errs = append(errs, field.Invalid(p, govalue.JSON(annotations),
			fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	}
	seen := check.Duplicates{}
	for i, a := range field.Each(&errs, annotations) {
		key, value := p.Index(i).Child("key"), p.Index(i).Child("valueExpression")
		if policy == "" {
			errs = append(errs, field.Invalid(key, a.Key, "requires metadata.name be non-empty"))
		} else {
			errs = append(errs, check.QualifiedName(key, policy+"/"+a.Key)...)
		}
		if text := strings.TrimSpace(a.ValueExpression); len(text) > maxAuditExpression {
			errs = append(errs, field.Required(value,
				fmt.Sprintf("must not exceed %d bytes in length", maxAuditExpression)))
		} else {
			wrong := checkExpression(e, value, text, "valueExpression is not specified", uses, types.StringType,
				types.NullType)
			for _, err := range wrong {
				if err.Type == field.ErrorTypeInvalid {
					err.BadValue = a.ValueExpression
				}
			}
			errs = append(errs, wrong...)
		}
		if !seen.Add(a.Key) {
			errs = append(errs, field.Duplicate(key, a.Key))
		}
	}
	return errs
}

// checkPolicyStatus validates the status of a policy: the warnings of type checking, and
// conditions.
func checkPolicyStatus(policy, _ *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	var errs field.ErrorList
	p, s := field.NewPath("status"), &policy.Status
	if s.TypeChecking != nil {
		for i, w := range field.Each(&errs, s.TypeChecking.ExpressionWarnings) {
			at := p.Child("typeChecking", "expressionWarnings").Index(i)
			errs = append(errs, check.Required(at.Child("warning"), w.Warning)...)
			errs = append(errs, check.Needed(at.Child("fieldRef"), strings.TrimSpace(w.FieldRef), check.JSONPath)...)
		}
	}
	return append(errs, check.Conditions(p.Child("conditions"), s.Conditions)...)
}

// validatingBindings declares the resource validatingadmissionpolicybindings.
func validatingBindings() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
		GroupResource: resource("validatingadmissionpolicybindings"),
		Kind:          "ValidatingAdmissionPolicyBinding",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
			Metadata: registry.MetaRepeat,
			Validate: checkValidatingBinding,
			Warnings: nameWarnings[*admissionregistrationv1.ValidatingAdmissionPolicyBinding],
		},
		Generation: []string{"spec"},
		Table: &registry.TableOf[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
			Columns: bindingColumns,
			Cells: func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding, now time.Time) []any {
				return []any{b.Name, b.Spec.PolicyName, paramRefCell(b.Spec.ParamRef), registry.Age(&b.ObjectMeta, now)}
			},
		},
	})
}

// bindingColumns are the columns of both kinds of bindings.
var bindingColumns = []meta.TableColumnDefinition{
	registry.NameColumn,
	registry.Column("PolicyName", "Name of the policy that is put into effect.", 0),
	registry.Column("ParamRef", "Objects that hold parameters.", 0),
	registry.AgeColumn,
}

// checkValidatingBinding validates a binding. It makes no difference whether the binding is new.
func checkValidatingBinding(b, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	p, s := field.NewPath("spec"), &b.Spec
	errs := checkBinding(p, s.PolicyName, s.ParamRef, s.MatchResources)
	return append(errs, checkActions(p.Child("validationActions"), s.ValidationActions)...)
}

// checkActions requires at least one action. Deny and Warn exclude each other, because the client
// would be told the same failure twice.
func checkActions(p *field.Path, actions []admissionregistrationv1.ValidationAction) field.ErrorList {
	if len(actions) == 0 {
		return field.ErrorList{field.Required(p, "at least one validation action is required")}
	}
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, a := range field.Each(&errs, actions) {
		errs = append(errs, check.Supported(p.Index(i), *a,
			admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn)...)
		if !seen.Add(string(*a)) {
			errs = append(errs, field.Duplicate(p.Index(i), *a))
		}
	}
	if seen[string(admissionregistrationv1.Deny)] && seen[string(admissionregistrationv1.Warn)] {
		errs = append(errs, field.Invalid(p, actions,
			"must not contain both Deny and Warn (repeating the same validation failure "+
				"information in the API response and headers serves no purpose)"))
	}
	return errs
}
