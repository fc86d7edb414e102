package authn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The versions of TokenReview that a webhook may use.
const (
	ReviewV1      = "v1"
	ReviewV1beta1 = "v1beta1"
)

// Caller posts in as JSON to a webhook and decodes the response into out. Its errors must contain
// neither body, because both may contain tokens. callout.Client implements it.
type Caller interface {
	Call(ctx context.Context, in, out any) error
}

// NewWebhook returns an authenticator that sends each token to a webhook in a TokenReview of the
// given version; wrap it in Cached. If the response names no audiences, the token counts as meant
// for the given ones.
func NewWebhook(hook Caller, version string, audiences []string) (request.TokenAuthenticator, error) {
	if version != ReviewV1 && version != ReviewV1beta1 {
		return nil, fmt.Errorf("unsupported authentication webhook version %q, supported versions are %q, %q",
			version, ReviewV1, ReviewV1beta1)
	}
	return &webhook{hook, "authentication.k8s.io/" + version, audiences}, nil
}

type webhook struct {
	hook      Caller
	version   string
	audiences []string
}

// tokenReview is a TokenReview. Its versions do not differ in these fields.
type tokenReview struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   struct{}          `json:"metadata"`
	Spec       tokenReviewSpec   `json:"spec"`
	Status     tokenReviewStatus `json:"status"`
}

type tokenReviewSpec struct {
	Token     string   `json:"token"`
	Audiences []string `json:"audiences,omitempty"`
}

type tokenReviewStatus struct {
	Authenticated bool `json:"authenticated,omitempty"`
	User          struct {
		Username string              `json:"username,omitempty"`
		UID      string              `json:"uid,omitempty"`
		Groups   []string            `json:"groups,omitempty"`
		Extra    map[string][]string `json:"extra,omitempty"`
	} `json:"user"`
	Audiences []string `json:"audiences,omitempty"`
	Error     string   `json:"error,omitempty"`
}

const tokenReviewKind = "TokenReview"

// AuthenticateToken implements request.TokenAuthenticator.
func (w *webhook) AuthenticateToken(
	ctx context.Context, token string, audiences []string,
) (*request.User, []string, error) {
	ask := tokenReview{
		APIVersion: w.version, Kind: tokenReviewKind, Spec: tokenReviewSpec{Token: token, Audiences: audiences},
	}
	var answer tokenReview
	if err := w.hook.Call(ctx, &ask, &answer); err != nil {
		return nil, nil, fmt.Errorf("token webhook: %w", err)
	}
	if answer.Kind != "" && answer.Kind != tokenReviewKind ||
		answer.APIVersion != "" && answer.APIVersion != w.version {
		return nil, nil, errors.New("token webhook: the response is not a TokenReview of version " + w.version)
	}
	var accepted []string
	if len(audiences) > 0 {
		of := answer.Status.Audiences
		if len(of) == 0 {
			of = w.audiences
		}
		if accepted = commonAudiences(audiences, of); accepted == nil {
			return nil, nil, nil
		}
	}
	if !answer.Status.Authenticated {
		return nil, nil, refusal(answer.Status.Error, token)
	}
	told := answer.Status.User
	user := &request.User{Name: told.Username, UID: told.UID, Groups: slices.Clip(told.Groups), Extra: told.Extra}
	user.Groups = WithAuthenticated(user.Name, user.Groups)
	return user, accepted, nil
}

// refusal returns the webhook's reason for refusing a token as an error, without the token if the
// reason repeats it.
func refusal(why, token string) error {
	switch {
	case why == "":
		return nil
	case strings.Contains(why, token):
		return errBadToken
	}
	return errors.New("token webhook: " + meta.Excerpt(why))
}
