package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/reload"
)

// This file holds the configuration, its defaults and its validation. Package server calls Complete
// before it makes anything, and passes the result to New.

// The authorization modes that Config.Modes names.
const (
	AlwaysAllow = "AlwaysAllow"
	AlwaysDeny  = "AlwaysDeny"
	RBAC        = "RBAC"    // allows what Roles and ClusterRoles grant
	Node        = "Node"    // allows kubelets what they need for their node and its pods
	ABAC        = "ABAC"    // allows what a line of PolicyFile allows
	Webhook     = "Webhook" // asks another server, by a SubjectAccessReview
)

// Modes returns all authorization modes, sorted by name.
func Modes() []string { return []string{ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook} }

// Config selects the authorizers of a server. Members of system:masters may do everything, whatever
// Config says.
type Config struct {
	// Modes are the modes in the order in which they are asked, until one allows or denies; default
	// RBAC. (--authorization-mode)
	Modes []string
	// PolicyFile holds the policies of ABAC, each a line of JSON. (--authorization-policy-file)
	PolicyFile string
	// Webhook configures the mode Webhook.
	Webhook WebhookConfig
	// ConfigFile is an AuthorizationConfiguration. It excludes Modes and Webhook. When the file
	// changes, its webhooks replace those of the old content. (--authorization-config, KEP-3221)
	ConfigFile string
	// Authorizer is asked before the modes, if set.
	Authorizer request.Authorizer
}

// WebhookConfig configures a webhook that decides by SubjectAccessReviews. If the webhook does not
// answer, the next mode decides.
type WebhookConfig struct {
	// ConfigFile is a kubeconfig whose current context names the webhook.
	// (--authorization-webhook-config-file)
	ConfigFile string
	// Version is the version of the SubjectAccessReviews: v1, or v1beta1, the default.
	// (--authorization-webhook-version)
	Version string
	// AuthorizedTTL is how long the server remembers an answer that allows, UnauthorizedTTL how
	// long it remembers any other answer. The defaults are 5 min and 30 s; if negative, the server
	// asks each time. (--authorization-webhook-cache-authorized-ttl,
	// --authorization-webhook-cache-unauthorized-ttl)
	AuthorizedTTL, UnauthorizedTTL time.Duration
}

// Completed is a valid Config with its defaults, whose file has been read.
type Completed struct {
	config Config
	asked  *authz.AuthorizationConfiguration // the decoded file, or the same made of Modes and Webhook
	file   *reload.File                      // nil if there is none
}

// Complete fills in the defaults and reads the file, if there is one. The error joins everything
// that is wrong.
func (c Config) Complete() (*Completed, error) {
	if c.ConfigFile != "" {
		if c.Modes != nil || c.Webhook != (WebhookConfig{}) {
			return nil, errors.New("--authorization-config can not be specified when --authorization-mode or " +
				"--authorization-webhook-* flags are defined")
		}
		file, err := reload.Read(c.ConfigFile)
		if err != nil {
			return nil, err
		}
		asked, err := parse(file.Data, nil)
		return &Completed{c, asked, file}, err
	}
	if c.Modes == nil {
		c.Modes = []string{RBAC}
	}
	if c.Webhook.Version == "" {
		c.Webhook.Version = authz.ReviewV1beta1
	}
	if c.Webhook.AuthorizedTTL == 0 {
		c.Webhook.AuthorizedTTL = 5 * time.Minute
	}
	if c.Webhook.UnauthorizedTTL == 0 {
		c.Webhook.UnauthorizedTTL = 30 * time.Second
	}
	return &Completed{c, c.ofModes(), nil}, c.validate()
}

// Has reports whether the configuration has an authorizer of a mode.
func (c *Completed) Has(mode string) bool {
	is := func(p authz.AuthorizerConfiguration) bool { return p.Type == mode }
	return slices.ContainsFunc(c.asked.Authorizers, is)
}

// CanDeny reports whether a request can be denied: the configuration has a mode other than
// AlwaysAllow.
func (c *Completed) CanDeny() bool {
	for i := range c.asked.Authorizers {
		if c.asked.Authorizers[i].Type != AlwaysAllow {
			return true
		}
	}
	return false
}

// asksWebhooks reports whether the configuration has webhooks, or may have some after a change of
// the file.
func (c *Completed) asksWebhooks() bool { return c.file != nil || c.Has(Webhook) }

// ofModes returns the AuthorizationConfiguration that is equivalent to Modes and Webhook.
func (c *Config) ofModes() *authz.AuthorizationConfiguration {
	out := new(authz.AuthorizationConfiguration)
	for _, mode := range c.Modes {
		configured := authz.AuthorizerConfiguration{Type: mode, Name: strings.ToLower(mode)}
		if mode == Webhook {
			w := &c.Webhook
			authorized, unauthorized := w.AuthorizedTTL > 0, w.UnauthorizedTTL > 0
			configured.Name, configured.Webhook = "default", &authz.WebhookConfiguration{
				AuthorizedTTL: meta.Duration{Duration: w.AuthorizedTTL}, CacheAuthorizedRequests: &authorized,
				UnauthorizedTTL: meta.Duration{Duration: w.UnauthorizedTTL}, CacheUnauthorizedRequests: &unauthorized,
				Timeout: meta.Duration{Duration: 30 * time.Second}, SubjectAccessReview: w.Version,
				FailurePolicy: authz.FailurePolicyNoOpinion,
				ConnectionInfo: authz.WebhookConnectionInfo{
					Type:           authz.ConnectByKubeConfig,
					KubeConfigFile: &w.ConfigFile,
				},
			}
		}
		out.Authorizers = append(out.Authorizers, configured)
	}
	return out
}

// parse parses and validates a configuration file. All required modes must be in it, because a mode
// cannot be removed while the server runs.
func parse(data []byte, required []string) (*authz.AuthorizationConfiguration, error) {
	c, err := authz.ParseConfiguration(data)
	if err != nil {
		return nil, err
	}
	return c, c.Validate(Modes(), required)
}

// validate returns everything that is wrong with a configuration without a file, in the words of
// kube-apiserver.
func (c *Config) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Modes) == 0 {
		wrong("at least one authorization-mode must be passed")
	}
	twice := false
	for i, mode := range c.Modes {
		switch {
		case !slices.Contains(Modes(), mode):
			wrong("authorization-mode %q is not a valid mode", mode)
		case mode == ABAC && c.PolicyFile == "":
			wrong("authorization-mode ABAC's authorization policy file not passed")
		case mode == Webhook && c.Webhook.ConfigFile == "":
			wrong("authorization-mode Webhook's authorization config file not passed")
		}
		twice = twice || slices.Contains(c.Modes[:i], mode)
	}
	if c.PolicyFile != "" && !slices.Contains(c.Modes, ABAC) {
		wrong("cannot specify --authorization-policy-file without mode ABAC")
	}
	if c.Webhook.ConfigFile != "" && !slices.Contains(c.Modes, Webhook) {
		wrong("cannot specify --authorization-webhook-config-file without mode Webhook")
	}
	if twice {
		wrong("authorization-mode %q has mode specified more than once", c.Modes)
	}
	return errors.Join(errs...)
}
