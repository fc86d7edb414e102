package admissionregistration

import (
	"context"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// mutatingPolicies declares the resource mutatingadmissionpolicies.
func mutatingPolicies() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.MutatingAdmissionPolicy]{
		GroupResource: resource("mutatingadmissionpolicies"),
		Kind:          "MutatingAdmissionPolicy",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.MutatingAdmissionPolicy]{
			Metadata: registry.MetaRepeat,
			ValidateRequest: func(r *registry.Request, _ field.ErrorList,
				policy, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
				return checkMutatingPolicy(r.Context, policy, old)
			},
			Warnings: nameWarnings[*admissionregistrationv1.MutatingAdmissionPolicy],
		},
		Generation: []string{"spec"},
		Table: &registry.TableOf[*admissionregistrationv1.MutatingAdmissionPolicy]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.IntegerColumn("Mutations", "How many changes are made.", 0),
				registry.Column("ParamKind", "Kind of the objects that hold parameters.", 0),
				registry.AgeColumn,
			},
			Cells: func(p *admissionregistrationv1.MutatingAdmissionPolicy, now time.Time) []any {
				return []any{p.Name, int64(len(p.Spec.Mutations)), paramKindCell(p.Spec.ParamKind),
					registry.Age(&p.ObjectMeta, now)}
			},
		},
	})
}

// checkMutatingPolicy validates policy, which replaces old, nil if policy is new. Match conditions
// that did not change are not compiled again unless the kind of the parameters changed, because
// their type depends on it. Match conditions cannot use variables, so they are compiled in a Scope
// of their own.
func checkMutatingPolicy(ctx context.Context,
	policy, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	p, s := field.NewPath("spec"), &policy.Spec
	errs := checkPolicy(p, s.FailurePolicy, s.ParamKind, s.MatchConstraints)
	errs = append(errs, checkMutable(p.Child("matchConstraints"), s.MatchConstraints)...)
	if old == nil || !scheme.Equal(s.ParamKind, old.Spec.ParamKind) ||
		!scheme.Equal(&s.MatchConditions, &old.Spec.MatchConditions) {
		errs = append(errs, checkMatchConditions(policies.New(ctx), p.Child("matchConditions"), s.MatchConditions,
			s.ParamKind != nil)...)
	}
	e, uses := policies.WithVariables(ctx), policies.Uses{Params: s.ParamKind != nil, Authorizer: true}
	errs = append(errs, checkVariables(e, p.Child("variables"), s.Variables, uses)...)
	uses.Patches = true
	mutations := p.Child("mutations")
	if len(s.Mutations) == 0 {
		errs = append(errs, field.Required(mutations, "mutations must contain at least one item"))
	}
	for i, m := range field.Each(&errs, s.Mutations) {
		errs = append(errs, checkMutation(e, mutations.Index(i), m, uses)...)
	}
	return append(errs, check.OneOf(p.Child("reinvocationPolicy"), s.ReinvocationPolicy, reinvocationPolicies...)...)
}

// checkMutation validates one mutation: the field for its patch type is set, and the field for the
// other type is not. An apply configuration has the type Object, a JSON patch is a list of
// JSONPatch.
func checkMutation(e *policies.Scope, p *field.Path, m *admissionregistrationv1.Mutation,
	uses policies.Uses) field.ErrorList {
	apply, patch := p.Child("applyConfiguration"), p.Child("jsonPatch")
	var errs field.ErrorList
	switch m.PatchType {
	case admissionregistrationv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, field.Required(patch, "must be specified when patchType is JSONPatch"))
		} else {
			errs = append(errs, checkExpression(e, patch.Child("expression"), strings.TrimSpace(m.JSONPatch.Expression),
				"", uses,
				types.NewListType(policies.JSONPatchType))...)
		}
		if m.ApplyConfiguration != nil {
			errs = append(errs, field.Invalid(apply, "{applyConfiguration}",
				"must not be specified when patchType is JSONPatch"))
		}
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			errs = append(errs, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		} else {
			errs = append(errs, checkExpression(e, apply.Child("expression"),
				strings.TrimSpace(m.ApplyConfiguration.Expression), "", uses,
				policies.ObjectType)...)
		}
		if m.JSONPatch != nil {
			errs = append(errs, field.Invalid(patch, "{jsonPatch}",
				"must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		return check.OneOf(p.Child("patchType"), m.PatchType,
			admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch)
	}
	return errs
}

// mutatingBindings declares the resource mutatingadmissionpolicybindings.
func mutatingBindings() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
		GroupResource: resource("mutatingadmissionpolicybindings"),
		Kind:          "MutatingAdmissionPolicyBinding",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
			Metadata: registry.MetaRepeat,
			Validate: checkMutatingBinding,
			Warnings: nameWarnings[*admissionregistrationv1.MutatingAdmissionPolicyBinding],
		},
		Generation: []string{"spec"},
		Table: &registry.TableOf[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
			Columns: bindingColumns,
			Cells: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding, now time.Time) []any {
				return []any{b.Name, b.Spec.PolicyName, paramRefCell(b.Spec.ParamRef), registry.Age(&b.ObjectMeta, now)}
			},
		},
	})
}

// checkMutatingBinding validates a binding. It makes no difference whether the binding is new.
func checkMutatingBinding(b, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	p, s := field.NewPath("spec"), &b.Spec
	errs := checkBinding(p, s.PolicyName, s.ParamRef, s.MatchResources)
	return append(errs, checkMutable(p.Child("matchResources"), s.MatchResources)...)
}
