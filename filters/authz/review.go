package authz

import (
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The versions of SubjectAccessReview that a webhook may use.
const (
	ReviewV1      = "v1"
	ReviewV1beta1 = "v1beta1"
)

const reviewKind = "SubjectAccessReview"

// review is a SubjectAccessReview. Its two versions differ only in the name of the field for
// groups. The types below are its parts.
type review struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   struct{}     `json:"metadata"`
	Spec       reviewSpec   `json:"spec"`
	Status     reviewStatus `json:"status"`
}

type reviewSpec struct {
	ResourceAttributes    *reviewResource     `json:"resourceAttributes,omitempty"`
	NonResourceAttributes *reviewPath         `json:"nonResourceAttributes,omitempty"`
	User                  string              `json:"user,omitempty"`
	Groups                []string            `json:"groups,omitempty"` // v1
	Group                 []string            `json:"group,omitempty"`  // v1beta1
	Extra                 map[string][]string `json:"extra,omitempty"`
	UID                   string              `json:"uid,omitempty"`
}

type reviewResource struct {
	Namespace     string          `json:"namespace,omitempty"`
	Verb          string          `json:"verb,omitempty"`
	Group         string          `json:"group,omitempty"`
	Version       string          `json:"version,omitempty"`
	Resource      string          `json:"resource,omitempty"`
	Subresource   string          `json:"subresource,omitempty"`
	Name          string          `json:"name,omitempty"`
	FieldSelector *reviewSelector `json:"fieldSelector,omitempty"`
	LabelSelector *reviewSelector `json:"labelSelector,omitempty"`
}

type reviewPath struct {
	Path string `json:"path,omitempty"`
	Verb string `json:"verb,omitempty"`
}

type reviewSelector struct {
	Requirements []reviewRequirement `json:"requirements,omitempty"`
}

type reviewRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

type reviewStatus struct {
	Allowed         bool   `json:"allowed"`
	Denied          bool   `json:"denied,omitempty"`
	Reason          string `json:"reason,omitempty"`
	EvaluationError string `json:"evaluationError,omitempty"`
}

// specOf returns the spec of the review that asks about a.
func specOf(a *request.Attributes) reviewSpec {
	var spec reviewSpec
	if u := a.User; u != nil {
		spec.User, spec.UID, spec.Groups, spec.Extra = u.Name, u.UID, u.Groups, u.Extra
	}
	if !a.IsResource {
		spec.NonResourceAttributes = &reviewPath{Path: a.Path, Verb: a.Verb}
		return spec
	}
	spec.ResourceAttributes = &reviewResource{
		Namespace: a.Namespace, Verb: a.Verb, Group: a.Group, Version: a.Version,
		Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
		FieldSelector: fieldsOf(a), LabelSelector: labelsOf(a),
	}
	return spec
}

// fieldsOf returns the requirements on fields, nil if there are none. A selector that cannot be
// parsed is left out: the review then asks about all objects, which is safe, because whoever may
// have all objects may have some of them.
func fieldsOf(a *request.Attributes) *reviewSelector {
	if a.FieldSelector == "" && a.Selected == nil {
		return nil
	}
	requirements, _ := a.Fields()
	var s reviewSelector
	for _, r := range requirements {
		operator := "In"
		if r.Not {
			operator = "NotIn"
		}
		s.Requirements = append(s.Requirements, reviewRequirement{r.Field, operator, []string{r.Value}})
	}
	return s.orNil()
}

// labelsOf is fieldsOf for labels. Requirements with operators that a review does not have (Gt, Lt)
// are left out, which is safe for the same reason.
func labelsOf(a *request.Attributes) *reviewSelector {
	if a.LabelSelector == "" && a.Selected == nil {
		return nil
	}
	requirements, _ := a.Labels()
	var s reviewSelector
	for i := range requirements {
		r := &requirements[i]
		operator := ""
		switch r.Operator() {
		case meta.OpEquals, meta.OpDoubleEquals, meta.OpIn:
			operator = "In"
		case meta.OpNotEquals, meta.OpNotIn:
			operator = "NotIn"
		case meta.OpExists:
			operator = "Exists"
		case meta.OpDoesNotExist:
			operator = "DoesNotExist"
		default:
			continue
		}
		s.Requirements = append(s.Requirements, reviewRequirement{r.Key(), operator, r.Values()})
	}
	return s.orNil()
}

// orNil returns nil for a selector without requirements.
func (s *reviewSelector) orNil() *reviewSelector {
	if len(s.Requirements) == 0 {
		return nil
	}
	return s
}
