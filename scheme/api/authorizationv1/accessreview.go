package authorizationv1

import "github.com/coracle-project/coracle/scheme/meta"

// SubjectAccessReview asks whether a user or a group may do something.
type SubjectAccessReview struct {
	meta.TypeMeta `json:",inline"`
	// What all objects have. Of a review it must be empty.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The question.
	Spec SubjectAccessReviewSpec `json:"spec" pb:"2"`
	// The answer.
	Status SubjectAccessReviewStatus `json:"status,omitempty" pb:"3"`
}

// SelfSubjectAccessReview asks whether the caller may do something.
type SelfSubjectAccessReview struct {
	meta.TypeMeta `json:",inline"`
	// What all objects have. Of a review it must be empty.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The question.
	Spec SelfSubjectAccessReviewSpec `json:"spec" pb:"2"`
	// The answer.
	Status SubjectAccessReviewStatus `json:"status,omitempty" pb:"3"`
}

// LocalSubjectAccessReview asks whether a user or a group may do something in one namespace. So the
// right to ask can be given for that namespace alone.
type LocalSubjectAccessReview struct {
	meta.TypeMeta `json:",inline"`
	// The namespace, and nothing else.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The question, about a resource in the namespace of the review.
	Spec SubjectAccessReviewSpec `json:"spec" pb:"2"`
	// The answer.
	Status SubjectAccessReviewStatus `json:"status,omitempty" pb:"3"`
}

// SubjectAccessReviewSpec is a question about the rights of a user or a group. It has
// resourceAttributes or nonResourceAttributes, not both.
type SubjectAccessReviewSpec struct {
	// What is to be done with a resource.
	ResourceAttributes *ResourceAttributes `json:"resourceAttributes,omitempty" pb:"1"`
	// What is to be done with a path that is no resource.
	NonResourceAttributes *NonResourceAttributes `json:"nonResourceAttributes,omitempty" pb:"2"`
	// The user, who is in no groups but those that are given.
	User string `json:"user,omitempty" pb:"3"`
	// Groups that the user is in.
	Groups []string `json:"groups,omitempty" pb:"4" list:"atomic"`
	// What else is known of the user.
	Extra map[string]ExtraValue `json:"extra,omitempty" pb:"5"`
	// What tells the user from others who had the name before.
	UID string `json:"uid,omitempty" pb:"6"`
}

// ExtraValue holds what is known of a user under one key.
type ExtraValue []string

// SelfSubjectAccessReviewSpec is a question about the caller's rights. It has resourceAttributes or
// nonResourceAttributes, not both.
type SelfSubjectAccessReviewSpec struct {
	// What is to be done with a resource.
	ResourceAttributes *ResourceAttributes `json:"resourceAttributes,omitempty" pb:"1"`
	// What is to be done with a path that is no resource.
	NonResourceAttributes *NonResourceAttributes `json:"nonResourceAttributes,omitempty" pb:"2"`
}

// SubjectAccessReviewStatus is the answer to a question about rights.
type SubjectAccessReviewStatus struct {
	// Whether it may be done.
	Allowed bool `json:"allowed" pb:"1"`
	// Whether it is forbidden whatever others say. Without either nobody had an opinion, which
	// means no.
	Denied bool `json:"denied,omitempty" pb:"4"`
	// Why it may be done or not.
	Reason string `json:"reason,omitempty" pb:"2"`
	// What went wrong while that was found out. The answer may hold all the same.
	EvaluationError string `json:"evaluationError,omitempty" pb:"3"`
}
