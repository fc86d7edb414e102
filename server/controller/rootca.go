package controller

import (
	"context"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// RootCA publishes whom clients in the cluster must trust to reach the server: the config map kube-root-ca.crt in every
// namespace.
type RootCA struct {
	Informers *Informers
	// PEM is the certificates to trust.
	PEM string
	Log *zap.Logger
}

const (
	rootCAName            = "kube-root-ca.crt"
	descriptionAnnotation = "kubernetes.io/description"
	rootCADescription     = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
		"internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)

// namespacedWorkers is how many namespaces are given an object at once: those that are there at the start are many.
const namespacedWorkers = 4

// Run works until ctx ends.
func (c *RootCA) Run(ctx context.Context) {
	Loop{
		Source: inEveryNamespace(c.Informers, c.maps(), rootCAName), Reconcile: c.reconcile, After: []Syncer{namespacesOf(c.Informers)},
		Workers: namespacedWorkers, Log: c.Log,
	}.Run(ctx)
}

func (c *RootCA) maps() client.Resource[*corev1.ConfigMap] {
	return client.For[*corev1.ConfigMap](c.Informers.Client(), corev1.GroupVersion.WithResource("configmaps"))
}

func (c *RootCA) reconcile(ctx context.Context, name Name) (time.Duration, error) {
	if !active(namespacesOf(c.Informers), name.Namespace) {
		return 0, nil
	}
	objects, data := c.maps().In(name.Namespace), map[string]string{"ca.crt": c.PEM}
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
	if namespaceEnds(err) || meta.IsAlreadyExists(err) { // the watch tells of what is there
		return 0, nil
	}
	return 0, err
}
