package server_test

import (
	"context"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
)

// appears waits until a change makes an object what ok wants.
func appears[T meta.Object](t *testing.T, r client.Resource[T], name string, ok func(obj T) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for ev, err := range r.Follow(ctx, meta.ListOptions{FieldSelector: "metadata.name=" + name}) {
		if err == nil && ev.Type != client.Deleted && ok(ev.Object) {
			return
		}
	}
	t.Errorf("%s is not what it is waited for", name)
}

// TestStandingObjects are there, and come again.
func TestStandingObjects(t *testing.T) {
	s := servertest.Start(t)
	c := s.Server.Client()
	namespaces := client.For[*corev1.Namespace](c, corev1.GroupVersion.WithResource("namespaces"))
	maps := client.For[*corev1.ConfigMap](c, corev1.GroupVersion.WithResource("configmaps"))
	accounts := client.For[*corev1.ServiceAccount](c, corev1.GroupVersion.WithResource("serviceaccounts"))
	lease, err := namespaces.Get(t.Context(), "kube-node-lease", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "kube-node-lease", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	appears(t, namespaces, "kube-node-lease", func(ns *corev1.Namespace) bool {
		return ns.UID != lease.UID && ns.Status.Phase == corev1.NamespaceActive
	})
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		appears(t, maps.In(namespace), "kube-root-ca.crt", func(m *corev1.ConfigMap) bool { return m.Data["ca.crt"] == string(s.CAPEM) })
		appears(t, accounts.In(namespace), "default", func(*corev1.ServiceAccount) bool { return true })
	}
}
