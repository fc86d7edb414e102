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

// The configuration of authentication and TLS, with its defaults and validation. A comment gives in
// brackets the flag of kube-apiserver that sets the same thing.

// Config says how the server authenticates requests. Client certificates of the server's own
// authority are always accepted.
type Config struct {
	// ClientCAFile is a PEM file of further CAs of client certificates. It is read again when it
	// changes. (--client-ca-file)
	ClientCAFile string
	// TokenAuthFile is a CSV file with lines token,user,uid,"group,...". (--token-auth-file)
	TokenAuthFile string
	// BasicAuthFile is a CSV file with lines password,user,uid,"group,...". Passwords are the
	// weakest credentials here: clients send them with every request. (--basic-auth-file, which
	// Kubernetes has removed)
	BasicAuthFile string
	// FrontProxy sets which proxies may name their users in headers.
	FrontProxy FrontProxy
	// ServiceAccounts sets how tokens of service accounts are signed and verified.
	ServiceAccounts ServiceAccounts
	// Audiences identify the server: it accepts tokens that are for one of them. Default
	// ServiceAccounts.Issuers. (--api-audiences)
	Audiences []string
	// BootstrapTokens accepts the tokens in secrets of the type bootstrap.kubernetes.io/token in
	// kube-system. (--enable-bootstrap-token-auth)
	BootstrapTokens bool
	// Webhook is asked about a token if all other authenticators of tokens refuse it.
	Webhook TokenWebhook
	// OIDC is an OpenID Connect provider whose tokens are accepted. It excludes File.
	OIDC OIDC
	// File is an AuthenticationConfiguration: the issuers whose tokens are accepted, and the paths
	// at which anonymous requests are accepted. The issuers are read again when the file changes; a
	// change of the anonymous part is refused. (--authentication-config)
	File string
	// Anonymous accepts requests without credentials, as the user system:anonymous. nil means what
	// File says, and true if File says nothing about anonymous requests. It must be nil if File
	// says something. (--anonymous-auth)
	Anonymous *bool
	// Authenticators of the program are asked after the ones above.
	Authenticators []request.Authenticator
}

// TLS sets the serving certificate, the parameters of TLS, and who signs certificates for others.
type TLS struct {
	// CertFile and KeyFile hold the serving certificate with its chain, and its key, as PEM. They
	// are read again when they change. "" makes a certificate in CertDir, or under DataDir/pki if
	// CertDir is "". (--tls-cert-file, --tls-private-key-file)
	CertFile, KeyFile string
	// CertDir makes the server work like kube-apiserver, without an authority of its own. Such a
	// server signs no client certificates, also none for an administrator. Without CertFile it
	// shows the certificate in CertDir/apiserver.crt, with its key in apiserver.key; it writes a
	// self-signed pair if neither file exists. "" makes an authority under DataDir/pki.
	// (--cert-dir)
	CertDir string
	// SANs are further DNS names and IP addresses for a self-made certificate.
	SANs []string
	// ByName are serving certificates for clients that ask for one of their names (SNI).
	// (--tls-sni-cert-key)
	ByName []NamedCertificate
	// MinVersion is the least version of TLS, as crypto/tls numbers them, default TLS 1.2.
	// (--tls-min-version)
	MinVersion uint16
	// CipherSuites are the cipher suites of TLS 1.2 and before, and Curves the mechanisms of key
	// exchange, as crypto/tls numbers them; an empty list means Go's default. (--tls-cipher-suites,
	// --tls-curve-preferences)
	CipherSuites []uint16
	Curves       []tls.CurveID
	// Signing names the authorities that sign the certificates that clients request.
	Signing Signing
}

// NamedCertificate is a certificate with its key, as PEM files, which are read again when they
// change. Names says when it is shown: for a domain name, which may begin with "*.", to clients
// that ask for that name (SNI); for an IP address of the server, to clients that connect to that
// address and ask for no name. If Names is empty the domain names in the certificate count.
type NamedCertificate struct {
	CertFile, KeyFile string
	Names             []string
}

// FrontProxy says which clients may name, in headers, the user for whom they speak (request header
// authentication).
type FrontProxy struct {
	// ClientCAFile holds the CAs of the proxies' certificates; "" means that there are no front
	// proxies. It is read again when it changes. (--requestheader-client-ca-file)
	ClientCAFile string
	// AllowedNames are the common names of the proxies' certificates. If it is empty every
	// certificate of these CAs is a proxy's. (--requestheader-allowed-names)
	AllowedNames []string
	// Headers are the names of the headers that describe the user.
	// (--requestheader-username-headers, --requestheader-uid-headers,
	// --requestheader-group-headers, --requestheader-extra-headers-prefix)
	Headers authn.Headers
}

