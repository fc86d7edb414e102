package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/reload"
)

// authorizerChain decides who may do what: system:masters everything, then the configured authorizer is asked, then those of the
// configuration in their order.
type authorizerChain struct {
	config  AuthorizationConfig
	metrics *authorizationMetrics
	flawed  func(callout.Flaw) // counts webhooks whose certificates are flawed
	log     *zap.Logger
	// lasting are the authorizers that no new configuration replaces, by type.
	lasting map[string]request.Authorizer
	graph   *authz.NodeGraph // nil without the mode Node
	roles   *rbac.Authorizer // nil if the server has no roles
	now     atomic.Pointer[deciders]
	file    *reload.File // with the configuration; nil if there is none
}

// deciders are the authorizers of one configuration.
type deciders struct {
	request.Authorizer
	request.RuleResolver
	webhooks []*callout.Client
}

func newAuthorizerChain(c completed, roles *rbac.Authorizer, reg *prometheus.Registry, flawed func(callout.Flaw)) (*authorizerChain, error) {
	a := &authorizerChain{
		config: c.Authorization, log: c.Log.Named("authorization"), lasting: map[string]request.Authorizer{}, roles: roles, file: c.authorizersFile,
		flawed: flawed,
	}
	var err error
	if a.metrics, err = newAuthorizationMetrics(reg, c.authorizers); err != nil {
		return nil, err
	}
	for i := range c.authorizers.Authorizers {
		mode := c.authorizers.Authorizers[i].Type
		if mode == AuthorizeWebhook {
			continue
		}
		if a.lasting[mode], err = authorizers[mode](a, reg); err != nil {
			return nil, fmt.Errorf("server: authorization mode %s: %w", mode, err)
		}
	}
	if err := a.use(c.authorizers); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if a.file != nil {
		a.metrics.config.InForce(a.file.Data)
	}
	return a, nil
}

// Authorize implements request.Authorizer.
func (a *authorizerChain) Authorize(ctx context.Context, attributes *request.Attributes) (request.Decision, string, error) {
	return a.now.Load().Authorize(ctx, attributes)
}

// RulesFor implements request.RuleResolver.
func (a *authorizerChain) RulesFor(ctx context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, bool, error) {
	return a.now.Load().RulesFor(ctx, user, namespace)
}

// use has a configuration decide from now on.
func (a *authorizerChain) use(c *authz.AuthorizationConfiguration) error {
	all := []request.Authorizer{authz.Privileged(request.GroupMasters)}
	if a.config.Authorizer != nil {
		all = append(all, a.config.Authorizer)
	}
	next := new(deciders)
	for i := range c.Authorizers {
		place := &c.Authorizers[i]
		authorizer := a.lasting[place.Type]
		if place.Type == AuthorizeWebhook {
			webhook, client, err := a.webhook(place)
			if err != nil {
				return fmt.Errorf("authorizer %s: %w", place.Name, err)
			}
			authorizer, next.webhooks = webhook, append(next.webhooks, client)
		}
		if authorizer == nil {
			return fmt.Errorf("authorizer type %s is not allowed if it was not enabled at initial server startup", place.Type)
		}
		all = append(all, a.metrics.counted(place, authorizer))
	}
	next.Authorizer, next.RuleResolver = authz.Union(all...), authz.Rules(all...)
	if last := a.now.Swap(next); last != nil {
		last.close()
	}
	return nil
}

func (d *deciders) close() {
	for _, w := range d.webhooks {
		w.Close()
	}
}

// Retries of a webhook, as kube-apiserver has them.
var webhookRetry = callout.Retry{Tries: 5, Pause: 500 * time.Millisecond}

// webhook makes the authorizer of a webhook.
func (a *authorizerChain) webhook(place *authz.AuthorizerConfiguration) (*authz.Webhook, *callout.Client, error) {
	w := place.Webhook
	if w.ConnectionInfo.Type != authz.ConnectByKubeConfig {
		return nil, nil, fmt.Errorf("connectionInfo.type %s is not allowed here: the server would ask itself", w.ConnectionInfo.Type)
	}
	target, err := callout.ReadKubeconfig(*w.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return nil, nil, err
	}
	target.Flawed = a.flawed
	client, err := callout.New(callout.Config{
		Name: place.Name, Target: target, Timeout: w.Timeout.Duration, Retry: webhookRetry, MaxAnswer: 1 << 20,
		Hooks: callout.Hooks{Tried: a.metrics.tried},
	})
	if err != nil {
		return nil, nil, err
	}
	cfg := authz.WebhookConfig{
		Hook: client, Version: w.SubjectAccessReview, OnError: request.NoOpinion,
		Conditions: w.Conditions(), Events: a.metrics.events(place.Name),
	}
	if *w.CacheAuthorizedRequests {
		cfg.AuthorizedTTL = w.AuthorizedTTL.Duration
	}
	if *w.CacheUnauthorizedRequests {
		cfg.UnauthorizedTTL = w.UnauthorizedTTL.Duration
	}
	if w.FailurePolicy == authz.FailurePolicyDeny {
		cfg.OnError = request.Deny
	}
	webhook, err := authz.NewWebhook(cfg)
	return webhook, client, err
}

// start has the server do what the authorizers need.
func (a *authorizerChain) start(s *Server) error {
	if a.file != nil {
		s.Go(a.follow)
	}
	if a.graph != nil {
		return s.addNodeGraph(a.graph)
	}
	return nil
}

