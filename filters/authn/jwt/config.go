package jwt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Config is an AuthenticationConfiguration (KEP-3331): which issuers' tokens are accepted, and
// whether anonymous requests are. The types below are its parts, with the fields of Kubernetes'
// API.
type Config struct {
	meta.TypeMeta `json:",inline"`
	JWT           []Issuer   `json:"jwt"`
	Anonymous     *Anonymous `json:"anonymous,omitempty"`
}

// Anonymous says whether requests without credentials are served. With Conditions, only requests
// that meet one of them are.
type Anonymous struct {
	Enabled    bool        `json:"enabled"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is met by requests with exactly this Path.
type Condition struct {
	Path string `json:"path"`
}

// Issuer is an OpenID Connect provider, and the rules that turn its tokens into users.
type Issuer struct {
	Issuer               Source           `json:"issuer"`
	ClaimValidationRules []ClaimRule      `json:"claimValidationRules,omitempty"`
	ClaimMappings        Mappings         `json:"claimMappings"`
	UserValidationRules  []ExpressionRule `json:"userValidationRules,omitempty"`
}

// Source is the issuer itself: where it is, and the audiences that its tokens must have.
type Source struct {
	// URL is the issuer's name in tokens (claim iss). Its discovery document is at DiscoveryURL,
	// or, if that is "", at the path that OpenID Connect Discovery defines below URL.
	URL          string `json:"url"`
	DiscoveryURL string `json:"discoveryURL,omitempty"`
	// CertificateAuthority are the authorities, as PEM, that sign the certificates of the issuer's
	// servers; "" means the system's authorities.
	CertificateAuthority string   `json:"certificateAuthority,omitempty"`
	Audiences            []string `json:"audiences"`
	// AudienceMatchPolicy must be MatchAny if there are several Audiences: one of them is enough.
	AudienceMatchPolicy string `json:"audienceMatchPolicy,omitempty"`
	// EgressSelectorType is not supported: New returns an error if it is set.
	EgressSelectorType string `json:"egressSelectorType,omitempty"`
}

// ClaimRule requires Claim to have RequiredValue, or Expression, over the claims, to be true.
type ClaimRule struct {
	Claim         string `json:"claim,omitempty"`
	RequiredValue string `json:"requiredValue,omitempty"`
	Expression    string `json:"expression,omitempty"`
	Message       string `json:"message,omitempty"`
}

// ExpressionRule requires an expression over the user to be true.
type ExpressionRule struct {
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

// Mappings say how claims become a user.
type Mappings struct {
	// Username is required. The claim "email" counts only if the issuer has verified the address.
	Username PrefixedMapping `json:"username"`
	Groups   PrefixedMapping `json:"groups,omitempty"`
	UID      Mapping         `json:"uid"`
	Extra    []ExtraMapping  `json:"extra,omitempty"`
}

// PrefixedMapping takes the value of a claim, with a prefix, or the result of an expression.
type PrefixedMapping struct {
	Claim string `json:"claim,omitempty"`
	// Prefix goes before the claim's value. It is required with Claim, but may be "".
	Prefix     *string `json:"prefix,omitempty"`
	Expression string  `json:"expression,omitempty"`
}

// Mapping takes the value of a claim, or the result of an expression.
type Mapping struct {
	Claim      string `json:"claim,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ExtraMapping takes the result of an expression as the value of a key in extra.
type ExtraMapping struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

const (
	configGroup = "apiserver.config.k8s.io"
	configKind  = "AuthenticationConfiguration"
	matchAny    = "MatchAny"
)

// configVersions are the versions that are accepted; their fields are the same.
var configVersions = []string{"v1", "v1beta1", "v1alpha1"}

// Read reads a Config from YAML or JSON. Unknown and repeated fields are errors; Validate checks
// the values.
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
		return nil, fmt.Errorf("no kind %q is registered for version %q: want %s of %s", gvk.Kind, gvk.GroupVersion(),
			configKind, configGroup)
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
