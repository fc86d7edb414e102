package plugins

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/cel"
)

// This file makes the plugins that ask the webhooks of the API, and the clients of all plugins that
// call webhooks.

// The resources that configure webhooks.
const (
	mutatingWebhooks   = "mutatingwebhookconfigurations"
	validatingWebhooks = "validatingwebhookconfigurations"
)

func newMutatingWebhooks(n *needs) (admission.Plugin, error) {
	c, err := n.webhookCompiler()
	if err != nil {
		return nil, err
	}
	hooks := registry.NewDerived(n.Stores, registration(mutatingWebhooks), c.Mutating)
	return webhooks.NewMutating(hooks.Now, n.webhookMeans()), nil
}

func newValidatingWebhooks(n *needs) (admission.Plugin, error) {
	c, err := n.webhookCompiler()
	if err != nil {
		return nil, err
	}
	hooks := registry.NewDerived(n.Stores, registration(validatingWebhooks), c.Validating)
	return webhooks.NewValidating(hooks.Now, n.webhookMeans()), nil
}

// webhookCompiler returns the compiler of a plugin, whose clients have the credentials that the
// plugin's configuration names.
func (n *needs) webhookCompiler() (*webhooks.Compiler, error) {
	users, err := webhooks.ReadConfiguration(n.configuration)
	if err != nil {
		return nil, err
	}
	pool := callout.NewPool(webhooks.PoolConfig(n.Resolve, n.Flawed), users)
	n.OnClose(func() error { pool.Close(); return nil })
	return webhooks.NewCompiler(pool), nil
}

func (n *needs) webhookMeans() webhooks.Means {
	return webhooks.Means{
		World: n.policies.Matching, Observer: n.hooks.observer(),
		Authorizer: func(ctx context.Context, user *request.User) cel.Authorizer {
			return admission.NewRights(ctx, n.Authorizer, user)
		},
	}
}

// dialImageReviewer implements admission.DialImageReviewer. A call is tried up to five times, as in
// kube-apiserver.
func (n *needs) dialImageReviewer(kubeconfig string, pause time.Duration) (admission.ImageReviewer, error) {
	target, err := callout.ReadKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	target.Flawed = n.Flawed
	retry := callout.Retry{Tries: 5, Pause: max(pause, 1)} // callout takes 0 as its default
	client, err := callout.New(callout.Config{
		Name: "image-policy", Target: target, Retry: retry, MaxAnswer: 1 << 20,
	})
	if err != nil {
		return nil, err
	}
	n.OnClose(func() error { client.Close(); return nil })
	return client, nil
}
