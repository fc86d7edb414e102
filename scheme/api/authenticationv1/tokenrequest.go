package authenticationv1

import "github.com/coracle-project/coracle/scheme/meta"

// TokenRequest asks for a token of a service account. It is sent, and not stored.
type TokenRequest struct {
	meta.TypeMeta `json:",inline"`
	// Metadata of the service account.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The token that is asked for.
	Spec TokenRequestSpec `json:"spec" pb:"2" check:"optional"`
	// The token; the server sets it.
	Status TokenRequestStatus `json:"status,omitempty" pb:"3"`
}

// TokenRequestSpec describes the token that is asked for.
type TokenRequestSpec struct {
	// Whom the token is meant for: who gets it should refuse it unless they are among these. By
	// default that is the API server. A token for several audiences can be used by each of them
	// towards the others.
	Audiences []string `json:"audiences" pb:"1" list:"atomic" check:"optional"`
	// How long the token is to be good, in seconds: at least 10 minutes, 1 hour by default. It may
	// get less, or more.
	ExpirationSeconds *int64 `json:"expirationSeconds" pb:"4" check:"optional"`
	// What the token is bound to: it is good for nothing once that object is gone.
	BoundObjectRef *BoundObjectReference `json:"boundObjectRef" pb:"3" check:"optional"`
}

// TokenRequestStatus is a token.
type TokenRequestStatus struct {
	// The token.
	Token string `json:"token" pb:"1" check:"optional"`
	// When it ceases to be good.
	ExpirationTimestamp meta.Time `json:"expirationTimestamp" pb:"2" check:"optional"`
}

// BoundObjectReference names what a token is bound to.
type BoundObjectReference struct {
	// Kind of the object: Pod, Secret or Node.
	Kind string `json:"kind,omitempty" pb:"1"`
	// Version of the object's API.
	APIVersion string `json:"apiVersion,omitempty" pb:"2"`
	// Name of the object.
	Name string `json:"name,omitempty" pb:"3"`
	// UID of the object, if it must be a certain one.
	UID meta.UID `json:"uid,omitempty" pb:"4"`
}

func defaultTokenRequestSpec(s *TokenRequestSpec) {
	if s.ExpirationSeconds == nil {
		hour := int64(60 * 60)
		s.ExpirationSeconds = &hour
	}
}
