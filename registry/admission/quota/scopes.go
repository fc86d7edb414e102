package quota

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the scopes of quotas. A quota has scopes in two lists: spec.scopes has names only,
// spec.scopeSelector can compare values.

// eachScope calls f with all scopes of a quota and stops at the first error.
func eachScope(q *corev1.ResourceQuota, f func(*corev1.ScopedResourceSelectorRequirement) error) error {
	for _, name := range q.Spec.Scopes {
		r := corev1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: corev1.ScopeSelectorOpExists}
		if err := f(&r); err != nil {
			return err
		}
	}
	if q.Spec.ScopeSelector == nil {
		return nil
	}
	list := q.Spec.ScopeSelector.MatchExpressions
	for i := range list {
		if err := f(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// selectorOperators translates the operators of scopes to those of label selectors.
var selectorOperators = map[corev1.ScopeSelectorOperator]meta.SelectorOperator{
	corev1.ScopeSelectorOpIn:           meta.OpIn,
	corev1.ScopeSelectorOpNotIn:        meta.OpNotIn,
	corev1.ScopeSelectorOpExists:       meta.OpExists,
	corev1.ScopeSelectorOpDoesNotExist: meta.OpDoesNotExist,
}

// compare reports whether one of values fits a scope that compares values. If there are no values,
// the scope is matched like a label selector against an object without the label. It returns an
// error if the values of the scope are not valid values of labels; a stored quota may have such a
// scope.
func compare(r *corev1.ScopedResourceSelectorRequirement, values ...string) (bool, error) {
	if r.Operator == corev1.ScopeSelectorOpExists {
		return len(values) > 0, nil
	}
	op, ok := selectorOperators[r.Operator]
	if !ok {
		return false, fmt.Errorf("failed to parse and convert selector: %q is not a valid scope selector operator",
			string(r.Operator))
	}
	// NewLabelRequirement keeps the slice that it gets.
	requirement, err := meta.NewLabelRequirement(string(r.ScopeName), op, slices.Clone(r.Values))
	if err != nil {
		return false, fmt.Errorf("failed to parse and convert selector: %w", err)
	}
	if len(values) == 0 {
		return requirement.Matches(meta.Set{}), nil
	}
	for _, value := range values {
		if requirement.Matches(scopeValue{string(r.ScopeName), value}) {
			return true, nil
		}
	}
	return false, nil
}

// scopeValue is a set of one label.
type scopeValue struct{ key, value string }

// Get returns the value if key is the scope.
func (s scopeValue) Get(key string) (string, bool) { return s.value, key == s.key }
