package authorization

import (
	"fmt"

	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The paths that errors begin with. attributesPath is a single name with a dot in it, as in
// kube-apiserver; printed it looks like a path of two names.
var (
	specPath       = field.NewPath("spec")
	attributesPath = field.NewPath("spec.resourceAttributes")
)

// invalidReview returns errs as the error about a review, nil if there are none. The error names no
// kind and no object, as in kube-apiserver.
func invalidReview(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return meta.NewInvalid(meta.GroupKind{Group: authorizationv1.GroupVersion.Group}, "", errs)
}

// checkSubject validates a review about a user that it names.
func checkSubject(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := checkAttributes(spec.ResourceAttributes, spec.NonResourceAttributes)
	if spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(specPath.Child("user"), spec.User,
			"at least one of user or group must be specified"))
	}
	return append(errs, checkSelectors(spec.ResourceAttributes)...)
}

// checkLocal validates a review about a namespace: its attributes are for a resource in the
// namespace of the request, and its metadata has nothing but that namespace.
func checkLocal(r *authorizationv1.LocalSubjectAccessReview) field.ErrorList {
	m := r.ObjectMeta
	m.Namespace = ""
	errs := checkSubject(&r.Spec)
	if !isEmpty(m) {
		errs = append(errs, field.Invalid(field.NewPath("metadata"), govalue.JSON(r.ObjectMeta),
			"must be empty except for namespace"))
	}
	if a := r.Spec.ResourceAttributes; a != nil && a.Namespace != r.Namespace {
		errs = append(errs, field.Invalid(attributesPath.Child("namespace"), a.Namespace,
			"must match metadata.namespace"))
	}
	if a := r.Spec.NonResourceAttributes; a != nil {
		errs = append(errs, field.Invalid(specPath.Child("nonResourceAttributes"), govalue.JSON(a),
			"disallowed on this kind of request"))
	}
	return errs
}

// checkAttributes requires a review to be about a resource or about a path, not both.
func checkAttributes(res *authorizationv1.ResourceAttributes,
	path *authorizationv1.NonResourceAttributes) field.ErrorList {
	switch {
	case res != nil && path != nil:
		return field.ErrorList{field.Invalid(specPath.Child("nonResourceAttributes"), govalue.JSON(path),
			"cannot be specified in combination with resourceAttributes")}
	case res == nil && path == nil:
		return field.ErrorList{field.Invalid(specPath.Child("resourceAttributes"), govalue.JSON(path),
			"exactly one of nonResourceAttributes or resourceAttributes must be specified")}
	}
	return nil
}

// checkEmpty requires a review to have no metadata: a review is not stored, so a name would have no
// meaning.
func checkEmpty(m meta.ObjectMeta) field.ErrorList {
	if isEmpty(m) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), govalue.JSON(m), "must be empty")}
}

// isEmpty reports whether m has no field but managedFields, which clients may send back.
func isEmpty(m meta.ObjectMeta) bool {
	m.ManagedFields = nil
	return scheme.Equal(&m, new(meta.ObjectMeta))
}

// checkSelectors validates the selectors of a review. An unknown operator is no error here: the
// client may be newer than the server, so selectorsOf leaves the requirement out and the review
// says so (KEP-4601).
func checkSelectors(a *authorizationv1.ResourceAttributes) field.ErrorList {
	if a == nil {
		return nil
	}
	var errs field.ErrorList
	if s := a.FieldSelector; s != nil {
		p := attributesPath.Child("fieldSelector")
		errs = append(errs, checkForms(s.RawSelector, len(s.Requirements), p)...)
		for i, r := range field.Each(&errs, s.Requirements) {
			errs = append(errs, meta.ValidateFieldRequirement(r, p.Child("requirements").Index(i))...)
		}
	}
	if s := a.LabelSelector; s != nil {
		p := attributesPath.Child("labelSelector")
		errs = append(errs, checkForms(s.RawSelector, len(s.Requirements), p)...)
		for i, r := range field.Each(&errs, s.Requirements) {
			errs = append(errs, meta.ValidateLabelRequirement(r, p.Child("requirements").Index(i))...)
		}
	}
	return errs
}

// checkForms requires a selector to be given either as text or as requirements. The grammar of the
// first message is that of kube-apiserver.
func checkForms(raw string, requirements int, p *field.Path) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(p.Child("rawSelector"), raw,
			"may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(p.Child("requirements"),
			fmt.Sprintf("when %s is specified, requirements or rawSelector is required", p))}
	}
	return nil
}
