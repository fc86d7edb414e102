package flags

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v2"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/server/identity"
)

// The section "Authentication": who a request's user is. Options.Finish calls
// completeAuthentication before the checks of all sections, and finishAuthentication and
// finishTokens among them.

// authentication holds the values of the section "Authentication" that do not go into the Config as
// they are.
type authentication struct {
	anonymous bool
	lookup    bool  // check that the secret of a legacy token still has the token
	extend    bool  // let tokens of pods be good for a year
	claims    pairs // claims that the token of an OpenID Connect provider must have
}

// bindAuthentication declares the flags of the section.
func (o *Options) bindAuthentication(s *section) {
	c := &o.config.Authentication
	s.StringVar(&c.ClientCAFile, "client-ca-file", "", "file of further CAs whose client certificates are accepted, beside the server's own CA")
	s.StringVar(&c.TokenAuthFile, "token-auth-file", "",
		"CSV file of static tokens, with a line token,user,uid,\"group1,group2\" for each")
	s.BoolVar(&o.authentication.anonymous, "anonymous-auth", true,
		"accept requests without credentials, as the user system:anonymous")
	s.StringVar(&c.File, "authentication-config", "",
		"AuthenticationConfiguration file, which names the issuers whose tokens are accepted, and the paths that need no credentials")
	s.StringSliceVar(&c.Audiences, "api-audiences", nil,
		"audiences of this server, separated by commas: a token must be for one of them; by default the issuers of service account tokens")
	s.BoolVar(&c.BootstrapTokens, "enable-bootstrap-token-auth", false,
		"accept bootstrap tokens, by which nodes join the cluster; they are Secrets in kube-system")
	o.bindServiceAccounts(s, &c.ServiceAccounts)
	bindFrontProxy(s, &c.FrontProxy)

	hook := &c.Webhook
	s.StringVar(&hook.File, "authentication-token-webhook-config-file", "",
		"kubeconfig of a webhook that is asked by TokenReviews which user a token belongs to")
	s.StringVar(&hook.Version, "authentication-token-webhook-version", "v1beta1",
		"version of the TokenReviews that are sent to the authentication webhook: v1 or v1beta1")
	s.DurationVar(&hook.CacheTTL, "authentication-token-webhook-cache-ttl", 2*time.Minute,
		"how long the server remembers an answer of the authentication webhook; 0 to ask each time")

	oidc := &c.OIDC
	s.StringVar(&oidc.IssuerURL, "oidc-issuer-url", "", "https URL of an OpenID Connect provider whose tokens are accepted")
	s.StringVar(&oidc.ClientID, "oidc-client-id", "", "client ID that must be an audience of the tokens of the OpenID Connect provider")
	s.StringVar(&oidc.CAFile, "oidc-ca-file", "", "file of the CAs that verify the OpenID Connect provider; by default the CAs of the system")
	s.StringVar(&oidc.UsernameClaim, "oidc-username-claim", "sub", "claim that has the user's name")
	s.StringVar(&oidc.UsernamePrefix, "oidc-username-prefix", "",
		"prefix of user names from the OpenID Connect provider; - for none; by default the issuer URL and #, or none if the claim is email")
	s.StringVar(&oidc.GroupsClaim, "oidc-groups-claim", "",
		"claim that has the user's groups, as a string or a list of strings; by default users have no groups")
	s.StringVar(&oidc.GroupsPrefix, "oidc-groups-prefix", "", "prefix of groups from the OpenID Connect provider")
	s.StringSliceVar(&oidc.SigningAlgs, "oidc-signing-algs", []string{"RS256"},
		"algorithms by which the OpenID Connect provider may sign tokens, separated by commas")
	o.authentication.claims.whole = true
	s.Var(&o.authentication.claims, "oidc-required-claim",
		"claim that each token of the OpenID Connect provider must have, as name=value; may be repeated")
}

// bindServiceAccounts declares the flags about service account tokens.
func (o *Options) bindServiceAccounts(s *section, sa *identity.ServiceAccounts) {
	s.StringArrayVar(&sa.Issuers, "service-account-issuer", o.defaults.issuers,
		"issuer of service account tokens, as a URL; may be repeated: the first is the issuer of new tokens, and tokens of all are accepted")
	s.StringArrayVar(&sa.KeyFiles, "service-account-key-file", nil,
		"file of further public keys or certificates that verify service account tokens; may be repeated")
	s.StringVar(&sa.KeysURL, "service-account-jwks-uri", "",
		"https URL at which clients find the keys that verify service account tokens; by default a URL of this server")
	s.DurationVar(&sa.Longest, "service-account-max-token-expiration", 0,
		"longest lifetime that a client may request for a service account token, at least 1h; 0 for no bound")
	s.BoolVar(&o.authentication.extend, "service-account-extend-token-expiration", true,
		"make the service account tokens of pods valid for a year, for programs that do not read renewed tokens")
	s.BoolVar(&o.authentication.lookup, "service-account-lookup", true,
		"accept the service account token of a Secret only while the Secret still has it")
}

