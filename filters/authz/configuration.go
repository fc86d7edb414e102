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

// This file reads and checks AuthorizationConfiguration (KEP-3221), the file of
// --authorization-config. server parses it at the start and whenever the file changes.
// configurationcheck.go has the checks of single values.

// TypeWebhook is the type of webhook authorizers, of which a configuration may have several.
const TypeWebhook = "Webhook"

// AuthorizationConfiguration lists the authorizers in the order in which they are asked.
type AuthorizationConfiguration struct {
	APIVersion  string                    `json:"apiVersion"`
	Kind        string                    `json:"kind"`
	Authorizers []AuthorizerConfiguration `json:"authorizers"`
}

// AuthorizerConfiguration is one authorizer in the list.
type AuthorizerConfiguration struct {
	// Type is an authorization mode, such as Node, RBAC or Webhook. Name is the type in lower case,
	// except for webhooks, whose names are free.
	Type    string                `json:"type"`
	Name    string                `json:"name"`
	Webhook *WebhookConfiguration `json:"webhook,omitempty"`
}

// WebhookConfiguration is the configuration of a webhook. A TTL is the time for which an answer is
// remembered.
type WebhookConfiguration struct {
	// AuthorizedTTL is for answers that allow; default 5 minutes. The bool switches remembering
	// off.
	AuthorizedTTL           meta.Duration `json:"authorizedTTL"`
	CacheAuthorizedRequests *bool         `json:"cacheAuthorizedRequests,omitempty"`
	// UnauthorizedTTL is for all other answers; default 30 seconds.
	UnauthorizedTTL           meta.Duration `json:"unauthorizedTTL"`
	CacheUnauthorizedRequests *bool         `json:"cacheUnauthorizedRequests,omitempty"`
	// Timeout is for one call of the webhook: more than 0 and at most 30 seconds.
	Timeout meta.Duration `json:"timeout"`
	// SubjectAccessReview is the version of the reviews that are sent, MatchConditionReview the
	// version that MatchConditions see.
	SubjectAccessReview  string `json:"subjectAccessReviewVersion"`
	MatchConditionReview string `json:"matchConditionSubjectAccessReviewVersion"`
	// FailurePolicy is the decision if the webhook fails: FailurePolicyNoOpinion or
	// FailurePolicyDeny.
	FailurePolicy   string                  `json:"failurePolicy"`
	ConnectionInfo  WebhookConnectionInfo   `json:"connectionInfo"`
	MatchConditions []WebhookMatchCondition `json:"matchConditions"`
}

// WebhookConnectionInfo says how to reach a webhook.
type WebhookConnectionInfo struct {
	// Type is ConnectByKubeConfig, or InClusterConfig for the cluster's own server.
	Type           string  `json:"type"`
	KubeConfigFile *string `json:"kubeConfigFile"`
}

// WebhookMatchCondition is a CEL expression. The webhook is asked only about requests for which all
// its conditions are true.
type WebhookMatchCondition struct {
	Expression string `json:"expression"`
}

// Values of failurePolicy and of connectionInfo.type.
const (
	FailurePolicyNoOpinion = "NoOpinion"
	FailurePolicyDeny      = "Deny"
	ConnectByKubeConfig    = "KubeConfigFile"
	connectInCluster       = "InClusterConfig"
)

const configKind = "AuthorizationConfiguration"

// configVersions are the apiVersions that are accepted; the fields are the same in all.
var configVersions = []string{
	"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1",
}

// ParseConfiguration reads a configuration in YAML or JSON and sets its defaults. Unknown and
// repeated fields are errors; values are checked by Validate.
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

// checkKind checks kind and apiVersion, before strict decoding reports the fields of another kind
// as unknown.
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

// setDefaults sets the defaults of kube-apiserver.
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

// Validate returns what is wrong with the configuration. modes are the types that exist. Those in
// required must be in c, because they cannot be removed while the server runs.
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

// validate checks the list of authorizers and each of them, as kube-apiserver does at load time.
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
			errs = append(
				errs, field.Invalid(at.Child("webhook"), "non-null", "may only be specified when type=Webhook"),
			)
		}
	}
	return errs
}
