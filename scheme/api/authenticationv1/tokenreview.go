package authenticationv1

import "github.com/coracle-project/coracle/scheme/meta"

// TokenReview asks which user a token stands for. The answer may come from a cache.
type TokenReview struct {
	meta.TypeMeta `json:",inline"`
	// What all objects have. A review needs none of it.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The question.
	Spec TokenReviewSpec `json:"spec" pb:"2"`
	// The answer.
	Status TokenReviewStatus `json:"status,omitempty" pb:"3"`
}

// TokenReviewSpec is the question of a TokenReview.
type TokenReviewSpec struct {
	// The token.
	Token string `json:"token,omitempty" pb:"1" check:"listed"`
	// Audiences that the asker takes tokens for: this one must be meant for at least one of them.
	// Left out, it is those of the API server.
	Audiences []string `json:"audiences,omitempty" pb:"2" list:"atomic"`
}

// TokenReviewStatus is the answer to a TokenReview.
type TokenReviewStatus struct {
	// Whether the token stands for a user.
	Authenticated bool `json:"authenticated,omitempty" pb:"1"`
	// The user that it stands for.
	User UserInfo `json:"user,omitempty" pb:"2"`
	// Those of the audiences asked about that the token is meant for. Who has asked about some has
	// to look here: a server that knows nothing of audiences leaves it empty.
	Audiences []string `json:"audiences,omitempty" pb:"4" list:"atomic"`
	// Why the token stands for nobody.
	Error string `json:"error,omitempty" pb:"3"`
}
