package authenticationv1

import "github.com/coracle-project/coracle/scheme/meta"

// SelfSubjectReview asks the server whom it takes the caller for. With impersonation that is the
// user who is impersonated.
type SelfSubjectReview struct {
	meta.TypeMeta `json:",inline"`
	// When the answer was given.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The answer.
	Status SelfSubjectReviewStatus `json:"status,omitempty" pb:"2"`
}

// SelfSubjectReviewStatus is the answer to a SelfSubjectReview.
type SelfSubjectReviewStatus struct {
	// The user that the caller is to the server.
	UserInfo UserInfo `json:"userInfo,omitempty" pb:"1"`
}
