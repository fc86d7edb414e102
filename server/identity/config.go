package identity

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
)

// Config says how the server finds out who asks. Client certificates of its own authority always
// count.
type Config struct {
	// ClientCAFile holds the CAs of client certificates, beside the server's own. It is read again
	// when it changes. (--client-ca-file)
	ClientCAFile string
	// TokenAuthFile is a CSV of token,user,uid,"group,...". (--token-auth-file)
	TokenAuthFile string
	// BasicAuthFile is a CSV of password,user,uid,"group,...". Passwords are weaker than all else
	// here. (--basic-auth-file)
	BasicAuthFile string
	// FrontProxy are the proxies that say whom they speak for.
	FrontProxy FrontProxy
	// ServiceAccounts is how service accounts are known.
	ServiceAccounts ServiceAccounts
	// Audiences are those of the server itself, which the tokens are for that it accepts; default
	// ServiceAccounts.Issuers. (--api-audiences)
	Audiences []string
	// BootstrapTokens lets in those who show a token that stands in a secret of kube-system, of the
	// type bootstrap.kubernetes.io/token. (--enable-bootstrap-token-auth)
	BootstrapTokens bool
	// Webhook is asked whose a token is that nobody else here knows.
	Webhook TokenWebhook
	// OIDC is an OpenID Connect provider whose tokens count.
	OIDC OIDC
	// File is an AuthenticationConfiguration: the issuers whose tokens count, in place of OIDC, and
	// who may come without credentials. It is read again when it changes, but for the latter.
	// (--authentication-config)
	File string
	// Anonymous lets requests without credentials in; nil leaves it to File, which is not to say
	// anything otherwise, and means true if that says nothing either. (--anonymous-auth)
	Anonymous *bool
	// Authenticators are asked after those above.
	Authenticators []request.Authenticator
}

// TLS is the serving certificate.
type TLS struct {
	// CertFile and KeyFile hold the certificate with its chain, and its key, as PEM; "" makes one
	// in CertDir, or under DataDir/pki. They are read again when they change. (--tls-cert-file,
	// --tls-private-key-file)
	CertFile, KeyFile string
	// CertDir is for a server that is no authority, as kube-apiserver is none: it trusts the
	// certificates of others alone, and gives out none, not to an administrator either. If no
	// CertFile is given it shows the certificate in CertDir/apiserver.crt, with its key in
	// apiserver.key, which signs itself and is written if there is neither. "" makes an authority
	// under DataDir/pki. (--cert-dir)
	CertDir string
	// SANs are further names and addresses for a self-made certificate.
	SANs []string
	// ByName are certificates for clients that ask for one of their names. (--tls-sni-cert-key)
	ByName []NamedCertificate
	// MinVersion is the least version of TLS, as crypto/tls numbers them, default TLS 1.2.
	// (--tls-min-version)
	MinVersion uint16
	// CipherSuites are the suites of TLS 1.2 and before, and Curves the mechanisms of key exchange,
	// as crypto/tls numbers them; none: what Go has by default. (--tls-cipher-suites,
	// --tls-curve-preferences)
	CipherSuites []uint16
	Curves       []tls.CurveID
}

// NamedCertificate is a certificate with its key, as PEM files, which are read again when they
// change. Names are those that clients may ask for: domain names, which may begin with "*.", and
// addresses that they connect to without asking. None: the names in the certificate.
type NamedCertificate struct {
	CertFile, KeyFile string
	Names             []string
}

// FrontProxy says whom to believe what they say of others, in headers.
type FrontProxy struct {
	// ClientCAFile holds the CAs of the proxies' certificates; "" believes nobody. It is read again
	// when it changes. (--requestheader-client-ca-file)
	ClientCAFile string
	// AllowedNames are the common names of proxies; with none, whoever has a certificate of these
	// CAs is one. (--requestheader-allowed-names)
	AllowedNames []string
	// Headers say who the user is. (--requestheader-username-headers, --requestheader-uid-headers,
	// --requestheader-group-headers, --requestheader-extra-headers-prefix)
	Headers authn.Headers
}

// TokenWebhook says where to ask whose a token is.
type TokenWebhook struct {
	// File is a kubeconfig whose current context points to the webhook; "" means none.
	// (--authentication-token-webhook-config-file)
	File string
	// Version is that of the TokenReview to send, authn.ReviewV1 or authn.ReviewV1beta1, the
	// default. (--authentication-token-webhook-version)
	Version string
	// CacheTTL is how long answers are believed, default 2 min; negative: not at all.
	// (--authentication-token-webhook-cache-ttl)
	CacheTTL time.Duration
}

