package main

import (
	"time"

	"github.com/spf13/pflag"
)

// bindAuthentication declares the flags about who is let in.
func (o *options) bindAuthentication(f *pflag.FlagSet) {
	c := &o.config.Authentication
	f.StringVar(&c.ClientCAFile, "client-ca-file", "", "CAs of client certificates, beside the server's own")
	f.StringVar(&c.TokenAuthFile, "token-auth-file", "", "CSV file of static tokens: token,user,uid,\"group1,group2\"")
	f.StringVar(&c.BasicAuthFile, "basic-auth-file", "", "CSV file of passwords, which are weaker than all else: password,user,uid,\"group1,group2\"")
	f.StringSliceVar(&c.Audiences, "api-audiences", nil, "what those who make tokens call the API")
	f.BoolVar(&o.anonymous, "anonymous-auth", true, "let requests without credentials in as system:anonymous")

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
}
