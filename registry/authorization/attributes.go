package authorization

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// attributesOf returns the attributes of a review about a user that the review names.
func attributesOf(spec *authorizationv1.SubjectAccessReviewSpec) *request.Attributes {
	user := &request.User{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	if spec.Extra != nil {
		user.Extra = make(map[string][]string, len(spec.Extra))
		for key, values := range spec.Extra {
			user.Extra[key] = values
		}
	}
	return attributesFor(user, spec.ResourceAttributes, spec.NonResourceAttributes)
}

// attributesFor returns the attributes of a review about user: a resource, or a path if res is nil.
// checkAttributes has made sure that exactly one of them is set. A resource without a version
// stands for all versions ("*").
func attributesFor(user *request.User, res *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes) *request.Attributes {
	if res == nil {
		return &request.Attributes{User: user, Verb: path.Verb, Path: path.Path}
	}
	return &request.Attributes{
		User: user, Verb: res.Verb, IsResource: true, Namespace: res.Namespace, Group: res.Group,
		Version:  cmp.Or(res.Version, "*"),
		Resource: res.Resource, Subresource: res.Subresource, Name: res.Name, Selected: selectorsOf(res),
	}
}

// selectorsOf parses the selectors of a review. It returns nil if the review has none. Requirements
// take precedence over a raw selector; checkForms refuses a review with both.
func selectorsOf(a *authorizationv1.ResourceAttributes) *request.Selected {
	if a.FieldSelector == nil && a.LabelSelector == nil {
		return nil
	}
	s := new(request.Selected)
	if f := a.FieldSelector; f != nil {
		if s.Fields, s.FieldsErr = meta.ParseFields(f.RawSelector); len(f.Requirements) > 0 {
			s.Fields, s.FieldsErr = fieldsOf(f.Requirements)
		}
	}
	if l := a.LabelSelector; l != nil {
		if s.Labels, s.LabelsErr = meta.ParseLabels(l.RawSelector); len(l.Requirements) > 0 {
			s.Labels, s.LabelsErr = labelsOf(l.Requirements)
		}
	}
	return s
}

// fieldsOf returns the requirements in list that a field selector can express, and an error about
// the others: the operator must be In or NotIn with exactly one value.
func fieldsOf(list []meta.FieldSelectorRequirement) (meta.FieldRequirements, error) {
	var out meta.FieldRequirements
	var errs []error
	for _, r := range list {
		equals, differs := r.Operator == meta.FieldSelectorOpIn, r.Operator == meta.FieldSelectorOpNotIn
		if !equals && !differs || len(r.Values) != 1 {
			errs = append(errs, fmt.Errorf("requirement %s of field %q with %d values is not known",
				r.Operator, r.Key, len(r.Values)))
			continue
		}
		out = append(out, meta.FieldRequirement{Field: r.Key, Value: r.Values[0], Not: differs})
	}
	return out, errors.Join(errs...)
}

// labelOperators maps the operators of requirements on labels to the operators of selectors.
var labelOperators = map[meta.LabelSelectorOperator]meta.SelectorOperator{
	meta.LabelSelectorOpIn: meta.OpIn, meta.LabelSelectorOpNotIn: meta.OpNotIn,
	meta.LabelSelectorOpExists: meta.OpExists, meta.LabelSelectorOpDoesNotExist: meta.OpDoesNotExist,
}

// labelsOf returns the requirements in list that are valid, and an error about the others.
func labelsOf(list []meta.LabelSelectorRequirement) (meta.LabelRequirements, error) {
	var out meta.LabelRequirements
	var errs []error
	for _, r := range list {
		op, ok := labelOperators[r.Operator]
		if !ok {
			errs = append(errs, fmt.Errorf("%q is not a valid label selector operator", r.Operator))
			continue
		}
		required, err := meta.NewLabelRequirement(r.Key, op, slices.Clone(r.Values))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, required)
	}
	return out, errors.Join(errs...)
}