// OIDC says whose tokens count, and what they say of a user.
type OIDC struct {
	// IssuerURL is the provider, as its tokens name it; "" means none. (--oidc-issuer-url)
	IssuerURL string
	// ClientID is whom tokens must be for. (--oidc-client-id)
	ClientID string
	// CAFile holds who signs for the provider's servers, as PEM; "" means those whom the system
	// trusts. (--oidc-ca-file)
	CAFile string
	// UsernameClaim is the claim with the user's name, default "sub". (--oidc-username-claim)
	UsernameClaim string
	// UsernamePrefix goes before the name: "-" means nothing, and "" the issuer's URL and "#",
	// unless the claim is "email". (--oidc-username-prefix)
	UsernamePrefix string
	// GroupsClaim is the claim with the user's groups, and GroupsPrefix goes before each; "" means
	// none. (--oidc-groups-claim, --oidc-groups-prefix)
	GroupsClaim, GroupsPrefix string
	// RequiredClaims have to be in a token, with these values. (--oidc-required-claim)
	RequiredClaims map[string]string
	// SigningAlgs are the algorithms that tokens may be signed with, default RS256.
	// (--oidc-signing-algs)
	SigningAlgs []string
}

// ServiceAccounts says how service accounts are known: by tokens that the server signs when it is
// asked to (serviceaccounts/token), and by those that stand in secrets.
type ServiceAccounts struct {
	// Issuers sign tokens that are accepted. The server itself signs as the first; default
	// "https://kubernetes.default.svc.cluster.local". (--service-account-issuer)
	Issuers []string
	// SigningKeyFile holds the key to sign with, as PEM: RSA, or ECDSA over P-256, P-384 or P-521;
	// "" makes one for P-256 under DataDir/pki. Servers of one cluster need the same.
	// (--service-account-signing-key-file)
	SigningKeyFile string
	// SigningEndpoint is the socket of a plugin that signs in the server's place, and has the keys
	// to verify tokens with: a path, or an abstract name that begins with "@". It goes without key
	// files; tokens of secrets are not made then. (--service-account-signing-endpoint)
	SigningEndpoint string
	// KeyFiles hold keys to verify tokens with beside that one, as PEM: public or private keys or
	// certificates, several in each. (--service-account-key-file)
	KeyFiles []string
	// KeysURL is where others find the keys by which they can verify tokens; default KeysPath of
	// this server. (--service-account-jwks-uri)
	KeysURL string
	// Longest bounds how long a token may be asked to be good; 0 does not.
	// (--service-account-max-token-expiration)
	Longest time.Duration
	// NoExtension has tokens that pods are given be good for no longer than kubelet asks, which is
	// an hour, instead of a year. (--service-account-extend-token-expiration=false)
	NoExtension bool
	// NoLookup accepts tokens that stood in secrets without looking whether they still do.
	// (--service-account-lookup=false)
	NoLookup bool
}

// Complete returns the configuration with its defaults.
func (c Config) Complete() Config {
	if len(c.ServiceAccounts.Issuers) == 0 {
		c.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc.cluster.local"}
	}
	if len(c.Audiences) == 0 {
		c.Audiences = c.ServiceAccounts.Issuers
	}
	c.Webhook.Version = cmp.Or(c.Webhook.Version, authn.ReviewV1beta1)
	c.Webhook.CacheTTL = cmp.Or(c.Webhook.CacheTTL, 2*time.Minute)
	c.OIDC = c.OIDC.complete()
	return c
}

// Validate says what is wrong with a complete configuration.
func (c *Config) Validate() error {
	return errors.Join(c.ServiceAccounts.validate(), c.FrontProxy.validate(c.ClientCAFile), c.OIDC.validate(c.File))
}

// validate also refuses that clients can make themselves front proxies: where both have the same
// CA, proxies must be told apart by their names.
func (c *FrontProxy) validate(clientCAFile string) error {
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

func (c OIDC) complete() OIDC {
	if c.UsernameClaim == "" {
		c.UsernameClaim = "sub"
	}
	if len(c.SigningAlgs) == 0 {
		c.SigningAlgs = []string{"RS256"}
	}
	return c
}

// isSet reports whether anything is said about an issuer.
func (c *OIDC) isSet() bool {
	return c.IssuerURL != "" || c.ClientID != "" || c.CAFile != "" || c.UsernameClaim != "sub" ||
		c.UsernamePrefix != "" || c.GroupsClaim != "" ||
		c.GroupsPrefix != "" || len(c.RequiredClaims) > 0 || !slices.Equal(c.SigningAlgs, []string{"RS256"})
}

func (c *OIDC) validate(file string) error {
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
