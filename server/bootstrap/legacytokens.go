package bootstrap

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// trackingMap is a ConfigMap in kube-system (KEP-2799). Its value trackingKey is the day since
// which servers label secrets when their legacy tokens are used: a token whose secret has no label
// has not been used since that day.
const (
	trackingMap = "kube-apiserver-legacy-service-account-token-tracking"
	trackingKey = "since"
)

// addTracking makes the ConfigMap with the present day, or sets the day if the value is not a date.
// It also makes the standing namespaces, because their hook may not have run yet.
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

// keepTracking calls addTracking whenever the ConfigMap changes, until ctx ends.
func (b *Bootstrap) keepTracking(ctx context.Context) {
	maps := client.For[*corev1.ConfigMap](b.needs.Client, configMapResource).In(systemNamespace)
	controller.Loop{
		Name:   "legacy_token_tracking_controller",
		Source: controller.Watch(maps, meta.ListOptions{FieldSelector: "metadata.name=" + trackingMap}),
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) {
			return 0, b.addTracking(ctx)
		},
		Log: b.loopLog("legacy-token-tracking"),
	}.Run(ctx)
}
