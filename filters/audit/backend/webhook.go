package backend

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/router/callout"
)

// webhookTries and webhookTimeout are the number of tries of a call, and the time limit of each, as
// in kube-apiserver.
const (
	webhookTries   = 5
	webhookTimeout = 30 * time.Second
)

// maxAnswer is the largest response of the webhook in bytes. Nobody reads what it says.
const maxAnswer = 1 << 20

// webhookStore is the store that posts each batch as an EventList to a webhook. A call is tried
// again after every failure, because a webhook that answers nonsense now may work again soon.
type webhookStore struct {
	client *callout.Client
	size   atomic.Int64 // of the last body in bytes, which is about that of the next one
}

// newWebhook reads the kubeconfig. It does not call the webhook.
func newWebhook(c *WebhookConfig, flawed func(callout.Flaw)) (*webhookStore, error) {
	target, err := callout.ReadKubeconfig(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	target.Flawed = flawed
	client, err := callout.New(callout.Config{
		Name: "audit", Target: target, Timeout: webhookTimeout, MaxAnswer: maxAnswer,
		Retry: callout.Retry{Tries: webhookTries, Pause: c.InitialBackoff, Always: true},
	})
	return &webhookStore{client: client}, err
}

// deliver implements store. Each body is new, because net/http may still read the body of a call
// that has failed.
func (w *webhookStore) deliver(ctx context.Context, events []*audit.Event) (lost int, err error) {
	body := audit.AppendList(make([]byte, 0, w.size.Load()), events)
	w.size.Store(int64(len(body)))
	if _, err := w.client.Post(ctx, body); err != nil {
		return len(events), err
	}
	return 0, nil
}

// close implements store.
func (w *webhookStore) close(context.Context) { w.client.Close() }
