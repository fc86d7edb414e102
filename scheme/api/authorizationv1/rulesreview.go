package authorizationv1

import "github.com/coracle-project/coracle/scheme/meta"

// SelfSubjectRulesReview asks for a list of what the caller may do in a namespace. The list is for
// display, for example by programs that hide what the caller may not do. It is not for decisions:
// the server decides when it gets the request itself, or a SubjectAccessReview.
type SelfSubjectRulesReview struct {
	meta.TypeMeta `json:",inline"`
	// What all objects have. A review needs none of it.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The question.
	Spec SelfSubjectRulesReviewSpec `json:"spec" pb:"2"`
	// The answer.
	Status SubjectRulesReviewStatus `json:"status,omitempty" pb:"3"`
}

// SelfSubjectRulesReviewSpec is the question of a SelfSubjectRulesReview.
type SelfSubjectRulesReviewSpec struct {
	// Name of the namespace; it must be given.
	Namespace string `json:"namespace,omitempty" pb:"1"`
}

// SubjectRulesReviewStatus is the answer to a SelfSubjectRulesReview.
type SubjectRulesReviewStatus struct {
	// What may be done with resources, in no order. Rules may repeat.
	ResourceRules []ResourceRule `json:"resourceRules" pb:"1" list:"atomic"`
	// What may be done with paths that are no resources, in no order. Rules may repeat.
	NonResourceRules []NonResourceRule `json:"nonResourceRules" pb:"2" list:"atomic"`
	// Whether there may be more: some of those who decide cannot tell in advance what they will
	// allow.
	Incomplete bool `json:"incomplete" pb:"3"`
	// What went wrong while the rules were found. There may be more of them.
	EvaluationError string `json:"evaluationError,omitempty" pb:"4"`
}

// ResourceRule allows things to be done with resources.
type ResourceRule struct {
	// What may be done; "*" stands for everything.
	Verbs []string `json:"verbs" pb:"1" list:"atomic"`
	// Groups that the resources are in; "*" stands for all.
	APIGroups []string `json:"apiGroups,omitempty" pb:"2" list:"atomic"`
	// Names of the resources in plural; "*" stands for all, and "*/scale" for that subresource of
	// all.
	Resources []string `json:"resources,omitempty" pb:"3" list:"atomic"`
	// Names of the objects; none stand for all.
	ResourceNames []string `json:"resourceNames,omitempty" pb:"4" list:"atomic"`
}

// NonResourceRule allows things to be done with paths that are no resources.
type NonResourceRule struct {
	// Methods of HTTP, in lower case; "*" stands for all.
	Verbs []string `json:"verbs" pb:"1" list:"atomic"`
	// The paths; "*" at the end stands for whatever follows.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" pb:"2" list:"atomic"`
}
