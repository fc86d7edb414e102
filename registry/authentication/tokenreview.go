package authentication

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// errUnknownToken is what is said of a token that nobody knows.
const errUnknownToken = "invalid bearer token"

// tokenReviews tell others, such as servers behind this one, whom tokens stand for.
func tokenReviews(tokens request.TokenAuthenticator) registry.Actions {
	return registry.Actions{
		GroupResource: resource("tokenreviews"), Kind: "TokenReview", Singular: "tokenreview", Returned: true,
		Check: func(a *registry.Action) error {
			if a.Object.(*authenticationv1.TokenReview).Spec.Token == "" {
				return meta.NewBadRequest("token is required for TokenReview in authentication")
			}
			return nil
		},
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
			return reviewToken(ctx, tokens, a.Object.(*authenticationv1.TokenReview))
		},
	}
}

// reviewToken reads the token as that of a header, so that what follows it after white space is not
// part of it. What is to be said to who shows it is not for who asks about it.
func reviewToken(ctx context.Context, tokens request.TokenAuthenticator,
	r *authenticationv1.TokenReview) (meta.Typed, error) {
	token, _, _ := strings.Cut(strings.TrimRightFunc(r.Spec.Token, unicode.IsSpace), " ")
	user, accepted, err := tokens.AuthenticateToken(request.NewContext(ctx, nil), token, r.Spec.Audiences)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Status = authenticationv1.TokenReviewStatus{}
	if user == nil || err != nil {
		r.Status.Error = refusal(err)
		return r, nil
	}
	if len(r.Spec.Audiences) > 0 && !slices.ContainsFunc(accepted, func(a string) bool {
		return slices.Contains(r.Spec.Audiences, a)
	}) {
		return nil, meta.NewInternalError(errors.New("error validating audiences"))
	}
	r.Status.Authenticated, r.Status.User, r.Status.Audiences = true, userInfo(user), accepted
	return r, nil
}

// refusal says why a token stands for nobody, in the words of kube-apiserver: there the server's
// own tokens are looked through apart, before all others, so that the token is unknown to these
// first.
func refusal(err error) string {
	reasons := reasonsOf([]string{errUnknownToken}, err)
	if len(reasons) == 1 {
		return reasons[0]
	}
	return "[" + strings.Join(reasons, ", ") + "]"
}

// reasonsOf appends those of an error that may be several, each once.
func reasonsOf(reasons []string, err error) []string {
	if err == nil {
		return reasons
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			reasons = reasonsOf(reasons, e)
		}
		return reasons
	}
	if reason := err.Error(); !slices.Contains(reasons, reason) {
		reasons = append(reasons, reason)
	}
	return reasons
}
