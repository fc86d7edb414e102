package server

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/filters/audit/backend"
)

// AuditConfig says what is recorded of requests, and where. Without a policy, and without a log and
// a webhook, nothing is recorded.
type AuditConfig struct {
	// PolicyFile is the path of a Policy of audit.k8s.io/v1. It is read once. (--audit-policy-file)
	PolicyFile string
	// Log is the file to which events are written, Webhook the server to which they are sent. If
	// its Mode is empty, everything but the path has the defaults of kube-apiserver.
	// (--audit-log-*, --audit-webhook-*)
	Log     backend.LogConfig
	Webhook backend.WebhookConfig
}

// complete returns the configuration with its defaults.
func (c AuditConfig) complete() AuditConfig {
	if path := c.Log.Path; c.Log.Mode == "" {
		c.Log = backend.DefaultLog()
		c.Log.Path = path
	}
	if path := c.Webhook.Kubeconfig; c.Webhook.Mode == "" {
		c.Webhook = backend.DefaultWebhook()
		c.Webhook.Kubeconfig = path
	}
	return c
}

// validate returns what is wrong with the log and the webhook.
func (c *AuditConfig) validate() error {
	return errors.Join(append(c.Log.Validate(), c.Webhook.Validate()...)...)
}

// makeAuditing makes what records requests. It is one of the first parts, so it ends after all that
// may send a request.
func (a *assembly) makeAuditing() error {
	counts, err := backend.NewMetrics(a.registry)
	if err != nil {
		return err
	}
	c := &a.Serving.Audit
	stored := c.Log.Path != "" || c.Webhook.Kubeconfig != ""
	switch {
	case c.PolicyFile == "" && stored:
		a.Log.Warn("no audit policy is set, so no request is recorded",
			zap.String("log", c.Log.Path), zap.String("webhook", c.Webhook.Kubeconfig))
		return nil
	case c.PolicyFile == "":
		return nil
	}
	policy, err := audit.LoadPolicy(c.PolicyFile)
	if err != nil {
		return fmt.Errorf("loading audit policy file: %w", err)
	}
	if !stored {
		a.Log.Warn("an audit policy is set, but neither a log nor a webhook, so no request is recorded",
			zap.String("policy", c.PolicyFile))
		return nil
	}
	backends, err := backend.New(backend.Config{
		Log: c.Log, Webhook: c.Webhook, Metrics: counts, Logger: a.Log, Flawed: a.metrics.flaws.webhooks,
	})
	if err != nil {
		return err
	}
	a.ends.push(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), a.Shutdown.Timeout)
		defer cancel()
		backends.Close(ctx)
		return nil
	})
	a.auditing = &filters.Auditing{Policy: policy, Sink: backends, Counts: counts}
	return nil
}
