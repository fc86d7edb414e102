package authentication

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// selfSubjectReviews declares the resource selfsubjectreviews, which tells callers who they are:
// name, UID, groups and extra of the user that the request was authenticated as, or impersonates.
func selfSubjectReviews() registry.Actions {
	return registry.Actions{
		GroupResource: resource("selfsubjectreviews"), Kind: "SelfSubjectReview", Singular: "selfsubjectreview",
		Create: func(_ context.Context, a *registry.Action) (meta.Typed, error) {
			now := meta.NewTime(time.Now())
			return &authenticationv1.SelfSubjectReview{
				ObjectMeta: meta.ObjectMeta{CreationTimestamp: &now},
				Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(a.User)},
			}, nil
		},
	}
}

// userInfo returns u in the form of the API. It shares the groups and extra of u.
func userInfo(u *request.User) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups,
		Extra: authenticationv1.ExtraOf(u.Extra)}
}
