package authenticationv1

// UserInfo is what is known of a user.
type UserInfo struct {
	// Name by which the user is known.
	Username string `json:"username,omitempty" pb:"1"`
	// What tells the user from others who had the name before.
	UID string `json:"uid,omitempty" pb:"2"`
	// Groups that the user is in.
	Groups []string `json:"groups,omitempty" pb:"3" list:"atomic"`
	// What else whoever authenticated the user had to say.
	Extra map[string]ExtraValue `json:"extra,omitempty" pb:"4"`
}

// ExtraValue holds what is known of a user under one key.
type ExtraValue []string

// ExtraOf returns what is known of a user as the kinds of this package hold it.
func ExtraOf(extra map[string][]string) map[string]ExtraValue {
	out := make(map[string]ExtraValue, len(extra))
	for key, values := range extra {
		out[key] = values
	}
	return out
}
