package policyv1

import (
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// emptySelectorKey is a label that no pod has. Selectors of budgets that were converted use it.
const emptySelectorKey = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// addStored registers the version in which budgets may be stored although nobody is served in it.
// Its fields are those of v1, but an empty selector selects no pod there, and every pod in v1.
func addStored(s *scheme.Scheme) {
	const kind = "PodDisruptionBudget"
	s.AddStored(Beta1.WithKind(kind), GroupVersion.WithKind(kind).GroupKind(), &budgetBeta{})
	scheme.AddConversion(s, func(in *budgetBeta, out *PodDisruptionBudget) error {
		if err := scheme.ConvertFields(s, in, out); err != nil {
			return err
		}
		if out.Spec.Selector != nil {
			out.Spec.Selector = selectorOfBeta(out.Spec.Selector)
		}
		return nil
	})
}

type budgetBeta PodDisruptionBudget

// selectorOfBeta returns what selects in v1 as the selector does in v1beta1. It may change the
// selector. Requirements of emptySelectorKey are taken out: the only one that v1beta1 needs means
// every pod, as does the selector that is left without it.
func selectorOfBeta(selector *meta.LabelSelector) *meta.LabelSelector {
	if scheme.Equal(selector, &meta.LabelSelector{}) {
		return &meta.LabelSelector{MatchExpressions: []meta.LabelSelectorRequirement{
			{Key: emptySelectorKey, Operator: meta.LabelSelectorOpExists},
		}}
	}
	selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions,
		func(r meta.LabelSelectorRequirement) bool { return r.Key == emptySelectorKey },
	)
	return selector
}
