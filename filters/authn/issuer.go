package authn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	jose "github.com/go-jose/go-jose/v4"
)

// Where an issuer of tokens says who it is, and which keys its tokens are signed with.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	KeysPath      = "/openid/v1/jwks"
)

// CheckIssuer returns why an issuer cannot say who it is to those who verify its tokens by OpenID Connect Discovery.
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case issuer == "":
		return errors.New("empty issuer URL")
	case err != nil:
		return err
	case u.Scheme != "https":
		return fmt.Errorf("issuer URL must use https scheme, got: %s", issuer)
	case u.RawQuery != "":
		return fmt.Errorf("issuer URL may not include a query, got: %s", issuer)
	case u.Fragment != "":
		return fmt.Errorf("issuer URL may not include a fragment, got: %s", issuer)
	}
	return nil
}

// Discovery is the document at DiscoveryPath.
func (k *TokenKeys) Discovery(issuer, keysURL string) ([]byte, error) {
	var algorithms []string
	for _, key := range k.shown() {
		algorithms = append(algorithms, key.Algorithm)
	}
	slices.Sort(algorithms)
	return json.Marshal(struct {
		Issuer        string   `json:"issuer"`
		KeysURL       string   `json:"jwks_uri"`
		ResponseTypes []string `json:"response_types_supported"`
		SubjectTypes  []string `json:"subject_types_supported"`
		Algorithms    []string `json:"id_token_signing_alg_values_supported"`
	}{issuer, keysURL, []string{"id_token"}, []string{"public"}, slices.Compact(algorithms)})
}

// KeySet is the document at KeysPath.
func (k *TokenKeys) KeySet() ([]byte, error) {
	return json.Marshal(jose.JSONWebKeySet{Keys: k.shown()})
}
