package definitions

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
)

// converters makes the conversion webhooks of definitions. All methods may be called at once.
type converters struct {
	pool    *callout.Pool
	metrics *metrics
}

func newConverters(resolve callout.Resolver, flawed func(callout.Flaw), m *metrics) *converters {
	return &converters{metrics: m, pool: callout.NewPool(callout.Config{
		Name: "conversion", Target: callout.Target{Flawed: flawed}, Resolve: resolve, MaxAnswer: maxConverted,
		TellTimeout: true, Spread: true,
	}, nil)}
}

// maxConverted is the largest response of a webhook, in bytes. It has room for a batch of objects
// that the conversion has made larger, and for a single object of the largest size.
const maxConverted = 16 << 20

// open returns the webhook of def, or nil if def has none. The caller calls release once, when def
// no longer uses the webhook; release is never nil. If the client cannot be made, open still
// returns a webhook, whose conversions all fail with the reason: the definition is served, and only
// requests that need a conversion fail.
func (c *converters) open(def *apiextensionsv1.CustomResourceDefinition) (hook *extensions.Webhook, release func()) {
	conv := def.Spec.Conversion
	if conv == nil || conv.Strategy != apiextensionsv1.WebhookConverter ||
		conv.Webhook == nil || conv.Webhook.ClientConfig == nil {
		return nil, func() {}
	}
	client, release, err := c.pool.Open(webhookOf(conv.Webhook.ClientConfig))
	if err != nil {
		return &extensions.Webhook{Ask: func(context.Context, []byte) ([]byte, error) { return nil, err }}, release
	}
	name := def.Name
	ask := func(ctx context.Context, review []byte) ([]byte, error) {
		ctx, span := request.Begin(ctx, request.SpanTransform, "Call conversion webhook")
		defer span.End()
		span.Note("definition", name)
		answer, err := client.Post(ctx, review)
		if e := (*callout.Error)(nil); errors.As(err, &e) {
			err = errors.New(e.Wording())
		}
		return answer, err
	}
	return &extensions.Webhook{Ask: ask, Observe: c.metrics.observer(def.Name)}, release
}

// webhookOf translates where a definition says that its webhook is.
func webhookOf(config *apiextensionsv1.WebhookClientConfig) callout.Webhook {
	w := callout.Webhook{CABundle: config.CABundle}
	if config.URL != nil {
		w.URL = *config.URL
	}
	if s := config.Service; s != nil {
		w.Service = &callout.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Port != nil {
			w.Service.Port = int(*s.Port)
		}
		if s.Path != nil {
			w.Service.Path = *s.Path
		}
	}
	return w
}

// close closes all clients that are still open. The loop calls it at its end.
func (c *converters) close() { c.pool.Close() }
