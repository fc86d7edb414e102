package accounts

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// ServiceAccount keeps the service account "default" in every active namespace, as Kubernetes'
// serviceaccount-controller does. Clients wait for the account before they use a new namespace: the
// admission plugin ServiceAccount rejects pods until the account exists.
type ServiceAccount struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

// Run keeps the accounts until ctx ends.
func (c *ServiceAccount) Run(ctx context.Context) {
	controller.Loop{
		Name:   "serviceaccount",
		Source: inEveryNamespace(c.Informers, c.accounts(), "default"), Reconcile: c.reconcile,
		After:   []controller.Syncer{namespacesOf(c.Informers)},
		Workers: namespacedWorkers, Log: c.Log,
	}.Run(ctx)
}

func (c *ServiceAccount) accounts() client.Resource[*corev1.ServiceAccount] {
	return client.For[*corev1.ServiceAccount](c.Informers.Client(), corev1.GroupVersion.WithResource("serviceaccounts"))
}

// reconcile creates the account if it does not exist. It never changes an account, so labels and
// secrets that users have added stay.
func (c *ServiceAccount) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	if !active(namespacesOf(c.Informers), name.Namespace) {
		return 0, nil
	}
	accounts := c.accounts().In(name.Namespace)
	_, err := accounts.Get(ctx, name.Name, meta.GetOptions{})
	if meta.IsNotFound(err) {
		_, err = accounts.Create(ctx, &corev1.ServiceAccount{
			ObjectMeta: meta.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		}, meta.CreateOptions{})
	}
	if controller.IsNamespaceEnding(err) || meta.IsAlreadyExists(err) {
		return 0, nil
	}
	return 0, err
}