// bindFrontProxy declares the flags about front proxies (authenticating proxies in Kubernetes'
// documentation).
func bindFrontProxy(s *section, proxy *identity.FrontProxy) {
	s.StringVar(&proxy.ClientCAFile, "requestheader-client-ca-file", "",
		"file of the CAs of front proxies, which name the user of a request in its headers")
	s.StringSliceVar(&proxy.AllowedNames, "requestheader-allowed-names", nil,
		"common names that the certificates of front proxies may have, separated by commas; by default any")
	s.StringSliceVar(&proxy.Headers.Names, "requestheader-username-headers", nil,
		"headers in which front proxies send the user's name, such as X-Remote-User")
	s.StringSliceVar(&proxy.Headers.UIDs, "requestheader-uid-headers", nil,
		"headers in which front proxies send the user's uid, such as X-Remote-Uid")
	s.StringSliceVar(&proxy.Headers.Groups, "requestheader-group-headers", nil,
		"headers in which front proxies send the user's groups, such as X-Remote-Group")
	s.StringSliceVar(&proxy.Headers.ExtraPrefixes, "requestheader-extra-headers-prefix", nil,
		"prefixes of the headers in which front proxies send the user's extra attributes, such as X-Remote-Extra-")
}

// The bounds of --service-account-max-token-expiration, as in kube-apiserver.
const (
	leastExpiration = time.Hour
	mostExpiration  = (1 << 32) * time.Second
)

// completeAuthentication checks what signs service account tokens: a key file or a plugin, not
// both. It looks at the key file only if there is an issuer, as kube-apiserver does.
func (o *Options) completeAuthentication() error {
	sa := &o.config.Authentication.ServiceAccounts
	if sa.Longest != 0 && (sa.Longest < leastExpiration || sa.Longest > mostExpiration) {
		return errors.New("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds")
	}
	if sa.SigningKeyFile == "" || len(sa.Issuers) == 0 || sa.Issuers[0] == "" {
		return nil
	}
	if sa.SigningEndpoint != "" {
		return errors.New("service-account-signing-key-file and service-account-signing-endpoint are mutually exclusive and cannot be set at the same time")
	}
	if err := configfile.Check(sa.SigningKeyFile); err != nil {
		return fmt.Errorf("failed to parse service-account-issuer-key-file: %w", err)
	}
	return nil
}

// finishAuthentication checks the section and writes it into the Config. Config.Anonymous stays nil
// unless --anonymous-auth was given, so that an AuthenticationConfiguration file may decide.
func (o *Options) finishAuthentication() error {
	c := &o.config.Authentication
	var m mistakes
	m.addErr(o.checkOIDC())
	m.addErr(o.checkServiceAccounts())
	m.addErr(o.checkFrontProxy())
	noneAtZero(&c.Webhook.CacheTTL, -1)
	c.ServiceAccounts.NoLookup, c.ServiceAccounts.NoExtension = !o.authentication.lookup, !o.authentication.extend
	if o.given("anonymous-auth") {
		c.Anonymous = &o.authentication.anonymous
	}
	c.OIDC.RequiredClaims = o.authentication.claims.values
	return m.err()
}

// turnOffAnonymous turns anonymous requests off where the authorizer AlwaysAllow would let them do
// everything, as kube-apiserver does. It does nothing if an AuthenticationConfiguration file
// decides about anonymous requests. It does nothing for `coracle serve` either: AlwaysAllow is not
// its default, so it is on the command line on purpose.
func (o *Options) turnOffAnonymous() {
	if !o.defaults.strict || !o.authentication.anonymous {
		return
	}
	if c := &o.config.Authentication; c.Anonymous == nil && configuresAnonymous(c.File) {
		return // the file decides
	}
	o.authentication.anonymous = false
	o.config.Authentication.Anonymous = &o.authentication.anonymous
	o.warn("AnonymousAuth is not allowed with the AlwaysAllow authorizer. " +
		"Resetting AnonymousAuth to false. You should use a different authorizer")
}

