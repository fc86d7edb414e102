package flags

import (
	"errors"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/server/access"
)

// authorization holds the values of the section "Authorization" that do not go into the Config as
// they are.
type authorization struct {
	modes []string
}

// bindAuthorization declares the flags of the section.
func (o *Options) bindAuthorization(s *section) {
	c := &o.config.Authorization
	s.StringSliceVar(&o.authorization.modes, "authorization-mode", o.defaults.modes,
		"authorization modes in the order in which they are asked: RBAC, Node, ABAC, Webhook, AlwaysAllow or AlwaysDeny; if empty, AlwaysAllow")
	s.StringVar(&c.PolicyFile, "authorization-policy-file", "",
		"file of the policies of the mode ABAC, each a line of JSON")
	s.StringVar(&c.ConfigFile, "authorization-config", "",
		"AuthorizationConfiguration file, which takes the place of --authorization-mode and --authorization-webhook-*")
	s.StringVar(&c.Webhook.ConfigFile, "authorization-webhook-config-file", "",
		"kubeconfig of the webhook that the mode Webhook asks")
	s.StringVar(&c.Webhook.Version, "authorization-webhook-version", "v1beta1",
		"version of the SubjectAccessReviews that are sent to the authorization webhook: v1 or v1beta1")
	s.DurationVar(&c.Webhook.AuthorizedTTL, "authorization-webhook-cache-authorized-ttl", 5*time.Minute,
		"how long the server remembers an answer of the authorization webhook that allows a request; 0 to ask each time")
	s.DurationVar(&c.Webhook.UnauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", 30*time.Second,
		"how long the server remembers any other answer of the authorization webhook; 0 to ask each time")
}

// authorizationModes are the valid values of --authorization-mode.
var authorizationModes = []string{
	access.AlwaysAllow, access.AlwaysDeny, access.ABAC, access.Webhook, access.RBAC, access.Node,
}

// finishAuthorization writes the modes and the webhook into the Config, or, if there is an
// AuthorizationConfiguration file, neither: the file excludes these flags, but their defaults are
// no conflict with it.
func (o *Options) finishAuthorization() error {
	c := &o.config.Authorization
	noneAtZero(&c.Webhook.AuthorizedTTL, -1)
	noneAtZero(&c.Webhook.UnauthorizedTTL, -1)
	if c.ConfigFile != "" {
		if slices.ContainsFunc([]string{"authorization-mode", "authorization-webhook-config-file",
			"authorization-webhook-version",
			"authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"}, o.given) {
			return errors.New("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
		}
		c.Modes, c.Webhook = nil, access.WebhookConfig{}
		return configfile.Check(c.ConfigFile) // the server reads and validates it
	}
	c.Modes = o.authorization.modes
	if len(c.Modes) == 0 {
		c.Modes = []string{access.AlwaysAllow}
	}
	if slices.Contains(c.Modes, access.AlwaysAllow) {
		o.turnOffAnonymous()
	}
	return o.checkModes()
}

// checkModes returns what is wrong with the modes, and with the files that they need.
func (o *Options) checkModes() error {
	c := &o.config.Authorization
	var m mistakes
	for _, mode := range c.Modes {
		switch {
		case !slices.Contains(authorizationModes, mode):
			m.add("authorization-mode %q is not a valid mode", mode)
		case mode == access.ABAC && c.PolicyFile == "":
			m.add("authorization-mode ABAC's authorization policy file not passed")
		case mode == access.Webhook && c.Webhook.ConfigFile == "":
			m.add("authorization-mode Webhook's authorization config file not passed")
		}
	}
	if c.PolicyFile != "" && !slices.Contains(c.Modes, access.ABAC) {
		m.add("cannot specify --authorization-policy-file without mode ABAC")
	}
	if c.Webhook.ConfigFile != "" && !slices.Contains(c.Modes, access.Webhook) {
		m.add("cannot specify --authorization-webhook-config-file without mode Webhook")
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(c.Modes))); len(distinct) < len(c.Modes) {
		m.add("authorization-mode %q has mode specified more than once", c.Modes)
	}
	return m.err()
}