// follow takes the configuration file up again when it changes, until ctx ends. What cannot be used leaves what is there in force.
func (a *authorizerChain) follow(ctx context.Context) {
	defer func() { a.now.Load().close() }()
	a.file.Follow(ctx, func(_ context.Context, data []byte) (lasting bool, err error) { return true, a.reload(data) }, func(data []byte, err error) {
		a.metrics.config.Reloaded(data, err)
		if err != nil {
			a.log.Error("the authorization configuration cannot be used; the last one stays", zap.Error(err))
			return
		}
		a.log.Info("took up a new authorization configuration")
	})
}

func (a *authorizerChain) reload(data []byte) error {
	c, err := parseAuthorizers(data, slices.Collect(maps.Keys(a.lasting)))
	if err != nil {
		return err
	}
	return a.use(c)
}

// authorizers make the authorizers of the modes but for webhooks.
var authorizers = map[string]func(a *authorizerChain, reg *prometheus.Registry) (request.Authorizer, error){
	AuthorizeAlways: ready(authz.AlwaysAllow),
	AuthorizeNever:  ready(authz.AlwaysDeny),
	AuthorizeByRoles: func(a *authorizerChain, _ *prometheus.Registry) (request.Authorizer, error) {
		if a.roles == nil {
			return nil, errNoRoles
		}
		return a.roles, nil
	},
	AuthorizeNode: func(a *authorizerChain, reg *prometheus.Registry) (_ request.Authorizer, err error) {
		a.graph, err = newNodeGraph(reg)
		return authz.NewNode(a.graph), err
	},
	AuthorizeABAC: func(a *authorizerChain, _ *prometheus.Registry) (request.Authorizer, error) {
		return authz.ReadPolicyFile(a.config.PolicyFile)
	},
}

// ready makes an authorizer that needs nothing.
func ready(make func() request.Authorizer) func(*authorizerChain, *prometheus.Registry) (request.Authorizer, error) {
	return func(*authorizerChain, *prometheus.Registry) (request.Authorizer, error) { return make(), nil }
}

// authorizationModes are the modes that there are.
func authorizationModes() []string {
	return append(slices.Collect(maps.Keys(authorizers)), AuthorizeWebhook)
}

// complete fills in defaults and returns who is asked, in turn, and what the file says, if there is one.
func (c *AuthorizationConfig) complete() (*authz.AuthorizationConfiguration, *reload.File, error) {
	if c.ConfigFile != "" {
		if c.Modes != nil || c.Webhook != (AuthorizationWebhook{}) {
			return nil, nil, errors.New("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
		}
		file, err := reload.Read(c.ConfigFile)
		if err != nil {
			return nil, nil, err
		}
		authorizers, err := parseAuthorizers(file.Data, nil)
		return authorizers, file, err
	}
	if c.Modes == nil {
		c.Modes = []string{AuthorizeByRoles}
	}
	if c.Webhook.Version == "" {
		c.Webhook.Version = authz.ReviewV1beta1
	}
	setDefault(&c.Webhook.AuthorizedTTL, 5*time.Minute)
	setDefault(&c.Webhook.UnauthorizedTTL, 30*time.Second)
	return c.ofModes(), nil, c.validate()
}

// ofModes is what the configuration is without a file.
func (c *AuthorizationConfig) ofModes() *authz.AuthorizationConfiguration {
	out := new(authz.AuthorizationConfiguration)
	for _, mode := range c.Modes {
		place := authz.AuthorizerConfiguration{Type: mode, Name: strings.ToLower(mode)}
		if mode == AuthorizeWebhook {
			w := &c.Webhook
			authorized, unauthorized := w.AuthorizedTTL > 0, w.UnauthorizedTTL > 0
			place.Name, place.Webhook = "default", &authz.WebhookConfiguration{
				AuthorizedTTL: meta.Duration{Duration: w.AuthorizedTTL}, CacheAuthorizedRequests: &authorized,
				UnauthorizedTTL: meta.Duration{Duration: w.UnauthorizedTTL}, CacheUnauthorizedRequests: &unauthorized,
				Timeout: meta.Duration{Duration: 30 * time.Second}, SubjectAccessReview: w.Version, FailurePolicy: authz.FailurePolicyNoOpinion,
				ConnectionInfo: authz.WebhookConnectionInfo{Type: authz.ConnectByKubeConfig, KubeConfigFile: &w.ConfigFile},
			}
		}
		out.Authorizers = append(out.Authorizers, place)
	}
	return out
}

// parseAuthorizers reads what a configuration file says.
func parseAuthorizers(data []byte, required []string) (*authz.AuthorizationConfiguration, error) {
	c, err := authz.ParseConfiguration(data)
	if err != nil {
		return nil, err
	}
	return c, c.Validate(authorizationModes(), required)
}

func (c *AuthorizationConfig) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Modes) == 0 {
		wrong("at least one authorization-mode must be passed")
	}
	twice := false
	for i, mode := range c.Modes {
		switch {
		case !slices.Contains(authorizationModes(), mode):
			wrong("authorization-mode %q is not a valid mode", mode)
		case mode == AuthorizeABAC && c.PolicyFile == "":
			wrong("authorization-mode ABAC's authorization policy file not passed")
		case mode == AuthorizeWebhook && c.Webhook.ConfigFile == "":
			wrong("authorization-mode Webhook's authorization config file not passed")
		}
		twice = twice || slices.Contains(c.Modes[:i], mode)
	}
	if c.PolicyFile != "" && !slices.Contains(c.Modes, AuthorizeABAC) {
		wrong("cannot specify --authorization-policy-file without mode ABAC")
	}
	if c.Webhook.ConfigFile != "" && !slices.Contains(c.Modes, AuthorizeWebhook) {
		wrong("cannot specify --authorization-webhook-config-file without mode Webhook")
	}
	if twice {
		wrong("authorization-mode %q has mode specified more than once", c.Modes)
	}
	return errors.Join(errs...)
}
