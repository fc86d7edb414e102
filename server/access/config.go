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

// This file has the configuration, its defaults and its checks. Whoever makes a server calls
// Complete, before anything else is made, and hands the result to New.

// The authorization modes that Config.Modes names.
const (
	AlwaysAllow = "AlwaysAllow"
	AlwaysDeny  = "AlwaysDeny"
	RBAC        = "RBAC"    // what roles allow, which are objects of rbac.authorization.k8s.io
	Node        = "Node"    // kubelets may do what they have to, and read what the pods of their node need
	ABAC        = "ABAC"    // the lines of PolicyFile
	Webhook     = "Webhook" // another server is asked
)

// Modes returns the authorization modes that there are, sorted by name.
func Modes() []string { return []string{ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook} }

// Config says who may do what. Members of system:masters may always do everything.
type Config struct {
	// Modes are asked in turn, until one allows or denies; default RBAC. (--authorization-mode)
	Modes []string
	// PolicyFile holds the policies of ABAC, each a line of JSON. (--authorization-policy-file)
	PolicyFile string
	// Webhook is the server that the mode Webhook asks.
	Webhook WebhookConfig
	// ConfigFile is an AuthorizationConfiguration, in place of Modes and Webhook. Its webhooks
	// follow it when it changes. (--authorization-config)
	ConfigFile string
	// Authorizer is asked before the modes, if set.
	Authorizer request.Authorizer
}

// WebhookConfig is a webhook that is asked who may do what, by SubjectAccessReviews. If it does not
// answer, it has no opinion.
type WebhookConfig struct {
	// ConfigFile is a kubeconfig that says where it is. (--authorization-webhook-config-file)
	ConfigFile string
	// Version is that of the reviews: v1, or v1beta1, which is the default.
	// (--authorization-webhook-version)
	Version string
	// AuthorizedTTL and UnauthorizedTTL say how long answers count, default 5 min and 30 s;
	// negative: not at all. (--authorization-webhook-cache-authorized-ttl,
	// --authorization-webhook-cache-unauthorized-ttl)
	AuthorizedTTL, UnauthorizedTTL time.Duration
}

// Completed is a Config that has its defaults, whose file has been read and in which nothing is
// wrong.
type Completed struct {
	config Config
	asked  *authz.AuthorizationConfiguration // of the file, or what stands for the modes
	file   *reload.File                      // nil if there is none
}

// Complete fills in defaults and reads the file, if there is one. The error has everything that is
// wrong.
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

// Has reports whether a mode is among those that are asked.
func (c *Completed) Has(mode string) bool {
	is := func(p authz.AuthorizerConfiguration) bool { return p.Type == mode }
	return slices.ContainsFunc(c.asked.Authorizers, is)
}

// Judges reports whether a mode is asked that may say no.
func (c *Completed) Judges() bool {
	for i := range c.asked.Authorizers {
		if c.asked.Authorizers[i].Type != AlwaysAllow {
			return true
		}
	}
	return false
}

// asksWebhooks reports whether webhooks are asked, or may be after a change of the file.
func (c *Completed) asksWebhooks() bool { return c.file != nil || c.Has(Webhook) }

// ofModes is the configuration that Modes and Webhook stand for.
func (c *Config) ofModes() *authz.AuthorizationConfiguration {
	out := new(authz.AuthorizationConfiguration)
	for _, mode := range c.Modes {
		place := authz.AuthorizerConfiguration{Type: mode, Name: strings.ToLower(mode)}
		if mode == Webhook {
			w := &c.Webhook
			authorized, unauthorized := w.AuthorizedTTL > 0, w.UnauthorizedTTL > 0
			place.Name, place.Webhook = "default", &authz.WebhookConfiguration{
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
		out.Authorizers = append(out.Authorizers, place)
	}
	return out
}

// parse reads a configuration file, in which all required modes must be.
func parse(data []byte, required []string) (*authz.AuthorizationConfiguration, error) {
	c, err := authz.ParseConfiguration(data)
	if err != nil {
		return nil, err
	}
	return c, c.Validate(Modes(), required)
}

// validate returns everything that is wrong with a configuration without a file.
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
