package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
)

// bindAuthentication declares the flags about who is let in.
func (o *options) bindAuthentication(f *pflag.FlagSet) {
	c := &o.config.Authentication
	o.given = f.Changed
	f.StringVar(&c.ClientCAFile, "client-ca-file", "", "CAs of client certificates, beside the server's own")
	f.StringVar(&c.TokenAuthFile, "token-auth-file", "", "CSV file of static tokens: token,user,uid,\"group1,group2\"")
	f.StringVar(&c.BasicAuthFile, "basic-auth-file", "", "CSV file of passwords, which are weaker than all else: password,user,uid,\"group1,group2\"")
	f.BoolVar(&o.anonymous, "anonymous-auth", true, "let requests without credentials in as system:anonymous")

	sa := &c.ServiceAccounts
	f.StringArrayVar(&sa.Issuers, "service-account-issuer", []string{"https://kubernetes.default.svc.cluster.local"},
		"issuer of service account tokens, as a URL; of several, which are all accepted, the first signs")
	f.StringVar(&sa.SigningKeyFile, "service-account-signing-key-file", "", "key to sign service account tokens with; made under the data directory if not given")
	f.StringArrayVar(&sa.KeyFiles, "service-account-key-file", nil, "file of further keys, or certificates, to verify service account tokens with")
	f.StringVar(&sa.KeysURL, "service-account-jwks-uri", "", "URL of the keys that verify service account tokens; by default this server's")
	f.DurationVar(&sa.Longest, "service-account-max-token-expiration", 0, "longest that a service account token may be asked to be good; 0 for no bound")
	f.BoolVar(&o.extend, "service-account-extend-token-expiration", true, "let service account tokens of pods be good for a year, for programs that do not read new ones")
	f.BoolVar(&o.lookup, "service-account-lookup", true, "look whether service account tokens of secrets still stand there")
	f.StringSliceVar(&c.Audiences, "api-audiences", nil, "what tokens for this server are meant for; by default the issuers of service account tokens")
	f.BoolVar(&c.BootstrapTokens, "enable-bootstrap-token-auth", false, "let nodes join by bootstrap tokens, which stand in secrets of kube-system")

	proxy := &c.FrontProxy
	f.StringVar(&proxy.ClientCAFile, "requestheader-client-ca-file", "", "CAs of the certificates of front proxies, which say in headers whom they speak for")
	f.StringSliceVar(&proxy.AllowedNames, "requestheader-allowed-names", nil, "common names of front proxies; if none is given, every certificate of their CAs will do")
	f.StringSliceVar(&proxy.Headers.Names, "requestheader-username-headers", nil, "headers in which front proxies give the user's name, such as X-Remote-User")
	f.StringSliceVar(&proxy.Headers.UIDs, "requestheader-uid-headers", nil, "headers in which front proxies give the user's uid, such as X-Remote-Uid")
	f.StringSliceVar(&proxy.Headers.Groups, "requestheader-group-headers", nil, "headers in which front proxies give the user's groups, such as X-Remote-Group")
	f.StringSliceVar(&proxy.Headers.ExtraPrefixes, "requestheader-extra-headers-prefix", nil, "beginnings of headers in which front proxies give extras, such as X-Remote-Extra-")

	hook := &c.Webhook
	f.StringVar(&hook.File, "authentication-token-webhook-config-file", "", "kubeconfig of a webhook that is asked whose a token is")
	f.StringVar(&hook.Version, "authentication-token-webhook-version", "v1beta1", "version of the TokenReview that it is sent: v1 or v1beta1")
	f.DurationVar(&hook.CacheTTL, "authentication-token-webhook-cache-ttl", 2*time.Minute, "how long its answers are believed; 0 for not at all")

	f.StringVar(&c.File, "authentication-config", "", "AuthenticationConfiguration file: issuers whose tokens count, and who may come without credentials")
	oidc := &c.OIDC
	f.StringVar(&oidc.IssuerURL, "oidc-issuer-url", "", "OpenID Connect provider whose tokens count, as an https URL")
	f.StringVar(&oidc.ClientID, "oidc-client-id", "", "whom its tokens must be for")
	f.StringVar(&oidc.CAFile, "oidc-ca-file", "", "who signs for its servers; by default those whom the system trusts")
	f.StringVar(&oidc.UsernameClaim, "oidc-username-claim", "sub", "claim with the user's name")
	f.StringVar(&oidc.UsernamePrefix, "oidc-username-prefix", "", "what goes before the name: - for nothing; by default the issuer, unless the claim is email")
	f.StringVar(&oidc.GroupsClaim, "oidc-groups-claim", "", "claim with the user's groups: a string or a list of strings")
	f.StringVar(&oidc.GroupsPrefix, "oidc-groups-prefix", "", "what goes before each group")
	f.StringSliceVar(&oidc.SigningAlgs, "oidc-signing-algs", []string{"RS256"}, "algorithms that tokens may be signed with")
	f.StringArrayVar(&o.claims, "oidc-required-claim", nil, "claim that must be in a token, as name=value; may be repeated")
}

