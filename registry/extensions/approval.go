package extensions

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// approval is the state of the annotation api-approved.kubernetes.io, which a definition in a group
// of Kubernetes must have. The annotation names the pull request that approved the API, or says
// "unapproved".
type approval uint8

const (
	approvalInvalid approval = iota
	approved
	approvalBypassed
	approvalMissing
)

// approvalOf returns the state of d's annotation, and the message about it.
func approvalOf(d *apiextensionsv1.CustomResourceDefinition) (approval, string) {
	const see = "see https://github.com/kubernetes/enhancements/pull/1111"
	text := d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]
	must := fmt.Sprintf("protected groups must have approval annotation %q", apiextensionsv1.KubeAPIApprovedAnnotation)
	u, err := url.ParseRequestURI(text)
	switch {
	case text == "":
		return approvalMissing, must + ", " + see
	case strings.HasPrefix(text, "unapproved"):
		return approvalBypassed, fmt.Sprintf("not approved: %q", text)
	case err == nil && u.Host != "" && u.Scheme != "":
		return approved, "approved in " + text
	}
	return approvalInvalid, must + ` with either a URL or a reason starting with "unapproved", ` + see
}

// checkApproval requires the annotation on a definition in a group of Kubernetes. An update may
// keep the state that old had, so definitions that are older than the rule can still be changed.
func checkApproval(d, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	if !isProtected(d.Spec.Group) {
		return nil
	}
	state, reason := approvalOf(d)
	if old != nil {
		if before, _ := approvalOf(old); before == state {
			return nil
		}
	}
	p := field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation)
	switch state {
	case approvalInvalid:
		return field.ErrorList{field.Invalid(p, d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], reason)}
	case approvalMissing:
		return field.ErrorList{field.Required(p, reason)}
	}
	return nil
}

// isProtected reports whether a group belongs to Kubernetes: k8s.io, kubernetes.io, or a subdomain
// of either.
func isProtected(group string) bool {
	return slices.ContainsFunc([]string{"k8s.io", "kubernetes.io"}, func(domain string) bool {
		return group == domain || strings.HasSuffix(group, "."+domain)
	})
}