// TokenWebhook sets the webhook that authenticates tokens (TokenReview).
type TokenWebhook struct {
	// File is a kubeconfig whose current context names the webhook; "" means no webhook.
	// (--authentication-token-webhook-config-file)
	File string
	// Version is the version of the TokenReviews that the server sends: authn.ReviewV1 or
	// authn.ReviewV1beta1, the default. (--authentication-token-webhook-version)
	Version string
	// CacheTTL is how long the server remembers an answer, default 2 min; negative: not at all.
	// (--authentication-token-webhook-cache-ttl)
	CacheTTL time.Duration
}

// OIDC is one OpenID Connect provider: the issuer of the accepted tokens, and the claims that
// describe the user.
type OIDC struct {
	// IssuerURL is the provider's URL, which is the claim iss of its tokens; "" means no provider.
	// (--oidc-issuer-url)
	IssuerURL string
	// ClientID is the audience that tokens must have. (--oidc-client-id)
	ClientID string
	// CAFile holds the CAs of the provider's servers, as PEM; "" means the CAs of the system.
	// (--oidc-ca-file)
	CAFile string
	// UsernameClaim is the claim with the user's name, default "sub". (--oidc-username-claim)
	UsernameClaim string
	// UsernamePrefix is put before the name. "-" means no prefix; "" means the issuer's URL and
	// "#", but no prefix if the claim is "email". (--oidc-username-prefix)
	UsernamePrefix string
	// GroupsClaim is the claim with the user's groups; "" means that tokens name no groups.
	// GroupsPrefix is put before each group. (--oidc-groups-claim, --oidc-groups-prefix)
	GroupsClaim, GroupsPrefix string
	// RequiredClaims are claims that each token must have, with these values.
	// (--oidc-required-claim)
	RequiredClaims map[string]string
	// SigningAlgs are the algorithms that tokens may be signed with, default RS256.
	// (--oidc-signing-algs)
	SigningAlgs []string
}

// ServiceAccounts sets how tokens of service accounts are signed and verified: bound tokens, which
// TokenRequest (serviceaccounts/token) issues, and legacy tokens in secrets.
type ServiceAccounts struct {
	// Issuers are the issuers whose tokens the server accepts. The server signs as the first one.
	// Default "https://kubernetes.default.svc.cluster.local". (--service-account-issuer)
	Issuers []string
	// SigningKeyFile holds the key that signs, as PEM: RSA, or ECDSA over P-256, P-384 or P-521; ""
	// makes a P-256 key under DataDir/pki. All servers of a cluster must have the same key.
	// (--service-account-signing-key-file)
	SigningKeyFile string
	// SigningEndpoint is the socket of an external signer, which signs tokens in the server's place
	// and lists the keys that verify them: a path, or an abstract name that begins with "@". It
	// excludes SigningKeyFile and KeyFiles. With it the server makes no tokens for secrets.
	// (--service-account-signing-endpoint, KEP-740)
	SigningEndpoint string
	// KeyFiles hold further keys that verify tokens, as PEM: public or private keys or
	// certificates, one or several in each file. (--service-account-key-file)
	KeyFiles []string
	// KeysURL is the URL at which others find the keys that verify tokens; default: authn.KeysPath
	// on this server. (--service-account-jwks-uri)
	KeysURL string
	// Longest bounds the lifetime that a TokenRequest may ask for; 0 means no bound.
	// (--service-account-max-token-expiration)
	Longest time.Duration
	// NoExtension: tokens of pods are valid for as long as the kubelet requests, about an hour,
	// instead of a year. (--service-account-extend-token-expiration=false)
	NoExtension bool
	// NoLookup accepts legacy tokens without looking whether their secrets and service accounts
	// still exist. (--service-account-lookup=false)
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

// Validate returns everything that is wrong with a configuration that Complete has returned.
func (c *Config) Validate() error {
	return errors.Join(c.ServiceAccounts.validate(), c.FrontProxy.validate(c.ClientCAFile), c.OIDC.validate(c.File))
}

// validate also refuses a configuration in which a client could act as a front proxy: if clients
// and proxies have a CA in common, AllowedNames must not be empty.
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
		return nil // New returns the error when it reads the files
	}
	if slices.ContainsFunc(proxies, func(p *x509.Certificate) bool { return slices.ContainsFunc(clients, p.Equal) }) {
		return fmt.Errorf("front proxies and clients have a CA in common (%s, %s): name the front proxies by --requestheader-allowed-names", c.ClientCAFile, clientCAFile)
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

// isSet reports whether any flag about the provider differs from its default.
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
