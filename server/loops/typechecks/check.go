package typechecks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file has Check, which finds the mistakes in the types of a policy's expressions.
// Loop.reconcile calls it with the kinds that are served (kinds.go).

// Kinds are the kinds of objects that a server has.
type Kinds interface {
	// KindsOf returns the kinds of a resource, none if there is no such resource.
	KindsOf(gvr meta.GroupVersionResource) []meta.GroupVersionKind
	// Schema returns the schema of a kind with all models inlined; ok is false if there is none. A
	// nil schema is that of a kind whose values no expression can name.
	Schema(gvk meta.GroupVersionKind) (s *schema.Schema, ok bool)
}

// maxKinds is the largest number of kinds for which the expressions are checked because of one
// rule.
const maxKinds = 10

// maxText bounds the warnings about one policy, in bytes, because the policy has to be stored
// together with them. The warning that exceeds the bound is cut, and later expressions are not
// checked.
const maxText = 256 << 10

// Check returns the warnings about the expressions of a policy: what would fail for objects of the
// kinds that its rules name. The texts are Kubernetes'. Wildcards and subresources name no kind.
// The warnings are not complete if ctx has ended.
func Check(ctx context.Context, policy *admissionregistrationv1.ValidatingAdmissionPolicy, kinds Kinds) (
	warnings []admissionregistrationv1.ExpressionWarning,
) {
	typings, size := typingsOf(&policy.Spec, kinds), 0
	warn := func(fieldRef, expression string) {
		if size >= maxText || ctx.Err() != nil {
			return
		}
		if text := typings.check(expression); text != "" {
			text = field.Cut(text, maxText-size)
			size += len(text)
			warnings = append(warnings, admissionregistrationv1.ExpressionWarning{FieldRef: fieldRef, Warning: text})
		}
	}
	for i := range policy.Spec.Validations {
		v := &policy.Spec.Validations[i]
		at := fmt.Sprintf("spec.validations[%d].", i)
		warn(at+"expression", v.Expression)
		if v.MessageExpression != "" {
			warn(at+"messageExpression", v.MessageExpression)
		}
	}
	return warnings
}

// typing holds what the expressions may name for objects of one kind.
type typing struct {
	kind meta.GroupVersionKind
	*policies.Typing
}

type typings []typing

// check returns the warning about an expression, with a paragraph for each kind; "" for none.
func (l typings) check(expression string) string {
	var paragraphs []string
	for i := range l {
		if err := l[i].Check(expression); err != nil {
			paragraphs = append(paragraphs, fmt.Sprintf("%v: %s\n", l[i].kind, err))
		}
	}
	return strings.Join(paragraphs, "\n")
}

// typingsOf returns a typing for each kind that the rules of a policy name and that has a schema.
func typingsOf(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, kinds Kinds) (list typings) {
	params := paramsOf(spec.ParamKind, kinds)
	for _, gvk := range kindsOf(spec.MatchConstraints, kinds) {
		s, ok := kinds.Schema(gvk)
		if !ok {
			continue
		}
		t, err := policies.NewTyping(policies.Typed{Name: gvk.Kind + "1", Schema: s}, params)
		if err != nil {
			continue // no expression is at fault
		}
		for _, v := range spec.Variables {
			t.Declare(v.Name, v.Expression)
		}
		list = append(list, typing{gvk, t})
	}
	return list
}

// paramsOf returns the type of parameters, nil if the policy takes none. The types of objects and
// of parameters have different names, even if both are of one kind.
func paramsOf(k *admissionregistrationv1.ParamKind, kinds Kinds) *policies.Typed {
	if k == nil {
		return nil
	}
	gv, ok := meta.ParseGroupVersion(k.APIVersion)
	if !ok {
		return nil
	}
	s, _ := kinds.Schema(gv.WithKind(k.Kind))
	return &policies.Typed{Name: k.Kind + "2", Schema: s}
}

// kindsOf returns the kinds that the rules of match name, sorted by group, version and kind.
func kindsOf(match *admissionregistrationv1.MatchResources, kinds Kinds) []meta.GroupVersionKind {
	if match == nil {
		return nil
	}
	found := map[meta.GroupVersionKind]bool{}
	for i := range match.ResourceRules {
		if addKinds(found, &match.ResourceRules[i].Rule, kinds) {
			break
		}
	}
	var list []meta.GroupVersionKind
	for gvk := range found {
		list = append(list, gvk)
	}
	slices.SortFunc(list, func(a, b meta.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// addKinds adds the kinds that a rule names to found, and reports whether the rule names maxKinds
// or more. The caller then ignores further rules, as Kubernetes does.
func addKinds(found map[meta.GroupVersionKind]bool, r *admissionregistrationv1.Rule, kinds Kinds) (full bool) {
	if anyHas(r.APIGroups, "*") || anyHas(r.APIVersions, "*") {
		return false
	}
	count := 0
	for _, group := range sorted(r.APIGroups) {
		for _, version := range sorted(r.APIVersions) {
			for _, resource := range sorted(r.Resources) {
				if strings.ContainsAny(resource, "*/") {
					continue
				}
				gvr := meta.GroupVersionResource{Group: group, Version: version, Resource: resource}
				for _, gvk := range kinds.KindsOf(gvr) {
					found[gvk] = true
					if count++; count == maxKinds {
						return true
					}
				}
			}
		}
	}
	return false
}

func anyHas(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
