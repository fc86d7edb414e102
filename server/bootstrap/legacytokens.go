package bootstrap

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// trackingMap is a config map in kube-system. It says since when servers note which tokens in
// secrets are used: a token without a note has not been used since that day, which stands at
// trackingKey.
const (
	trackingMap = "kube-apiserver-legacy-service-account-token-tracking"
	trackingKey = "since"
)

// addTracking makes the config map, with the present day, or mends it if its day is none. Another
// hook may make the namespace at the same time.
func (b *Bootstrap) addTracking(ctx context.Context) error {
	if err := b.addNamespaces(ctx); err != nil {
		return err
	}
	maps := client.For[*corev1.ConfigMap](b.needs.Client, configMapResource).In(systemNamespace)
	today := time.Now().UTC().Format(time.DateOnly)
	m, err := maps.Get(ctx, trackingMap, meta.GetOptions{})
	switch {
	case meta.IsNotFound(err):
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: meta.ObjectMeta{Namespace: systemNamespace, Name: trackingMap},
			Data:       map[string]string{trackingKey: today},
		}, meta.CreateOptions{})
		if meta.IsAlreadyExists(err) {
			return nil
		}
	case err == nil:
		if _, bad := time.Parse(time.DateOnly, m.Data[trackingKey]); bad == nil {
			return nil
		}
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		m.Data[trackingKey] = today
		_, err = maps.Update(ctx, m, meta.UpdateOptions{})
	}
	return err
}

// keepTracking makes or mends the config map whenever it changes, until ctx ends.
func (b *Bootstrap) keepTracking(ctx context.Context) {
	maps := client.For[*corev1.ConfigMap](b.needs.Client, configMapResource).In(systemNamespace)
	controller.Loop{
		Source: controller.Watch(maps, meta.ListOptions{FieldSelector: "metadata.name=" + trackingMap}),
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) {
			return 0, b.addTracking(ctx)
		},
		Log: b.loopLog("legacy-token-tracking"),
	}.Run(ctx)
}
