package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

// This file makes the chain of authorizers of a configuration, and replaces it when the file
// changes. Package server calls New; the filter of authorization and the Promise call Authorize.

// Needs is what New takes.
type Needs struct {
	// Stores has the stores of roles and bindings. If one is missing, the mode RBAC is an error.
	Stores  registry.Stores
	Metrics prometheus.Registerer
	// Flawed counts outdated properties of webhooks' certificates.
	Flawed func(callout.Flaw)
	// Run runs work until the server stops.
	Run func(work func(ctx context.Context))
	Log *zap.Logger
}

// Authorizers is the authorizer of the configuration in force. A call reads the chain with one
// atomic load.
type Authorizers struct {
	config  Config
	metrics *metrics
	stores  registry.Stores
	flawed  func(callout.Flaw)
	log     *zap.Logger
	// lasting are the authorizers, by mode, that stay when the configuration changes: all but
	// webhooks.
	lasting map[string]request.Authorizer
	graph   *authz.NodeGraph // nil without the mode Node
	roles   *rbac.Authorizer // nil if the server has no roles
	now     atomic.Pointer[deciders]
}

// deciders is the chain of authorizers of one configuration, with the clients of its webhooks.
type deciders struct {
	request.Authorizer
	request.RuleResolver
	webhooks []*callout.Client
}

// New makes the authorizers of a configuration. It runs, with n.Run, a loop that follows the
// configuration's file and closes the connections to webhooks when the server stops.
func New(c *Completed, n Needs) (*Authorizers, error) {
	a := &Authorizers{
		config: c.config, stores: n.Stores, flawed: n.Flawed, log: n.Log.Named("authorization"),
		lasting: map[string]request.Authorizer{}, roles: newRoles(n.Stores),
	}
	var err error
	if a.metrics, err = newMetrics(n.Metrics, c.asksWebhooks()); err != nil {
		return nil, err
	}
	for i := range c.asked.Authorizers {
		mode := c.asked.Authorizers[i].Type
		if mode == Webhook {
			continue
		}
		if a.lasting[mode], err = a.make(mode, n.Metrics); err != nil {
			return nil, fmt.Errorf("server: authorization mode %s: %w", mode, err)
		}
	}
	if err := a.use(c.asked); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if c.file != nil {
		a.metrics.config.InForce(c.file.Data)
	}
	if c.asksWebhooks() {
		n.Run(func(ctx context.Context) {
			defer func() { a.now.Load().close() }()
			if c.file != nil {
				c.file.Follow(ctx, a.reload, a.reloaded)
			} else {
				<-ctx.Done()
			}
		})
	}
	return a, nil
}

// make makes the authorizer of any mode but Webhook.
func (a *Authorizers) make(mode string, reg prometheus.Registerer) (request.Authorizer, error) {
	switch mode {
	case AlwaysAllow:
		return authz.AlwaysAllow(), nil
	case AlwaysDeny:
		return authz.AlwaysDeny(), nil
	case RBAC:
		if a.roles == nil {
			return nil, errNoRoles
		}
		return a.roles, nil
	case Node:
		var err error
		a.graph, err = newNodeGraph(reg)
		return authz.NewNode(a.graph), err
	}
	return authz.ReadPolicyFile(a.config.PolicyFile) // ABAC, the only mode of Modes that is left
}

// Authorize implements request.Authorizer.
func (a *Authorizers) Authorize(ctx context.Context, r *request.Attributes) (request.Decision, string, error) {
	return a.now.Load().Authorize(ctx, r)
}

// RulesFor implements request.RuleResolver: it returns the rules of all authorizers that can list
// theirs.
func (a *Authorizers) RulesFor(
	ctx context.Context, user *request.User, namespace string,
) (rules []rbacv1.PolicyRule, incomplete bool, err error) {
	return a.now.Load().RulesFor(ctx, user, namespace)
}

// use puts a configuration in force. If it returns an error, nothing has changed.
func (a *Authorizers) use(c *authz.AuthorizationConfiguration) error {
	all := []request.Authorizer{authz.Privileged(request.GroupMasters)}
	if a.config.Authorizer != nil {
		all = append(all, a.config.Authorizer)
	}
	next := new(deciders)
	for i := range c.Authorizers {
		authorizer, err := a.authorizerOf(next, &c.Authorizers[i])
		if err != nil {
			next.close()
			return err
		}
		all = append(all, a.metrics.counted(&c.Authorizers[i], authorizer))
	}
	next.Authorizer, next.RuleResolver = authz.Union(all...), authz.Rules(all...)
	if last := a.now.Swap(next); last != nil {
		last.close()
	}
	return nil
}

// authorizerOf returns the authorizer for one entry of a configuration: the lasting one of its
// mode, or a new webhook, whose client it adds to next.
func (a *Authorizers) authorizerOf(next *deciders,
	configured *authz.AuthorizerConfiguration) (request.Authorizer, error) {
	if configured.Type == Webhook {
		webhook, client, err := a.webhook(configured)
		if err != nil {
			return nil, fmt.Errorf("authorizer %s: %w", configured.Name, err)
		}
		next.webhooks = append(next.webhooks, client)
		return webhook, nil
	}
	authorizer := a.lasting[configured.Type]
	if authorizer == nil {
		return nil, fmt.Errorf("authorizer type %s is not allowed if it was not enabled at initial server startup",
			configured.Type)
	}
	return authorizer, nil
}

// close closes the connections to the webhooks of d.
func (d *deciders) close() {
	for _, w := range d.webhooks {
		w.Close()
	}
}

// reload puts the new content of the file in force (reload.File.Follow). Each of its errors is
// lasting: the same content would fail again.
func (a *Authorizers) reload(_ context.Context, data []byte) (lasting bool, err error) {
	c, err := parse(data, slices.Collect(maps.Keys(a.lasting)))
	if err != nil {
		return true, err
	}
	return true, a.use(c)
}

// reloaded notes the result of reload in metrics and log.
func (a *Authorizers) reloaded(data []byte, err error) {
	a.metrics.config.Reloaded(data, err)
	if err != nil {
		a.log.Error("cannot use the new authorization configuration; the last one stays in force",
			zap.String("file", a.config.ConfigFile), zap.Error(err))
		return
	}
	a.log.Info("read the authorization configuration again", zap.String("file", a.config.ConfigFile))
}
