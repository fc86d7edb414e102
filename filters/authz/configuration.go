package authz

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TypeWebhook is the type of authorizers that ask a webhook. A configuration may have several of them.
const TypeWebhook = "Webhook"

// AuthorizationConfiguration says who is asked, in turn.
type AuthorizationConfiguration struct {
	APIVersion  string                    `json:"apiVersion"`
	Kind        string                    `json:"kind"`
	Authorizers []AuthorizerConfiguration `json:"authorizers"`
}

// AuthorizerConfiguration is an authorizer's place in the chain.
type AuthorizerConfiguration struct {
	// Type is a mode; Name that in lower case, but for webhooks.
	Type    string                `json:"type"`
	Name    string                `json:"name"`
	Webhook *WebhookConfiguration `json:"webhook,omitempty"`
}

// WebhookConfiguration says how a webhook is asked.
type WebhookConfiguration struct {
	AuthorizedTTL             meta.Duration           `json:"authorizedTTL"`
	CacheAuthorizedRequests   *bool                   `json:"cacheAuthorizedRequests,omitempty"`
	UnauthorizedTTL           meta.Duration           `json:"unauthorizedTTL"`
	CacheUnauthorizedRequests *bool                   `json:"cacheUnauthorizedRequests,omitempty"`
	Timeout                   meta.Duration           `json:"timeout"`
	SubjectAccessReview       string                  `json:"subjectAccessReviewVersion"`
	MatchConditionReview      string                  `json:"matchConditionSubjectAccessReviewVersion"`
	FailurePolicy             string                  `json:"failurePolicy"`
	ConnectionInfo            WebhookConnectionInfo   `json:"connectionInfo"`
	MatchConditions           []WebhookMatchCondition `json:"matchConditions"`
}

// WebhookConnectionInfo says where a webhook is.
type WebhookConnectionInfo struct {
	Type           string  `json:"type"`
	KubeConfigFile *string `json:"kubeConfigFile"`
}

// WebhookMatchCondition is an expression that must be true of a request about which a webhook is asked.
type WebhookMatchCondition struct {
	Expression string `json:"expression"`
}

// What a configuration can say of a webhook that does not answer, and of how to reach it.
const (
	FailurePolicyNoOpinion = "NoOpinion"
	FailurePolicyDeny      = "Deny"
	ConnectByKubeConfig    = "KubeConfigFile"
	connectInCluster       = "InClusterConfig"
)

const configKind = "AuthorizationConfiguration"

var configVersions = []string{"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"}

// ParseConfiguration reads a configuration, YAML or JSON, and completes it with defaults. What it says is for Validate to judge.
func ParseConfiguration(data []byte) (*AuthorizationConfiguration, error) {
	text, repeated, err := codec.YAMLToJSON(data, true, nil)
	if err == nil && repeated != "" {
		err = errors.New(repeated)
	}
	c := new(AuthorizationConfiguration)
	if err == nil {
		err = checkKind(text)
	}
	if err == nil {
		var strict []string
		if strict, err = codec.DecodeStrict(text, c); err == nil {
			err = codec.StrictError(strict)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("failed to load AuthorizationConfiguration from file: %w", err)
	}
	for i := range c.Authorizers {
		if w := c.Authorizers[i].Webhook; w != nil {
			w.setDefaults()
		}
	}
	return c, nil
}

// checkKind sees that it is such a configuration, before anything in it is called unknown.
func checkKind(text []byte) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := codec.DecodeJSON(text, &head); err != nil {
		return err
	}
	switch {
	case head.Kind == "":
		//lint:ignore ST1005 these are kube-apiserver's words
		return errors.New("Object 'Kind' is missing")
	case head.APIVersion == "":
		//lint:ignore ST1005 these are kube-apiserver's words
		return errors.New("Object 'apiVersion' is missing")
	case head.Kind != configKind || !slices.Contains(configVersions, head.APIVersion):
		return fmt.Errorf("no kind %q is registered for version %q", head.Kind, head.APIVersion)
	}
	return nil
}

func (w *WebhookConfiguration) setDefaults() {
	yes := func(b **bool) {
		if *b == nil {
			t := true
			*b = &t
		}
	}
	yes(&w.CacheAuthorizedRequests)
	yes(&w.CacheUnauthorizedRequests)
	if w.AuthorizedTTL.Duration == 0 {
		w.AuthorizedTTL.Duration = 5 * time.Minute
	}
	if w.UnauthorizedTTL.Duration == 0 {
		w.UnauthorizedTTL.Duration = 30 * time.Second
	}
}

// Validate says what is wrong with a configuration. modes are the types that there are; those of required must be among those of c, as
// they cannot go while the server runs.
func (c *AuthorizationConfiguration) Validate(modes, required []string) error {
	if errs := c.validate(nil, modes); len(errs) > 0 {
		return errs.ToAggregate()
	}
	var errs []error
	var seen []string
	for i := range c.Authorizers {
		p := &c.Authorizers[i]
		if p.Type == TypeWebhook {
			continue
		}
		seen = append(seen, p.Type)
		if name := strings.ToLower(p.Type); p.Name != name {
			errs = append(errs, fmt.Errorf("expected name %s for authorizer %s instead of %s", name, p.Type, p.Name))
		}
	}
	var missing []string
	for _, mode := range required {
		if !slices.Contains(seen, mode) {
			missing = append(missing, mode)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		errs = append(errs, fmt.Errorf("missing required types: %v", missing))
	}
	return errors.Join(errs...)
}

func (c *AuthorizationConfiguration) validate(path *field.Path, modes []string) field.ErrorList {
	at := path.Child("authorizers")
	var errs field.ErrorList
	if len(c.Authorizers) == 0 {
		errs = append(errs, field.Required(at, "at least one authorization mode must be defined"))
	}
	types, names := map[string]bool{}, map[string]bool{}
	for i := range c.Authorizers {
		p, at := &c.Authorizers[i], at.Index(i)
		switch {
		case p.Type == "":
			errs = append(errs, field.Required(at.Child("type"), ""))
			continue
		case !slices.Contains(modes, p.Type):
			errs = append(errs, field.NotSupported(at.Child("type"), p.Type, slices.Sorted(slices.Values(modes))))
			continue
		case types[p.Type] && p.Type != TypeWebhook:
			errs = append(errs, field.Duplicate(at.Child("type"), p.Type))
			continue
		}
		types[p.Type] = true
		errs = append(errs, validateName(at.Child("name"), p.Name, names)...)
		switch {
		case p.Type == TypeWebhook && p.Webhook == nil:
			errs = append(errs, field.Required(at.Child("webhook"), "required when type=Webhook"))
		case p.Type == TypeWebhook:
			errs = append(errs, p.Webhook.validate(at)...)
		case p.Webhook != nil:
			errs = append(errs, field.Invalid(at.Child("webhook"), "non-null", "may only be specified when type=Webhook"))
		}
	}
	return errs
}
