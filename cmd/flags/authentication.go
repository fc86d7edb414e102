package flags

import (
	"time"

	"github.com/coracle-project/coracle/server"
)

// authentication is what flags about who is let in say in a way of their own.
type authentication struct {
	anonymous bool
	lookup    bool // of tokens in secrets
	extend    bool // tokens of pods
	claims    pairs
}

func (o *Options) bindAuthentication(s *section) {
	c := &o.config.Authentication
	s.StringVar(&c.ClientCAFile, "client-ca-file", "", "CAs of client certificates, beside the server's own")
	s.StringVar(&c.TokenAuthFile, "token-auth-file", "", "CSV file of static tokens: token,user,uid,\"group1,group2\"")
	s.BoolVar(&o.authentication.anonymous, "anonymous-auth", true, "let requests without credentials in as system:anonymous")
	s.StringVar(&c.File, "authentication-config", "", "AuthenticationConfiguration file: issuers whose tokens count, and who may come without credentials")
	s.StringSliceVar(&c.Audiences, "api-audiences", nil, "what tokens for this server are meant for; by default the issuers of service account tokens")
	s.BoolVar(&c.BootstrapTokens, "enable-bootstrap-token-auth", false, "let nodes join by bootstrap tokens, which stand in secrets of kube-system")
	o.bindServiceAccounts(s, &c.ServiceAccounts)
	bindFrontProxy(s, &c.FrontProxy)

	hook := &c.Webhook
	s.StringVar(&hook.File, "authentication-token-webhook-config-file", "", "kubeconfig of a webhook that is asked whose a token is")
	s.StringVar(&hook.Version, "authentication-token-webhook-version", "v1beta1", "version of the TokenReview that it is sent: v1 or v1beta1")
	s.DurationVar(&hook.CacheTTL, "authentication-token-webhook-cache-ttl", 2*time.Minute, "how long its answers are believed; 0 for not at all")

	oidc := &c.OIDC
	s.StringVar(&oidc.IssuerURL, "oidc-issuer-url", "", "OpenID Connect provider whose tokens count, as an https URL")
	s.StringVar(&oidc.ClientID, "oidc-client-id", "", "whom its tokens must be for")
	s.StringVar(&oidc.CAFile, "oidc-ca-file", "", "who signs for its servers; by default those whom the system trusts")
	s.StringVar(&oidc.UsernameClaim, "oidc-username-claim", "sub", "claim with the user's name")
	s.StringVar(&oidc.UsernamePrefix, "oidc-username-prefix", "", "what goes before the name: - for nothing; by default the issuer, unless the claim is email")
	s.StringVar(&oidc.GroupsClaim, "oidc-groups-claim", "", "claim with the user's groups: a string or a list of strings")
	s.StringVar(&oidc.GroupsPrefix, "oidc-groups-prefix", "", "what goes before each group")
	s.StringSliceVar(&oidc.SigningAlgs, "oidc-signing-algs", []string{"RS256"}, "algorithms that tokens may be signed with")
	o.authentication.claims.whole = true
	s.Var(&o.authentication.claims, "oidc-required-claim", "claim that must be in a token, as name=value; may be repeated")
}

func (o *Options) bindServiceAccounts(s *section, sa *server.ServiceAccountsConfig) {
	s.StringArrayVar(&sa.Issuers, "service-account-issuer", o.defaults.issuers,
		"issuer of service account tokens, as a URL; of several, which are all accepted, the first signs")
	s.StringArrayVar(&sa.KeyFiles, "service-account-key-file", nil, "file of further keys, or certificates, to verify service account tokens with")
	s.StringVar(&sa.KeysURL, "service-account-jwks-uri", "", "URL of the keys that verify service account tokens; by default this server's")
	s.DurationVar(&sa.Longest, "service-account-max-token-expiration", 0, "longest that a service account token may be asked to be good; 0 for no bound")
	s.BoolVar(&o.authentication.extend, "service-account-extend-token-expiration", true, "let service account tokens of pods be good for a year, for programs that do not read new ones")
	s.BoolVar(&o.authentication.lookup, "service-account-lookup", true, "look whether service account tokens of secrets still stand there")
}

func bindFrontProxy(s *section, proxy *server.FrontProxyConfig) {
	s.StringVar(&proxy.ClientCAFile, "requestheader-client-ca-file", "", "CAs of the certificates of front proxies, which say in headers whom they speak for")
	s.StringSliceVar(&proxy.AllowedNames, "requestheader-allowed-names", nil, "common names of front proxies; if none is given, every certificate of their CAs will do")
	s.StringSliceVar(&proxy.Headers.Names, "requestheader-username-headers", nil, "headers in which front proxies give the user's name, such as X-Remote-User")
	s.StringSliceVar(&proxy.Headers.UIDs, "requestheader-uid-headers", nil, "headers in which front proxies give the user's uid, such as X-Remote-Uid")
	s.StringSliceVar(&proxy.Headers.Groups, "requestheader-group-headers", nil, "headers in which front proxies give the user's groups, such as X-Remote-Group")
	s.StringSliceVar(&proxy.Headers.ExtraPrefixes, "requestheader-extra-headers-prefix", nil, "beginnings of headers in which front proxies give extras, such as X-Remote-Extra-")
}

func (o *Options) finishAuthentication() error {
	c := &o.config.Authentication
	noneAtZero(&c.Webhook.CacheTTL, -1)
	c.ServiceAccounts.NoLookup, c.ServiceAccounts.NoExtension = !o.authentication.lookup, !o.authentication.extend
	if o.given("anonymous-auth") {
		c.Anonymous = &o.authentication.anonymous
	}
	c.OIDC.RequiredClaims = o.authentication.claims.values
	return nil
}
