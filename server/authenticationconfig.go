package server

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
)

// AuthenticationConfig says how the server finds out who asks. Client certificates of its own authority always count.
type AuthenticationConfig struct {
	// ClientCAFile holds the CAs of client certificates, beside the server's own. It is read again when it changes.
	// (--client-ca-file)
	ClientCAFile string
	// TokenAuthFile is a CSV of token,user,uid,"group,...". (--token-auth-file)
	TokenAuthFile string
	// BasicAuthFile is a CSV of password,user,uid,"group,...". Passwords are weaker than all else here. (--basic-auth-file)
	BasicAuthFile string
	// FrontProxy are the proxies that say whom they speak for.
	FrontProxy FrontProxyConfig
	// ServiceAccounts is how service accounts are known.
	ServiceAccounts ServiceAccountsConfig
	// Audiences are those of the server itself, which the tokens are for that it accepts; default ServiceAccounts.Issuers.
	// (--api-audiences)
	Audiences []string
	// BootstrapTokens lets in those who show a token that stands in a secret of kube-system, of the type
	// bootstrap.kubernetes.io/token. (--enable-bootstrap-token-auth)
	BootstrapTokens bool
	// Webhook is asked whose a token is that nobody else here knows.
	Webhook TokenWebhookConfig
	// OIDC is an OpenID Connect provider whose tokens count.
	OIDC OIDCConfig
	// File is an AuthenticationConfiguration: the issuers whose tokens count, in place of OIDC, and who may come without credentials. It
	// is read again when it changes, but for the latter. (--authentication-config)
	File string
	// Anonymous lets requests without credentials in; nil leaves it to File, which is not to say anything otherwise, and means true if
	// that says nothing either. (--anonymous-auth)
	Anonymous *bool
	// NoAnonymous has nobody come without credentials if neither Anonymous nor File says anything.
	NoAnonymous bool
	// Authenticators are asked after those above.
	Authenticators []request.Authenticator
}

// FrontProxyConfig says whom to believe what they say of others, in headers.
type FrontProxyConfig struct {
	// ClientCAFile holds the CAs of the proxies' certificates; "" believes nobody. It is read again when it changes.
	// (--requestheader-client-ca-file)
	ClientCAFile string
	// AllowedNames are the common names of proxies; with none, whoever has a certificate of these CAs is one.
	// (--requestheader-allowed-names)
	AllowedNames []string
	// Headers say who the user is. (--requestheader-username-headers, --requestheader-uid-headers, --requestheader-group-headers,
	// --requestheader-extra-headers-prefix)
	Headers authn.Headers
}

// TokenWebhookConfig says where to ask whose a token is.
type TokenWebhookConfig struct {
	// File is a kubeconfig whose current context points to the webhook; "" means none. (--authentication-token-webhook-config-file)
	File string
	// Version is that of the TokenReview to send, authn.ReviewV1 or authn.ReviewV1beta1, the default.
	// (--authentication-token-webhook-version)
	Version string
	// CacheTTL is how long answers are believed, default 2 min; negative: not at all. (--authentication-token-webhook-cache-ttl)
	CacheTTL time.Duration
}

// OIDCConfig says whose tokens count, and what they say of a user.
type OIDCConfig struct {
	// IssuerURL is the provider, as its tokens name it; "" means none. (--oidc-issuer-url)
	IssuerURL string
	// ClientID is whom tokens must be for. (--oidc-client-id)
	ClientID string
	// CAFile holds who signs for the provider's servers, as PEM; "" means those whom the system trusts. (--oidc-ca-file)
	CAFile string
	// UsernameClaim is the claim with the user's name, default "sub". (--oidc-username-claim)
	UsernameClaim string
	// UsernamePrefix goes before the name: "-" means nothing, and "" the issuer's URL and "#", unless the claim is "email".
	// (--oidc-username-prefix)
	UsernamePrefix string
	// GroupsClaim is the claim with the user's groups, and GroupsPrefix goes before each; "" means none.
	// (--oidc-groups-claim, --oidc-groups-prefix)
	GroupsClaim, GroupsPrefix string
	// RequiredClaims have to be in a token, with these values. (--oidc-required-claim)
	RequiredClaims map[string]string
	// SigningAlgs are the algorithms that tokens may be signed with, default RS256. (--oidc-signing-algs)
	SigningAlgs []string
}

