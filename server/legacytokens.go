package server

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// trackingMap tells, in kube-system, since when it is noted which tokens in secrets are used: a token without a note has not been
// used since then.
const (
	trackingMap = "kube-apiserver-legacy-service-account-token-tracking"
	trackingKey = "since"
)

var configMapResource = corev1.GroupVersion.WithResource("configmaps")

// addTracking makes the config map, or mends it. Its namespace may be made at the same time.
func addTracking(ctx context.Context, s *Server) error {
	if err := addSystemNamespaces(ctx, s); err != nil {
		return err
	}
	maps := client.For[*corev1.ConfigMap](s.client, configMapResource).In("kube-system")
	today := time.Now().UTC().Format(time.DateOnly)
	m, err := maps.Get(ctx, trackingMap, meta.GetOptions{})
	switch {
	case meta.IsNotFound(err):
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: meta.ObjectMeta{Namespace: "kube-system", Name: trackingMap}, Data: map[string]string{trackingKey: today},
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

// keepTracking keeps the config map until ctx ends.
func keepTracking(ctx context.Context, s *Server) {
	controller.Loop{
		Source: controller.Watch(client.For[*corev1.ConfigMap](s.client, configMapResource).In("kube-system"),
			meta.ListOptions{FieldSelector: "metadata.name=" + trackingMap}),
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) { return 0, addTracking(ctx, s) },
		Log:       s.loopLog("legacy-token-tracking"),
	}.Run(ctx)
}
