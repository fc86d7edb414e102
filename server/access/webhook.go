package access

import (
	"fmt"
	"time"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
)

// webhookRetry asks a webhook that does not answer up to five times, with a pause between two
// attempts, as in kube-apiserver.
var webhookRetry = callout.Retry{Tries: 5, Pause: 500 * time.Millisecond}

// webhook makes the authorizer of a webhook. If there is no error, the caller must close the
// client.
func (a *Authorizers) webhook(configured *authz.AuthorizerConfiguration) (*authz.Webhook, *callout.Client, error) {
	w := configured.Webhook
	if w.ConnectionInfo.Type != authz.ConnectByKubeConfig {
		return nil, nil, fmt.Errorf("connectionInfo.type %s is not allowed here: the server would ask itself",
			w.ConnectionInfo.Type)
	}
	target, err := callout.ReadKubeconfig(*w.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return nil, nil, err
	}
	target.Flawed = a.flawed
	client, err := callout.New(callout.Config{
		Name: configured.Name, Target: target, Timeout: w.Timeout.Duration, Retry: webhookRetry, MaxAnswer: 1 << 20,
		Hooks: callout.Hooks{Tried: a.metrics.tried},
	})
	if err != nil {
		return nil, nil, err
	}
	cfg := authz.WebhookConfig{
		Hook: client, Version: w.SubjectAccessReview, OnError: request.NoOpinion,
		Conditions: w.Conditions(), Events: a.metrics.events(configured.Name),
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
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return webhook, client, nil
}
