package authn

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	jose "github.com/go-jose/go-jose/v4"
)

// The paths at which an issuer publishes its OpenID Connect discovery document and the keys of its
// tokens.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	KeysPath      = "/openid/v1/jwks"
)

// CheckIssuer returns an error if an issuer URL cannot be used for OpenID Connect Discovery: it
// must be https, without query and fragment.
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

// Discovery returns the OpenID Connect discovery document, which is served at DiscoveryPath. It
// names issuer, the algorithms of the published keys, and keysURL, where KeySet is served.
func (k *TokenKeys) Discovery(issuer, keysURL string) ([]byte, error) {
	var algorithms []string
	for _, key := range k.published() {
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

// KeySet returns the document at KeysPath, a JSON Web Key Set (RFC 7517).
func (k *TokenKeys) KeySet() ([]byte, error) {
	return json.Marshal(jose.JSONWebKeySet{Keys: k.published()})
}
