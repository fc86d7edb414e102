package csr

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// Cleaner deletes requests that nobody needs any longer, by the periods of Kubernetes'
// certificatesigningrequest-cleaner-controller. Kubernetes looks at all requests once an hour; this
// loop deletes a request at its deadline.
type Cleaner struct {
	// Informers are the Informers of the run, which the three loops share. Cleaner also deletes
	// through their client.
	Informers *controller.Informers
	Log       *zap.Logger
}

// Run deletes requests until ctx ends.
func (c *Cleaner) Run(ctx context.Context) {
	controller.Loop{
		Name:   "certificate_cleaner",
		Source: requestsOf(c.Informers).Own(), Reconcile: c.reconcile, Log: c.Log,
	}.Run(ctx)
}

// reconcile deletes a request if its deadline has passed. Otherwise it asks for a call at the
// deadline.
func (c *Cleaner) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	v := requestsOf(c.Informers).Get(name)
	if v == nil || v.Deadline.IsZero() {
		return 0, nil
	}
	if left := time.Until(v.Deadline); left > 0 {
		return left, nil
	}
	requests := requestsBy(c.Informers)
	r, err := requests.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, controller.IgnoreNotFound(err)
	}
	if !deadline(r).Equal(v.Deadline) {
		return 0, nil // the request has just changed, and the Informer will add it again
	}
	err = requests.Delete(ctx, name.Name, meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &r.UID}})
	return 0, controller.IgnoreLostRace(err)
}
