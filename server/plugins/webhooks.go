package plugins

import (
	"errors"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/callout"
)

// This file makes the clients of plugins that call webhooks.

// dialImageReviewer implements admission.DialImageReviewer. A call is tried up to five times, as in
// kube-apiserver.
func (n *needs) dialImageReviewer(kubeconfig string, pause time.Duration) (admission.ImageReviewer, error) {
	if n.onClose == nil {
		return nil, errors.New("it calls a webhook, so OnClose must not be nil")
	}
	target, err := callout.ReadKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	target.Flawed = n.flawed
	retry := callout.Retry{Tries: 5, Pause: max(pause, 1)} // callout takes 0 as its default
	client, err := callout.New(callout.Config{
		Name: "image-policy", Target: target, Retry: retry, MaxAnswer: 1 << 20,
	})
	if err != nil {
		return nil, err
	}
	n.onClose(func() error { client.Close(); return nil })
	return client, nil
}
