package plugins

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/hookfiles"
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
	clients, dir, err := n.webhookClients()
	if err != nil {
		return nil, err
	}
	hooks := registry.NewDerived(n.Stores, registration(mutatingWebhooks), webhooks.NewCompiler(clients).Mutating)
	p := webhooks.NewMutating(hooks.Now, n.webhookMeans())
	if dir == "" {
		return p, nil
	}
	files, err := webhookManifests(n, p.Name(), dir, clients,
		hookfiles.MutatingWebhooks, (*webhooks.Compiler).Mutating)
	return p.WithFiles(files), err
}

func newValidatingWebhooks(n *needs) (admission.Plugin, error) {
	clients, dir, err := n.webhookClients()
	if err != nil {
		return nil, err
	}
	hooks := registry.NewDerived(n.Stores, registration(validatingWebhooks), webhooks.NewCompiler(clients).Validating)
	p := webhooks.NewValidating(hooks.Now, n.webhookMeans())
	if dir == "" {
		return p, nil
	}
	files, err := webhookManifests(n, p.Name(), dir, clients,
		hookfiles.ValidatingWebhooks, (*webhooks.Compiler).Validating)
	return p.WithFiles(files), err
}

// webhookClients returns the clients of the hooks of a plugin, which have the credentials that the
// plugin's configuration names, and the directory that the configuration names, "" if it names
// none.
func (n *needs) webhookClients() (clients *callout.Pool, dir string, err error) {
	c, err := webhooks.ReadConfiguration(n.configuration)
	if err != nil {
		return nil, "", err
	}
	if err := hookfiles.CheckDir(c.StaticManifestsDir, n.config.Manifests); err != nil {
		return nil, "", err
	}
	var users *callout.Users
	if c.KubeConfigFile != "" {
		if users, err = callout.ReadUsers(c.KubeConfigFile); err != nil {
			return nil, "", err
		}
	}
	clients = callout.NewPool(webhooks.PoolConfig(n.Resolve, n.Flawed), users)
	n.OnClose(func() error { clients.Close(); return nil })
	return clients, c.StaticManifestsDir, nil
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
