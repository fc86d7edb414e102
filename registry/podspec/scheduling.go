package podspec

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks what decides on which node a pod may run: tolerations, affinity and topology
// spread constraints. specCheck.check calls it. MergeMatchKeys is for registry/core, which calls it
// when a pod is created.

// TaintEffects are the effects that a taint can have on pods that do not tolerate it, in the order
// in which messages list them. Callers must not change the list.
var TaintEffects = []corev1.TaintEffect{
	corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
}

// Tolerations returns what is wrong with new tolerations at p outside of a pod, such as those of a
// RuntimeClass.
func Tolerations(p *field.Path, list []corev1.Toleration) field.ErrorList {
	return Rules{}.Tolerations(p, list)
}

// Tolerations returns what is wrong with the tolerations at p of a pod or template. The operators
// Lt and Gt, which compare numbers (KEP-5471), are not served: only an update of a pod that uses
// them may have them.
func (r Rules) Tolerations(p *field.Path, list []corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	for i, t := range field.Each(&errs, list) {
		p := p.Index(i)
		if t.Key != "" {
			errs = append(errs, check.QualifiedName(p.Child("key"), t.Key)...)
		} else if t.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(p.Child("operator"), t.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(p.Child("effect"), t.Effect,
				"effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			if msgs := names.IsValidLabelValue(t.Value); len(msgs) > 0 {
				errs = append(errs, field.Invalid(p.Child("operator"), t.Value, strings.Join(msgs, ";")))
			}
		case corev1.TolerationOpExists:
			if t.Value != "" {
				errs = append(errs, field.Invalid(p.Child("operator"), t.Value,
					"value must be empty when `operator` is 'Exists'"))
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			if !r.was.has(numericTolerations) {
				errs = append(errs, field.NotSupported(p.Child("operator"), t.Operator, []corev1.TolerationOperator{
					corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
				break
			}
			errs = append(errs, checkDecimal(p.Child("value"), t.Value)...)
		default:
			errs = append(errs, check.Supported(p.Child("operator"), t.Operator,
				corev1.TolerationOpEqual, corev1.TolerationOpExists)...)
		}
		if t.Effect != "" {
			errs = append(errs, check.Supported(p.Child("effect"), t.Effect, TaintEffects...)...)
		}
	}
	return errs
}

var decimalInteger = names.Pattern(`^(0|-?[1-9][0-9]*)$`)

// checkDecimal checks the value of an Lt or Gt toleration: a decimal integer of 64 bits without
// plus sign or leading zeros.
func checkDecimal(p *field.Path, text string) field.ErrorList {
	var errs field.ErrorList
	if text == "" {
		errs = append(errs, field.Invalid(p, text, "must be non-empty"))
	} else if !decimalInteger().MatchString(text) {
		errs = append(errs, field.Invalid(p, text, "must be a valid decimal integer in canonical form"))
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		errs = append(errs, field.Invalid(p, text, err.Error()))
	}
	return errs
}

// checkAffinity checks affinity for nodes, then affinity and anti-affinity for other pods. Required
// terms must hold; preferred terms have a weight from 1 to 100 each.
func (c *specCheck) checkAffinity(p *field.Path, a *corev1.Affinity) field.ErrorList {
	if a == nil {
		return nil
	}
	var errs field.ErrorList
	if n := a.NodeAffinity; n != nil {
		p := p.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			errs = append(errs, checkNodeSelector(p.Child(hardTerms), n.RequiredDuringSchedulingIgnoredDuringExecution,
				c.was.has(invalidNodeValues))...)
		}
		for i, term := range field.Each(&errs, n.PreferredDuringSchedulingIgnoredDuringExecution) {
			p := p.Child(softTerms).Index(i)
			errs = append(errs, checkWeight(p, term.Weight)...)
			errs = append(errs, checkNodeTerm(p.Child("preference"), &term.Preference, true)...)
		}
	}
	for t := range podTerms(p, a) {
		if errs.Full() {
			break
		}
		if t.soft != nil {
			errs = append(errs, checkWeight(t.at, t.soft.Weight)...)
		}
		errs = append(errs, c.checkPodTerm(t.path, t.PodAffinityTerm)...)
	}
	return errs
}

// NodeAffinity returns the node affinity of a spec, nil if it has none.
func NodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if spec.Affinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity
}

// The JSON names of the two lists of terms that each affinity has: required terms, and preferred
// terms.
const (
	hardTerms = "requiredDuringSchedulingIgnoredDuringExecution"
	softTerms = "preferredDuringSchedulingIgnoredDuringExecution"
)

// podTerm is a term about other pods, with its path. Of a preferred term, soft is the weighted term
// that contains it, and at is its path; both are nil for a required term.
type podTerm struct {
	*corev1.PodAffinityTerm
	path *field.Path
	soft *corev1.WeightedPodAffinityTerm
	at   *field.Path
}

// podTerms yields the terms about other pods in kube-apiserver's order: affinity before
// anti-affinity, required before preferred terms. a may be nil.
func podTerms(p *field.Path, a *corev1.Affinity) iter.Seq[podTerm] {
	return func(yield func(podTerm) bool) {
		list := func(p *field.Path, hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) bool {
			for i := range hard {
				if !yield(podTerm{PodAffinityTerm: &hard[i], path: p.Child(hardTerms).Index(i)}) {
					return false
				}
			}
			for i := range soft {
				at, s := p.Child(softTerms).Index(i), &soft[i]
				if !yield(podTerm{PodAffinityTerm: &s.PodAffinityTerm, path: at.Child("podAffinityTerm"),
					soft: s, at: at}) {
					return false
				}
			}
			return true
		}
		if a == nil {
			return
		}
		if t := a.PodAffinity; t != nil &&
			!list(p.Child("podAffinity"), t.RequiredDuringSchedulingIgnoredDuringExecution,
				t.PreferredDuringSchedulingIgnoredDuringExecution) {
			return
		}
		if t := a.PodAntiAffinity; t != nil {
			list(p.Child("podAntiAffinity"), t.RequiredDuringSchedulingIgnoredDuringExecution,
				t.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
}

// checkWeight checks the weight of the preferred term at p.
func checkWeight(p *field.Path, w int32) field.ErrorList {
	if w < 1 || w > 100 {
		return field.ErrorList{field.Invalid(p.Child("weight"), w, "must be in the range 1-100")}
	}
	return nil
}

// NodeSelector returns what is wrong with the node selector at p of an object other than a pod,
// such as a PersistentVolume or a ResourceSlice.
func NodeSelector(p *field.Path, s *corev1.NodeSelector) field.ErrorList {
	return checkNodeSelector(p, s, false)
}

// checkNodeSelector checks the terms of a node selector, of which a node must match one. anyValue
// allows values that no label can have.
func checkNodeSelector(p *field.Path, s *corev1.NodeSelector, anyValue bool) field.ErrorList {
	p = p.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(p, "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i, term := range field.Each(&errs, s.NodeSelectorTerms) {
		errs = append(errs, checkNodeTerm(p.Index(i), term, anyValue)...)
	}
	return errs
}

// checkNodeTerm checks one term. anyValue allows values that no label can have: preferred terms may
// always have them, required terms only if the old spec had such values.
func checkNodeTerm(p *field.Path, term *corev1.NodeSelectorTerm, anyValue bool) field.ErrorList {
	var errs field.ErrorList
	for i, r := range field.Each(&errs, term.MatchExpressions) {
		errs = append(errs, checkNodeExpression(p.Child("matchExpressions").Index(i), r, anyValue)...)
	}
	for i, r := range field.Each(&errs, term.MatchFields) {
		errs = append(errs, checkNodeField(p.Child("matchFields").Index(i), r)...)
	}
	return errs
}

// checkNodeExpression checks a requirement on a label of a node. Gt and Lt compare with one
// integer.
func checkNodeExpression(p *field.Path, r *corev1.NodeSelectorRequirement, anyValue bool) field.ErrorList {
	var errs field.ErrorList
	values := p.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	errs = append(errs, check.QualifiedName(p.Child("key"), r.Key)...)
	if anyValue {
		return errs
	}
	for i, v := range field.Each(&errs, r.Values) {
		errs = append(errs, check.Invalid(values.Index(i), *v, names.IsValidLabelValue(*v))...)
	}
	return errs
}

// checkNodeField checks a requirement on a field of a node. Only metadata.name is supported, and as
// a single name.
func checkNodeField(p *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
	var errs field.ErrorList
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(p.Child("values"),
				"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != "metadata.name" {
		return append(errs, field.Invalid(p.Child("key"), r.Key, "not a valid field selector key"))
	}
	for i, v := range field.Each(&errs, r.Values) {
		errs = append(errs, check.DNSSubdomain(p.Child("values").Index(i), *v)...)
	}
	return errs
}

// checkPodTerm checks a term about other pods. If the selectors of the old pod were invalid, their
// values are not checked. The topology key must be set, because an empty one would mean any node.
func (c *specCheck) checkPodTerm(p *field.Path, term *corev1.PodAffinityTerm) field.ErrorList {
	errs := checkTermSelectors(p, term.LabelSelector, term.NamespaceSelector)
	if len(errs) > 0 && c.was.has(invalidTermSelectors) {
		errs = checkTermSelectors(p, withEmptyValues(term.LabelSelector), withEmptyValues(term.NamespaceSelector))
	}
	for _, ns := range field.Each(&errs, term.Namespaces) {
		errs = append(errs, check.DNSLabel(p.Child("namespace"), *ns)...)
	}
	errs = append(errs, checkMatchKeys(p, term.MatchLabelKeys, term.MismatchLabelKeys, term.LabelSelector)...)
	if term.TopologyKey == "" {
		errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, check.QualifiedName(p.Child("topologyKey"), term.TopologyKey)...)
}

// checkTermSelectors checks the selectors of a term: for pods, and for the namespaces of those
// pods.
func checkTermSelectors(p *field.Path, pods, namespaces *meta.LabelSelector) field.ErrorList {
	errs := meta.ValidateLabelSelector(pods, p.Child("labelSelector"))
	return append(errs, meta.ValidateLabelSelector(namespaces, p.Child("namespaceSelector"))...)
}

// checkMatchKeys checks matchLabelKeys and mismatchLabelKeys of the term or constraint at p
// (KEP-3633, KEP-3243). On create MergeMatchKeys adds each key to the selector s with the pod's own
// value. So a key of match stands in the selector once at most, and no key is in both lists. An
// index is appended to p itself in one message, as in kube-apiserver.
func checkMatchKeys(p *field.Path, match, mismatch []string, s *meta.LabelSelector) field.ErrorList {
	errs := checkLabelKeys(p.Child("matchLabelKeys"), match, s)
	errs = append(errs, checkLabelKeys(p.Child("mismatchLabelKeys"), mismatch, s)...)
	if s != nil && len(match) > 0 {
		index := make(map[string]int, len(match))
		for i, key := range match {
			index[key] = i
		}
		selected := check.Duplicates{}
		for key := range s.MatchLabels {
			selected.Add(key)
		}
		for _, e := range field.Each(&errs, s.MatchExpressions) {
			if i, ok := index[e.Key]; ok && selected[e.Key] {
				errs = append(errs, field.Invalid(p.Index(i), e.Key, "exists in both matchLabelKeys and labelSelector"))
			}
			selected.Add(e.Key)
		}
	}
	other := check.Duplicates{}
	for _, key := range mismatch {
		other.Add(key)
	}
	for i, key := range field.Each(&errs, match) {
		if other[*key] {
			errs = append(errs, field.Invalid(p.Child("matchLabelKeys").Index(i), *key,
				"exists in both matchLabelKeys and mismatchLabelKeys"))
		}
	}
	return errs
}

// checkUnmergedKeys checks the keys of a spread constraint by the rule of servers that did not
// merge them into the selector: no key is in the selector at all.
func checkUnmergedKeys(p *field.Path, keys []string, s *meta.LabelSelector) field.ErrorList {
	var errs field.ErrorList
	selected := check.Duplicates{}
	switch {
	case s != nil:
		for key := range s.MatchLabels {
			selected.Add(key)
		}
		for _, e := range s.MatchExpressions {
			selected.Add(e.Key)
		}
	case len(keys) > 0:
		errs = append(errs, field.Forbidden(p, "must not be specified when labelSelector is not set"))
	}
	for i, key := range field.Each(&errs, keys) {
		errs = append(errs, check.QualifiedName(p.Index(i), *key)...)
		if selected[*key] {
			errs = append(errs, field.Invalid(p.Index(i), *key, "exists in both matchLabelKeys and labelSelector"))
		}
	}
	return errs
}

// checkLabelKeys checks that keys are label keys, and that there is a selector to which to add
// them.
func checkLabelKeys(p *field.Path, keys []string, s *meta.LabelSelector) field.ErrorList {
	if s == nil && len(keys) > 0 {
		return field.ErrorList{field.Forbidden(p, "must not be specified when labelSelector is not set")}
	}
	var errs field.ErrorList
	for i, key := range field.Each(&errs, keys) {
		errs = append(errs, check.QualifiedName(p.Index(i), *key)...)
	}
	return errs
}

// checkSpread checks topology spread constraints. No two have the same topology key and action; the
// earlier one is reported. last finds the last of each pair, so the check takes linear time.
func (c *specCheck) checkSpread(p *field.Path, list []corev1.TopologySpreadConstraint) field.ErrorList {
	var errs field.ErrorList
	type pair struct {
		key    string
		action corev1.UnsatisfiableConstraintAction
	}
	last := make(map[pair]int, len(list))
	for i, rule := range list {
		last[pair{rule.TopologyKey, rule.WhenUnsatisfiable}] = i
	}
	for i, rule := range field.Each(&errs, list) {
		p := p.Index(i)
		errs = append(errs, check.Positive(p.Child("maxSkew"), rule.MaxSkew)...)
		if rule.TopologyKey == "" {
			errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
		}
		errs = append(errs, check.Supported(p.Child("whenUnsatisfiable"), rule.WhenUnsatisfiable,
			corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
		if last[pair{rule.TopologyKey, rule.WhenUnsatisfiable}] > i {
			errs = append(errs, field.Duplicate(p.Child("{topologyKey, whenUnsatisfiable}"),
				fmt.Sprintf("{%s, %s}", rule.TopologyKey, rule.WhenUnsatisfiable)))
		}
		errs = append(errs, checkMinDomains(p.Child("minDomains"), rule)...)
		errs = append(errs, check.OptionalOneOf(p.Child("nodeAffinityPolicy"), rule.NodeAffinityPolicy,
			inclusionPolicies...)...)
		errs = append(errs, check.OptionalOneOf(p.Child("nodeTaintsPolicy"), rule.NodeTaintsPolicy,
			inclusionPolicies...)...)
		if c.was.has(brokenMatchKeys) {
			errs = append(errs, checkUnmergedKeys(p.Child("matchLabelKeys"), rule.MatchLabelKeys,
				rule.LabelSelector)...)
		} else {
			errs = append(errs, checkMatchKeys(p, rule.MatchLabelKeys, nil, rule.LabelSelector)...)
		}
		if !c.was.has(invalidSpreadSelectors) {
			errs = append(errs, meta.ValidateLabelSelector(rule.LabelSelector, p.Child("labelSelector"))...)
		}
	}
	return errs
}

var inclusionPolicies = []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}

// checkMinDomains checks minDomains, the number of topology domains that the scheduler expects. If
// there are fewer, the scheduler acts as if there were another domain without pods. The field has a
// meaning only for constraints that must hold.
func checkMinDomains(p *field.Path, c *corev1.TopologySpreadConstraint) field.ErrorList {
	if c.MinDomains == nil {
		return nil
	}
	errs := check.Positive(p, *c.MinDomains)
	if c.WhenUnsatisfiable != corev1.DoNotSchedule {
		errs = append(errs, field.Invalid(p, *c.MinDomains, fmt.Sprintf(
			"can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)))
	}
	return errs
}

// MergeMatchKeys adds the matchLabelKeys and mismatchLabelKeys of a new pod's affinity terms and
// spread constraints to their selectors, with the pod's own values (KEP-3633, KEP-3243). Schedulers
// then need to look at selectors only. A key that the pod has no label for adds nothing.
func MergeMatchKeys(pod *corev1.Pod) {
	merge := func(s *meta.LabelSelector, keys []string, op meta.LabelSelectorOperator) {
		if s == nil {
			return
		}
		for _, key := range keys {
			if value, ok := pod.Labels[key]; ok {
				s.MatchExpressions = append(s.MatchExpressions,
					meta.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}})
			}
		}
	}
	for t := range podTerms(nil, pod.Spec.Affinity) {
		merge(t.LabelSelector, t.MatchLabelKeys, "In")
		merge(t.LabelSelector, t.MismatchLabelKeys, "NotIn")
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		merge(c.LabelSelector, c.MatchLabelKeys, "In")
	}
}
