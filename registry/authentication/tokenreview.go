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

// errUnknownToken is the error for a token that no authenticator knows.
const errUnknownToken = "invalid bearer token"

// tokenReviews declares the resource tokenreviews. Other servers, such as kubelets and servers
// behind this one, create TokenReviews to authenticate their own clients (webhook authentication).
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

// reviewToken finds the user of the token in r and sets the status of r. The token ends at the
// first space, as a bearer token in a header does. Warnings for the bearer of the token, which
// authenticators leave in the context, do not go to the client that asks: the authenticator gets a
// context of its own. If r names audiences, at least one of them must be among those that the
// authenticator accepted; otherwise the authenticator is at fault, which is an internal error.
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

// refusal returns the error that a TokenReview shows. kube-apiserver asks its own service account
// authenticators first and the others afterwards, so the first reason is always that the token is
// unknown to one of them. Several reasons are listed in brackets.
func refusal(err error) string {
	reasons := reasonsOf([]string{errUnknownToken}, err)
	if len(reasons) == 1 {
		return reasons[0]
	}
	return "[" + strings.Join(reasons, ", ") + "]"
}

// reasonsOf appends the texts of err, or of the errors that err joins, to reasons. A text that is
// there already is left out.
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
