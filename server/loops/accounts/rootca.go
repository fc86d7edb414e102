package accounts

import (
	"context"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// RootCA publishes whom clients in the cluster must trust to reach the server: the config map
// kube-root-ca.crt in every namespace.
type RootCA struct {
	Informers *controller.Informers
	// CA returns the certificates to trust, as PEM. It is called once: a serving certificate of
	// somebody else's that is replaced while the server runs has an authority behind it.
	CA  func() ([]byte, error)
	Log *zap.Logger
}

const (
	rootCAName            = "kube-root-ca.crt"
	descriptionAnnotation = "kubernetes.io/description"
	rootCADescription     = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
		"internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)

// namespacedWorkers is how many namespaces are given an object at once: those that are there at the
// start are many.
const namespacedWorkers = 4

// Run works until ctx ends.
func (c *RootCA) Run(ctx context.Context) {
	pem, err := c.CA()
	if err != nil {
		c.Log.Error("cannot read whom clients should trust", zap.Error(err))
		return
	}
	data := map[string]string{"ca.crt": string(pem)}
	controller.Loop{
		Source: inEveryNamespace(c.Informers, c.maps(), rootCAName),
		Reconcile: func(ctx context.Context, name controller.Name) (time.Duration, error) {
			return 0, c.publish(ctx, name, data)
		},
		After: []controller.Syncer{namespacesOf(c.Informers)}, Workers: namespacedWorkers, Log: c.Log,
	}.Run(ctx)
}

func (c *RootCA) maps() client.Resource[*corev1.ConfigMap] {
	return client.For[*corev1.ConfigMap](c.Informers.Client(), corev1.GroupVersion.WithResource("configmaps"))
}

// publish makes or mends the config map of a namespace.
func (c *RootCA) publish(ctx context.Context, name controller.Name, data map[string]string) error {
	if !active(namespacesOf(c.Informers), name.Namespace) {
		return nil
	}
	objects := c.maps().In(name.Namespace)
	m, err := objects.Get(ctx, name.Name, meta.GetOptions{})
	switch {
	case meta.IsNotFound(err):
		_, err = objects.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: meta.ObjectMeta{
				Namespace: name.Namespace, Name: name.Name, Annotations: map[string]string{descriptionAnnotation: rootCADescription},
			},
			Data: data,
		}, meta.CreateOptions{})
	case err == nil && (!maps.Equal(m.Data, data) || m.Annotations[descriptionAnnotation] == ""):
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Data, m.Annotations[descriptionAnnotation] = data, rootCADescription
		_, err = objects.Update(ctx, m, meta.UpdateOptions{})
	}
	if controller.NamespaceEnds(err) || meta.IsAlreadyExists(err) { // the watch tells of what is there
		return nil
	}
	return err
}