// finishAuthentication turns the flags' ways of saying things into the Config's.
func (o *options) finishAuthentication() error {
	c := &o.config.Authentication
	c.ServiceAccounts.NoLookup, c.ServiceAccounts.NoExtension = !o.lookup, !o.extend
	if o.given("anonymous-auth") {
		c.Anonymous = &o.anonymous
	}
	for _, entry := range o.claims {
		claim, value, ok := strings.Cut(entry, "=")
		if claim = strings.TrimSpace(claim); !ok || claim == "" {
			return fmt.Errorf("--oidc-required-claim %q: want name=value", entry)
		}
		if c.OIDC.RequiredClaims == nil {
			c.OIDC.RequiredClaims = map[string]string{}
		}
		c.OIDC.RequiredClaims[claim] = strings.TrimSpace(value)
	}
	return nil
}

// bindAuthorization declares the flags about who may do what.
func (o *options) bindAuthorization(f *pflag.FlagSet) {
	c := &o.config
	f.StringSliceVar(&c.Authorization.Modes, "authorization-mode", []string{server.AuthorizeByRoles}, "who decides, in this order: RBAC, Node, ABAC, Webhook, AlwaysAllow or AlwaysDeny")
	f.StringVar(&c.Authorization.PolicyFile, "authorization-policy-file", "", "policies of the mode ABAC, each a line of JSON")
	f.StringVar(&c.Authorization.ConfigFile, "authorization-config", "", "AuthorizationConfiguration file, in place of the modes and the webhook")
	f.StringVar(&c.Authorization.Webhook.ConfigFile, "authorization-webhook-config-file", "", "kubeconfig of the webhook that the mode Webhook asks")
	f.StringVar(&c.Authorization.Webhook.Version, "authorization-webhook-version", "v1beta1", "version of the SubjectAccessReviews that the webhook is asked with: v1 or v1beta1")
	f.DurationVar(&c.Authorization.Webhook.AuthorizedTTL, "authorization-webhook-cache-authorized-ttl", 5*time.Minute, "how long an answer of the webhook that allows counts; 0 to ask each time")
	f.DurationVar(&c.Authorization.Webhook.UnauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", 30*time.Second, "how long any other answer of the webhook counts; 0 to ask each time")
}

// finishAuthorization leaves to an AuthorizationConfiguration what no flag was given for: their defaults are no word against it.
func (o *options) finishAuthorization() {
	c := &o.config.Authorization
	for _, ttl := range []*time.Duration{&c.Webhook.AuthorizedTTL, &c.Webhook.UnauthorizedTTL} {
		if *ttl == 0 {
			*ttl = -1
		}
	}
	for _, name := range []string{"authorization-mode", "authorization-webhook-config-file", "authorization-webhook-version",
		"authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"} {
		if o.given(name) {
			return
		}
	}
	if c.ConfigFile != "" {
		c.Modes, c.Webhook = nil, server.AuthorizationWebhook{}
	}
}
