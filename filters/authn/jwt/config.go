package jwt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Config is an AuthenticationConfiguration (apiserver.config.k8s.io): who issues tokens, and who is let in without any.
type Config struct {
	meta.TypeMeta `json:",inline"`
	JWT           []Issuer   `json:"jwt"`
	Anonymous     *Anonymous `json:"anonymous,omitempty"`
}

// Anonymous says whether requests without credentials are let in, if there are Conditions only where one of them holds.
type Anonymous struct {
	Enabled    bool        `json:"enabled"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one that a request has to be for Path.
type Condition struct {
	Path string `json:"path"`
}

// Issuer is who issues tokens, and what they say of users.
type Issuer struct {
	Issuer               Source           `json:"issuer"`
	ClaimValidationRules []ClaimRule      `json:"claimValidationRules,omitempty"`
	ClaimMappings        Mappings         `json:"claimMappings"`
	UserValidationRules  []ExpressionRule `json:"userValidationRules,omitempty"`
}

// Source is where tokens come from, and whom they must be for.
type Source struct {
	// URL is the issuer's, as it stands in tokens. It is found at DiscoveryURL, or if that is "" by what OpenID Connect adds to URL.
	URL          string `json:"url"`
	DiscoveryURL string `json:"discoveryURL,omitempty"`
	// CertificateAuthority is who signs for the issuer's servers, as PEM; "" means those whom the system trusts.
	CertificateAuthority string   `json:"certificateAuthority,omitempty"`
	Audiences            []string `json:"audiences"`
	AudienceMatchPolicy  string   `json:"audienceMatchPolicy,omitempty"`
	EgressSelectorType   string   `json:"egressSelectorType,omitempty"`
}

// ClaimRule wants a claim to have a value, or an expression about claims to be true.
type ClaimRule struct {
	Claim         string `json:"claim,omitempty"`
	RequiredValue string `json:"requiredValue,omitempty"`
	Expression    string `json:"expression,omitempty"`
	Message       string `json:"message,omitempty"`
}

// ExpressionRule wants an expression about the user to be true.
type ExpressionRule struct {
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

// Mappings say how claims become a user.
type Mappings struct {
	Username PrefixedMapping `json:"username"`
	Groups   PrefixedMapping `json:"groups,omitempty"`
	UID      Mapping         `json:"uid"`
	Extra    []ExtraMapping  `json:"extra,omitempty"`
}

// PrefixedMapping takes a claim, behind a prefix, or what an expression yields.
type PrefixedMapping struct {
	Claim      string  `json:"claim,omitempty"`
	Prefix     *string `json:"prefix,omitempty"`
	Expression string  `json:"expression,omitempty"`
}

// Mapping takes a claim or what an expression yields.
type Mapping struct {
	Claim      string `json:"claim,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ExtraMapping puts what an expression yields under a key.
type ExtraMapping struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

const (
	configGroup = "apiserver.config.k8s.io"
	configKind  = "AuthenticationConfiguration"
	matchAny    = "MatchAny"
)

// configVersions are all alike.
var configVersions = []string{"v1", "v1beta1", "v1alpha1"}

// Read reads a Config from YAML or JSON, strictly.
func Read(data []byte) (*Config, error) {
	if len(data) == 0 {
		return nil, errors.New("empty config data")
	}
	text, repeated, err := codec.YAMLToJSON(data, true, nil)
	if err != nil {
		return nil, err
	}
	gvk, err := codec.Interpret(text, data, meta.GroupVersionKind{})
	if err != nil {
		return nil, err
	}
	if gvk.Kind != configKind || gvk.Group != configGroup || !slices.Contains(configVersions, gvk.Version) {
		return nil, fmt.Errorf("no kind %q is registered for version %q: want %s of %s", gvk.Kind, gvk.GroupVersion(), configKind, configGroup)
	}
	c := new(Config)
	strict, err := codec.DecodeStrict(text, c)
	if err != nil {
		return nil, err
	}
	if repeated != "" {
		strict = append([]string{repeated}, strict...)
	}
	return c, codec.StrictError(strict)
}
