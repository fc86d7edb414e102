package server

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry/admissionregistration"
	"github.com/coracle-project/coracle/registry/apps"
	"github.com/coracle-project/coracle/registry/autoscaling"
	"github.com/coracle-project/coracle/registry/coordination"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/flowcontrol"
	"github.com/coracle-project/coracle/registry/networking"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/rbac"
	"github.com/coracle-project/coracle/registry/storage"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// coreGroups returns Kubernetes' own groups as far as they are served.
func coreGroups(c APIConfig) []Group {
	opts := core.Options{EventTTL: c.EventTTL, AllowPrivileged: c.AllowPrivileged}
	rules := podspec.Rules{AllowPrivileged: c.AllowPrivileged}
	return []Group{
		{Name: "", Priority: 18000, AddToScheme: corev1.Scheme.AddToScheme, Resources: core.Resources(opts)},
		{Name: "apps", Priority: 17800, AddToScheme: appsv1.Scheme.AddToScheme, Resources: apps.Resources(rules)},
		{Name: "autoscaling", Priority: 17500, AddToScheme: addAutoscaling, Resources: autoscaling.Resources()},
		{Name: "storage.k8s.io", Priority: 16800, AddToScheme: storagev1.Scheme.AddToScheme, Resources: storage.Resources()},
		{Name: "admissionregistration.k8s.io", Priority: 16700, AddToScheme: admissionregistrationv1.Scheme.AddToScheme,
			Resources: admissionregistration.Resources()},
		{Name: "networking.k8s.io", Priority: 17200, AddToScheme: networkingv1.Scheme.AddToScheme, Resources: networking.Resources()},
		{Name: "rbac.authorization.k8s.io", Priority: 17000, AddToScheme: rbacv1.Scheme.AddToScheme, Resources: rbac.Resources()},
		{Name: "coordination.k8s.io", Priority: 16500, AddToScheme: coordinationv1.Scheme.AddToScheme, Resources: coordination.Resources()},
		{Name: "flowcontrol.apiserver.k8s.io", Priority: 16100, AddToScheme: flowcontrolv1.Scheme.AddToScheme, Resources: flowcontrol.Resources()},
	}
}

// addAutoscaling registers both versions of autoscaling; the second is the hub.
func addAutoscaling(s *scheme.Scheme) {
	autoscalingv2.Scheme.AddToScheme(s)
	autoscalingv1.Scheme.AddToScheme(s)
}

// systemNamespaces exist in every cluster.
var systemNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// createSystemNamespaces is a post-start hook: it makes the system namespaces that are missing, and tries until it
// has. The server is not ready before that.
func createSystemNamespaces(ctx context.Context, s *Server) error {
	for {
		err := s.addSystemNamespaces(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		s.log.Warn("cannot create the system namespaces yet", zap.Error(err))
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (s *Server) addSystemNamespaces(ctx context.Context) error {
	namespaces := client.For[*corev1.Namespace](s.client, corev1.GroupVersion.WithResource("namespaces"))
	for _, name := range systemNamespaces {
		if _, err := namespaces.Get(ctx, name, meta.GetOptions{}); err == nil {
			continue
		}
		ns := &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}}
		if _, err := namespaces.Create(ctx, ns, meta.CreateOptions{}); err != nil && !meta.IsAlreadyExists(err) {
			return err
		}
		s.log.Debug("created system namespace", zap.String("namespace", name))
	}
	return nil
}
