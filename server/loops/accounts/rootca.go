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

// RootCA keeps the ConfigMap kube-root-ca.crt in every active namespace, as Kubernetes'
// root-ca-cert-publisher does. The key ca.crt holds the certificates that pods must trust to reach
// the server. The volume with a pod's service account token contains this key, too.
type RootCA struct {
	Informers *controller.Informers
	// CA returns the certificates to trust, as PEM. Run calls it once. A serving certificate may be
	// replaced while the server runs, but the authority that signed it stays the same.
	CA  func() ([]byte, error)
	Log *zap.Logger
}

// The name of the ConfigMap, and its annotation with the value. They are part of Kubernetes' API:
// clients read them.
const (
	rootCAName            = "kube-root-ca.crt"
	descriptionAnnotation = "kubernetes.io/description"
	rootCADescription     = "Contains a CA bundle that can be used to verify the kube-apiserver " +
		"when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// namespacedWorkers is the number of namespaces that RootCA, or ServiceAccount, works on at once.
// It is more than one because a server that starts must look at all namespaces, and each look waits
// for one or two requests.
const namespacedWorkers = 4

// Run keeps the ConfigMaps until ctx ends. If CA fails, Run logs the error and returns.
func (c *RootCA) Run(ctx context.Context) {
	pem, err := c.CA()
	if err != nil {
		c.Log.Error("cannot read the CA certificates of the server, no namespace gets the config map",
			zap.String("configmap", rootCAName), zap.Error(err))
		return
	}
	data := map[string]string{"ca.crt": string(pem)}
	controller.Loop{
		Name:   "root_ca_cert_publisher",
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

// publish creates the ConfigMap of a namespace, or writes its data and description again if the
// data differ or there is no description. It replaces the whole data, so a key that a user has
// added goes. As long as the data are right, a description that a user has written stays, as in
// Kubernetes.
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
				Namespace: name.Namespace, Name: name.Name,
				Annotations: map[string]string{descriptionAnnotation: rootCADescription},
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
	// If another client was faster, the watch adds the name again with that client's object.
	if controller.IsNamespaceEnding(err) || meta.IsAlreadyExists(err) {
		return nil
	}
	return err
}