// configuresAnonymous reports whether an AuthenticationConfiguration file has the field anonymous.
// It returns false if the file cannot be read: the server reports that when it loads the file.
func configuresAnonymous(file string) bool {
	text, err := configfile.Read(file)
	if err != nil {
		return false
	}
	var configuration struct{ Anonymous any }
	return yaml.Unmarshal(text, &configuration) == nil && configuration.Anonymous != nil
}

// checkOIDC checks that the flags about an OpenID Connect provider are complete, and that no
// AuthenticationConfiguration file configures providers as well.
func (o *Options) checkOIDC() error {
	c := &o.config.Authentication
	given := slices.ContainsFunc([]string{"issuer-url", "client-id", "ca-file", "username-claim", "username-prefix",
		"groups-claim", "groups-prefix",
		"signing-algs", "required-claim"}, func(name string) bool { return o.given("oidc-" + name) })
	switch {
	case given && c.File != "":
		return errors.New("authentication-config file and oidc-* flags are mutually exclusive")
	case given && (c.OIDC.IssuerURL == "" || c.OIDC.ClientID == ""):
		return errors.New("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")
	}
	return nil
}

// checkServiceAccounts checks the issuers of service account tokens and the URL of their keys.
func (o *Options) checkServiceAccounts() error {
	sa := &o.config.Authentication.ServiceAccounts
	var m mistakes
	for i, issuer := range sa.Issuers {
		_, err := url.Parse(issuer)
		switch {
		case strings.Contains(issuer, ":") && err != nil:
			m.add("service-account-issuer %q contained a ':' but was not a valid URL: %w", issuer, err)
		case issuer == "":
			m.add("service-account-issuer should not be an empty string")
		case slices.Contains(sa.Issuers[:i], issuer):
			m.add("service-account-issuer %q is already specified", issuer)
		}
	}
	if o.defaults.strict && len(sa.Issuers) == 0 {
		m.add("service-account-issuer is a required flag")
	}
	if o.defaults.strict && len(sa.KeyFiles) == 0 && sa.SigningEndpoint == "" {
		m.add("either `--service-account-key-file` or `--service-account-signing-endpoint` must be set")
	}
	if sa.KeysURL != "" {
		if u, err := url.Parse(sa.KeysURL); err != nil {
			m.add("service-account-jwks-uri must be a valid URL: %w", err)
		} else if u.Scheme != "https" {
			m.add("service-account-jwks-uri requires https scheme, parsed as: %v", u)
		}
	}
	return m.err()
}

// checkFrontProxy checks the names of headers in which a front proxy passes the user on. A server
// behind this one reads the uid from X-Remote-Uid, so that name must be among those of the uid.
func (o *Options) checkFrontProxy() error {
	c := &o.config.Authentication.FrontProxy
	var m mistakes
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"requestheader-username-headers", c.Headers.Names}, {"requestheader-group-headers", c.Headers.Groups},
		{"requestheader-extra-headers-prefix", c.Headers.ExtraPrefixes},
		{"requestheader-allowed-names", c.AllowedNames},
	} {
		m.addErr(checkFilled(list.flag, list.values))
	}
	if len(c.Headers.UIDs) == 0 {
		return m.err()
	}
	const gate, flag = "RemoteRequestHeaderUID", "requestheader-uid-headers"
	if !o.generic.gates.enabled(gate) {
		m.add("--%s requires the %q feature to be enabled", flag, gate)
		return m
	}
	m.addErr(checkFilled(flag, c.Headers.UIDs))
	if !slices.ContainsFunc(c.Headers.UIDs, func(h string) bool { return strings.EqualFold(h, "X-Remote-Uid") }) {
		m.add("--%s is set without specifying the standard X-Remote-Uid header - API aggregation will not work", flag)
	}
	return m.err()
}

// checkFilled returns an error if a value of the flag is empty.
func checkFilled(flag string, values []string) error {
	if slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
		return fmt.Errorf("empty value in %q", flag)
	}
	return nil
}

// finishTokens checks, for `coracle kube-apiserver`, that all flags are given that the signing of
// service account tokens needs.
func (o *Options) finishTokens() error {
	c := &o.config.Authentication
	sa := &c.ServiceAccounts
	issues, signs := len(sa.Issuers) > 0 && sa.Issuers[0] != "", sa.SigningKeyFile != "" || sa.SigningEndpoint != ""
	switch {
	case !o.defaults.strict:
		return nil
	case sa.SigningKeyFile == "" && !issues && len(c.Audiences) == 0:
		return errors.New("--service-account-signing-key-file and --service-account-issuer are required flags")
	case !signs || !issues:
		return errors.New("--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified together")
	}
	return nil
}
