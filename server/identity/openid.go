package identity

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// keySetType is the media type of a JSON Web Key Set (RFC 7517).
const keySetType = "application/jwk-set+json"

// ServeIssuer serves on paths the two documents by which others verify service account tokens: the
// OpenID discovery document of the issuer, and its keys. external returns the host and port by
// which others reach the server; it is called for each request, because the port may not be known
// before the server listens. If the issuer is no URL, nobody could find the documents, so
// ServeIssuer serves none, as in kube-apiserver.
func (a *Accounts) ServeIssuer(paths *router.PrefixMux, c *ServiceAccounts, external func() string,
	log *zap.Logger) error {
	issuer := c.Issuers[0]
	if err := authn.CheckIssuer(issuer); err != nil {
		log.Info("the issuer of service account tokens is no URL, so others cannot discover its keys; see --service-account-issuer", zap.Error(err))
		return nil
	}
	err := paths.Handle(authn.KeysPath,
		router.Produces(keySetType, router.Plain(func(w http.ResponseWriter, _ *http.Request) error {
			set, err := a.Keys.Keys().KeySet()
			if err != nil {
				return err
			}
			return writePublic(w, keySetType, set, a.Keys.MaxAge())
		})))
	if err != nil {
		return err
	}
	return paths.Handle(authn.DiscoveryPath,
		router.Produces(codec.JSONType, router.Plain(func(w http.ResponseWriter, _ *http.Request) error {
			url := c.KeysURL
			if url == "" {
				url = "https://" + external() + authn.KeysPath
			}
			body, err := a.Keys.Keys().Discovery(issuer, url)
			if err != nil {
				return err
			}
			return writePublic(w, codec.JSONType, body, a.Keys.MaxAge())
		})))
}

// writePublic writes a document that caches may keep for maxAge.
func writePublic(w http.ResponseWriter, contentType string, body []byte, maxAge time.Duration) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", maxAge/time.Second))
	w.Write(body)
	return nil
}

// Documents describes for OpenAPI the paths that ServeIssuer serves.
func (c *ServiceAccounts) Documents() []openapi.Document {
	if authn.CheckIssuer(c.Issuers[0]) != nil {
		return nil
	}
	return []openapi.Document{
		{Path: strings.TrimPrefix(authn.DiscoveryPath, "/"), Endpoints: []openapi.Endpoint{{
			Path:        authn.DiscoveryPath + "/",
			Description: "get who issues the tokens of service accounts, and where the keys are that verify them",
			OperationID: "getServiceAccountIssuerOpenIDConfiguration",
			Tag:         "WellKnown",
			Types:       []string{codec.JSONType},
		}}},
		{Path: strings.TrimPrefix(authn.KeysPath, "/"), Endpoints: []openapi.Endpoint{{
			Path: authn.KeysPath + "/", Description: "get the public keys that verify the tokens of service accounts",
			OperationID: "getServiceAccountIssuerOpenIDKeyset", Tag: "openid", Types: []string{keySetType},
		}}},
	}
}
