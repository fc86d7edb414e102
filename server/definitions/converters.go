package definitions

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
)

// converters holds the clients of conversion webhooks. Definitions with equal client configurations
// share a client and so its connections: an operator usually has one webhook for all of its
// definitions. All methods may be called at once.
type converters struct {
	resolve callout.Resolver
	metrics *metrics
	flawed  func(callout.Flaw) // is told of outdated certificates of webhooks, for a metric

	mu       sync.Mutex
	byConfig map[string]*sharedClient // the key is the JSON of a WebhookClientConfig
}

func newConverters(resolve callout.Resolver, flawed func(callout.Flaw), m *metrics) *converters {
	return &converters{resolve: resolve, flawed: flawed, metrics: m, byConfig: map[string]*sharedClient{}}
}

// sharedClient is a client with the number of its users. converters.mu guards users.
type sharedClient struct {
	*callout.Client
	users int
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
	client, release, err := c.client(conv.Webhook.ClientConfig)
	if err != nil {
		return &extensions.Webhook{Ask: func(context.Context, []byte) ([]byte, error) { return nil, err }}, func() {}
	}
	ask := func(ctx context.Context, review []byte) ([]byte, error) {
		answer, err := client.Post(ctx, review)
		if e := (*callout.Error)(nil); errors.As(err, &e) {
			err = errors.New(e.Wording())
		}
		return answer, err
	}
	return &extensions.Webhook{Ask: ask, Observe: c.metrics.observer(def.Name)}, release
}

// client returns the client for config, and counts the caller among its users. The client stays
// open until its last user has called release, which may be called again. Then its idle connections
// close; a call that still runs is not disturbed.
func (c *converters) client(
	config *apiextensionsv1.WebhookClientConfig,
) (client *callout.Client, release func(), err error) {
	key, err := codec.AppendJSON(nil, config)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	shared := c.byConfig[string(key)]
	if shared == nil {
		to := target(config)
		to.Flawed = c.flawed
		client, err := callout.New(callout.Config{
			Name: "conversion", Target: to, Resolve: c.resolve, MaxAnswer: maxConverted, TellTimeout: true,
		})
		if err != nil {
			return nil, nil, err
		}
		shared = &sharedClient{Client: client}
		c.byConfig[string(key)] = shared
	}
	shared.users++
	return shared.Client, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if shared.users--; shared.users == 0 {
			delete(c.byConfig, string(key))
			shared.Close()
		}
	}), nil
}

// target translates config: the address of the webhook, and the certificates to trust. A CABundle
// of white space alone counts as none, so the system's roots apply.
func target(config *apiextensionsv1.WebhookClientConfig) callout.Target {
	var t callout.Target
	if len(bytes.TrimSpace(config.CABundle)) > 0 {
		t.CABundle = config.CABundle
	}
	if config.URL != nil {
		t.URL = *config.URL
	}
	if s := config.Service; s != nil {
		t.Service = &callout.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Port != nil {
			t.Service.Port = int(*s.Port)
		}
		if s.Path != nil {
			t.Service.Path = *s.Path
		}
	}
	return t
}

// close closes all clients that are still open. The loop calls it at its end.
func (c *converters) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, shared := range c.byConfig {
		shared.Close()
	}
}