// ServiceAccountsConfig says how service accounts are known: by tokens that the server signs when it is asked to
// (serviceaccounts/token), and by those that stand in secrets.
type ServiceAccountsConfig struct {
	// Issuers sign tokens that are accepted. The server itself signs as the first; default
	// "https://kubernetes.default.svc.cluster.local". (--service-account-issuer)
	Issuers []string
	// SigningKeyFile holds the key to sign with, as PEM: RSA, or ECDSA over P-256, P-384 or P-521; "" makes one for P-256 under
	// DataDir/pki. Servers of one cluster need the same. (--service-account-signing-key-file)
	SigningKeyFile string
	// KeyFiles hold keys to verify tokens with beside that one, as PEM: public or private keys or certificates, several in
	// each. (--service-account-key-file)
	KeyFiles []string
	// KeysURL is where others find the keys by which they can verify tokens; default KeysPath of this server.
	// (--service-account-jwks-uri)
	KeysURL string
	// Longest bounds how long a token may be asked to be good; 0 does not. (--service-account-max-token-expiration)
	Longest time.Duration
	// NoExtension has tokens that pods are given be good for no longer than kubelet asks, which is an hour, instead of a year.
	// (--service-account-extend-token-expiration=false)
	NoExtension bool
	// NoLookup accepts tokens that stood in secrets without looking whether they still do. (--service-account-lookup=false)
	NoLookup bool
}

func (c AuthenticationConfig) complete() AuthenticationConfig {
	if len(c.ServiceAccounts.Issuers) == 0 {
		c.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc.cluster.local"}
	}
	if len(c.Audiences) == 0 {
		c.Audiences = c.ServiceAccounts.Issuers
	}
	setDefault(&c.Webhook.Version, authn.ReviewV1beta1)
	setDefault(&c.Webhook.CacheTTL, 2*time.Minute)
	c.OIDC = c.OIDC.complete()
	return c
}

func (c *AuthenticationConfig) validate() error {
	return errors.Join(c.ServiceAccounts.validate(), c.FrontProxy.validate(c.ClientCAFile), c.OIDC.validate(c.File))
}

// validate also refuses that clients can make themselves front proxies: where both have the same CA, proxies must be told apart by
// their names.
func (c *FrontProxyConfig) validate(clientCAFile string) error {
	if err := c.Headers.Validate(); err != nil {
		return fmt.Errorf("front proxies: %w", err)
	}
	for _, name := range c.AllowedNames {
		if strings.TrimSpace(name) == "" {
			return errors.New("front proxies: an allowed name is empty")
		}
	}
	if c.ClientCAFile == "" || clientCAFile == "" || len(c.AllowedNames) > 0 {
		return nil
	}
	proxies, proxiesErr := readCertificates(c.ClientCAFile)
	clients, clientsErr := readCertificates(clientCAFile)
	if proxiesErr != nil || clientsErr != nil {
		return nil // said when they are read to be used
	}
	if slices.ContainsFunc(proxies, func(p *x509.Certificate) bool { return slices.ContainsFunc(clients, p.Equal) }) {
		return fmt.Errorf("front proxies and clients have a CA in common (%s, %s): the names of front proxies must be given", c.ClientCAFile, clientCAFile)
	}
	return nil
}

func (c OIDCConfig) complete() OIDCConfig {
	if c.UsernameClaim == "" {
		c.UsernameClaim = "sub"
	}
	if len(c.SigningAlgs) == 0 {
		c.SigningAlgs = []string{"RS256"}
	}
	return c
}

// isSet reports whether anything is said about an issuer.
func (c *OIDCConfig) isSet() bool {
	return c.IssuerURL != "" || c.ClientID != "" || c.CAFile != "" || c.UsernameClaim != "sub" || c.UsernamePrefix != "" || c.GroupsClaim != "" ||
		c.GroupsPrefix != "" || len(c.RequiredClaims) > 0 || !slices.Equal(c.SigningAlgs, []string{"RS256"})
}

func (c *OIDCConfig) validate(file string) error {
	switch {
	case !c.isSet():
		return nil
	case file != "":
		return errors.New("authentication-config file and oidc-* flags are mutually exclusive")
	case c.IssuerURL == "" || c.ClientID == "":
		return errors.New("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")
	}
	return nil
}
